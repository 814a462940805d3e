import CSQLCipher
import Foundation
import SQLCipherKitCore

/// Counts how a column's values are stored, to determine what they are.
struct ValueTally {
    /// The possible meaning of a single value: whether a number is a date can only be told from the other values.
    private enum Look: Hashable {
        case zeroOrOne, seconds, integer, realSeconds, real, uuidBytes, blob, form(ValueReport.Form)
    }

    private var looks: [Look: Int] = [:]

    mutating func add(_ column: borrowing Row.Column) {
        if let look = Self.look(column) { looks[look, default: 0] += 1 }
    }

    /// Seconds since 1970 of the years 1973 to 2286.
    private static let plausible = 100_000_000.0...9_999_999_999

    private static func look(_ column: borrowing Row.Column) -> Look? {
        switch column.storageClass {
        case .null: return nil
        case .integer:
            let value = sqlite3_column_int64(column.handle, column.index)
            return value == 0 || value == 1 ? .zeroOrOne : plausible.contains(Double(value)) ? .seconds : .integer
        case .real: return plausible.contains(sqlite3_column_double(column.handle, column.index)) ? .realSeconds : .real
        case .blob:
            guard let bytes = column.fastBytes(text: false, blob: true), bytes.count == 16 else { return .blob }
            // Version and variant of RFC 9562.
            return (1...8).contains(bytes[6] >> 4) && bytes[8] >> 6 == 2 ? .uuidBytes : .blob
        case .text:
            // Longer text is none of these forms.
            guard let bytes = column.fastBytes(text: true, blob: false), bytes.count <= 50 else { return .form(.text) }
            return .form(form(String(decoding: bytes, as: UTF8.self)))
        }
    }

    private static func form(_ text: String) -> ValueReport.Form {
        if text.utf8.count == 36, UUID(uuidString: text) != nil {
            if text == text.uppercased() { return .uuid(.uppercaseText) }
            if text == text.lowercased() { return .uuid(.lowercaseText) }
        }
        if Date(iso8601: text) != nil { return DateTextFormat(of: text).map { .date(.text($0)) } ?? .otherDate }
        if Bool(sqlText: text) != nil { return .booleanText }
        // A number with leading zeros is a code of some kind.
        if text.wholeMatch(of: /-?(0|[1-9]\d*)(\.\d+)?/) != nil { return .numericText }
        return .text
    }

    private func count(_ condition: (Look) -> Bool) -> Int { looks.reduce(0) { $0 + (condition($1.key) ? $1.value : 0) } }

    func column(_ column: TableColumn, of table: TableSchema) -> ValueReport.Column {
        // Treat bytes in a foreign key like an id.
        let isReference = table.foreignKeys.contains { $0.columns.contains(name: column.name) }
        let (content, form) = reading(isReference ? column.name + "id" : column.name, column.type)
        var counts: [ValueReport.Form: Int] = [:]
        for (look, count) in looks { counts[form(look), default: 0] += count }
        let forms = counts.map { ValueReport.Column.Count(form: $0.key, count: $0.value) }
        return ValueReport.Column(
            table: table.name, name: column.name, type: column.type, content: content,
            forms: forms.sorted { ($1.count, "\($0.form)") < ($0.count, "\($1.form)") })
    }

    /// The column's content, and the form that each look then means.
    private func reading(_ name: String, _ type: String) -> (ValueReport.Content, (Look) -> ValueReport.Form) {
        let all = count { _ in true }
        func plain(_ look: Look) -> ValueReport.Form {
            switch look {
            case .zeroOrOne, .seconds, .integer: .integer
            case .realSeconds, .real: .real
            case .uuidBytes, .blob: .blob
            case .form(let form): form
            }
        }
        if all == 0 { return (.nothing, plain) }
        let hint = Hint(name, type)
        let dates = count { if case .form(.date) = $0 { true } else { $0 == .form(.otherDate) } }
        let seconds = count { $0 == .seconds || $0 == .realSeconds }
        if dates * 2 >= all || (hint == .date && (dates + seconds) * 2 >= all) || (dates > 0 && dates + seconds == all) {
            return (.dates, { look in
                switch look {
                case .seconds: .date(.integerSeconds)
                case .realSeconds: .date(.realSeconds)
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
    /// Recognises common words for true and false.
    init?(sqlText text: String) {
        switch text.lowercased() {
        case "true", "yes": self = true
        case "false", "no": self = false
        default: return nil
        }
    }
}
