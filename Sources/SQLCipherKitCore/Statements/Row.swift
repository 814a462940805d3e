import CSQLCipher

/// A statement's current row.
///
/// A row is lent to a closure or an initializer and cannot be stored; the compiler prevents it. Read the values that you need, or
/// make an ``OwnedRow``.
/// ```swift
/// try db.forEach("SELECT id, title FROM note") { row in
///     let id: Int = try row[0]
///     let title: String? = try row["title"]
///     print(id, title ?? "untitled")
/// }
/// ```
/// Reading by index costs the same as SQLite's own call. A name that you write as a literal adds a comparison of addresses, and a
/// name in a variable adds a comparison of strings.
@frozen
public struct Row: ~Copyable {
    @usableFromInline package let handle: OpaquePointer
    // The statement keeps them alive while a row is lent: atomic reference counting for each row would cost more than reading a
    // column.
    @usableFromInline package let unretainedNames: Unmanaged<ColumnNames>

    @inlinable
    @inline(__always)
    package init(_ handle: OpaquePointer, _ names: Unmanaged<ColumnNames>) {
        self.handle = handle
        unretainedNames = names
    }

    @usableFromInline
    package var names: ColumnNames { unretainedNames.takeUnretainedValue() }

    /// True if all columns that can be found by name are NULL.
    @usableFromInline
    package var isAllNull: Bool { names.range.allSatisfy { sqlite3_column_type(handle, Int32($0)) == SQLITE_NULL } }

    /// The number of columns.
    public var count: Int { names.count }

    /// The columns' names, as SQLite reports them.
    public var columnNames: [String] { names.names }

    /// The value of a column by its index, counted from 0.
    /// - Throws: ``DatabaseError/Reason/noSuchColumn``, ``DatabaseError/Reason/unexpectedNull`` or
    ///   ``DatabaseError/Reason/typeMismatch``.
    @inlinable
    public subscript<T: SQLValueConvertible>(index: Int) -> T {
        @inline(__always)
        get throws { try Row._Column(handle, Int32(clamping: index)).read(as: T.self) }
    }

    /// The value of a column by its name. If no name matches exactly, ASCII case is ignored.
    ///
    /// If several columns have the same name, this is the first: use `AS` to rename them.
    /// - Throws: ``DatabaseError/Reason/noSuchColumn``, ``DatabaseError/Reason/unexpectedNull`` or
    ///   ``DatabaseError/Reason/typeMismatch``.
    @inlinable
    public subscript<T: SQLValueConvertible>(name: StaticString) -> T {
        @inline(__always)
        get throws {
            let index = unretainedNames._withUnsafeGuaranteedRef { $0.index(of: name) }
            if index < 0 { throw noColumn("\(name)") }
            return try Row._Column(handle, index).read(as: T.self)
        }
    }

    /// The value of a column by a name known only at run time.
    /// - Throws: the same errors as for a literal name.
    // Generic over the kind of string, because a literal prefers a plain `String` to the overload above.
    @inlinable
    @_disfavoredOverload
    public subscript<T: SQLValueConvertible>(name: some StringProtocol) -> T {
        get throws { try Row._Column(handle, index(of: String(name))).read(as: T.self) }
    }

    /// The value of a column as a given type, for when the context does not determine the type.
    /// - Throws: the same errors as the subscript.
    @inlinable
    @inline(__always)
    public func get<T: SQLValueConvertible>(_ index: Int, as type: T.Type = T.self) throws -> T {
        try self[index]
    }

    /// The value of a column as a given type, for when the context does not determine the type.
    /// - Throws: the same errors as the subscript.
    @inlinable
    @inline(__always)
    public func get<T: SQLValueConvertible>(_ name: StaticString, as type: T.Type = T.self) throws -> T {
        try self[name]
    }

    /// Lends the bytes of a text or blob column without copying them, for the duration of the closure.
    /// - Throws: ``DatabaseError/Reason/unexpectedNull``, ``DatabaseError/Reason/typeMismatch``,
    ///   ``DatabaseError/Reason/noSuchColumn``, or any error that `body` throws.
    @inlinable
    public func withUnsafeBytes<R>(at index: Int, _ body: (UnsafeRawBufferPointer) throws -> R) throws -> R {
        try Row._Column(handle, Int32(clamping: index)).withUnsafeBytes(body)
    }

    /// The index of a column by its name.
    /// - Throws: ``DatabaseError/Reason/noSuchColumn``.
    @inlinable
    func index(of name: String) throws -> Int32 {
        let index = unretainedNames._withUnsafeGuaranteedRef { $0.index(of: name) }
        if index < 0 { throw noColumn(name) }
        return index
    }

    @usableFromInline
    @inline(never)
    package func noColumn(_ name: String) -> DatabaseError {
        DatabaseError(
            code: .range, reason: .noSuchColumn,
            message: "no column named \(name); there is \(names.names.joined(separator: ", "))",
            sql: sqlite3_sql(handle).map { String(cString: $0) })
    }
}

/// A type that is read from a row. Every call that fetches or observes rows takes such a type: `fetchAll`, `fetchOne` and `cursor`,
/// with SQL or with a query.
///
/// A record (``SQLRecord``, `@Record`) conforms without any code of yours, and a plain `Decodable` type needs no conformance. Write
/// ``init(row:)`` for the fastest reading, or for a type whose properties are not columns:
/// ```swift
/// struct Note: SQLRowConvertible {
///     var id: Int
///     var title: String
///     init(row: borrowing Row) throws {
///         id = try row["id"]
///         title = try row["title"]
///     }
/// }
/// let notes = try db.fetchAll(Note.self, "SELECT id, title FROM note")
/// ```
public protocol SQLRowConvertible {
    /// Creates the value from the row's columns.
    /// - Throws: any error, which ends the fetch and reaches the caller as it is. Reading a column throws
    ///   ``DatabaseError/Reason/noSuchColumn``, ``DatabaseError/Reason/unexpectedNull`` or ``DatabaseError/Reason/typeMismatch``.
    init(row: borrowing Row) throws
}

