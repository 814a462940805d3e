import CSQLCipher

/// The extent to which a write-ahead log is moved into its database (<https://sqlite.org/c3ref/wal_checkpoint_v2.html>).
public struct CheckpointMode: Hashable, Sendable, CaseIterable, CustomStringConvertible {
    /// SQLite's name of the mode, in lowercase.
    public let description: String
    fileprivate let number: Int32
    private init(_ name: String, _ number: Int32) { (description, self.number) = (name, number) }

    public static let allCases: [CheckpointMode] = [.passive, .full, .restart, .truncate]

    /// As much as possible without waiting.
    public static let passive = CheckpointMode("passive", SQLITE_CHECKPOINT_PASSIVE)
    /// The whole log. Waits for readers of older snapshots.
    public static let full = CheckpointMode("full", SQLITE_CHECKPOINT_FULL)
    /// The whole log, and the next write starts the log from the beginning. Waits for all readers that use the log.
    public static let restart = CheckpointMode("restart", SQLITE_CHECKPOINT_RESTART)
    /// Like ``restart``, and also truncates the log file to zero bytes.
    public static let truncate = CheckpointMode("truncate", SQLITE_CHECKPOINT_TRUNCATE)
}

/// The result of a checkpoint.
public struct CheckpointResult: Hashable, Sendable {
    /// The number of frames in the log, of one page each; 0 after ``CheckpointMode/truncate``.
    public let logFrames: Int
    /// The number of these frames that are now in the database.
    public let checkpointedFrames: Int

    /// True if the whole log is in the database.
    public var isComplete: Bool { logFrames == checkpointedFrames }
}

extension Schema {
    /// Moves the write-ahead log into the database.
    /// - Parameter mode: how much of it to move. Default: as much as possible without waiting.
    /// - Returns: the numbers of frames in the log and in the database; both 0 for a database without a write-ahead log.
    /// - Throws: ``DatabaseError/Reason/busy`` if another connection still reads or writes after the busy timeout (as much as
    ///   possible has then been moved); ``DatabaseError/Reason/misuse`` inside a transaction; ``DatabaseError/Reason/schemaName``;
    ///   ``ResultCode/readOnly`` for a database that is open for reading only.
    @discardableResult
    public func checkpoint(_ mode: CheckpointMode = .passive) throws -> CheckpointResult {
        let handle = try connection.liveOutsideHooks()
        if connection.isInTransaction { throw DatabaseError.misuse("a checkpoint is not possible inside a transaction") }
        try live()
        if try isReadOnly, try hasWAL {
            throw DatabaseError(
                code: .readOnly, message: "a checkpoint writes into the database \(name), which is open for reading only")
        }
        var frames: Int32 = 0, done: Int32 = 0
        sqlcipherkit_forget_interrupt(handle)
        try connection.check(sqlite3_wal_checkpoint_v2(handle, name, mode.number, &frames, &done))
        return CheckpointResult(logFrames: Int(max(0, frames)), checkpointedFrames: Int(max(0, done)))
    }

    /// Makes durable what any connection has committed to the database, whatever the durability and the journal mode are. What is
    /// written, renamed, sent or acknowledged about the database comes after this call, so that no power cut leaves it without
    /// what it speaks of.
    /// - Throws: SQLite's error if the disk refuses it. The commits are there as before.
    package func makeDurable() throws {
        guard let path = try path else { return }
        // Opens the log, if this connection has not read yet.
        _ = try connection.fetchOne(Int.self, SQL(raw: "PRAGMA \(quotedName).schema_version"))
        try connection.check(sqlcipherkit_flush(live(), name))
        // The names of the file and the log, and that a journal is gone.
        AtomicFile.flushFolder(of: path)
    }

    /// True if the database has a write-ahead log.
    package var hasWAL: Bool { get throws { try journalModeName == "wal" } }

    package var journalModeName: String? {
        get throws { try connection.fetchOne(String.self, SQL(raw: "PRAGMA \(quotedName).journal_mode")) }
    }
}
