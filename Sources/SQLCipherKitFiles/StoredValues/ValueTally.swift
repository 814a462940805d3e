import CSQLCipher
import Foundation
import SQLCipherKitCore

/// Counts how a column's values are stored, to determine what they are.
struct ValueTally {
    /// The possible meaning of a single value: whether a number is a date can only be told from the other values.
    private enum Look: Hashable {
        case zeroOrOne, integer, real, uuidBytes, blob, form(Schema.ValueReport.Form)
        case seconds(isReal: Bool, isEarly: Bool), milliseconds, julianDay

        /// The form, if a number is no date.
        var plain: Schema.ValueReport.Form {
            switch self {
            case .zeroOrOne, .integer, .seconds(isReal: false, _), .milliseconds: .integer
            case .real, .seconds, .julianDay: .real
            case .uuidBytes, .blob: .blob
            case .form(let form): form
            }
        }

        var isNumber: Bool { plain == .integer || plain == .real }

        var isNumberOfDate: Bool {
            switch self {
            case .seconds, .milliseconds, .julianDay: true
            case .zeroOrOne, .integer, .real, .uuidBytes, .blob, .form: false
            }
        }

        var isDate: Bool {
            switch self {
            case .form(.date), .form(.otherDate), .form(.archivedDate), .form(.extendedJSONDate): true
            default: false
            }
        }
    }

    private var looks: [Look: Int] = [:]

    mutating func add(_ column: borrowing Row._Column) {
        if let look = Self.look(column) { looks[look, default: 0] += 1 }
    }

    /// A number that could be a date. Seconds since 1970 are of the years 1973 to 2286, and early if they are before 2001 and would
    /// be after 2006 as seconds since 2001; milliseconds are of the same years; days have a fraction, and are of 1900 to 2100.
    private static func date(_ value: Double, isReal: Bool) -> Look? {
        switch value {
        case 189_302_400..<978_307_200: .seconds(isReal: isReal, isEarly: true)
        case 100_000_000...9_999_999_999: .seconds(isReal: isReal, isEarly: false)
        case 100_000_000_000...9_999_999_999_999: .milliseconds
        case 2_415_020.5..<2_488_069.5: isReal && value != value.rounded() ? .julianDay : nil
        default: nil
        }
    }

    private static func look(_ column: borrowing Row._Column) -> Look? {
        switch column.storageClass {
        case .null: return nil
        case .integer:
            let value = sqlite3_column_int64(column.handle, column.index)
            return value == 0 || value == 1 ? .zeroOrOne : date(Double(value), isReal: false) ?? .integer
        case .real: return date(sqlite3_column_double(column.handle, column.index), isReal: true) ?? .real
        case .blob:
            guard let bytes = column.fastBytes(text: false, blob: true) else { return .blob }
            if bytes.count > 100, bytes.count < 4096, Date(archive: Data(bytes)) != nil { return .form(.archivedDate) }
            guard bytes.count == 16 else { return .blob }
            // Version and variant of RFC 9562.
            return (1...8).contains(bytes[6] >> 4) && bytes[8] >> 6 == 2 ? .uuidBytes : .blob
        case .text:
            // Longer text is none of these forms.
            guard let bytes = column.fastBytes(text: true, blob: false), bytes.count <= 60 else { return .form(.text) }
            return .form(form(String(decoding: bytes, as: UTF8.self)))
        }
    }

    private static func form(_ text: String) -> Schema.ValueReport.Form {
        if text.utf8.count == 36, UUID(uuidString: text) != nil {
            if text == text.uppercased() { return .uuid(.uppercaseText) }
            if text == text.lowercased() { return .uuid(.lowercaseText) }
        }
        if Date(extendedJSON: text) != nil { return .extendedJSONDate }
        if Date(iso8601: text) != nil { return DateTextFormat(of: text).map { .date(.text($0)) } ?? .otherDate }
        if Bool(sqlText: text) != nil { return .booleanText }
        // A number with leading zeros is a code of some kind.
        if text.wholeMatch(of: /-?(0|[1-9]\d*)(\.\d+)?/) != nil { return .numericText }
        return .text
    }

    private func count(_ condition: (Look) -> Bool) -> Int { looks.reduce(0) { $0 + (condition($1.key) ? $1.value : 0) } }

    func column(
        _ column: Schema.Column, of table: Schema.Table, _ origin: Schema.ValueReport.Origin?
    ) -> Schema.ValueReport.Column {
        // Treat bytes in a foreign key like an id.
        let isReference = table.foreignKeys.contains { $0.columns.contains(name: column.name) }
        let (content, reason, form) = reading(isReference ? column.name + "id" : column.name, column.type, origin)
        var counts: [Schema.ValueReport.Form: Int] = [:]
        for (look, count) in looks { counts[form(look), default: 0] += count }
        let forms = counts.map { Schema.ValueReport.Column.Count(form: $0.key, count: $0.value) }
        return Schema.ValueReport.Column(
            table: table.name, name: column.name, type: column.type, content: content,
            forms: forms.sorted { ($1.count, "\($0.form)") < ($0.count, "\($1.form)") }, reason: reason)
    }

