import SQLCipherKitCore

extension Schema {
    /// The forms in which the columns of a database store dates, UUIDs, booleans and numbers, for which SQLite has no types of its
    /// own; see ``Schema/valueReport(sampling:limits:)``.
    public struct ValueReport: Hashable, Sendable {
        /// The apparent content of a column.
        public struct Content: Hashable, Sendable, CustomStringConvertible {
            /// The content's name, the same as in Swift.
            public let description: String
            private init(_ name: String) { description = name }

            /// Dates or times, in a form that a ``DateStrategy`` reads.
            public static let dates = Content("dates")
            /// UUIDs, as text or as 16 bytes.
            public static let uuids = Content("uuids")
            /// Only 0 and 1.
            public static let booleans = Content("booleans")
            /// Integers and floating-point numbers.
            public static let numbers = Content("numbers")
            /// Text of no other kind.
            public static let text = Content("text")
            /// Blobs of no other kind.
            public static let bytes = Content("bytes")
            /// Values of several kinds.
            public static let anything = Content("anything")
            /// Only NULL, or no rows.
            public static let nothing = Content("nothing")
        }

        /// The form of a stored value.
        ///
        /// New cases may be added in a minor version: switch over it with a `default`.
        public enum Form: Hashable, Sendable {
            case integer, real, text, blob
            /// A date, as a strategy stores it.
            case date(DateStrategy)
            /// A date as text in an SQLite form that no strategy writes, such as a day alone. It can be read and converted.
            case otherDate
            /// A blob in which `NSKeyedArchiver` has stored an `NSDate`. It is not read as a date, but can be converted.
            case archivedDate
            /// A date as text in MongoDB's Extended JSON, as Realm exports it. It is not read as a date, but can be converted.
            case extendedJSONDate
            /// A UUID, as a strategy stores it.
            case uuid(UUIDStrategy)
            /// A number in decimal digits as text, which SQLite compares as text.
            case numericText
            /// `true` or `false`, `yes` or `no`, as text.
            case booleanText
        }

        /// A column.
        public struct Column: Hashable, Sendable {
            /// The column's table.
            public let table: String
            /// The column's name.
            public let name: String
            /// The declared type, as written; empty if there is none.
            public let type: String
            /// The apparent content.
            public let content: Content
            /// The forms of its values, with the number of each among the examined rows, the most frequent first; without NULL.
            public let forms: [Count]
            /// The reason to read the column's numbers as dates of that form; nil for other columns. The text begins with "a
            /// guess", unless the library that wrote the file is known to store its dates in this form.
            /// ``Schema/convertValues(of:in:to:allowingRounding:)`` needs the form as an argument in either case.
            public let reason: String?

            /// The number of values of one form.
            public struct Count: Hashable, Sendable {
                /// The form.
                public let form: Form
                /// The number of examined rows with the form.
                public let count: Int
            }

            /// True if it contains values in several forms that SQL does not compare correctly with each other, such as dates as
            /// text and as numbers. ``Schema/convertValues(of:in:to:allowingRounding:)`` converts them to one form.
            package var isMixed: Bool {
                switch content {
                case .dates, .uuids, .booleans, .anything: forms.count > 1
                case .numbers: forms.count > 1 && forms.contains { $0.form == .numericText }
                default: false
                }
            }
        }

        /// A library that marks the files that it writes.
        public enum Origin: String, Hashable, Sendable {
            /// Apple's Core Data, by its table `Z_METADATA`: a date is the seconds since 2001.
            case coreData
            /// Android's Room, by its table `room_master_table`: a converter in the program determines the form of a date, usually
            /// the milliseconds since 1970.
            case room
        }

        /// The library that wrote the file, if the tables reveal it.
        public let origin: Origin?

        /// The columns, sorted by table name.
        public let columns: [Column]

        /// The column of a table.
        public subscript(table: String, column: String) -> Column? {
            columns.first { $0.table.isSameName(as: table) && $0.name.isSameName(as: column) }
        }

        /// The columns with values that SQL does not compare correctly with each other.
        public var mixedColumns: [Column] { columns.filter(\.isMixed) }

        /// The profile to open the database with: the most frequent forms, or the forms of ``ValueProfile/standard`` for kinds of
        /// values that do not occur.
        public var profile: ValueProfile {
            ValueProfile(
                dates: dates ?? ValueProfile.standard.dates, uuids: uuids ?? ValueProfile.standard.uuids,
                decimals: decimals ?? ValueProfile.standard.decimals)
        }

        /// The names of the built-in profiles with these forms, such as `grdb`; empty if there is none.
        public var profileNames: [String] {
            ValueProfile.namedProfiles.filter {
                (dates ?? $0.profile.dates) == $0.profile.dates && (uuids ?? $0.profile.uuids) == $0.profile.uuids
                    && (decimals ?? $0.profile.decimals) == $0.profile.decimals
            }.map(\.name)
        }

        private var dates: DateStrategy? { mostFrequent { if case .date(let dates) = $0 { dates } else { nil } } }
        private var uuids: UUIDStrategy? { mostFrequent { if case .uuid(let uuids) = $0 { uuids } else { nil } } }
        private var decimals: DecimalStrategy? {
            columns.contains { $0.content == .numbers && $0.forms.first?.form == .numericText } ? .text : nil
        }

        private func mostFrequent<Strategy: Hashable>(_ strategy: (Form) -> Strategy?) -> Strategy? {
            var counts: [Strategy: Int] = [:]
            for form in columns.flatMap(\.forms) { if let found = strategy(form.form) { counts[found, default: 0] += form.count } }
            return counts.max { $0.value < $1.value }?.key
        }
    }
}

