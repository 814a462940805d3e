import CSQLCipher

extension Statement {
    /// Runs the statement to its end and ignores any rows that it returns.
    /// - Throws: ``DatabaseError`` with SQLite's error, or with ``DatabaseError/Reason/parameters``.
    public func execute(_ arguments: StatementArguments = []) throws(DatabaseError) {
        let handle = try beginUse()
        defer { endUse(handle) }
        try bindAll(arguments, handle)
        try drain(handle)
    }

    /// Runs the statement with more values for its parameters, in order.
    @inlinable
    @_disfavoredOverload
    public func execute<each Value: SQLValueConvertible>(binding values: repeat each Value) throws(DatabaseError) {
        let handle = try beginUse()
        defer { endUse(handle) }
        try bindEach(handle, repeat each values)
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

    /// Returns all rows as values that `decode` makes of them.
    @inlinable
    package func collect<T>(_ handle: OpaquePointer, _ decode: (borrowing Row) throws -> T) throws -> [T] {
        var result: [T] = []
        guard try advance(handle) else { return result }
        let row = Row(handle, names(handle))
        repeat { result.append(try decode(row)) } while try advance(handle)
        return result
    }

    /// Advances to the next row. Returns false at the end.
    @inlinable
    @inline(__always)
    package func advance(_ handle: OpaquePointer) throws(DatabaseError) -> Bool {
        if self.handle == nil { throw DatabaseError.closedConnection }
        let rc = sqlcipherkit_sqlite3_step(handle)
        if rc == SQLITE_ROW { return true }
        if rc == SQLITE_DONE { return false }
        throw failure(rc)
    }

    /// Advances to the first row, unless the schema has changed since the statement was compiled: then nothing is done.
    /// - Returns: whether there is a row; nil if the statement must be compiled again.
    package func advanceAsCompiled(_ handle: OpaquePointer) throws(DatabaseError) -> Bool? {
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
    package func drain(_ handle: OpaquePointer) throws(DatabaseError) {
        while try advance(handle) {}
    }

    @inlinable
    @inline(__always)
    func bindEach<each Value: SQLValueConvertible>(_ handle: OpaquePointer, _ values: repeat each Value) throws(DatabaseError) {
        let profile = connection.profile
        var index: Int32 = 0
        for value in repeat each values {
            index &+= 1
            try Statement._Parameter(handle, index, profile).put(value)
        }
        try expectParameters(Int(index), handle)
    }
}

// MARK: Fetching

extension Statement {
    /// Returns the first column of each row.
    @inlinable
    public func fetchAll<T: SQLValueConvertible>(
        _ type: T.Type = T.self, _ arguments: StatementArguments = []
    ) throws(DatabaseError) -> [T] {
        let handle = try beginUse()
        defer { endUse(handle) }
        try bindAll(arguments, handle)
        var result: [T] = []
        while try advance(handle) { result.append(try Row._Column(handle, 0).read(as: T.self)) }
        return result
    }

    /// Returns the first column of the first row; nil if there is no row or the value is NULL. Later rows are not computed.
    @inlinable
    public func fetchOne<T: SQLValueConvertible>(
        _ type: T.Type = T.self, _ arguments: StatementArguments = []
    ) throws(DatabaseError) -> T? {
        let handle = try beginUse()
        defer { endUse(handle) }
        try bindAll(arguments, handle)
        guard try advance(handle) else { return nil }
        let value = try Row._Column(handle, 0).readUnlessNull(as: T.self)
        try finish(handle)
        return value
    }

    /// Returns the first column of the first row, with these values for the parameters; nil if there is no row or the value is
    /// NULL. Faster than an array, because nothing is boxed.
    @inlinable
    @_disfavoredOverload
    public func fetchOne<T: SQLValueConvertible, each Value: SQLValueConvertible>(
        _ type: T.Type = T.self, binding values: repeat each Value
    ) throws(DatabaseError) -> T? {
        let handle = try beginUse()
        defer { endUse(handle) }
        try bindEach(handle, repeat each values)
        guard try advance(handle) else { return nil }
        let value = try Row._Column(handle, 0).readUnlessNull(as: T.self)
        try finish(handle)
        return value
    }

    /// Returns the first column of the first row for an optional type, without wrapping nil twice.
    @inlinable
    @_documentation(visibility: private)
    public func fetchOne<T: SQLValueConvertible>(
        _ type: T?.Type, _ arguments: StatementArguments = []
    ) throws(DatabaseError) -> T? { try fetchOne(T.self, arguments) }

    /// Returns each row as a record.
    @inlinable
    public func fetchAll<T: SQLRow>(_ type: T.Type = T.self, _ arguments: StatementArguments = []) throws -> [T] {
        let handle = try beginUse()
        defer { endUse(handle) }
        try bindAll(arguments, handle)
        return try collect(handle) { try T(row: $0) }
    }

    /// Returns the first row as a record, or nil if there is no row.
    @inlinable
    public func fetchOne<T: SQLRow>(_ type: T.Type = T.self, _ arguments: StatementArguments = []) throws -> T? {
        let handle = try beginUse()
        defer { endUse(handle) }
        try bindAll(arguments, handle)
        guard try advance(handle) else { return nil }
        let value = try T(row: Row(handle, names(handle)))
        try finish(handle)
        return value
    }

    /// Returns the first row as a record, with these values for the parameters, or nil if there is no row. Faster than an array,
    /// because nothing is boxed.
    @inlinable
    @_disfavoredOverload
    public func fetchOne<T: SQLRow, each Value: SQLValueConvertible>(
        _ type: T.Type = T.self, binding values: repeat each Value
    ) throws -> T? {
        let handle = try beginUse()
        defer { endUse(handle) }
        try bindEach(handle, repeat each values)
        guard try advance(handle) else { return nil }
        let value = try T(row: Row(handle, names(handle)))
        try finish(handle)
        return value
    }

    /// Returns the first columns of each row as a tuple. The result may have more columns than the tuple.
    @inlinable
    public func fetchAll<
        A: SQLValueConvertible, B: SQLValueConvertible, each T: SQLValueConvertible
    >(
        _ type: (A, B, repeat each T).Type = (A, B, repeat each T).self, _ arguments: StatementArguments = []
    ) throws(DatabaseError) -> [(A, B, repeat each T)] {
        let handle = try beginUse()
        defer { endUse(handle) }
        try bindAll(arguments, handle)
        var result: [(A, B, repeat each T)] = []
        while try advance(handle) { result.append(try tuple(handle)) }
        return result
    }

    /// Returns the first columns of the first row as a tuple, or nil if there is no row.
    @inlinable
    public func fetchOne<
        A: SQLValueConvertible, B: SQLValueConvertible, each T: SQLValueConvertible
    >(
        _ type: (A, B, repeat each T).Type = (A, B, repeat each T).self, _ arguments: StatementArguments = []
    ) throws(DatabaseError) -> (A, B, repeat each T)? {
        let handle = try beginUse()
        defer { endUse(handle) }
        try bindAll(arguments, handle)
        guard try advance(handle) else { return nil }
        let values: (A, B, repeat each T) = try tuple(handle)
        try finish(handle)
        return values
    }

    @inlinable
    @inline(__always)
    func tuple<
        A: SQLValueConvertible, B: SQLValueConvertible, each T: SQLValueConvertible
    >(_ handle: OpaquePointer) throws(DatabaseError) -> (A, B, repeat each T) {
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
    @discardableResult
    public func step() throws(DatabaseError) -> Bool {
        let handle = try beginStep()
        do throws(DatabaseError) {
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
    public func reset() throws(DatabaseError) {
        let handle = try beginStep()
        defer { endUse(handle) }
        try finish(handle)
    }

    /// Sets all parameters to NULL. The statement must not have a current row.
    public func clearBindings() throws(DatabaseError) {
        let handle = try idle()
        sqlite3_clear_bindings(handle)
        shownArguments = nil
    }

    /// Binds all parameters. The statement must not have a current row.
    public func bind(_ arguments: StatementArguments) throws(DatabaseError) {
        try bindAll(arguments, idle())
    }

    /// Binds one parameter by its position, counted from 1. The statement must not have a current row.
    public func bind(_ value: (any SQLValueConvertible)?, at position: Int) throws(DatabaseError) {
        try bind(value, Int32(clamping: position), idle())
    }

    /// The value of a column in the current row, by its index, counted from 0.
    public subscript<T: SQLValueConvertible>(index: Int) -> T {
        get throws(DatabaseError) { try Row._Column(live(), Int32(clamping: index)).read(as: T.self) }
    }

    /// The value of a column in the current row, by its name.
    public subscript<T: SQLValueConvertible>(name: String) -> T {
        get throws(DatabaseError) {
            let handle = try live()
            return try Row._Column(handle, Row(handle, names(handle)).index(of: name)).read(as: T.self)
        }
    }

    private func idle() throws(DatabaseError) -> OpaquePointer {
        let handle = try live()
        if uses != 0 || sqlite3_stmt_busy(handle) != 0 {
            throw .misuse("the statement has a current row: reset it before binding values", sql: sql)
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
