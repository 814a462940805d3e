import SQLCipherKitCore

extension FullTextSearch {
    /// The groups in which a search counts the rows that it finds.
    ///
    /// ```swift
    /// search.facets = ["tags": .elements("tags"), "months": .dates("created", by: .month)]
    /// let tags = try notes.search(search).facets["tags"]
    /// ```
    /// Each grouping takes an SQL expression over the columns of the content table, or of a full-text table with its own text.
    /// Interpolated values are bound.
    public struct Grouping: Sendable {
        /// A calendar interval (Gregorian, in UTC).
        public struct Interval: Hashable, Sendable, CaseIterable, CustomStringConvertible {
            /// The interval's name, the same as in Swift.
            public let description: String
            /// The modifiers that lead from a date to its interval's first day, and the form of the interval's name.
            let modifiers: String, nameFormat: String
            private init(_ description: String, _ modifiers: String, _ nameFormat: String) {
                (self.description, self.modifiers, self.nameFormat) = (description, modifiers, nameFormat)
            }

            public static let allCases: [Interval] = [.day, .week, .month, .year]

            /// A day: `2026-11-23`.
            public static let day = Interval("day", "'start of day'", "%Y-%m-%d")
            /// A week from Monday to Sunday, named by the date of its Monday: `2026-11-23`.
            public static let week = Interval("week", "'weekday 0', '-6 days', 'start of day'", "%Y-%m-%d")
            /// A month: `2026-11`.
            public static let month = Interval("month", "'start of month'", "%Y-%m")
            /// A year: `2026`.
            public static let year = Interval("year", "'start of year'", "%Y")
        }

        /// The form in which dates are stored (<https://sqlite.org/lang_datefunc.html>).
        public enum DateForm: Hashable, Sendable {
            /// Text is ISO 8601; numbers from 0 to 5373484.5 are Julian days, others are seconds since 1970.
            case automatic
            /// Numbers are seconds since 1970, including the numbers that ``automatic`` takes for Julian days: the first two months
            /// of 1970.
            case unixTime
            /// Numbers are Julian days.
            case julianDay
        }

        enum Kind: Sendable {
            case values, elements
            case dates(Interval, DateForm)
            case ranges([Double])
        }

        let expression: SQL
        let kind: Kind
        let limit: Int

        /// Groups by the value of an expression. NULL counts as a value.
        /// - Parameters:
        ///   - expression: a column or an expression.
        ///   - limit: the maximum number of values, most frequent first, from 1 to 10,000. Default: 100.
        public static func values(_ expression: SQL, limit: Int = 100) -> Grouping {
            Grouping(expression: expression, kind: .values, limit: limit)
        }

        /// Groups by the elements of a JSON array, stored as text or JSONB. An element counts once for each row, and only the first
        /// 100 elements of each row count. Rows without an array are left out. `true` and `false` count as 1 and 0, and nested
        /// arrays and objects count as their JSON text.
        /// - Parameters:
        ///   - array: an expression for the array.
        ///   - limit: the maximum number of elements, most frequent first, from 1 to 10,000. Default: 100.
        public static func elements(_ array: SQL, limit: Int = 100) -> Grouping {
            Grouping(expression: array, kind: .elements, limit: limit)
        }

        /// Groups by the day, week, month or year of a date, in UTC. For another time zone, shift the date in the expression:
        /// `"datetime(created, '+2 hours')"`. Rows without a date are left out.
        /// - Parameters:
        ///   - date: an expression for the date.
        ///   - interval: the length of a group.
        ///   - form: how dates are stored. Default: the call distinguishes ISO 8601 text, Julian days and Unix times.
        ///   - limit: the maximum number of intervals, latest first, from 1 to 10,000. Default: 100.
        public static func dates(
            _ date: SQL, by interval: Interval, form: DateForm = .automatic, limit: Int = 100
        ) -> Grouping {
            Grouping(expression: date, kind: .dates(interval, form), limit: limit)
        }

        /// Groups by ranges of a number: below the first bound, from each bound up to but not including the next, and from the last
        /// bound on. Rows without a number are left out.
        /// - Parameters:
        ///   - number: an expression for the number.
        ///   - bounds: from 1 to 100 finite numbers in ascending order.
        public static func ranges(_ number: SQL, bounds: [Double]) -> Grouping {
            Grouping(expression: number, kind: .ranges(bounds), limit: 1)
        }
    }
}
