import SQLCipherKitConcurrency
import SQLCipherKitCore

/// A model that makes vectors from texts, on the device or elsewhere. The application provides it: this package has no model.
///
/// ```swift
/// struct MyModel: TextVectorizer {
///     func vectors(for texts: [String]) async throws -> [[Float]] { try await service.embed(texts) }
/// }
/// ```
public protocol TextVectorizer: Sendable {
    /// Returns a vector for each text, in the order of the texts.
    /// - Throws: any error. It ends the update and reaches its caller; batches that were written stay.
    func vectors(for texts: [String]) async throws -> [[Float]]
}

extension VectorIndex {
    /// A row of the content that is missing its vector.
    public struct Missing: Hashable, Sendable {
        /// The row's id.
        public let id: Int64
        /// The values of the columns that the vector is made from, joined by line breaks, without line breaks at the beginning and
        /// the end.
        public let text: String
    }

    /// Returns the rows that are missing a vector, by ascending row id. Rows without any text are left out.
    /// - Parameters:
    ///   - first: the lowest row id. Default: the lowest of all.
    ///   - limit: the maximum number of rows, 1 or more. Default: 100.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a limit below 1, and if the table has no external content or is gone.
    public func missing(from first: Int64 = .min, limit: Int = 100) throws -> [Missing] {
        guard limit > 0 else { throw DatabaseError.invalidArgument("at least one row is read, not \(limit)") }
        return try missing(in: "m.id >= \(first)", "LIMIT \(limit)")
    }

    private func missing(in range: SQL, _ limit: SQL = "") throws -> [Missing] {
        let rows: [(Int64, String)] = try connection.fetchAll(
            "SELECT m.id, CAST(s.text AS TEXT) \(try missingRows) AND \(range) ORDER BY m.id \(limit)")
        return rows.map { Missing(id: $0.0, text: $0.1) }
    }

    /// The number of rows that are missing a vector. Rows without text do not count.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table has no external content, or if it is gone.
    public var missingCount: Int {
        get throws { try connection.fetchOne(Int.self, "SELECT count(*) \(try missingRows)") ?? 0 }
    }

    private var missingRows: SQL {
        get throws {
            _ = try format()
            _ = try requireContent()
            let (missing, source) = (companion(VectorNames.missing), companion(VectorNames.source))
            return "FROM \(raw: missing) AS m CROSS JOIN \(raw: source) AS s ON s.id = m.id WHERE s.text <> ''"
        }
    }

    /// Gives rows their vectors, unless a text has changed since it was read: that row stays missing.
    /// - Returns: how many rows got one.
    func fill(_ rows: [Missing], _ vectors: [[Float]]) throws -> Int {
        guard rows.count == vectors.count else {
            throw DatabaseError.invalidArgument("there are \(vectors.count) vectors for \(rows.count) texts")
        }
        guard let first = rows.first, let last = rows.last else { return 0 }
        return try connection.transaction { _ in
            let texts = Dictionary(
                try missing(in: "m.id BETWEEN \(first.id) AND \(last.id)").map { ($0.id, $0.text) },
                uniquingKeysWith: { first, _ in first })
            let current = zip(rows, vectors).filter { row, _ in
                texts[row.id].map { ExactText($0) == ExactText(row.text) } ?? false
            }
            try set(current.map { (id: $0.id, vector: $1) })
            return current.count
        }
    }
}

