import CSQLCipher
import SQLCipherKitCore

/// A state of a connection's databases that other connections can read later, as long as the write-ahead logs still contain it
/// (<https://sqlite.org/c3ref/snapshot.html>).
final class WALSnapshot: @unchecked Sendable {
    // Sendable: SQLite only reads the snapshots, which are freed with the last reference.
    private let parts: [(name: String, part: UnsafeMutablePointer<sqlite3_snapshot>)]

    /// Takes a snapshot of each database except `temp`, with `get`.
    private init(
        _ db: Connection, _ get: (OpaquePointer, String, inout UnsafeMutablePointer<sqlite3_snapshot>?) -> Int32
    ) throws {
        let handle = try db.live()
        var parts: [(String, UnsafeMutablePointer<sqlite3_snapshot>)] = []
        do {
            for schema in try db.schemas() where schema.name != "temp" {
                var part: UnsafeMutablePointer<sqlite3_snapshot>?
                let rc = get(handle, schema.name, &part)
                guard rc == SQLITE_OK, let part else { throw DatabaseError.noSnapshot(of: schema.name, rc) }
                parts.append((schema.name, part))
            }
        } catch {
            for (_, part) in parts { sqlite3_snapshot_free(part) }
            throw error
        }
        self.parts = parts
    }

    deinit { for (_, part) in parts { sqlite3_snapshot_free(part) } }

    /// Takes the current state, in the open transaction, which must not have read anything yet. While that transaction stays open,
    /// no checkpoint can overwrite the state.
    /// - Throws: ``DatabaseError/Reason/snapshotLost`` for a database without a write-ahead log.
    convenience init(reading db: Connection) throws { try self.init(db) { sqlite3_snapshot_get($0, $1, &$2) } }

    /// Takes the state that the connection has just committed.
    convenience init(committedBy db: Connection) throws {
        try self.init(db) { sqlcipherkit_last_snapshot($0, $1, &$2) }
    }

    /// Makes the open transaction read this state. The transaction must not have read anything yet.
    /// - Throws: ``DatabaseError/Reason/snapshotLost`` if a checkpoint has overwritten it.
    func open(_ db: Connection) throws {
        let handle = try db.live()
        for (name, part) in parts {
            let rc = sqlite3_snapshot_open(handle, name, part)
            if rc == SQLITE_OK { continue }
            guard rc == ResultCode.errorSnapshot.rawValue else { throw db.failure(rc) }
            throw DatabaseError(
                code: .errorSnapshot, reason: .snapshotLost,
                message: "the snapshot is gone: a checkpoint by another process has overwritten its pages of \(name)")
        }
    }
}

extension DatabaseError {
    fileprivate static func noSnapshot(of schema: String, _ rc: Int32) -> DatabaseError {
        // SQLite gives no more details than the code.
        guard rc == SQLITE_ERROR else { return DatabaseError(rc: rc, database: nil) }
        return DatabaseError(
            code: .error, reason: .snapshotLost,
            message: "there is no snapshot of \(schema): it has no write-ahead log, or the log was never written to")
    }
}
