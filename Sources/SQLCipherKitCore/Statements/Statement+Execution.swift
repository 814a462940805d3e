import CSQLCipher

extension Statement {
    /// Runs the statement to its end and ignores any rows that it returns.
    /// - Throws: SQLite's error; ``DatabaseError/Reason/parameters`` for missing, surplus or unknown parameters;
    ///   ``DatabaseError/Reason/closed``; or ``DatabaseError/Reason/misuse`` while another call steps through the statement's rows,
    ///   and inside a hook.
    public func execute(_ arguments: StatementArguments = []) throws {
        let handle = try beginUse()
        defer { endUse(handle) }
        try bindAll(arguments, handle)
        try drain(handle)
    }

    /// Calls `body` with each row in order, without keeping any.
    /// - Throws: SQLite's error, or any error that `body` throws; either ends the loop.
    @inlinable
    public func forEach(_ arguments: StatementArguments = [], _ body: (borrowing Row) throws -> Void) throws {
        let handle = try beginUse()
        defer { endUse(handle) }
        try bindAll(arguments, handle)
        guard try advance(handle) else { return }
        let row = Row(handle, names(handle))
        repeat { try body(row) } while try advance(handle)
    }

    /// Advances to the next row. Returns false at the end.
    @inlinable
    @inline(__always)
    package func advance(_ handle: OpaquePointer) throws -> Bool {
        if self.handle == nil { throw DatabaseError.closedConnection }
        let rc = sqlcipherkit_sqlite3_step(handle)
        if rc == SQLITE_ROW { return true }
        if rc == SQLITE_DONE { return false }
        throw failure(rc)
    }

    /// Advances to the first row, unless the schema has changed since the statement was compiled: then nothing is done.
    /// - Returns: whether there is a row; nil if the statement must be compiled again.
    package func advanceAsCompiled(_ handle: OpaquePointer) throws -> Bool? {
        if self.handle == nil { throw DatabaseError.closedConnection }
        switch sqlcipherkit_step_as_compiled(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case SQLITE_SCHEMA: return nil
        case let rc: throw failure(rc)
        }
    }

    @inlinable
    @inline(__always)
    package func drain(_ handle: OpaquePointer) throws {
        while try advance(handle) {}
    }
}

/// Fetching. Each method is compiled into the caller.
extension Statement {
    /// Reads all rows as values.
    @inlinable
    @inline(__always)
    func values<T>(
        _ arguments: StatementArguments, _ read: (OpaquePointer) throws -> T
    ) throws -> [T] {
        let handle = try beginUse()
        defer { endUse(handle) }
        try bindAll(arguments, handle)
        var result: [T] = []
        while try advance(handle) { result.append(try read(handle)) }
        return result
    }

    /// Reads the first row as a value. Later rows are not computed.
    @inlinable
    @inline(__always)
    func value<T>(
        _ bind: (OpaquePointer) throws -> Void, _ read: (OpaquePointer) throws -> T?
    ) throws -> T? {
        let handle = try beginUse()
        defer { endUse(handle) }
        try bind(handle)
        guard try advance(handle) else { return nil }
        let value = try read(handle)
        try finish(handle)
        return value
    }

    /// Reads the first row as `decode` does. Later rows are not computed.
    @inlinable
    @inline(__always)
    func row<T>(
        _ bind: (OpaquePointer) throws -> Void, _ decode: (borrowing Row) throws -> T
    ) throws -> T? {
        let handle = try beginUse()
        defer { endUse(handle) }
        try bind(handle)
        guard try advance(handle) else { return nil }
        let value = try decode(Row(handle, names(handle)))
        try finish(handle)
        return value
    }

    /// Reads all rows as `decode` does.
    @inlinable
    @inline(__always)
    func rows<T>(_ arguments: StatementArguments, _ decode: (borrowing Row) throws -> T) throws -> [T] {
        var result: [T] = []
        try forEach(arguments) { row in result.append(try decode(row)) }
        return result
    }

