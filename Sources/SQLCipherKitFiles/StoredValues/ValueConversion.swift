import Foundation
import SQLCipherKitCore

extension Schema {
    /// The form to which ``Schema/convertValues(of:in:to:allowingRounding:)`` converts a column's values.
    public enum ValueConversion: Hashable, Sendable {
        /// Dates, from any text that is read as a date, from archives of `NSDate`, from dates in MongoDB's Extended JSON, as Realm
        /// exports them, and from numbers if `numbers` states their meaning, such as ``DateStrategy/milliseconds``. Without
        /// `numbers`, a column with numbers throws: a number is never guessed to be a date.
        case dates(DateStrategy, numbers: DateStrategy? = nil)
        /// UUIDs, from blobs of 16 bytes and from text.
        case uuids(UUIDStrategy)
        /// Decimals, from numbers and from text in decimal digits.
        case decimals(DecimalStrategy)
        /// Booleans as 0 and 1, from 0 and 1 and from the texts `true`, `false`, `yes` and `no`.
        case booleans

        enum Outcome {
            case value(SQLValue)
            /// Converted with a loss: the form cannot hold the fraction of a second.
            case rounded(SQLValue)
            /// The value is not of this kind.
            case refused
            /// A number whose meaning as a date was not given.
            case ambiguous
        }

        func convert(_ value: SQLValue) -> Outcome {
            switch self {
            case .dates(let strategy, let numbers):
                if numbers == nil, value.isNumber { return .ambiguous }
                let known = Date(sqlValue: value, in: ValueProfile(dates: numbers ?? strategy)) ?? Date(foreign: value)
                guard let date = known, let made = try? date.sqlValue(strategy) else { return .refused }
                let back = Date(sqlValue: made, in: ValueProfile(dates: strategy))
                // A `Date` holds about a quarter of a microsecond.
                let isSame = back.map { abs($0.timeIntervalSince(date)) < 0.000_001 } ?? false
                return isSame && Self.isHeld(value, by: date, numbers) ? .value(made) : .rounded(made)
            case .uuids(let strategy):
                guard let uuid = UUID(sqlValue: value) else { return .refused }
                return (try? uuid.sqlValue(in: ValueProfile(uuids: strategy))).map(Outcome.value) ?? .refused
            case .decimals(let strategy):
                guard let decimal = Decimal(sqlValue: value) else { return .refused }
                return (try? decimal.sqlValue(in: ValueProfile(decimals: strategy))).map(Outcome.value) ?? .refused
            case .booleans:
                switch value {
                case .integer(0), .integer(1): return .value(value)
                case .real(0), .real(1): return .value(.integer(value == .real(1) ? 1 : 0))
                case .text(let text): return Bool(sqlText: text).map { .value(.integer($0 ? 1 : 0)) } ?? .refused
                default: return .refused
                }
            }
        }

        /// Returns whether reading a value as a date has kept all of it.
        private static func isHeld(_ value: SQLValue, by date: Date, _ numbers: DateStrategy?) -> Bool {
            switch value {
            case .integer(let number): return Int64(exactly: Double(number)) == number
            case .real(let number):
                // Julian days are read as whole milliseconds; a `Double` of them holds 40 microseconds.
                guard numbers == .julianDays, case .real(let again)? = try? date.sqlValue(.julianDays) else { return true }
                return abs(again - number) < 0.000_000_001
            case .text(let text):
                let fraction = text.utf8.drop { $0 != UInt8(ascii: ".") }.dropFirst().prefix { (0x30...0x39).contains($0) }
                return fraction.dropFirst(6).allSatisfy { $0 == 0x30 }
            default: return true
            }
        }

        /// The plural name of the values, for errors.
        var noun: String {
            switch self {
            case .dates: "dates"
            case .uuids: "UUIDs"
            case .decimals: "decimals"
            case .booleans: "booleans"
            }
        }
    }
}