/// Bringing vectors up to date.
extension VectorIndex {
    /// Makes the missing vectors in one pass, in batches, in the order of the row ids.
    /// ```swift
    /// try await vectors.update(with: model)
    /// ```
    /// Each batch is written in its own transaction, so that the next pass continues where a cancelled or killed pass ended. A row
    /// that changes while the model works on it stays missing until the next pass. Rows without text get no vector.
    ///
    /// The connection is used only between the calls of the model, on the caller's actor. For a queue or a pool, use
    /// ``SQLCipherKitConcurrency/DatabaseWriter/updateVectors(_:with:batchSize:progress:)``, which lets other calls use the
    /// database in the meantime.
    /// - Parameters:
    ///   - model: makes vectors from texts.
    ///   - batchSize: the number of texts in each call of the model, from 1 to 10,000. Default: 32.
    ///   - progress: called after each batch. It must not use the connection. If it throws, the pass ends, and batches that were
    ///     written stay. Default: none.
    ///   - isolation: the caller's actor.
    /// - Returns: the number of rows that got a vector.
    /// - Throws: errors of the model and of `progress`; ``DatabaseError/Reason/invalidArgument`` for vectors that do not fit the
    ///   table, or if there are more or fewer vectors than texts; `CancellationError` when the task is cancelled. Batches that were
    ///   written stay.
    @discardableResult
    public func update(
        with model: some TextVectorizer, batchSize: Int = 32, progress: DatabaseProgress.Handler? = nil,
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> Int {
        var pass = try VectorPass(batchSize, total: missingCount)
        while true {
            try Task.checkCancellation()
            guard let batch = pass.next(try missing(from: pass.first, limit: batchSize)) else { return pass.made }
            let vectors = try await model.vectors(for: batch.map(\.text))
            pass.made += try fill(batch, vectors)
            try progress?(pass.progress)
        }
    }
}

extension DatabaseWriter {
    /// Makes the missing vectors of a table in the main database, as ``VectorIndex/update(with:batchSize:progress:isolation:)``
    /// does. No connection is held while the model works.
    /// ```swift
    /// try await pool.updateVectors("note_vectors", with: model)
    /// ```
    /// - Parameters:
    ///   - table: the name of the table of vectors.
    ///   - model: makes vectors from texts.
    ///   - batchSize: the number of texts in each call of the model, from 1 to 10,000. Default: 32.
    ///   - progress: called after each batch. If it throws, the pass ends.
    /// - Returns: the number of rows that got a vector.
    /// - Throws: the errors of ``VectorIndex/update(with:batchSize:progress:isolation:)``, and the errors of reads and writes, such
    ///   as ``DatabaseError/Reason/closed``. Batches that were written stay.
    @discardableResult
    public func updateVectors(
        _ table: String, with model: some TextVectorizer, batchSize: Int = 32,
        progress: (@Sendable (DatabaseProgress) throws -> Void)? = nil
    ) async throws -> Int {
        let total = try await read { db in try db.vectors(table).missingCount }
        var pass = try VectorPass(batchSize, total: total)
        while true {
            try Task.checkCancellation()
            let first = pass.first
            let rows = try await read { db in try db.vectors(table).missing(from: first, limit: batchSize) }
            guard let batch = pass.next(rows) else { return pass.made }
            let vectors = try await model.vectors(for: batch.map(\.text))
            let made = try await write { db in try db.vectors(table).fill(batch, vectors) }
            pass.made += made
            try progress?(pass.progress)
        }
    }
}

/// The progress of a pass over the missing rows.
private struct VectorPass {
    private let total: Int
    private var seen = 0
    private var isOver = false
    /// The lowest row id that has not been looked at.
    private(set) var first = Int64.min
    var made = 0

    init(_ batchSize: Int, total: Int) throws {
        guard (1...10_000).contains(batchSize) else {
            throw DatabaseError.invalidArgument("a model gets from 1 to 10,000 texts at a time, not \(batchSize)")
        }
        self.total = total
    }

    var progress: DatabaseProgress { DatabaseProgress(done: seen, total: max(seen, total)) }

    /// Takes the rows that were read from `first` on; nil at the end.
    mutating func next(_ rows: [VectorIndex.Missing]) -> [VectorIndex.Missing]? {
        guard !isOver, let last = rows.last else { return nil }
        seen += rows.count
        isOver = last.id == .max
        first = isOver ? .max : last.id + 1
        return rows
    }
}
