import SQLCipherKit

/// Writes any number of rows, each batch in its own transaction: an interruption or an error undoes one batch.
final class BatchWriter {
    /// In bytes. A batch of long rows ends early, as the pages of a transaction should fit into the cache.
    private static let byteLimit = 64 << 20

    private let db: Connection
    private let rowsPerBatch: Int
    private var rows = 0
    private var bytes = 0
    /// The number of rows that were committed.
    private(set) var committed = 0
    /// Called in each transaction before it is committed, with the number of rows written so far.
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