extension Schema.ValueReport.Form: CustomStringConvertible {
    /// A readable description, such as `text yyyy-MM-dd HH:mm:ss.SSS` or `integer seconds since 1970`.
    public var description: String {
        switch self {
        case .integer: "integer"
        case .real: "real"
        case .text: "text"
        case .blob: "blob"
        case .date(.integerSeconds): "integer seconds since 1970"
        case .date(.realSeconds): "real seconds since 1970"
        case .date(.milliseconds): "integer milliseconds since 1970"
        case .date(.secondsSince2001): "seconds since 2001"
        case .date(.julianDays): "Julian days"
        case .date(.custom(let form)): "\(form)"
        case .date(.text(let format)): "text \(format)"
        case .archivedDate: "archive of an NSDate"
        case .extendedJSONDate: "date in Extended JSON"
        case .otherDate: "text of a date in another form"
        case .uuid(.blob): "blob of 16 bytes"
        case .uuid(.uppercaseText): "text in capitals"
        case .uuid(.lowercaseText): "text in small letters"
        case .numericText: "text in digits"
        case .booleanText: "text true or false"
        }
    }
}

extension DateTextFormat: CustomStringConvertible {
    /// The format as a pattern, such as `yyyy-MM-ddTHH:mm:ss.SSSZ`.
    public var description: String {
        let fraction = fraction == .none ? "" : "." + String(repeating: "S", count: Int(fraction.rawValue))
        let zone =
            switch zone {
            case .none: ""
            case .z: "Z"
            case .offset: "+00:00"
            }
        return "yyyy-MM-dd\(separator == .t ? "T" : " ")HH:mm:ss\(fraction)\(zone)"
    }
}

extension Schema {
    /// Examines the values of each table and reports how dates, UUIDs, booleans and numbers are stored, for a database that another
    /// program wrote.
    /// ```swift
    /// let report = try db.main.valueReport()
    /// print(report.profileNames)                          // ["grdb"]
    /// for column in report.mixedColumns { print(column.table, column.name, column.forms) }
    /// ```
    /// The meaning of a number can only be inferred from its magnitude, the other values in its column, and the column's name and
    /// type: the report is an educated guess.
    /// - Parameters:
    ///   - rows: the number of rows to examine in each table, half from the beginning and half from the end of the table's key
    ///     order; nil for all rows. Default: 10,000.
    ///   - limits: the time, memory and rows that the report may use. Default: nil, for the limits of the connection's
    ///     ``DatabaseConfiguration/safeguards``, if it has any.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a number below 1, ``DatabaseError/Reason/timeout``,
    ///   ``DatabaseError/Reason/limitExceeded``, or any error from reading the tables.
    public func valueReport(sampling rows: Int? = 10_000, limits: ResourceLimits? = nil) throws -> ValueReport {
        try live()
        if let rows, rows < 1 { throw DatabaseError.invalidArgument("a sample must have at least 1 row, and not \(rows)") }
        let limits = limits ?? connection.configuration.safeguards?.resourceLimits
        return try connection.limited(to: limits) { try valueReport(rows) }
    }

    private func valueReport(_ rows: Int?) throws -> ValueReport {
        // One snapshot of the database for the whole report.
        try connection.savepoint { db in
            var columns: [ValueReport.Column] = []
            let all = try tables()
            let origin = ValueReport.Origin(all.map(\.name))
            for table in all where table.kind == .table && !table.isKeyValueStore {
                let stored = table.columns.filter { $0.kind == .normal }
                var tallies = stored.map { _ in ValueTally() }
                let statement = try db.prepare(SQL(raw: try sample(of: table, stored.map(\.name), rows)))
                try statement.forEach { row in
                    for index in tallies.indices { tallies[index].add(Row._Column(row.handle, Int32(index))) }
                }
                columns += zip(tallies, stored).map { $0.column($1, of: table, origin) }
            }
            return ValueReport(origin: origin, columns: columns)
        }
    }

    private func sample(of table: Schema.Table, _ columns: [String], _ rows: Int?) throws -> String {
        let names = columns.map(\.quotedSQLIdentifier).joined(separator: ", "), source = qualified(table.name)
        let key = try rowIDName(of: table.name).map { [$0] } ?? table.primaryKey
        let all = "SELECT \(names) FROM \(source)"
        guard let rows, !key.isEmpty else { return rows.map { "\(all) LIMIT \($0)" } ?? all }
        let isSmall = try connection.fetchOne(
            Bool.self, SQL(raw: "SELECT count(*) <= ?1 FROM (SELECT 1 FROM \(source) LIMIT ?1 + 1)", [rows]))
        if isSmall == true { return all }
        // In a database that several programs have written, the last rows may differ from the first.
        func half(_ order: String, _ count: Int) -> String {
            let terms = key.map { "\($0.quotedSQLIdentifier) \(order)" }.joined(separator: ", ")
            return "SELECT * FROM (\(all) ORDER BY \(terms) LIMIT \(count))"
        }
        return "\(half("ASC", rows - rows / 2)) UNION ALL \(half("DESC", rows / 2))"
    }
}

extension Schema.ValueReport.Origin {
    init?(_ tables: [String]) {
        if tables.contains(name: "Z_METADATA"), tables.contains(name: "Z_PRIMARYKEY") {
            self = .coreData
        } else if tables.contains(name: "room_master_table") {
            self = .room
        } else {
            return nil
        }
    }
}

extension Schema.Table {
    /// True if it is a key-value store of this package, which intentionally holds values of any type.
    fileprivate var isKeyValueStore: Bool { name.hasPrefix("kv_") && columns.map(\.name) == ["key", "value", "json", "expires"] }
}
