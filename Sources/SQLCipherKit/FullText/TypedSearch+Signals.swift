import Foundation

/// What makes rows more or less relevant than their texts do.
extension TypedSearch {
    /// How relevance fades with a value of the row's.
    public struct Decay: Sendable {
        /// An SQL expression over the content table's columns that gives a number from 0 on, such as an age in days:
        /// `"julianday('now') - julianday(created)"`. Anything but a number does not fade.
        public var value: SQL
        /// The value at which relevance has faded to a half.
        public var half: Double

        /// - Parameters:
        ///   - value: the expression.
        ///   - half: the value at which relevance is half of what it was, a number above 0.
        public init(_ value: SQL, half: Double) {
            self.value = value
            self.half = half
        }
    }

    /// How relevance grows with a value of the row's, such as its number of readers, up to a limit.
    ///
    /// The relevance is multiplied by 1 + `strength` × v ÷ (v + `half`), where v is the value: by 1 for 0, by 1 + `strength` ÷ 2
    /// for `half`, and never by more than 1 + `strength`.
    public struct Popularity: Sendable {
        /// An SQL expression over the content table's columns that gives a number from 0 on. Anything else is 0.
        public var value: SQL
        /// The value that has half of the greatest influence.
        public var half: Double
        /// The greatest influence: with 1, the most popular row is at most twice as relevant as it would be by its text.
        public var strength: Double

        /// - Parameters:
        ///   - value: the expression.
        ///   - half: the value that has half of the greatest influence, a number above 0: that of a typical popular row.
        ///   - strength: the greatest influence, from 0 to 1,000. Default: 1, so that relevance is doubled at most.
        public init(_ value: SQL, half: Double, strength: Double = 1) {
            self.value = value
            self.half = half
            self.strength = strength
        }
    }
}

/// The signals of one search.
struct TypedSignals {
    private let decay: TypedSearch.Decay?
    private let popularity: TypedSearch.Popularity?

    /// Returns nil if there are none.
    init?(_ search: TypedSearch) throws(DatabaseError) {
        if search.decay == nil, search.popularity == nil { return nil }
        decay = search.decay
        popularity = search.popularity
        if let decay {
            guard decay.half > 0, decay.half.isFinite else {
                throw .invalidArgument("a decay's half is a number above 0, not \(decay.half)")
            }
            try FullTextStatements.requirePositional(decay.value, "a decay")
        }
        if let popularity {
            guard popularity.half > 0, popularity.half.isFinite, (0...1_000).contains(popularity.strength) else {
                throw .invalidArgument("a popularity's half is a number above 0, and its strength is from 0 to 1,000")
            }
            try FullTextStatements.requirePositional(popularity.value, "a popularity")
        }
    }

    /// The rows in order again, with their relevance as the signals make it.
    func apply(to answer: inout TypedSlots.Answer, _ source: TypedSource, _ connection: Connection) throws {
        guard !answer.matches.isEmpty else { return }
        let rows = source.rows(answer.matches.map(\.row).sorted())
        let values: SQL = "(\(decay?.value ?? "NULL")), (\(popularity?.value ?? "NULL"))"
        var factors: [Int64: Double] = [:]
        try connection.forEach("SELECT \(raw: rows.rowID), \(values) FROM \(rows.from)") { row in
            factors[try row[0]] = factor(try row[1], try row[2])
        }
        for place in answer.matches.indices {
            answer.matches[place].relevance *= factors[answer.matches[place].row] ?? 1
        }
        answer.matches.sort { ($0.before, -$0.relevance, $0.after, $0.row) < ($1.before, -$1.relevance, $1.after, $1.row) }
    }

    private func factor(_ age: SQLValue, _ count: SQLValue) -> Double {
        var factor = 1.0
        if let decay, let age = age.number { factor *= exp2(-max(0, age) / decay.half) }
        if let popularity, let count = count.number, count > 0 {
            factor *= 1 + popularity.strength * (count.isFinite ? count / (count + popularity.half) : 1)
        }
        return factor
    }
}

extension SQLValue {
    fileprivate var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .real(let value): value
        default: nil
        }
    }
}