    /// The column's content, why numbers in it are dates, and the form that each look then means.
    private func reading(
        _ name: String, _ type: String, _ origin: Schema.ValueReport.Origin?
    ) -> (Schema.ValueReport.Content, String?, (Look) -> Schema.ValueReport.Form) {
        // Core Data has one type for dates, which it uses for nothing else.
        if origin == .coreData, type.uppercased() == "TIMESTAMP", count({ $0.isNumber }) > 0 {
            let reason = "Core Data, whose tables the file has, stores a date as the seconds since 2001"
            return (.dates, reason, { $0.isNumber ? .date(.secondsSince2001) : $0.plain })
        }
        let (content, form) = reading(name, type)
        guard content == .dates else { return (content, nil, form) }
        let numbers = count { $0.isNumber }
        if numbers == 0 { return (content, nil, form) }
        let early = count { if case .seconds(_, isEarly: true) = $0 { true } else { false } }
        let isSince2001 = early == numbers && count { $0 == .seconds(isReal: true, isEarly: true) } > 0
        let reason =
            if isSince2001 {
                "a guess: as seconds since 1970, all of them would be dates before 2001"
            } else if origin == .room {
                "a guess: the file is Room's, whose converters usually store milliseconds, and the numbers have that size"
            } else {
                "a guess: the numbers have the size of such dates, and the column's name or its other values suggest dates"
            }
        return (content, reason, { look in isSince2001 && look.isNumber ? .date(.secondsSince2001) : form(look) })
    }

    private func reading(_ name: String, _ type: String) -> (Schema.ValueReport.Content, (Look) -> Schema.ValueReport.Form) {
        let all = count { _ in true }
        let plain: (Look) -> Schema.ValueReport.Form = \.plain
        if all == 0 { return (.nothing, plain) }
        let hint = Hint(name, type)
        let dates = count { $0.isDate }, seconds = count { $0.isNumberOfDate }
        if dates * 2 >= all || (hint == .date && (dates + seconds) * 2 >= all) || (dates > 0 && dates + seconds == all) {
            return (.dates, { look in
                switch look {
                case .seconds(let isReal, _): .date(isReal ? .realSeconds : .integerSeconds)
                case .milliseconds: .date(.milliseconds)
                case .julianDay: .date(.julianDays)
                default: plain(look)
                }
            })
        }
        let uuidTexts = count { if case .form(.uuid) = $0 { true } else { false } }
        let uuidBytes = count { $0 == .uuidBytes }
        // One in eight random 16-byte values looks like a UUID.
        if (uuidTexts > 0 || hint == .uuid || uuidBytes > 3) && (uuidTexts + uuidBytes) * 2 >= all {
            return (.uuids, { $0 == .uuidBytes ? .uuid(.blob) : plain($0) })
        }
        let bits = count { $0 == .zeroOrOne }, words = count { $0 == .form(.booleanText) }
        if bits + words == all || (hint == .boolean && (bits + words) * 2 >= all) { return (.booleans, plain) }
        let numbers = count { [.integer, .real].contains(plain($0)) }
        let numerals = count { $0 == .form(.numericText) }
        if numbers == all || numbers + numerals == all && (numbers > 0 || hint == .number) { return (.numbers, plain) }
        if count({ plain($0) == .blob }) == all { return (.bytes, plain) }
        let texts = count { if case .form = $0 { true } else { false } }
        return (texts == all ? .text : .anything, { look in
            // Text that happens to look like something else.
            if case .form = look { .text } else { plain(look) }
        })
    }

    /// The content that a column's name and type suggest.
    private enum Hint {
        case date, uuid, boolean, number

        init?(_ name: String, _ type: String) {
            let name = name.lowercased() + (name.hasSuffix("At") ? "_at" : ""), type = type.uppercased()
            func names(_ words: String...) -> Bool { words.contains { name.contains($0) } }
            func types(_ words: String...) -> Bool { words.contains { type.contains($0) } }
            if types("DATE", "TIME") || names("date", "time", "stamp", "created", "modified", "expir") || name.hasSuffix("_at") {
                self = .date
            } else if types("UUID", "GUID") || names("uuid", "guid") || name.hasSuffix("id") {
                self = .uuid
            } else if types("BOOL") {
                self = .boolean
            } else if types("NUM", "DEC", "INT", "REAL", "DOUB", "FLOA") || names("price", "amount", "cost", "total") {
                self = .number
            } else {
                return nil
            }
        }
    }
}

extension DateTextFormat {
    /// The format of a text that is a date; nil if no format matches.
    init?(of text: String) {
        let text = Array(text.utf8)
        guard text.count >= 19, let separator = Separator(rawValue: text[10]) else { return nil }
        let rest = text[19...]
        let digits = rest.first == UInt8(ascii: ".") ? rest.dropFirst().prefix { (48...57).contains($0) }.count : 0
        guard let fraction = Fraction(rawValue: UInt8(clamping: digits)) else { return nil }
        let zone: Zone
        switch String(decoding: rest.dropFirst(digits > 0 ? digits + 1 : 0), as: UTF8.self) {
        case "": zone = .none
        case "Z": zone = .z
        case "+00:00": zone = .offset
        default: return nil
        }
        self.init(separator: separator, fraction: fraction, zone: zone)
    }
}

extension Bool {
    /// Recognizes common words for true and false.
    init?(sqlText text: String) {
        switch text.lowercased() {
        case "true", "yes": self = true
        case "false", "no": self = false
        default: return nil
        }
    }
}