/// Nil is a row whose columns are all NULL, as an outer join gives for a table without a match.
extension Optional: SQLRowConvertible where Wrapped: SQLRowConvertible {
    /// Reads the value; nil if all columns are NULL.
    /// - Throws: the error of the wrapped type's own initializer.
    @inlinable
    public init(row: borrowing Row) throws { self = row.isAllNull ? nil : try Wrapped(row: row) }
}

/// A row's values, copied out of the statement, for rows of unknown shape.
///
/// Copying a row creates an ``SQLValue`` for each column, which an ``SQLRowConvertible`` type, a tuple or a single value avoids.
public struct OwnedRow: SQLRowConvertible, Hashable, Sendable {
    /// The columns' names, in order.
    public let columnNames: [String]
    /// The columns' values, in order.
    public let values: [SQLValue]

    private let profile: ValueProfile

    package init(columnNames: [String], values: [SQLValue], profile: ValueProfile) {
        self.columnNames = columnNames
        self.values = values
        self.profile = profile
    }

    /// Copies a row.
    /// - Throws: ``DatabaseError/Reason/typeMismatch`` for a text that is not UTF-8.
    public init(row: borrowing Row) throws {
        var values: [SQLValue] = []
        values.reserveCapacity(row.count)
        for index in 0..<row.count { values.append(try row[index]) }
        self.values = values
        columnNames = row.columnNames
        profile = .of(row.handle)
    }

    /// The values by their columns' names. If several columns have the same name, the first counts.
    public var dictionary: [String: SQLValue] { Dictionary(zip(columnNames, values), uniquingKeysWith: { first, _ in first }) }

    /// Returns whether column names and values are the same. Names and texts are compared byte for byte.
    public static func == (a: OwnedRow, b: OwnedRow) -> Bool {
        a.values == b.values && a.columnNames.elementsEqual(b.columnNames) { $0.isSameText(as: $1) }
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(values) }

    /// The value of a column by its index, converted.
    /// - Throws: ``DatabaseError/Reason/noSuchColumn``, ``DatabaseError/Reason/unexpectedNull`` or
    ///   ``DatabaseError/Reason/typeMismatch``.
    public subscript<T: SQLValueConvertible>(index: Int) -> T {
        get throws {
            guard values.indices.contains(index) else {
                throw DatabaseError(
                    code: .range, reason: .noSuchColumn,
                    message: "no column with index \(index): the row has \(values.count) columns")
            }
            guard let value = T(sqlValue: values[index], in: profile) else {
                throw DatabaseError(
                    code: .mismatch, reason: values[index].isNull ? .unexpectedNull : .typeMismatch,
                    message:
                        "column \(columnNames[index]) holds \(values[index].storageClass.rawValue), "
                        + "which cannot be read as \(T.self)"
                )
            }
            return value
        }
    }

    /// The value of a column by its name, converted. If several columns have that name, the first counts.
    /// - Throws: the same errors as for an index.
    public subscript<T: SQLValueConvertible>(name: String) -> T {
        get throws {
            guard
                let index = columnNames.firstIndex(ofText: name) ?? columnNames.firstIndex(named: name)
            else {
                throw DatabaseError(
                    code: .range, reason: .noSuchColumn,
                    message: "no column named \(name); there is \(columnNames.joined(separator: ", "))")
            }
            return try self[index]
        }
    }
}

/// Steps through a result one element at a time. Use it for results that are too large for memory, or if you may stop before the
/// end.
/// ```swift
/// let titles = try db.cursor(String.self, "SELECT title FROM note ORDER BY title")
/// while let title = try titles.next() { print(title) }
/// ```
/// An open cursor keeps a read transaction open: read to the end, ``close()`` it or release it. If the statement writes and returns
/// rows, it commits when its cursor ends, and an error of the commit is thrown at the last row: fetch such rows instead.
public final class RowCursor<Element> {
    private var statement: Statement?
    private let decode: (borrowing Row) throws -> Element
    /// The columns' names in the result.
    public let columnNames: [String]

    package init(_ statement: Statement, _ decode: @escaping (borrowing Row) throws -> Element) {
        self.statement = statement
        self.decode = decode
        columnNames = statement.columnNames
    }

    /// Returns the next element. At the end, closes the cursor and returns nil.
    /// - Throws: ``DatabaseError``, such as ``DatabaseError/Reason/closed`` if the connection was closed meanwhile, or any error
    ///   that the element's initializer throws. After an error from SQLite the cursor is closed.
    public func next() throws -> Element? {
        guard let statement else { return nil }
        let handle = try statement.beginStep()
        defer { statement.endStep() }
        do {
            guard try statement.advance(handle) else {
                close()
                return nil
            }
        } catch {
            close()
            throw error
        }
        return try decode(Row(handle, statement.names(handle)))
    }

    /// Returns the remaining elements.
    /// - Throws: the same errors as ``next()``.
    public func collect() throws -> [Element] {
        var elements: [Element] = []
        while let element = try next() { elements.append(element) }
        return elements
    }

    /// Closes the cursor. Closing it again does nothing.
    public func close() { statement = nil }

    /// True if there may be more elements.
    public var isOpen: Bool { statement?.handle != nil }
}
