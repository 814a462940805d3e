import CSQLCipher

/// How much of a write-ahead log is moved into its database (<https://sqlite.org/c3ref/wal_checkpoint_v2.html>).
public enum CheckpointMode: Int32, Hashable, Sendable, CaseIterable {
    /// As much as goes without waiting for anybody.
    case passive = 0
    /// All of it; waits for readers of older moments.
    case full = 1
    /// All of it, and the next write begins the log anew; waits for all readers that use the log.
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

extension Connection {
    /// Moves the write-ahead log into the database.
    /// - Parameters:
    ///   - mode: how much of it. Default: as much as goes without waiting.
    ///   - schema: `main`, or what the database was attached as. Default: `main`.
    /// - Returns: what there was and what was moved; two zeroes for a database without a write-ahead log.
    /// - Throws: ``DatabaseError/Reason/busy`` if somebody still reads or writes after the busy timeout, what could be moved was
    ///   moved then; ``DatabaseError/Reason/misuse`` inside of a transaction; ``DatabaseError/Reason/schemaName``.
    @discardableResult
    public func checkpoint(_ mode: CheckpointMode = .passive, of schema: String = "main") throws(DatabaseError) -> CheckpointResult {
        let handle = try liveOutsideHooks()
        if isInTransaction { throw .misuse("a checkpoint inside of a transaction") }
        guard try attachedDatabases().contains(where: { $0.name.lowercased() == schema.lowercased() }) else { throw .noSchema(schema) }
        var frames: Int32 = 0, done: Int32 = 0
        try check(sqlite3_wal_checkpoint_v2(handle, schema, mode.rawValue, &frames, &done))
        return CheckpointResult(logFrames: Int(max(0, frames)), checkpointedFrames: Int(max(0, done)))
    }

    /// Counts the frames of the logs at each commit, in place of SQLite's own checkpoints.
    func countLogFrames() throws(DatabaseError) {
        let (hooks, handle) = try usableHooks()
        sqlite3_wal_hook(
            handle,
            { context, _, _, frames in
                if let hooks = ConnectionHooks.at(context) { hooks.logFrames = max(hooks.logFrames, Int(frames)) }
                return SQLITE_OK
            }, hooks.pointer)
    }

    /// The frames of the longest log after the commits since the last call.
    func takeLogFrames() -> Int {
        defer { hooks?.logFrames = 0 }
        return hooks?.logFrames ?? 0
    }
}