extension Schema {
    /// Converts all values of a column to one form; NULL is kept. The conversion is one transaction, or part of the open
    /// transaction: either all values are converted or none.
    /// ```swift
    /// try db.main.convertValues(of: "created", in: "note", to: .dates(.timestamp))
    /// try db.main.convertValues(of: "ZCREATED", in: "ZNOTE", to: .dates(.timestamp, numbers: .secondsSince2001))
    /// ```
    /// Triggers fire and constraints are checked, as for any UPDATE. To convert a key together with the columns that refer to it,
    /// run both calls in a transaction after `PRAGMA defer_foreign_keys = ON`.
    /// - Parameters:
    ///   - column: the column's name.
    ///   - table: the table's name.
    ///   - conversion: the kind of the values, and the form in which to store them.
    ///   - allowsRounding: whether a date may lose a fraction of a second that the form cannot hold. Default: false, which throws
    ///     in that case.
    /// - Returns: the number of values that were changed.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table or the column does not exist, if a value is not of this kind
    ///   or would be rounded, if a date is a number and the conversion states no meaning of numbers, or if the column's declared
    ///   type turns the new form into another form; or an error from SQLite. In each case nothing has changed.
    @discardableResult
    public func convertValues(
        of column: String, in table: String, to conversion: ValueConversion, allowingRounding allowsRounding: Bool = false
    ) throws -> Int {
        try live()
        guard let found = try self.table(table), found.kind == .table,
            let name = found.columns.first(where: { $0.name.isSameName(as: column) && $0.kind == .normal })?.name
        else { throw DatabaseError.invalidArgument("there is no table \(table) with a stored column \(column)") }
        let source = qualified(found.name), quoted = name.quotedSQLIdentifier, place = "\(found.name).\(name)"
        return try connection.savepoint { db in
            var refused = 0, rounded = 0, ambiguous = 0
            var wanted: [StorageClass: Int] = [:], whole = 0
            try db.forEach(SQL(raw: "SELECT \(quoted) FROM \(source) WHERE \(quoted) IS NOT NULL")) { row in
                // Text that is not UTF-8 is not a value of any kind.
                guard let value = try? row.get(0, as: SQLValue.self) else { return refused += 1 }
                let converted = conversion.convert(value)
                switch converted {
                case .value(let made), .rounded(let made):
                    wanted[made.storageClass, default: 0] += 1
                    if case .real(let number) = made, Int64(exactly: number) != nil { whole += 1 }
                    if case .rounded = converted { rounded += 1 }
                case .ambiguous: ambiguous += 1
                case .refused: refused += 1
                }
            }
            if ambiguous > 0 {
                throw DatabaseError.invalidArgument(
                    "\(ambiguous) values of \(place) are numbers, which could be seconds or milliseconds since 1970, seconds "
                        + "since 2001 or Julian days: say which with .dates(_, numbers:)")
            }
            if refused > 0 {
                throw DatabaseError.invalidArgument(
                    "\(refused) values of \(place) cannot be stored as \(conversion.noun) of this form")
            }
            if rounded > 0, !allowsRounding {
                throw DatabaseError.invalidArgument("\(rounded) dates of \(place) have a fraction that the form cannot hold")
            }
            let function = "sqlcipherkit_converted"
            try db.changingThisOneOnly {
                try db.register(.function(function, .deterministic) { (value: SQLValue) -> SQLValue in
                    switch conversion.convert(value) {
                    case .value(let made), .rounded(let made): made
                    case .refused, .ambiguous: value
                    }
                })
            }
            defer { db.changingThisOneOnly { try? db.unregister(.function(function, arguments: 1)) } }
            let made = "\(function)(\(quoted))"
            try db.execute(SQL(raw: """
                UPDATE OR ABORT \(source) SET \(quoted) = \(made)
                WHERE \(quoted) IS NOT NULL AND (typeof(\(quoted)) <> typeof(\(made)) OR \(quoted) COLLATE BINARY <> \(made))
                """))
            let changes = db.changes
            var stored: [StorageClass: Int] = [:]
            try db.forEach(SQL(raw: "SELECT typeof(\(quoted)), count(*) FROM \(source) GROUP BY 1")) { row in
                let (name, count): (String, Int) = try row.values()
                if let kind = StorageClass(rawValue: name) { stored[kind] = count }
            }
            // A column for numbers keeps a whole real number as an integer, which is read as the same.
            let isKept = [.text, .blob].allSatisfy { stored[$0] == wanted[$0] }
                && 0...whole ~= (stored[.integer] ?? 0) - (wanted[.integer] ?? 0)
            guard isKept else {
                let type = found.columns.first { $0.name == name }?.type ?? ""
                throw DatabaseError.invalidArgument(
                    "the declared type of \(place), \(type), turns values of this form into another form")
            }
            return changes
        }
    }
}

extension SQLValue {
    var isNumber: Bool {
        switch self {
        case .integer, .real: true
        case .null, .text, .blob: false
        }
    }
}

/// Dates as other libraries write them where SQLite has no form for them.
extension Date {
    /// A date of an archive of `NSDate` or of Extended JSON; nil for anything else.
    init?(foreign value: SQLValue) {
        switch value {
        case .blob(let bytes): self.init(archive: bytes)
        case .text(let text): self.init(extendedJSON: text)
        case .null, .integer, .real: return nil
        }
    }

    /// The date in what `NSKeyedArchiver` writes of an `NSDate`: a binary property list with the seconds since 2001 as `NS.time`.
    init?(archive bytes: Data) {
        guard bytes.count < 4096, bytes.starts(with: Data("bplist00".utf8)),
            let list = try? PropertyListSerialization.propertyList(from: bytes, format: nil) as? [String: Any],
            list["$archiver"] != nil, let objects = list["$objects"] as? [Any]
        else { return nil }
        let seconds = objects.compactMap { ($0 as? [String: Any])?["NS.time"] as? Double }
        guard seconds.count == 1, seconds[0].isFinite else { return nil }
        self.init(timeIntervalSinceReferenceDate: seconds[0])
    }

    /// The date of `{"$date": …}`: a text in ISO 8601, or milliseconds since 1970 in a `$numberLong`
    /// (<https://www.mongodb.com/docs/manual/reference/mongodb-extended-json/>).
    init?(extendedJSON text: String) {
        guard text.utf8.count < 200, text.utf8.first == UInt8(ascii: "{"), case .object(let members)? = try? JSONValue(text: text),
            members.count == 1
        else { return nil }
        switch members["$date"] {
        case .string(let text)?: self.init(sqlValue: .text(text))
        case .integer(let milliseconds)?: self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
        case .object(let inner)?:
            guard inner.count == 1, case .string(let digits)? = inner["$numberLong"], let milliseconds = Int64(digits) else {
                return nil
            }
            self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
        default: return nil
        }
    }
}
