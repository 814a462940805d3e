import CSQLCipher

/// A type whose values can be bound to a statement and read from a row.
///
/// Integers, `Bool`, `Double`, `Float`, `String`, `Data`, `[UInt8]`, `Date`, `UUID`, `Decimal`, `URL`, optionals of these, and
/// enumerations with such a raw value conform. For your own type, define how it is stored:
/// ```swift
/// struct Celsius: SQLValueConvertible {
///     var degrees: Double
///     var sqlValue: SQLValue { .real(degrees) }
///     init?(sqlValue: SQLValue) {
///         guard case .real(let degrees) = sqlValue else { return nil }
///         self.degrees = degrees
///     }
/// }
/// ```
/// Nothing else is required. No conversion silently loses information: reading 3.5 as an `Int`, 300 as a `UInt8` or an integer as a
/// `String` throws, while reading 3.0 as an `Int` gives 3.
public protocol SQLValueConvertible: Sendable {
    /// The value as it is stored.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if SQLite cannot hold it, such as a `UInt64` over `Int64.max`.
    var sqlValue: SQLValue { get throws }

    /// The value as it is stored under a profile. Default: ``sqlValue``. If your own type wraps a `Date`, a `UUID` or a `Decimal`,
    /// forward to it: `try date.sqlValue(in: profile)`.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the profile cannot represent it.
    func sqlValue(in profile: ValueProfile) throws -> SQLValue

    /// Converts from a stored value; nil if that is not a value of this type.
    init?(sqlValue: SQLValue)

    /// Converts from a value that was stored under a profile; nil if that is not a value of this type. Default:
    /// ``init(sqlValue:)``. If your own type wraps a `Date`, forward to it: `Date(sqlValue: value, in: profile)`.
    init?(sqlValue: SQLValue, in profile: ValueProfile)

    // What follows is for this package's own types, and has defaults. The two that begin with `_try` come first and do not throw,
    // because Swift 6.3 did not inline one with typed errors: calling it cost more than the column.

    /// Reads a column. The default goes through ``SQLValue``.
    /// - Throws: ``DatabaseError/Reason/unexpectedNull``, ``DatabaseError/Reason/typeMismatch``, or
    ///   ``DatabaseError/Reason/noSuchColumn`` if the statement has left the row.
    static func _readSQL(from column: borrowing Row._Column) throws -> Self

    /// Binds the value to a parameter. The default binds ``sqlValue(in:)``.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a value that cannot be stored, ``DatabaseError/Reason/parameters`` if
    ///   there is no such parameter, or SQLite's error, such as ``ResultCode/tooBig``.
    func _bindSQL(to parameter: borrowing Statement._Parameter) throws

    /// Reads a column; nil leaves it to `_readSQL(from:)`. Default: nil.
    static func _tryReadSQL(from column: borrowing Row._Column) -> Self?

    /// Binds the value and returns true; false leaves it to `_bindSQL(to:)`. Default: false.
    func _tryBindSQL(to parameter: borrowing Statement._Parameter) -> Bool

    /// The wrapped type of an optional type. Default: the type itself.
    associatedtype _Plain: SQLValueConvertible = Self

    /// True if values are whole JSON documents, which queries compare by their content. Default: false.
    static var _isJSONDocument: Bool { get }
}

extension SQLValueConvertible {
    @inlinable
    @inline(__always)
    public static func _tryReadSQL(from column: borrowing Row._Column) -> Self? { nil }

    @inlinable
    @inline(__always)
    public func _tryBindSQL(to parameter: borrowing Statement._Parameter) -> Bool { false }

    @inlinable
    public static var _isJSONDocument: Bool { false }

    public static func _readSQL(from column: borrowing Row._Column) throws -> Self {
        guard let value = Self(sqlValue: try column.value(), in: column.profile) else {
            throw column.mismatch(String(describing: Self.self))
        }
        return value
    }

    /// The value as ``sqlValue``, whatever the profile.
    /// - Throws: the errors of ``sqlValue``.
    @inlinable
    public func sqlValue(in profile: ValueProfile) throws -> SQLValue { try sqlValue }

    @inlinable
    public init?(sqlValue: SQLValue, in profile: ValueProfile) { self.init(sqlValue: sqlValue) }

