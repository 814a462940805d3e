import Foundation

extension SharedSchema {
    /// Rewrites the database so that nothing of what was deleted from it can be read in its files again, while no other call has a
    /// connection of the queue or the pool. Calls that are made meanwhile wait.
    /// - Parameter progress: as with ``Schema/erase(progress:)``.
    /// - Returns: what was rewritten, and what could not be.
    /// - Throws: as ``Schema/erase(progress:)``; ``DatabaseError/Reason/busy`` only for other connections than those of the queue
    ///   or the pool.
    @discardableResult
    public func erase(progress: RewriteProgressHandler? = nil) throws -> ErasureReport {
        let (writer, readers, observers) = (database.writer, database.readers, database.observers)
        try database.checkCall()
        let slot = try writer.acquire(until: nil)
        defer { writer.release(slot) }
        try readers?.acquireAll()
        defer { readers?.releaseAll() }
        try database.snapshots.endAll(because: "the database was erased")
        return try slot.run(.unrestricted) { db in
            defer { observers.logsWereReset(db) }
            return try db.schema(name).erase(progress: progress)
        }
    }

    /// The same for a task. It is not cancelled with the task.
    @discardableResult
    public func erase() async throws -> ErasureReport { try await runOnThread { try self.erase(progress: nil) } }

    /// Says where texts still stand in the files of the database.
    /// - Parameters:
    ///   - texts: as with ``Schema/residue(of:progress:)``.
    ///   - progress: likewise.
    /// - Throws: likewise.
    public func residue(of texts: [String], progress: RewriteProgressHandler? = nil) throws -> ResidueReport {
        try search { db in try db.schema(name).residue(of: texts, progress: progress) }
    }

    /// The same for a task. It is not cancelled with the task.
    public func residue(of texts: [String]) async throws -> ResidueReport {
        try await runOnThread { try self.residue(of: texts, progress: nil) }
    }

    /// Says where bytes still stand in the files of the database.
    public func residue(ofBytes bytes: [Data], progress: RewriteProgressHandler? = nil) throws -> ResidueReport {
        try search { db in try db.schema(name).residue(ofBytes: bytes, progress: progress) }
    }

    /// The same for a task. It is not cancelled with the task.
    public func residue(ofBytes bytes: [Data]) async throws -> ResidueReport {
        try await runOnThread { try self.residue(ofBytes: bytes, progress: nil) }
    }

    /// With the writer, so that the log does not grow meanwhile.
    private func search(_ body: (Connection) throws -> ResidueReport) throws -> ResidueReport {
        try database.checkCall()
        let slot = try database.writer.acquire(until: nil)
        defer { database.writer.release(slot) }
        return try slot.run(.unrestricted) { db in try body(db) }
    }
}
