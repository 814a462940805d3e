extension FullTextSearch {
    /// How the rows found are counted: by what, and in which groups.
    ///
    /// ```swift
    /// let tags = try notes.facets(search, by: .elements("tags"))
    /// let months = try notes.facets(search, by: .dates("created", by: .month))
    /// ```
    /// Each takes an SQL expression over the columns of the content table, or of the full-text table itself if that has its own
    /// content. Values in it are interpolated, and so bound.
    public struct Grouping: Sendable {
        /// A span of the calendar (Gregorian, in UTC).
        public enum Interval: Hashable, Sendable, CaseIterable {
            /// A day: `2026-11-23`.
            case day
            /// A week from Monday to Sunday, as the date of its Monday: `2026-11-23`.
            case week
            /// A month: `2026-11`.
            case month
            /// A year: `2026`.
            case year
        }

        /// How dates are stored (<https://sqlite.org/lang_datefunc.html>).
        public enum DateForm: Hashable, Sendable {
            /// Text is ISO 8601; numbers from 0 to 5373484.5 are Julian days, others are seconds since 1970.
            case automatic
            /// Numbers are seconds since 1970, those of its first two months included.
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

        /// By the value of an expression. NULL is a value, too.
        /// - Parameters:
        ///   - expression: a column or an expression.
        ///   - limit: the number of values wanted, the most frequent first, from 1 to 10,000. Default: 100.
        public static func values(_ expression: SQL, limit: Int = 100) -> Grouping {
            Grouping(expression: expression, kind: .values, limit: limit)
        }

        /// By the elements of a JSON array, as text or JSONB. Each element counts once for a row; of each row, the first 100
        /// elements count. Rows with anything but an array are left out. `true` and `false` are 1 and 0, and arrays and objects
        /// in the array are their JSON text.
        /// - Parameters:
        ///   - array: an expression for the array.
        ///   - limit: the number of elements wanted, the most frequent first, from 1 to 10,000. Default: 100.
        public static func elements(_ array: SQL, limit: Int = 100) -> Grouping {
            Grouping(expression: array, kind: .elements, limit: limit)
        }

        /// By the day, week, month or year of a date, in UTC. For another time zone, shift the date in the expression:
        /// `"datetime(created, '+2 hours')"`. Rows without a date are left out.
        /// - Parameters:
        ///   - date: an expression for the date.
        ///   - interval: the length of a group.
        ///   - form: how dates are stored. Default: text in ISO 8601, Julian days and Unix times are told apart.
        ///   - limit: the number of intervals wanted, the latest first, from 1 to 10,000. Default: 100.
        public static func dates(
            _ date: SQL, by interval: Interval, form: DateForm = .automatic, limit: Int = 100
        ) -> Grouping {
            Grouping(expression: date, kind: .dates(interval, form), limit: limit)
        }

        /// By ranges of a number: below the first bound, from each bound up to the next one, and from the last one on. Rows with
        /// anything but a number are left out.
        /// - Parameters:
        ///   - number: an expression for the number.
        ///   - bounds: from 1 to 100 finite numbers in ascending order.
        public static func ranges(_ number: SQL, bounds: [Double]) -> Grouping {
            Grouping(expression: number, kind: .ranges(bounds), limit: 1)
        }
    }
}

extension FullTextIndex {
    /// How many hits are in which group, for narrowing a search.
    /// ```swift
    /// let tags = try notes.facets(search, by: .elements("tags"))
    /// ```
    /// - Parameters:
    ///   - search: the search. Its order, limit and offset do not matter.
    ///   - grouping: by what rows are counted.
    /// - Returns: values and elements with the most frequent first and equal ones in their order; dates with the latest first;
    ///   all ranges in their order, those without a row included.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a limit or bounds out of their range, and what SQLite reports.
    public func facets(_ search: FullTextSearch, by grouping: FullTextSearch.Grouping) throws -> [FullTextSearch.Facet] {
        var counts = try FacetCounts(grouping)
        let rows = FacetRows(from: try FullTextStatements(self, search).content(), rowID: "sqlcipherkit_row")
        try counts.add(rows, connection)
        return counts.facets
    }
}
