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

    /// The form of a field. It is a number only if the number, written as text, is the field again: no leading zero, no zero at
    /// the end of a fraction, no plus sign, no exponent, and no more digits than a number in SQLite has.
    static func of(field: String) -> ValueForms {
        var field = field
        return field.withUTF8 { form($0) }
    }

    static func of(_ value: SQLValue) -> ValueForms {
        switch value {
        case .null: []
        case .integer: .integer
        case .real(let value): value == value.rounded() ? .wholeReal : .real
        case .text, .blob: .text
        }
    }

    private static func form(_ bytes: UnsafeBufferPointer<UInt8>) -> ValueForms {
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
    /// - Parameter keepsNumbersApart: whether a number beside texts stays a number.
    init(_ forms: ValueForms, keepsNumbersApart: Bool) {
        if forms.contains(.text) {
            self = forms != .text && keepsNumbersApart ? .any : .text
        } else {
            switch forms {
            case []: self = .text
            case .integer: self = .integer
            case [.integer, .real]: self = .numeric
            case .real, .wholeReal, [.real, .wholeReal]: self = .real
            // No numeric column tells 2 from 2.0: a CSV column becomes text; in JSON the number counts, not its form.
            default: self = keepsNumbersApart ? .numeric : .text
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

    /// The forms that the column returns unchanged.
    var forms: ValueForms {
        switch self {
        case .text, .any: [.text, .integer, .real, .wholeReal]
        case .integer: .integer
        case .real: [.real, .wholeReal]
        case .numeric: [.integer, .real]
        }
    }
}
