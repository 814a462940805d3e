import CSQLCipher

extension SQLValueConvertible where Self: FixedWidthInteger {
    /// The value as an INTEGER.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` over `Int64.max`.
    public var sqlValue: SQLValue {
        get throws {
            guard let value = Int64(exactly: self) else { throw DatabaseError.tooLarge(self) }
            return .integer(value)
        }
    }

    /// Converts from an INTEGER that fits, or a REAL that is a whole number and fits.
    public init?(sqlValue: SQLValue) {
        switch sqlValue {
        case .integer(let value): self.init(exactly: value)
        case .real(let value): self.init(exactly: value)
        default: return nil
        }
    }

    /// Reads an INTEGER that fits, or a REAL that is a whole number and fits.
    @inlinable
    @inline(__always)
    public static func _readSQL(from column: borrowing Row._Column) throws -> Self {
        var value: Int64 = 0
        if sqlcipherkit_column_int64(column.handle, column.index, &value) == SQLITE_INTEGER, let exact = Self(exactly: value) {
            return exact
        }
        return try column.exactInteger()
    }

    @inlinable
    @inline(__always)
    public func _bindSQL(to parameter: borrowing Statement._Parameter) throws {
        guard let value = Int64(exactly: self) else { throw DatabaseError.tooLarge(self) }
        try parameter.bind(value)
    }
}

extension Row._Column {
    @usableFromInline
    @inline(never)
    func exactInteger<T: FixedWidthInteger>() throws -> T {
        var real = 0.0
        guard sqlcipherkit_column_double(handle, index, &real) == SQLITE_FLOAT, let exact = T(exactly: real) else {
            throw mismatch(String(describing: T.self))
        }
        return exact
    }

    @usableFromInline
    @inline(never)
    func exactDouble() throws -> Double {
        var integer: Int64 = 0
        guard sqlcipherkit_column_int64(handle, index, &integer) == SQLITE_INTEGER, let exact = Double(exactly: integer) else {
            throw mismatch("Double")
        }
        return exact
    }

    @usableFromInline
    @inline(never)
    func exactFloat() throws -> Float {
        var integer: Int64 = 0
        guard sqlcipherkit_column_int64(handle, index, &integer) == SQLITE_INTEGER, let exact = Float(exactly: integer) else {
            throw mismatch("Float")
        }
        return exact
    }
}

extension DatabaseError {
    @usableFromInline
    @inline(never)
    static func tooLarge(_ value: some FixedWidthInteger) -> DatabaseError {
        .invalidArgument("\(value) does not fit into SQLite's signed 64-bit integer")
    }
}

/// The standard library's integers, as opposed to other types that conform to ``SQLValueConvertible`` in their own way.
@usableFromInline
protocol StandardInteger: FixedWidthInteger, SQLValueConvertible {}

extension StandardInteger {
    @inlinable
    @inline(__always)
    public static func _tryReadSQL(from column: borrowing Row._Column) -> Self? {
        var value: Int64 = 0
        guard sqlcipherkit_column_int64(column.handle, column.index, &value) == SQLITE_INTEGER else { return nil }
        return Self(exactly: value)
    }

    @inlinable
    @inline(__always)
    public func _tryBindSQL(to parameter: borrowing Statement._Parameter) -> Bool {
        guard let value = Int64(exactly: self) else { return false }
        return sqlcipherkit_sqlite3_bind_int64(parameter.handle, parameter.index, value) == SQLITE_OK
    }
}

extension Int: StandardInteger {}
extension Int8: StandardInteger {}
extension Int16: StandardInteger {}
extension Int32: StandardInteger {}
extension Int64: StandardInteger {}
extension UInt: StandardInteger {}
extension UInt8: StandardInteger {}
extension UInt16: StandardInteger {}
extension UInt32: StandardInteger {}
extension UInt64: StandardInteger {}
extension Int128: StandardInteger {}
extension UInt128: StandardInteger {}

/// Stored as INTEGER 0 or 1; any other integer is not read as a `Bool`.
extension Bool: SQLValueConvertible {
    public var sqlValue: SQLValue { .integer(self ? 1 : 0) }

