import CSQLCipher
import SQLCipherKitCore

extension DatabasePool {
    /// Takes a snapshot of the database, including attached databases, as it is now.
    ///
    /// It waits for writes in two cases: if databases are attached, because all must be read in the same snapshot; and if the
    /// write-ahead log is empty, because it then writes an unchanged page to the log.
    /// - Parameter timeout: how long the call may take. Default: nil, no limit.
    /// - Throws: ``DatabaseError/Reason/snapshotLost`` if a database has no write-ahead log, or has an empty one and the pool is
    ///   read-only; and what `read(timeout:_:)` throws.
    public func snapshot(timeout: Duration? = nil) throws(DatabaseError) -> DatabaseSnapshot {
        let deadline = timeout.map { Deadline.after($0) }
        return try DatabaseError.only("a call") {
            if let snapshot = try read(timeout: timeout, { db in try self.snapshotAtOnce(db) }) { return snapshot }
            return try run(.unrestricted, timeout: deadline.map { $0 - .now }) { db in try self.snapshot(from: db) }
        }
    }

    /// The asynchronous form.
    /// - Throws: as the synchronous form; `CancellationError` when the task is cancelled.
    public func snapshot(timeout: Duration? = nil) async throws -> DatabaseSnapshot {
        let deadline = timeout.map { Deadline.after($0) }
        if let snapshot = try await read(timeout: timeout, { db in try self.snapshotAtOnce(db) }) { return snapshot }
        return try await run(.unrestricted, timeout: deadline.map { $0 - .now }) { db in try self.snapshot(from: db) }
    }

    // The connection of the call keeps out calls that need the database to themselves, until the snapshot is registered with the
    // pool.

    /// Takes a snapshot without writing and without blocking writes; returns nil if that is not possible.
    private func snapshotAtOnce(_ db: Connection) throws -> DatabaseSnapshot? {
        guard try db.databasesWithLog().count == 1, try db.emptyLogs().isEmpty else { return nil }
        return try takeSnapshot()
    }

    private func snapshot(from writer: Connection) throws -> DatabaseSnapshot {
        // The first frame of an empty log changes how its snapshots are identified, so write it first.
        for schema in try writer.emptyLogs() where try !schema.isReadOnly {
            try writer.execute(SQL(raw: "PRAGMA \(schema.quotedName).user_version = \(try schema.userVersion)"))
        }
        return try takeSnapshot()
    }

    private func takeSnapshot() throws -> DatabaseSnapshot {
        guard let configuration = readerConfiguration?.current else { throw DatabaseError.closedDatabase }
        let holder = try configuration.openReader()
        try holder.begin(.deferred)
        let snapshot = try DatabaseSnapshot(of: self, heldBy: holder, WALSnapshot(reading: holder))
        snapshots.add(snapshot.core)
        return snapshot
    }
}

extension Connection {
    /// All databases except `temp` and those in memory.
    fileprivate func databasesWithLog() throws -> [Schema] {
        try schemas().filter { try $0.name != "temp" && $0.path != nil }
    }

    /// The databases whose write-ahead log is empty.
    fileprivate func emptyLogs() throws -> [Schema] {
        let positions = DatabaseChanges.LogPosition.all(try live())
        return try databasesWithLog().filter { (positions[SQLName($0.name)]?.frame ?? 0) == 0 }
    }
}
