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

    /// What a field is. It is a number only if the number, written as text, is the field again: no leading zero, no zero at the
    /// end of a fraction, no plus sign, no exponent, and no more digits than a number of SQLite's has.
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

/// The type of a column that an import makes.
enum ColumnType: String, CaseIterable, ExpressibleByArgument {
    case text, integer, real
    /// Integers beside numbers with fractions.
    case numeric
    /// Whatever comes, compared as what it is.
    case any

    /// The type that holds values of these forms, and gives back each as it was.
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
            // An integer and 2.0: no column of numbers tells them apart. Of values that are numbers, the number is kept.
            default: self = keepsNumbersApart ? .numeric : .text
            }
        }
    }

    /// The type of a column that is there, by its affinity (<https://sqlite.org/datatype3.html#determination_of_column_affinity>).
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

    /// What stands behind the column's name.
    var declaration: String { self == .any ? "" : " " + rawValue.uppercased() }

    /// The forms that come out of the column as they went in.
    var forms: ValueForms {
        switch self {
        case .text, .any: [.text, .integer, .real, .wholeReal]
        case .integer: .integer
        case .real: [.real, .wholeReal]
        case .numeric: [.integer, .real]
        }
    }
}