    /// Returns the first column of each row.
    /// - Throws: SQLite's error, ``DatabaseError/Reason/unexpectedNull`` or ``DatabaseError/Reason/typeMismatch``.
    @inlinable
    public func fetchAll<T: SQLValueConvertible>(
        _ type: T.Type = T.self, _ arguments: StatementArguments = []
    ) throws -> [T] {
        try values(arguments) { handle in try Row._Column(handle, 0).read(as: T.self) }
    }

    /// Returns the first column of the first row; nil if there is no row or the value is NULL. Later rows are not computed.
    /// - Throws: SQLite's error, or ``DatabaseError/Reason/typeMismatch``.
    @inlinable
    public func fetchOne<T: SQLValueConvertible>(
        _ type: T.Type = T.self, _ arguments: StatementArguments = []
    ) throws -> T? {
        try value { handle in try bindAll(arguments, handle) } _: { handle in
            try Row._Column(handle, 0).readUnlessNull(as: T.self)
        }
    }

    /// Returns the first column of the first row for an optional type, without wrapping nil twice.
    /// - Throws: SQLite's error, or ``DatabaseError/Reason/typeMismatch``.
    @inlinable
    @_documentation(visibility: private)
    public func fetchOne<T: SQLValueConvertible>(
        _ type: T?.Type, _ arguments: StatementArguments = []
    ) throws -> T? { try fetchOne(T.self, arguments) }

    /// Returns each row as a record.
    /// - Throws: the errors of ``execute(_:)``, or any error that reading a row as the type throws.
    @inlinable
    public func fetchAll<T: SQLRowConvertible>(_ type: T.Type = T.self, _ arguments: StatementArguments = []) throws -> [T] {
        try rows(arguments) { row in try T(row: row) }
    }

    /// Returns the first row as a record, or nil if there is no row.
    /// - Throws: the errors of ``execute(_:)``, or any error that reading a row as the type throws.
    @inlinable
    public func fetchOne<T: SQLRowConvertible>(_ type: T.Type = T.self, _ arguments: StatementArguments = []) throws -> T? {
        try row { handle in try bindAll(arguments, handle) } _: { row in try T(row: row) }
    }

    /// Returns each row as a `Decodable` type; see ``Row/decode(_:)``.
    /// - Throws: the errors of ``execute(_:)`` and of ``Row/decode(_:)``.
    @inlinable
    @_disfavoredOverload
    public func fetchAll<T: Decodable>(_ type: T.Type = T.self, _ arguments: StatementArguments = []) throws -> [T] {
        try rows(arguments) { row in try row.decode(type) }
    }

    /// Returns the first row as a `Decodable` type, or nil if there is no row.
    /// - Throws: the errors of ``execute(_:)`` and of ``Row/decode(_:)``.
    @inlinable
    @_disfavoredOverload
    public func fetchOne<T: Decodable>(_ type: T.Type = T.self, _ arguments: StatementArguments = []) throws -> T? {
        try row { handle in try bindAll(arguments, handle) } _: { row in try row.decode(type) }
    }

    /// Returns the first columns of each row as a tuple. The result may have more columns than the tuple.
    /// - Throws: SQLite's error; ``DatabaseError/Reason/unexpectedNull`` or ``DatabaseError/Reason/typeMismatch`` for a value that
    ///   is not of its element's type; or ``DatabaseError/Reason/noSuchColumn`` if the rows have fewer columns than the tuple.
    @inlinable
    public func fetchAll<
        A: SQLValueConvertible, B: SQLValueConvertible, each T: SQLValueConvertible
    >(
        _ type: (A, B, repeat each T).Type = (A, B, repeat each T).self, _ arguments: StatementArguments = []
    ) throws -> [(A, B, repeat each T)] {
        try values(arguments) { handle in try tuple(handle) }
    }

