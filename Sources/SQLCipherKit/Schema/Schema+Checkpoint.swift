import CSQLCipher

/// How much of a write-ahead log is moved into its database (<https://sqlite.org/c3ref/wal_checkpoint_v2.html>).
public enum CheckpointMode: Int32, Hashable, Sendable, CaseIterable {
    /// As much as goes without waiting.
    case passive = 0
    /// All of it; waits for readers of older snapshots.
    case full = 1
    /// All of it, and the next write starts the log from the beginning; waits for all readers that use the log.
    case restart = 2
    /// The same, and the log's file is cut to nothing.
    case truncate = 3
}

/// What a checkpoint came to.
public struct CheckpointResult: Hashable, Sendable {
    /// The frames in the log, of a page each: 0 after ``CheckpointMode/truncate``.
    public let logFrames: Int
    /// Those of them that are in the database by now.
    public let checkpointedFrames: Int

    /// Whether all of the log is in the database.
    public var isComplete: Bool { logFrames == checkpointedFrames }
}

extension Schema {
    /// Moves the write-ahead log into the database.
    /// - Parameter mode: how much of it. Default: as much as goes without waiting.
    /// - Returns: what there was and what was moved; two zeroes for a database without a write-ahead log.
    /// - Throws: ``DatabaseError/Reason/busy`` if another connection still reads or writes after the busy timeout; what could be
    ///   moved was moved then; ``DatabaseError/Reason/misuse`` inside of a transaction; ``DatabaseError/Reason/schemaName``;
    ///   ``ResultCode/readOnly`` for a database that is open for reading only.
    @discardableResult
    public func checkpoint(_ mode: CheckpointMode = .passive) throws(DatabaseError) -> CheckpointResult {
        let handle = try connection.liveOutsideHooks()
        if connection.isInTransaction { throw .misuse("a checkpoint inside of a transaction") }
        try live()
        if try isReadOnly, try hasWAL {
            throw DatabaseError(
                code: .readOnly, message: "a checkpoint writes into the database \(name), which is open for reading only")
        }
        var frames: Int32 = 0, done: Int32 = 0
        sqlcipherkit_forget_interrupt(handle)
        try connection.check(sqlite3_wal_checkpoint_v2(handle, name, mode.rawValue, &frames, &done))
        return CheckpointResult(logFrames: Int(max(0, frames)), checkpointedFrames: Int(max(0, done)))
    }
}
