import CSQLCipher

/// The row that a statement stands on.
///
/// A row is lent to a closure or an initialiser and cannot be kept: the compiler refuses it. Take what you need out of it,
/// or make a ``RowCopy`` of it.
/// ```swift
/// try db.forEach("SELECT id, title FROM note") { row in
///     let id: Int = try row[0]
///     let title: String? = try row["title"]
///     print(id, title ?? "untitled")
/// }
/// ```
/// Reading by index costs what SQLite's own call costs; a name written as a literal costs a comparison of addresses more, a
/// name in a variable a comparison of strings.
@frozen
public struct Row: ~Copyable {
    @usableFromInline let handle: OpaquePointer
    // The statement keeps them for as long as a row is lent: an atomic count for each row would cost more than a column.
    @usableFromInline let unretainedNames: Unmanaged<ColumnNames>

    @inlinable
    @inline(__always)
    init(_ handle: OpaquePointer, _ names: Unmanaged<ColumnNames>) {
        self.handle = handle
        unretainedNames = names
    }

    @usableFromInline
    var names: ColumnNames { unretainedNames.takeUnretainedValue() }

    /// Whether each column that can be found by name is NULL.
    @usableFromInline
    var isAllNull: Bool { names.range.allSatisfy { sqlite3_column_type(handle, Int32($0)) == SQLITE_NULL } }

    /// The number of columns.
    public var count: Int { names.count }

    /// The columns' names, as SQLite gives them.
    public var columnNames: [String] { names.names }

    /// The value of a column by its index, counted from 0.
    /// - Throws: ``DatabaseError/Reason/noSuchColumn``, ``DatabaseError/Reason/unexpectedNull`` or
    ///   ``DatabaseError/Reason/typeMismatch``.
    @inlinable
    public subscript<T: SQLValueConvertible>(index: Int) -> T {
        @inline(__always)
        get throws(DatabaseError) { try Row.Column(handle, Int32(clamping: index)).read(as: T.self) }
    }

    /// The value of a column by its name; a name that is written differently only in ASCII case matches where no other does.
    ///
    /// Of several columns with the same name the first is meant: name them apart with `AS`.
    /// - Throws: ``DatabaseError/Reason/noSuchColumn``, ``DatabaseError/Reason/unexpectedNull`` or
    ///   ``DatabaseError/Reason/typeMismatch``.
    @inlinable
    public subscript<T: SQLValueConvertible>(name: StaticString) -> T {
        @inline(__always)
        get throws(DatabaseError) {
            let index = unretainedNames._withUnsafeGuaranteedRef { $0.index(of: name) }
            if index < 0 { throw noColumn("\(name)") }
            return try Row.Column(handle, index).read(as: T.self)
        }
    }

    /// The value of a column by a name known only at run time.
    // Generic over the kind of string, because a literal prefers a plain `String` to the overload above.
    @inlinable
    @_disfavoredOverload
    public subscript<T: SQLValueConvertible>(name: some StringProtocol) -> T {
        get throws(DatabaseError) { try Row.Column(handle, index(of: String(name))).read(as: T.self) }
    }

    /// The value of a column as a given type, for where the context does not tell it.
    @inlinable
    @inline(__always)
    public func get<T: SQLValueConvertible>(_ index: Int, as type: T.Type = T.self) throws(DatabaseError) -> T {
        try self[index]
    }

    /// The value of a column as a given type, for where the context does not tell it.
    @inlinable
    @inline(__always)
    public func get<T: SQLValueConvertible>(_ name: StaticString, as type: T.Type = T.self) throws(DatabaseError) -> T {
        try self[name]
    }

    /// The bytes of a text or blob column without a copy, valid during the closure only.
    /// - Throws: ``DatabaseError/Reason/unexpectedNull``, ``DatabaseError/Reason/typeMismatch``,
    ///   ``DatabaseError/Reason/noSuchColumn``, and what `body` throws.
    @inlinable
    public func withUnsafeBytes<R>(at index: Int, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R {
        try Row.Column(handle, Int32(clamping: index)).withUnsafeBytes(body)
    }

    /// The index of a column by its name.
    /// - Throws: ``DatabaseError/Reason/noSuchColumn``.
    @inlinable
    func index(of name: String) throws(DatabaseError) -> Int32 {
        let index = unretainedNames._withUnsafeGuaranteedRef { $0.index(of: name) }
        if index < 0 { throw noColumn(name) }
        return index
    }

    @usableFromInline
    @inline(never)
    func noColumn(_ name: String) -> DatabaseError {
        DatabaseError(
            code: .range, reason: .noSuchColumn,
            message: "no column named \(name); there is \(names.names.joined(separator: ", "))",
            sql: sqlite3_sql(handle).map { String(cString: $0) })
    }
}

/// A type that is made from a row: the fast way to read records.
/// ```swift
/// struct Note: SQLRow {
///     var id: Int
///     var title: String
///     init(row: borrowing Row) throws {
///         id = try row["id"]
///         title = try row["title"]
///     }
/// }
/// let notes = try db.fetchAll(Note.self, "SELECT id, title FROM note")
/// ```
public protocol SQLRow {
    /// Reads the columns that make the value.
    init(row: borrowing Row) throws
}
