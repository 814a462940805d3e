import CSQLCipher

extension Connection.Settings {
    /// Limits of a connection (<https://sqlite.org/limits.html>).
    public enum Limit: Int32, Hashable, Sendable, CaseIterable {
        /// The size of a text, a blob or a row, in bytes.
        case length
        /// The length of an SQL statement, in bytes.
        case sqlLength
        /// The number of columns of a table, an index or a result.
        case columns
        /// The depth of an expression; 0 for no limit.
        case expressionDepth
        /// The number of parts of a `UNION`, `INTERSECT` or `EXCEPT`.
        case compoundSelect
        /// The number of instructions of a compiled statement.
        case instructions
        /// The number of arguments of a function.
        case functionArguments
        /// The number of attached databases.
        case attached
        /// The length of a pattern for `LIKE` or `GLOB`, in bytes.
        case likePatternLength
        /// The highest number of a parameter.
        case variableNumber
        /// The depth of triggers that fire triggers.
        case triggerDepth
        /// The number of additional threads that a statement may use for sorting.
        case workerThreads
        /// The depth of nested expressions and subqueries that the parser accepts.
        case parserDepth
    }
}

extension Connection {
    /// The number of columns that SQLite allows by default (<https://sqlite.org/limits.html#max_column>).
    static let columnLimit: Int32 = 2000

    /// Runs `body` with room for one more column in results and rows: a table with as many columns as the limit has a row id too.
    package func withRoomForRowID<R>(_ body: () throws -> R) rethrows -> R {
        guard let handle else { return try body() }
        let before = sqlite3_limit(handle, SQLITE_LIMIT_COLUMN, -1)
        sqlite3_limit(handle, SQLITE_LIMIT_COLUMN, before + 1)
        defer { if let handle = self.handle { sqlite3_limit(handle, SQLITE_LIMIT_COLUMN, before) } }
        return try body()
    }
}
