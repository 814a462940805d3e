import SQLCipherKit

/// Writes any number of rows, each batch of them in a transaction of its own: what is interrupted or fails undoes one batch.
final class BatchWriter {
    /// A batch of long rows ends earlier, as a transaction's pages should fit into the cache.
    private static let byteLimit = 64 << 20

    private let db: Connection
    private let rowsPerBatch: Int
    private var rows = 0
    private var bytes = 0
    /// The rows that are in the database permanently.
    private(set) var committed = 0
    /// Runs in each transaction before it is committed, told how many rows there are then.
    var beforeCommit: ((Int) throws -> Void)?

    init(_ db: Connection, rowsPerBatch: Int) {
        self.db = db
        self.rowsPerBatch = rowsPerBatch
    }

    /// Runs `body`, which calls ``wrote(bytes:)`` after each row.
    func write(_ body: () throws -> Void) throws {
        do {
            try db.begin(.immediate)
            try body()
            try commit()
        } catch {
            if db.isInTransaction { try? db.rollback() }
            throw error
        }
    }

    func wrote(bytes: Int) throws {
        rows += 1
        self.bytes += bytes
        guard rows >= rowsPerBatch || self.bytes >= Self.byteLimit else { return }
        try commit()
        try db.begin(.immediate)
    }

    private func commit() throws {
        try beforeCommit?(committed + rows)
        try db.commit()
        committed += rows
        (rows, bytes) = (0, 0)
    }
}