    /// Returns the first columns of the first row as a tuple, or nil if there is no row. Later rows are not computed.
    /// - Throws: SQLite's error; ``DatabaseError/Reason/unexpectedNull`` or ``DatabaseError/Reason/typeMismatch`` for a value that
    ///   is not of its element's type; or ``DatabaseError/Reason/noSuchColumn`` if the rows have fewer columns than the tuple.
    @inlinable
    public func fetchOne<
        A: SQLValueConvertible, B: SQLValueConvertible, each T: SQLValueConvertible
    >(
        _ type: (A, B, repeat each T).Type = (A, B, repeat each T).self, _ arguments: StatementArguments = []
    ) throws -> (A, B, repeat each T)? {
        try value { handle in try bindAll(arguments, handle) } _: { handle in
            try tuple(handle)
        }
    }

    @inlinable
    @inline(__always)
    func tuple<
        A: SQLValueConvertible, B: SQLValueConvertible, each T: SQLValueConvertible
    >(_ handle: OpaquePointer) throws -> (A, B, repeat each T) {
        var index: Int32 = -1
        func next() -> Int32 {
            index &+= 1
            return index
        }
        return (
            try Row._Column(handle, next()).read(as: A.self), try Row._Column(handle, next()).read(as: B.self),
            repeat try Row._Column(handle, next()).read(as: (each T).self)
        )
    }
}

/// Stepping by hand: bind, step, read columns, reset.
extension Statement {
    /// Advances to the next row. Returns false at the end; the next call then starts again.
    ///
    /// A statement with a current row keeps its read transaction open: ``reset()`` it if you stop before the end.
    /// - Throws: SQLite's error; ``DatabaseError/Reason/closed``; or ``DatabaseError/Reason/misuse`` while a call steps through the
    ///   statement's rows, and inside a hook.
    @discardableResult
    public func step() throws -> Bool {
        let handle = try beginStep()
        do {
            if try advance(handle) {
                endStep()
                return true
            }
        } catch {
            endUse(handle)
            throw error
        }
        endUse(handle)
        return false
    }

    /// Returns to before the first row and keeps the bound values.
    /// - Throws: ``DatabaseError/Reason/closed``, or ``DatabaseError/Reason/misuse`` while a call steps through its rows.
    public func reset() throws {
        let handle = try beginStep()
        defer { endUse(handle) }
        try finish(handle)
    }

    /// Sets all parameters to NULL. The statement must not have a current row.
    /// - Throws: ``DatabaseError/Reason/closed``, or ``DatabaseError/Reason/misuse`` if there is a current row.
    public func clearBindings() throws {
        let handle = try idle()
        sqlite3_clear_bindings(handle)
        shownArguments = nil
    }

    /// Binds all parameters. The statement must not have a current row.
    /// - Throws: ``DatabaseError/Reason/parameters``, or ``DatabaseError/Reason/misuse`` if there is a current row.
    public func bind(_ arguments: StatementArguments) throws {
        try bindAll(arguments, idle())
    }

    /// Binds one parameter by its position, counted from 1. The statement must not have a current row.
    /// - Throws: ``DatabaseError/Reason/parameters``, or ``DatabaseError/Reason/misuse`` if there is a current row.
    public func bind(_ value: (any SQLValueConvertible)?, at position: Int) throws {
        try bind(value, Int32(clamping: position), idle())
    }

    /// The value of a column in the current row, by its index, counted from 0.
    /// - Throws: ``DatabaseError/Reason/noSuchColumn``, also if there is no current row, ``DatabaseError/Reason/unexpectedNull``,
    ///   ``DatabaseError/Reason/typeMismatch`` or ``DatabaseError/Reason/closed``.
    public subscript<T: SQLValueConvertible>(index: Int) -> T {
        get throws { try Row._Column(live(), Int32(clamping: index)).read(as: T.self) }
    }

