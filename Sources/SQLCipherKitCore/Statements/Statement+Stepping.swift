import CSQLCipher

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