    public func _bindSQL(to parameter: borrowing Statement._Parameter) throws {
        try sqlValue(in: parameter.profile)._bindSQL(to: parameter)
    }
}

extension SQLValue: SQLValueConvertible {
    public var sqlValue: SQLValue { self }

    public init(sqlValue: SQLValue) { self = sqlValue }

    @inlinable
    public static func _readSQL(from column: borrowing Row._Column) throws -> SQLValue { try column.value() }

    @inlinable
    public func _bindSQL(to parameter: borrowing Statement._Parameter) throws {
        switch self {
        case .null: try parameter.bindNull()
        case .integer(let value): try parameter.bind(value)
        case .real(let value): try parameter.bind(value)
        case .text(let value): try parameter.put(value)
        case .blob(let value): try parameter.put(value)
        }
    }
}

extension Optional: SQLValueConvertible where Wrapped: SQLValueConvertible {
    public typealias _Plain = Wrapped._Plain
    @inlinable
    public static var _isJSONDocument: Bool { Wrapped._isJSONDocument }

    /// NULL for nil, otherwise the wrapped value as it is stored.
    /// - Throws: the errors of the wrapped value.
    public var sqlValue: SQLValue {
        get throws {
            guard let self else { return .null }
            return try self.sqlValue
        }
    }

    /// NULL for nil, otherwise the wrapped value as it is stored under the profile.
    /// - Throws: the errors of the wrapped value.
    public func sqlValue(in profile: ValueProfile) throws -> SQLValue {
        guard let self else { return .null }
        return try self.sqlValue(in: profile)
    }

    public init?(sqlValue: SQLValue) { self.init(sqlValue: sqlValue, in: .standard) }

    public init?(sqlValue: SQLValue, in profile: ValueProfile) {
        if case .null = sqlValue {
            self = .none
        } else {
            guard let value = Wrapped(sqlValue: sqlValue, in: profile) else { return nil }
            self = .some(value)
        }
    }

    @inlinable
    @inline(__always)
    public static func _readSQL(from column: borrowing Row._Column) throws -> Wrapped? {
        if try column.isNull() { return nil }
        return try column.read(as: Wrapped.self)
    }

    @inlinable
    @inline(__always)
    public func _bindSQL(to parameter: borrowing Statement._Parameter) throws {
        if let self { try parameter.put(self) } else { try parameter.bindNull() }
    }

    @inlinable
    @inline(__always)
    public static func _tryReadSQL(from column: borrowing Row._Column) -> Wrapped?? {
        guard let value = Wrapped._tryReadSQL(from: column) else { return nil }
        return .some(value)
    }

    @inlinable
    @inline(__always)
    public func _tryBindSQL(to parameter: borrowing Statement._Parameter) -> Bool {
        guard let self else { return sqlcipherkit_sqlite3_bind_null(parameter.handle, parameter.index) == SQLITE_OK }
        return self._tryBindSQL(to: parameter)
    }
}

// A type with a raw value is stored as that. Where it says otherwise by a `sqlValue` of its own, this counts in every profile.
extension SQLValueConvertible where Self: RawRepresentable, RawValue: SQLValueConvertible {
    /// The raw value as it is stored.
    /// - Throws: the errors of the raw value.
    public var sqlValue: SQLValue { get throws { try rawValue.sqlValue } }

    /// The raw value as it is stored under the profile, unless the type has a `sqlValue` of its own.
    /// - Throws: the errors of the raw value, or of the type's own `sqlValue`.
    public func sqlValue(in profile: ValueProfile) throws -> SQLValue {
        let own = try sqlValue
        if profile == .standard { return own }
        return try own == rawValue.sqlValue ? rawValue.sqlValue(in: profile) : own
    }

    public init?(sqlValue: SQLValue) {
        guard let rawValue = RawValue(sqlValue: sqlValue) else { return nil }
        self.init(rawValue: rawValue)
    }

    public init?(sqlValue: SQLValue, in profile: ValueProfile) {
        if profile != .standard, let rawValue = RawValue(sqlValue: sqlValue, in: profile), let value = Self(rawValue: rawValue),
            let own = try? value.sqlValue, let raw = try? rawValue.sqlValue, own == raw
        {
            self = value
        } else {
            self.init(sqlValue: sqlValue)
        }
    }
}