    public init?(sqlValue: SQLValue) {
        switch sqlValue {
        case .integer(0): self = false
        case .integer(1): self = true
        default: return nil
        }
    }

    @inlinable
    @inline(__always)
    public static func _readSQL(from column: borrowing Row._Column) throws -> Bool {
        var value: Int64 = 0
        guard sqlcipherkit_column_int64(column.handle, column.index, &value) == SQLITE_INTEGER, value & ~1 == 0 else {
            throw column.mismatch("Bool")
        }
        return value == 1
    }

    @inlinable
    @inline(__always)
    public func _bindSQL(to parameter: borrowing Statement._Parameter) throws {
        try parameter.bind(self ? 1 as Int64 : 0)
    }

    @inlinable
    @inline(__always)
    public static func _tryReadSQL(from column: borrowing Row._Column) -> Bool? {
        var value: Int64 = 0
        guard sqlcipherkit_column_int64(column.handle, column.index, &value) == SQLITE_INTEGER, value & ~1 == 0 else { return nil }
        return value == 1
    }

    @inlinable
    @inline(__always)
    public func _tryBindSQL(to parameter: borrowing Statement._Parameter) -> Bool {
        sqlcipherkit_sqlite3_bind_int64(parameter.handle, parameter.index, self ? 1 : 0) == SQLITE_OK
    }
}

/// Stored as REAL; infinities are kept, NaN is refused. Read also from an INTEGER that a `Double` holds exactly.
extension Double: SQLValueConvertible {
    public var sqlValue: SQLValue { .real(self) }

    public init?(sqlValue: SQLValue) {
        switch sqlValue {
        case .real(let value): self = value
        case .integer(let value): self.init(exactly: value)
        default: return nil
        }
    }

    @inlinable
    @inline(__always)
    public static func _readSQL(from column: borrowing Row._Column) throws -> Double {
        var value = 0.0
        if sqlcipherkit_column_double(column.handle, column.index, &value) == SQLITE_FLOAT { return value }
        return try column.exactDouble()
    }

    @inlinable
    @inline(__always)
    public func _bindSQL(to parameter: borrowing Statement._Parameter) throws { try parameter.bind(self) }

    @inlinable
    @inline(__always)
    public static func _tryReadSQL(from column: borrowing Row._Column) -> Double? {
        var value = 0.0
        guard sqlcipherkit_column_double(column.handle, column.index, &value) == SQLITE_FLOAT else { return nil }
        return value
    }

    @inlinable
    @inline(__always)
    public func _tryBindSQL(to parameter: borrowing Statement._Parameter) -> Bool {
        // The exact path refuses NaN.
        !isNaN && sqlcipherkit_sqlite3_bind_double(parameter.handle, parameter.index, self) == SQLITE_OK
    }
}

/// Stored as REAL, which holds every `Float`. A REAL is rounded to the nearest `Float` when it is read, and must not be beyond its
/// range, or so small that it would become 0. Read also from an INTEGER that a `Float` holds exactly.
extension Float: SQLValueConvertible {
    public var sqlValue: SQLValue { .real(Double(self)) }

    public init?(sqlValue: SQLValue) {
        switch sqlValue {
        case .real(let value): self.init(rounding: value)
        case .integer(let value): self.init(exactly: value)
        default: return nil
        }
    }

    @inlinable
    public static func _readSQL(from column: borrowing Row._Column) throws -> Float {
        var value = 0.0
        guard sqlcipherkit_column_double(column.handle, column.index, &value) == SQLITE_FLOAT else {
            return try column.exactFloat()
        }
        guard let value = Float(rounding: value) else { throw column.mismatch("Float") }
        return value
    }

    @inlinable
    public func _bindSQL(to parameter: borrowing Statement._Parameter) throws { try parameter.bind(Double(self)) }

    /// The nearest `Float`; nil if that is an infinity or 0, and `value` is not.
    @usableFromInline
    init?(rounding value: Double) {
        let rounded = Float(value)
        if rounded.isInfinite != value.isInfinite || rounded.isZero != value.isZero { return nil }
        self = rounded
    }
}
