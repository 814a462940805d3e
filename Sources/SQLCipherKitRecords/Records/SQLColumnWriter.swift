import CSQLCipher
import SQLCipherKitCore

/// Receives the values of the columns of an ``SQLPositionalRecord`` in order.
///
/// A writer cannot be kept: it is only ever lent to a call.
public struct SQLColumnWriter: ~Copyable {
    /// The statement to bind to; nil to collect the values.
    @usableFromInline let handle: OpaquePointer?
    /// The parameter of each column: 0 if the statement needs no value, less if it is for records that leave the column out.
    @usableFromInline let parameters: UnsafePointer<Int32>
    @usableFromInline let count: Int
    /// The profile by which each column is stored, if some have their own.
    @usableFromInline let profiles: UnsafePointer<ValueProfile>?
    @usableFromInline let profile: ValueProfile
    @usableFromInline var index = 0
    /// True if the record sets or leaves out other columns than the statement is for.
    @usableFromInline var hasOtherColumns = false
    /// Where the values are collected, nil for a column that was left out; nil where they are bound.
    @usableFromInline let collected: UnsafeMutablePointer<[SQLValue?]>?

    init(
        _ handle: OpaquePointer?, _ parameters: UnsafePointer<Int32>, _ count: Int, _ profiles: UnsafePointer<ValueProfile>?,
        _ profile: ValueProfile, _ collected: UnsafeMutablePointer<[SQLValue?]>? = nil
    ) {
        self.collected = collected
        self.handle = handle
        self.parameters = parameters
        self.count = count
        self.profiles = profiles
        self.profile = profile
    }

    /// Writes the next column.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a value that SQLite cannot hold, such as NaN; SQLite's error, such as
    ///   ``ResultCode/tooBig``; or ``DatabaseError/Reason/misuse`` after the last column.
    @inlinable
    @inline(__always)
    public mutating func put<T: SQLValueConvertible>(_ value: T) throws {
        let index = index
        if index >= count { throw pastEnd() }
        self.index = index &+ 1
        guard let handle else { return try collect(value, index) }
        let parameter = parameters[index]
        if parameter > 0 {
            try Statement._Parameter(handle, parameter, profiles?[index] ?? profile).put(value)
        } else if parameter < 0 {
            hasOtherColumns = true
        }
    }

    /// Writes the next column from an `Encodable` type: a single value, or else JSON in the type's
    /// ``JSONCodingOptions/columnFormat``. Nil is NULL.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a value that JSON cannot hold, and any error of the value's own
    ///   encoding.
    @_disfavoredOverload
    public mutating func put<T: Encodable>(_ value: T) throws {
        // A value that is not bound is not encoded.
        if handle != nil, index < count, parameters[index] == 0 { return try put(SQLValue.null) }
        let profile = index < count ? profiles?[index] ?? profile : profile
        switch try ColumnEncoder.encode(value, [], profile.jsonDates) {
        case let simple?: try put(any: simple)
        case nil: try put(SQLValue.null)
        }
    }

    /// Writes the next column from a property with a default, or leaves the column out if the property is not set.
    /// - Throws: the errors of `put` for a value of this type.
    public mutating func put<T: SQLValueConvertible>(_ property: ColumnDefault<T>) throws {
        if property.isSet { try put(property.wrappedValue) } else { try leaveOut() }
    }

    /// Writes the next column from a property with a default, or leaves the column out if the property is not set.
    /// - Throws: the errors of `put` for a value of this type.
    @_disfavoredOverload
    public mutating func put<T: Encodable>(_ property: ColumnDefault<T>) throws {
        if property.isSet { try put(property.wrappedValue) } else { try leaveOut() }
    }

    /// Leaves out the next column: an insertion gives the column its default, and an update does not change it.
    /// - Throws: ``DatabaseError/Reason/misuse`` after the last column.
    public mutating func leaveOut() throws {
        if index >= count { throw pastEnd() }
        if handle == nil { collected?.pointee.append(nil) } else if parameters[index] > 0 { hasOtherColumns = true }
        index += 1
    }

    private mutating func put(any value: some SQLValueConvertible) throws { try put(value) }

    @usableFromInline
    @inline(never)
    mutating func collect(_ value: some SQLValueConvertible, _ index: Int) throws {
        collected?.pointee.append(try value.sqlValue(in: profiles?[index] ?? profile))
    }

    @usableFromInline
    @inline(never)
    borrowing func pastEnd() -> DatabaseError { .misuse("a record writes more columns than its recordColumns names") }

    /// - Throws: ``DatabaseError/Reason/misuse`` if columns are missing.
    func checkEnd(_ type: any Any.Type) throws {
        if index != count {
            throw DatabaseError.misuse("\(type) writes \(count - index) columns fewer than its recordColumns names")
        }
    }
}
