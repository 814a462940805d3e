import SQLCipherKitCore

/// The rows that a facet counts: the SQL after FROM, and the row id in it.
struct FacetRows {
    let from: SQL
    let rowID: String
}

/// The number of rows in each group of a facet, for one table or several.
struct FacetCounts {
    /// The number of elements that are counted of one row's array.
    private static let elements = 100

    private struct Entry {
        /// As the first table has it.
        var value: SQLValue
        var count = 0
        var order = 0.0
    }

    private let grouping: FullTextSearch.Grouping
    private var entries: [SQLValue: Entry] = [:]
    private var ranges: [Int] = []
    /// True if all rows and elements were counted.
    private(set) var isComplete = true

    init(_ grouping: FullTextSearch.Grouping) throws {
        guard (1...10_000).contains(grouping.limit) else {
            throw DatabaseError.invalidArgument("a facet has from 1 to 10,000 groups, not \(grouping.limit)")
        }
        try SearchSource.requirePositional(grouping.expression, "a facet")
        if case .ranges(let bounds) = grouping.kind {
            guard (1...100).contains(bounds.count), bounds.allSatisfy(\.isFinite), zip(bounds, bounds.dropFirst()).allSatisfy(<)
            else { throw DatabaseError.invalidArgument("ranges need from 1 to 100 bounds: finite numbers in ascending order") }
            ranges = Array(repeating: 0, count: bounds.count + 1)
        }
        self.grouping = grouping
    }

    /// Adds rows to the counts.
    /// - Parameter limit: the number of array elements to count in all rows together.
    mutating func add(_ rows: FacetRows, _ connection: Connection, elements limit: Int? = nil) throws {
        switch grouping.kind {
        case .values:
            try count("SELECT (\(grouping.expression)), 0.0, count(*) FROM \(rows.from) GROUP BY 1", connection)
        case .elements:
            let before = entries.reduce(0) { $0 + $1.value.count }
            try count(elements(rows, limit ?? -1), connection)
            if let limit, entries.reduce(0, { $0 + $1.value.count }) - before >= limit { isComplete = false }
        case .dates(let interval, let form):
            try count(dates(rows, interval, form), connection)
        case .ranges(let bounds):
            let numbers: SQL = "SELECT (\(grouping.expression)) AS v FROM \(rows.from)"
            try connection.forEach("SELECT v FROM (\(numbers)) WHERE typeof(v) IN ('integer', 'real')") { row in
                let value: SQLValue = try row[0]
                ranges[bounds.firstPlace { value.isBelow($0) }] += 1
            }
        }
    }

    private mutating func count(_ statement: SQL, _ connection: Connection) throws {
        try connection.forEach(statement) { row in
            let value: SQLValue = try row[0]
            let order: Double = try row[1]
            let count: Int = try row[2]
            entries[value.asGroup, default: Entry(value: value, order: order)].count += count
        }
    }

    private func elements(_ rows: FacetRows, _ limit: Int) -> SQL {
        let arrays: SQL = "SELECT \(raw: rows.rowID) AS r, (\(grouping.expression)) AS v FROM \(rows.from)"
        // 10 accepts text in JSON5, and JSONB that is valid throughout. For anything else json_each would throw.
        let array: SQL = "CASE WHEN json_valid(s.v, 10) THEN CASE json_type(s.v) WHEN 'array' THEN s.v END END"
        return """
            SELECT v, 0.0, count(*) FROM (
            SELECT DISTINCT s.r, e.value AS v FROM (\(arrays)) AS s, json_each(\(array)) AS e
            WHERE e.key < \(raw: String(Self.elements)) LIMIT \(limit)) GROUP BY 1
            """
    }

    /// The Julian day on which an interval begins identifies it, and determines its order and its name.
    private func dates(
        _ rows: FacetRows, _ interval: FullTextSearch.Grouping.Interval, _ form: FullTextSearch.Grouping.DateForm
    ) -> SQL {
        let form = switch form {
        case .automatic: "'auto'"
        case .unixTime: "'unixepoch'"
        case .julianDay: "'julianday'"
        }
        let days: SQL = """
            SELECT julianday((\(grouping.expression)), \(raw: form), \(raw: interval.modifiers)) AS j FROM \(rows.from)
            """
        return "SELECT strftime(\(interval.nameFormat), j), j, count(*) FROM (\(days)) WHERE j IS NOT NULL GROUP BY j"
    }

    /// Returns the counts with those of another table added.
    func merged(with other: FacetCounts) -> FacetCounts {
        var result = self
        result.entries.merge(other.entries) { Entry(value: $0.value, count: $0.count + $1.count, order: $0.order) }
        if ranges.count == other.ranges.count { result.ranges = zip(ranges, other.ranges).map(+) }
        result.isComplete = isComplete && other.isComplete
        return result
    }

    /// Returns whether the rows can be counted together with those of another table.
    func hasSameGroups(as other: FullTextSearch.Grouping) -> Bool {
        switch (grouping.kind, other.kind) {
        case (.values, .values), (.elements, .elements), (.values, .elements), (.elements, .values): true
        case (.dates(let a, _), .dates(let b, _)): a == b
        case (.ranges(let a), .ranges(let b)): a == b
        default: false
        }
    }

    /// The groups in their documented order.
    var facets: [FullTextSearch.FacetCount] {
        if case .ranges(let bounds) = grouping.kind {
            return ranges.enumerated().map { place, count in
                let lower = place == 0 ? -.infinity : bounds[place - 1]
                let upper = place == bounds.count ? .infinity : bounds[place]
                return FullTextSearch.FacetCount(value: place == 0 ? .null : .real(lower), count: count, range: lower..<upper)
            }
        }
        let sorted = entries.sorted { a, b in
            if case .dates = grouping.kind { return a.value.order > b.value.order }
            return a.value.count == b.value.count ? a.key.isSorted(before: b.key) : a.value.count > b.value.count
        }
        return sorted.prefix(grouping.limit).map(\.value).map { entry in
            FullTextSearch.FacetCount(value: entry.value, count: entry.count, range: nil)
        }
    }
}

extension Array {
    /// The position of the first element for which a condition holds; it must hold for all later ones too.
    func firstPlace(where condition: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if condition(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

extension SQLValue {
    /// Numbers that are equal in SQLite are one group, even in different tables.
    fileprivate var asGroup: SQLValue {
        if case .real(let value) = self, let whole = Int64(exactly: value) { return .integer(whole) }
        return self
    }

    /// Returns whether a number is below a bound, compared exactly.
    fileprivate func isBelow(_ bound: Double) -> Bool {
        switch self {
        case .integer(let value):
            let least = bound.rounded(.up)
            return least >= 0x1p63 || (least > -0x1p63 && value < Int64(least))
        case .real(let value): return value < bound
        default: return false
        }
    }

    private var sortPlace: (Int, Double) {
        switch self {
        case .null: (0, 0)
        case .integer(let value): (1, Double(value))
        case .real(let value): (1, value)
        case .text: (2, 0)
        case .blob: (3, 0)
        }
    }

    /// SQLite's order: NULL, numbers, texts, blobs.
    fileprivate func isSorted(before other: SQLValue) -> Bool {
        switch (self, other) {
        case (.integer(let a), .integer(let b)): a < b
        case (.text(let a), .text(let b)): a.utf8.lexicographicallyPrecedes(b.utf8)
        case (.blob(let a), .blob(let b)): a.lexicographicallyPrecedes(b)
        default: sortPlace < other.sortPlace
        }
    }
}
