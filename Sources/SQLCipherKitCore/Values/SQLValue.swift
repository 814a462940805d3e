import Foundation

/// A value of one of SQLite's five storage classes (<https://sqlite.org/datatype3.html>).
///
/// Reading a column as a known type is faster than reading an `SQLValue`: use it only for unknown types.
public enum SQLValue: Hashable, Sendable {
    /// No value.
    case null
    /// A signed 64-bit integer.
    case integer(Int64)
    /// A 64-bit IEEE floating-point number; SQLite has no NaN.
    case real(Double)
    /// UTF-8 text, which may contain NUL characters.
    case text(String)
    /// Raw bytes.
    case blob(Data)
}

/// Two texts are equal if their bytes are, as in SQLite.
extension SQLValue {
    // Disfavored: otherwise the compiler would have to choose between this and another type's operator wherever a literal is
    // compared.
    @_disfavoredOverload
    public static func == (a: SQLValue, b: SQLValue) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.integer(let a), .integer(let b)): a == b
        case (.real(let a), .real(let b)): a == b
        case (.text(let a), .text(let b)): a.isSameText(as: b)
        case (.blob(let a), .blob(let b)): a == b
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(storageClass)
        switch self {
        case .null: break
        case .integer(let value): hasher.combine(value)
        case .real(let value): hasher.combine(value)
        case .text(let value): hasher.combine(ExactText(value))
        case .blob(let value): hasher.combine(value)
        }
    }
}

extension SQLValue {
    /// True if this is ``null``.
    public var isNull: Bool { self == .null }

    /// The storage class, as SQLite's `typeof()` names it.
    public var storageClass: StorageClass {
        switch self {
        case .null: .null
        case .integer: .integer
        case .real: .real
        case .text: .text
        case .blob: .blob
        }
    }
}

/// SQLite's storage classes, named as `typeof()` names them (<https://sqlite.org/lang_corefunc.html#typeof>).
public enum StorageClass: String, Hashable, Sendable, CaseIterable {
    case null, integer, real, text, blob
}

extension SQLValue: ExpressibleByNilLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral, ExpressibleByBooleanLiteral
{
    public init(nilLiteral: ()) { self = .null }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .real(value) }
    public init(stringLiteral value: String) { self = .text(value) }
    public init(booleanLiteral value: Bool) { self = .integer(value ? 1 : 0) }
}
