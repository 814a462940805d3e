import Foundation
import SQLCipherKitCore

/// Signals: values of a row that change its relevance.
extension FullTextSearch {
    /// Reduces a row's relevance according to one of its values, such as its age.
    public struct Decay: Sendable {
        package var value: SQL
        package var half: Double

        /// - Parameters:
        ///   - value: an SQL expression over the content table's columns that gives a number of 0 or more, such as an age in days:
        ///     `"julianday('now') - julianday(created)"`. Any other value leaves the relevance unchanged.
        ///   - half: the value at which the relevance is halved, a number above 0.
        public init(_ value: SQL, halfLife half: Double) {
            self.value = value
            self.half = half
        }
    }

    /// Increases a row's relevance according to one of its values, such as its number of readers, up to a limit.
    ///
    /// The relevance is multiplied by 1 + `strength` × v ÷ (v + `half`), where v is the value: by 1 if the value is 0, by 1 +
    /// `strength` ÷ 2 if it is `half`, and never by more than 1 + `strength`.
    public struct Popularity: Sendable {
        package var value: SQL
        package var half: Double
        package var strength: Double

        /// - Parameters:
        ///   - value: an SQL expression over the content table's columns that gives a number of 0 or more. Any other value counts
        ///     as 0.
        ///   - half: the value that has half of the maximum influence, a number above 0: choose the value of a typical popular row.
        ///   - strength: the maximum influence, from 0 to 1,000. Default: 1, which at most doubles the relevance.
        public init(_ value: SQL, pivot half: Double, strength: Double = 1) {
            self.value = value
            self.half = half
            self.strength = strength
        }
    }
}

/// The signals of one search.
struct SearchSignals {
    private let decay: FullTextSearch.Decay?
    private let popularity: FullTextSearch.Popularity?

    /// Returns nil if there are none.
    init?(_ search: FullTextSearch) throws {
        if search.decay == nil, search.popularity == nil { return nil }
        decay = search.decay
        popularity = search.popularity
        if let decay {
            guard decay.half > 0, decay.half.isFinite else {
                throw DatabaseError.invalidArgument("a decay's half must be a number above 0, not \(decay.half)")
            }
            try SearchSource.requirePositional(decay.value, "a decay")
        }
        if let popularity {
            guard popularity.half > 0, popularity.half.isFinite, (0...1_000).contains(popularity.strength) else {
                throw DatabaseError.invalidArgument(
                    "a popularity's half must be a number above 0, and its strength from 0 to 1,000"
                )
            }
            try SearchSource.requirePositional(popularity.value, "a popularity")
        }
    }

    /// The SQL of the values.
    var values: SQL { "(\(decay?.value ?? "NULL")), (\(popularity?.value ?? "NULL"))" }

    var highestFactor: Double { 1 + (popularity?.strength ?? 0) }

    /// Returns what a row's relevance is multiplied by.
    func factor(_ age: SQLValue, _ count: SQLValue) -> Double {
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