    /// The value of a column in the current row, by its name. If no name matches exactly, ASCII case is ignored.
    /// - Throws: the same errors as for an index.
    public subscript<T: SQLValueConvertible>(name: String) -> T {
        get throws {
            let handle = try live()
            return try Row._Column(handle, Row(handle, names(handle)).index(of: name)).read(as: T.self)
        }
    }

    private func idle() throws -> OpaquePointer {
        let handle = try live()
        if uses != 0 || sqlite3_stmt_busy(handle) != 0 {
            throw DatabaseError.misuse("the statement has a current row: reset it before binding values", sql: sql)
        }
        return handle
    }
}

extension Statement {
    /// Runs this statement, an INSERT, once for each row of a query: the row's stored values are bound to its parameters in order.
    /// - Parameter eachRow: called after each row with the number of rows so far.
    package func insertRows(of query: Statement, eachRow: (Int) throws -> Void) throws {
        let from = try query.live(), to = try live()
        let columns = sqlite3_column_count(from)
        var row = 0
        while try query.step() {
            for column in 0..<columns {
                try connection.check(sqlite3_bind_value(to, column + 1, sqlite3_column_value(from, column)))
            }
            try step()
            row += 1
            try eachRow(row)
        }
    }
}

/// `execute(binding:)` and `fetchOne(_:binding:)` for common numbers of values.
///
/// A parameter pack would cover all of them, and does so for larger numbers. But Swift 6.3 does not specialise it: 10 values of
/// their own take 0.14 µs, 11 values in a pack take 1.2 µs.

/// Binds values in order.
@usableFromInline
struct Binder: ~Copyable {
    @usableFromInline let handle: OpaquePointer
    @usableFromInline let profile: ValueProfile
    @usableFromInline var count: Int32 = 0

    @inlinable
    @inline(__always)
    init(_ handle: OpaquePointer, _ profile: ValueProfile) {
        self.handle = handle
        self.profile = profile
    }

    @inlinable
    @inline(__always)
    mutating func put<T: SQLValueConvertible>(_ value: T) throws {
        if T.self == Statement._NoValue.self { return }
        count &+= 1
        try Statement._Parameter(handle, count, profile).put(value)
    }
}

extension Statement {
    /// A placeholder for each value that is left out of `execute(binding:)` for ten values. It is never bound.
    public struct _NoValue: SQLValueConvertible {
        @inlinable
        public init() {}
        public init?(sqlValue: SQLValue) { return nil }
        public var sqlValue: SQLValue { .null }
    }

    /// Runs the statement with more values for its parameters, in order.
    /// - Throws: the errors of ``execute(_:)``; ``DatabaseError/Reason/parameters`` for too few or too many values.
    @inlinable
    @_disfavoredOverload
    public func execute<each Value: SQLValueConvertible>(binding values: repeat each Value) throws {
        let handle = try beginUse()
        defer { endUse(handle) }
        try bindEach(handle, repeat each values)
        try drain(handle)
    }

    /// Returns the first column of the first row, with these values for the parameters; nil if there is no row or the value is
    /// NULL. Faster than an array, because nothing is boxed.
    /// - Throws: SQLite's error, or ``DatabaseError/Reason/typeMismatch``.
    @inlinable
    @_disfavoredOverload
    public func fetchOne<T: SQLValueConvertible, each Value: SQLValueConvertible>(
        _ type: T.Type = T.self, binding values: repeat each Value
    ) throws -> T? {
        try value { handle in try bindEach(handle, repeat each values) } _: { handle in
            try Row._Column(handle, 0).readUnlessNull(as: T.self)
        }
    }

    /// Returns the first row as a record, with these values for the parameters, or nil if there is no row. Faster than an array,
    /// because nothing is boxed.
    /// - Throws: the errors of ``execute(_:)``, or any error that reading a row as the type throws.
    @inlinable
    @_disfavoredOverload
    public func fetchOne<T: SQLRowConvertible, each Value: SQLValueConvertible>(
        _ type: T.Type = T.self, binding values: repeat each Value
    ) throws -> T? {
        try row { handle in try bindEach(handle, repeat each values) } _: { row in try T(row: row) }
    }

