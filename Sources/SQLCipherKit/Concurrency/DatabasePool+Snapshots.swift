import CSQLCipher

extension DatabasePool {
    /// Takes a snapshot of the database as it is now, attached databases included.
    ///
    /// It waits for writes in two cases: if databases are attached, whose contents have to be of one snapshot; and if the
    /// write-ahead log is empty, in which it then writes a page as it was.
    /// - Parameter timeout: how long the call may take. Default: nil, any time.
    /// - Throws: ``DatabaseError/Reason/snapshotLost`` if a database has no write-ahead log, or an empty one and the pool only
    ///   reads; and what `read(timeout:_:)` throws.
    public func snapshot(timeout: Duration? = nil) throws -> DatabaseSnapshot {
        let deadline = timeout.map { Deadline.after($0) }
        if let snapshot = try read(timeout: timeout, { db in try self.snapshotAtOnce(db) }) { return snapshot }
        return try run(.unrestricted, timeout: deadline.map { $0 - .now }) { db in try self.snapshot(from: db) }
    }

    /// The same for a task.
    /// - Throws: as the other form; `CancellationError` when the task is cancelled.
    public func snapshot(timeout: Duration? = nil) async throws -> DatabaseSnapshot {
        let deadline = timeout.map { Deadline.after($0) }
        if let snapshot = try await read(timeout: timeout, { db in try self.snapshotAtOnce(db) }) { return snapshot }
        return try await run(.unrestricted, timeout: deadline.map { $0 - .now }) { db in try self.snapshot(from: db) }
    }

    // The call's connection keeps away what needs the database for itself, until the snapshot is known to the pool.

    /// A snapshot that needs no write and does not keep writes away; nil if there is none to be had like that.
    private func snapshotAtOnce(_ db: Connection) throws -> DatabaseSnapshot? {
        guard try db.databasesWithLog().count == 1, try db.emptyLogs().isEmpty else { return nil }
        return try makeSnapshot()
    }

    private func snapshot(from writer: Connection) throws -> DatabaseSnapshot {
        // The first frame of a log changes what snapshots of it look like.
        for schema in try writer.emptyLogs() where try !schema.isReadOnly {
            try writer.execute(SQL(raw: "PRAGMA \(schema.quotedName).user_version = \(try schema.userVersion)"))
        }
        return try makeSnapshot()
    }

    private func makeSnapshot() throws -> DatabaseSnapshot {
        guard let configuration = readerConfiguration?.current else { throw DatabaseError.closedDatabase }
        let holder = try configuration.openReader()
        try holder.begin(.deferred)
        let snapshot = try DatabaseSnapshot(of: self, heldBy: holder, WALSnapshot(reading: holder))
        snapshots.add(snapshot.core)
        return snapshot
    }
}

extension Connection {
    /// All but `temp`, and what is in memory.
    fileprivate func databasesWithLog() throws -> [Schema] {
        try schemas().filter { try $0.name != "temp" && $0.path != nil }
    }

    /// The databases in whose write-ahead log there is nothing.
    fileprivate func emptyLogs() throws -> [Schema] {
        let positions = DatabaseChanges.LogPosition.all(try live())
        return try databasesWithLog().filter { (positions[SQLName($0.name)]?.frame ?? 0) == 0 }
    }
}
