import ArgumentParser
import SQLCipherKit

/// The kinds of values that a column must hold.
struct ValueForms: OptionSet {
    let rawValue: Int

    static let integer = ValueForms(rawValue: 1)
    /// A number with a fraction.
    static let real = ValueForms(rawValue: 2)
    /// A number that is written with a fraction of zero, such as `2.0`.
    static let wholeReal = ValueForms(rawValue: 4)
    static let text = ValueForms(rawValue: 8)
    /// A number that a column returns in another form than it was written, such as `9.50`.
    static let reshaped = ValueForms(rawValue: 16)
    /// An integer with more digits than a number with a fraction holds.
    static let long = ValueForms(rawValue: 32)

    /// The form of a field: a number if the field says no more than the number does. Leading zeros, a plus sign and digits that a
    /// number in SQLite does not hold say more.
    static func of(field: String) -> ValueForms {
        var field = field
        return field.withUTF8 { of(field: UnsafeRawBufferPointer($0)) }
    }

    static func of(_ value: SQLValue) -> ValueForms {
        switch value {
        case .null: []
        case .integer: .integer
        case .real(let value): value == value.rounded() ? .wholeReal : .real
        case .text, .blob: .text
        }
    }

    static func of(field bytes: UnsafeRawBufferPointer) -> ValueForms {
        guard let start = bytes.first, start == 0x2d || (0x30...0x39).contains(start) else { return .text }
        switch canonicalForm(bytes) {
        case .integer: return bytes.count > 15 ? [.integer, .long] : .integer
        case .real: return .real
        case .wholeReal: return .wholeReal
        default: return isNumber(bytes) ? [.real, .reshaped] : .text
        }
    }

    /// Returns whether the field is a number with a fraction or an exponent, and says no more.
    private static func isNumber(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var position = bytes.first == 0x2d ? 1 : 0, digits = 0, hasFraction = false, significant = 0
        func isDigit(_ index: Int) -> Bool { index < bytes.count && (0x30...0x39).contains(bytes[index]) }
        let whole = position
        while isDigit(position) {
            if significant > 0 || bytes[position] != 0x30 { significant += 1 }
            position += 1
        }
        digits = position - whole
        guard digits > 0, digits == 1 || bytes[whole] != 0x30 else { return false }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            let fraction = position + 1
            position = fraction
            while isDigit(position) {
                if significant > 0 || bytes[position] != 0x30 { significant += 1 }
                position += 1
            }
            guard position > fraction else { return false }
            hasFraction = true
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < bytes.count, [0x2b, 0x2d].contains(bytes[position]) { position += 1 }
            let exponent = position
            while isDigit(position) { position += 1 }
            guard position > exponent else { return false }
            hasFraction = true
        }
        guard hasFraction, position == bytes.count else { return false }
        let text = String(decoding: bytes, as: UTF8.self)
        guard let value = Double(text) else { return false }
        // Infinity, as query writes it; any other number beyond the range of those that SQLite holds says more than it.
        if value.isInfinite { return text.drop { $0 == "-" } == "9e999" }
        if significant <= 15, value.isNormal || significant == 0 { return true }
        // More digits, or the last numbers before zero: the digits are those of the number, or they say more.
        return significantDigits(text) == significantDigits("\(value)")
    }

    /// The digits of a number without zeros at its ends.
    static func significantDigits(_ text: String) -> Substring {
        let digits = text.prefix { $0 != "e" && $0 != "E" }.filter(\.isNumber)
        let end = digits.lastIndex { $0 != "0" }.map(digits.index(after:)) ?? digits.startIndex
        return digits[..<end].drop { $0 == "0" }
    }

    private static func canonicalForm(_ bytes: UnsafeRawBufferPointer) -> ValueForms {
        let digits = bytes.first == UInt8(ascii: "-") ? bytes[1...] : bytes[...]
        guard let first = digits.first, (0x30...0x39).contains(first), digits.count <= 19 else { return .text }
        let whole = digits.prefix { (0x30...0x39).contains($0) }
        guard whole.count == 1 || first != 0x30 else { return .text }
        let isNegative = digits.count < bytes.count
        guard whole.count < digits.count else {
            if isNegative && first == 0x30 { return .text }
            return whole.count < 19 || Int64(String(decoding: bytes, as: UTF8.self)) != nil ? .integer : .text
        }
        let fraction = digits[(whole.endIndex + 1)...]
        guard digits[whole.endIndex] == UInt8(ascii: "."), !fraction.isEmpty, whole.count + fraction.count <= 15,
            fraction.allSatisfy({ (0x30...0x39).contains($0) })
        else { return .text }
        if fraction.allSatisfy({ $0 == 0x30 }) { return fraction.count == 1 && !(isNegative && first == 0x30) ? .wholeReal : .text }
        // Smaller numbers are written with an exponent.
        let isSmall = first == 0x30 && fraction.prefix { $0 == 0x30 }.count > 3
        return fraction.last == 0x30 || isSmall ? .text : .real
    }
}

/// The type of a column that an import creates.
enum ColumnType: String, CaseIterable, ExpressibleByArgument {
    case text, integer, real
    /// Integers beside numbers with fractions.
    case numeric
    /// Any value, compared by its own type.
    case any

    /// The type that holds values of these forms, and returns each unchanged.
    /// - Parameter keepsNumbersApart: whether a number beside texts stays a number, and a whole number with a fraction beside
    ///   integers one with a fraction.
    init(_ forms: ValueForms, keepsNumbersApart: Bool) {
        if forms.contains(.text) {
            self = forms != .text && keepsNumbersApart ? .any : .text
        } else {
            switch forms.subtracting([.reshaped, .long]) {
            case []: self = .text
            case .integer: self = .integer
            // An integer beside fractions is one of them, if it has no more digits.
            case let kinds where !kinds.contains(.integer) || !keepsNumbersApart && !forms.contains(.long): self = .real
            // A column of integers and fractions would make an integer of 2.0.
            case let kinds: self = keepsNumbersApart && kinds.contains(.wholeReal) ? .any : .numeric
            }
        }
    }

    /// The type of an existing column, by its affinity (<https://sqlite.org/datatype3.html#determination_of_column_affinity>).
    init(declared: String) {
        let name = declared.uppercased()
        if name.contains("INT") {
            self = .integer
        } else if ["CHAR", "CLOB", "TEXT"].contains(where: { name.contains($0) }) {
            self = .text
        } else if name.isEmpty || name.contains("BLOB") || name == "ANY" {
            self = .any
        } else {
            self = ["REAL", "FLOA", "DOUB"].contains { name.contains($0) } ? .real : .numeric
        }
    }

    /// The type as it follows the column's name in SQL.
    var declaration: String { self == .any ? "" : " " + rawValue.uppercased() }
}
