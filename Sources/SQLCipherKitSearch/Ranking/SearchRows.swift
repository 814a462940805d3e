import CSQLCipher
import SQLCipherKitCore

/// Decides which rows a search accepts and how relevant they are, by their filter and signals, and collects them. C asks about some
/// rows at a time.
final class SearchRows {
    /// The number of rows that are asked about even if they are not among the best, so that they can be counted.
    private static let filtered = 5_000
    /// The maximum number of rows that facets and totals count.
    static let counted = 200_000
    /// If an index of the content table finds no more rows than this for the filter, only these are looked at.
    private static let led = 5_000

    private let source: SearchSource?
    private let filter: SQL?
    private let signals: SearchSignals?
    private let connection: Connection
    private let isCounting: Bool
    /// The factors of rows: each row is asked about only once, however often it is found.
    private var known: [Int64: Double] = [:]
    private var error: (any Error)?
    /// The rows found, if rows are counted, in ascending order.
    private(set) var found: [Int64] = []
    /// The rows that pass the filter, in ascending order; nil if the filter is asked about each row.
    let only: [Int64]?

    init(_ search: FullTextSearch, _ source: SearchSource?, _ signals: SearchSignals?, _ connection: Connection) throws {
        self.source = source
        self.signals = signals
        self.connection = connection
        isCounting = search.isCounting || search.isSorted
        if let filter = search.filter, let source {
            try SearchSource.requirePositional(filter, "a filter")
            // FTS5 itself finds the rows of a query, and they are asked about then.
            only = search.query == nil ? try source.few(filter, limit: Self.led, connection) : nil
            self.filter = only == nil ? filter : nil
        } else {
            (only, filter) = (nil, nil)
        }
    }

    /// True if rows are rejected, or their relevance changed.
    var judges: Bool { filter != nil || signals != nil }

    /// True if there may be more rows than `found` has.
    var isFull: Bool { found.count >= Self.counted }

    /// Sets what the question asks of rows. It must not outlive this object.
    func set(_ question: inout sqlcipherkit_question) {
        error = nil
        question.highest_factor = signals?.highestFactor ?? 1
        question.rejects = filter == nil ? 0 : 1
        question.judge_all_up_to = filter == nil ? 0 : isCounting ? .max : Int32(Self.filtered)
        question.listed = isCounting ? Int32(Self.counted) : 0
        guard filter != nil || signals != nil else { return }
        question.context = Unmanaged.passUnretained(self).toOpaque()
        question.judge = { context, rows, count, factors in
            guard let context, let rows, let factors else { return -1 }
            let judged = UnsafeBufferPointer(start: rows, count: Int(count))
            return Unmanaged<SearchRows>.fromOpaque(context).takeUnretainedValue().judge(judged, factors)
        }
    }

    private func judge(_ rows: UnsafeBufferPointer<Int64>, _ factors: UnsafeMutablePointer<Double>) -> Int32 {
        do {
            for (place, factor) in try self.factors(rows).enumerated() { factors[place] = factor }
            return 0
        } catch {
            self.error = error
            return -1
        }
    }

    /// Returns what the relevance of each row is multiplied by; -1 for a row that is rejected.
    func factors(_ rows: some Collection<Int64>) throws -> [Double] {
        let unknown = rows.filter { known[$0] == nil }
        if !unknown.isEmpty, let source {
            for row in unknown { known[row] = -1 }
            try connection.forEach(source.judging(unknown, signals?.values ?? "NULL, NULL", filter)) { row in
                known[try row[0]] = try signals?.factor(row[1], row[2]) ?? 1
            }
        }
        return rows.map { known[$0] ?? -1 }
    }

    /// Takes the rows of an answer, and throws the error that the filter or a signal threw, if any.
    func take(_ answer: sqlcipherkit_answer) throws {
        if let error { throw error }
        guard isCounting, answer.row_count > 0 else { return }
        let rows = UnsafeBufferPointer(start: answer.rows, count: Int(answer.row_count))
        // Rows that were judged come in portions, after others that were not.
        let ascending = judges ? rows.sorted() : answer.is_ascending != 0 ? Array(rows) : rows.reversed()
        let all = found.isEmpty ? ascending : (found + ascending).sorted()
        found = Array(all.indices.lazy.filter { $0 == 0 || all[$0] != all[$0 - 1] }.map { all[$0] }.prefix(Self.counted))
    }
}