    @inlinable
    @inline(__always)
    func bindEach<each Value: SQLValueConvertible>(_ handle: OpaquePointer, _ values: repeat each Value) throws {
        let profile = connection.profile
        var index: Int32 = 0
        for value in repeat each values {
            index &+= 1
            try Statement._Parameter(handle, index, profile).put(value)
        }
        try expectParameters(Int(index), handle)
    }

    // Each method begins and ends the use itself: a closure around the values, or a `Binder` that holds the statement, would take
    // about a third more instructions.

    @inlinable
    @inline(__always)
    func run(_ binder: borrowing Binder) throws {
        try expectParameters(Int(binder.count), binder.handle)
        try drain(binder.handle)
    }

    /// Runs the statement with these values for its parameters, in order. Faster than an array, because nothing is boxed.
    ///
    /// Up to ten values are fastest; beyond that, each value costs some nanoseconds more.
    /// - Throws: ``DatabaseError/Reason/parameters`` for too few or too many values, or SQLite's error.
    @inlinable
    @_documentation(visibility: private)
    public func execute<
        A: SQLValueConvertible, B: SQLValueConvertible, C: SQLValueConvertible, D: SQLValueConvertible, E: SQLValueConvertible,
        F: SQLValueConvertible, G: SQLValueConvertible, H: SQLValueConvertible, I: SQLValueConvertible, J: SQLValueConvertible
    >(
        binding a: A, _ b: B = _NoValue(), _ c: C = _NoValue(), _ d: D = _NoValue(), _ e: E = _NoValue(), _ f: F = _NoValue(),
        _ g: G = _NoValue(), _ h: H = _NoValue(), _ i: I = _NoValue(), _ j: J = _NoValue()
    ) throws {
        let handle = try beginUse()
        defer { endUse(handle) }
        var binder = Binder(handle, connection.profile)
        try binder.put(a); try binder.put(b); try binder.put(c); try binder.put(d); try binder.put(e)
        try binder.put(f); try binder.put(g); try binder.put(h); try binder.put(i); try binder.put(j)
        try run(binder)
    }

    /// Returns the first column of the first row, with this value for the parameter; nil if there is no row or the value is NULL.
    /// - Throws: ``DatabaseError/Reason/parameters`` unless the statement has one parameter, SQLite's error, or
    ///   ``DatabaseError/Reason/typeMismatch``.
    @inlinable
    @_documentation(visibility: private)
    public func fetchOne<T: SQLValueConvertible, A: SQLValueConvertible>(
        _ type: T.Type = T.self, binding a: A
    ) throws -> T? {
        let handle = try beginUse()
        defer { endUse(handle) }
        try _Parameter(handle, 1, connection.profile).put(a)
        try expectParameters(1, handle)
        guard try advance(handle) else { return nil }
        let value = try Row._Column(handle, 0).readUnlessNull(as: T.self)
        try finish(handle)
        return value
    }

    /// Returns the first row as a record, with this value for the parameter; nil if there is no row.
    /// - Throws: ``DatabaseError/Reason/parameters`` unless the statement has one parameter, SQLite's error, or any error that
    ///   reading the row as the type throws.
    @inlinable
    @_documentation(visibility: private)
    public func fetchOne<T: SQLRowConvertible, A: SQLValueConvertible>(_ type: T.Type = T.self, binding a: A) throws -> T? {
        let handle = try beginUse()
        defer { endUse(handle) }
        try _Parameter(handle, 1, connection.profile).put(a)
        try expectParameters(1, handle)
        guard try advance(handle) else { return nil }
        let value = try T(row: Row(handle, names(handle)))
        try finish(handle)
        return value
    }
}
