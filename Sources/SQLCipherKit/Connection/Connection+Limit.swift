extension Connection {
    /// Bounds that a connection keeps (<https://sqlite.org/limits.html>).
    public enum Limit: Int32, Hashable, Sendable, CaseIterable {
        /// The bytes of a text, of a blob or of a row.
        case length
        /// The bytes of an SQL statement.
        case sqlLength
        /// The columns of a table, an index or a result.
        case columns
        /// The depth of an expression; 0 for no limit.
        case expressionDepth
        /// The parts of a `UNION`, `INTERSECT` or `EXCEPT`.
        case compoundSelect
        /// The instructions of a compiled statement.
        case instructions
        /// The arguments of a function.
        case functionArguments
        /// The databases attached at a time.
        case attached
        /// The bytes of a pattern for `LIKE` or `GLOB`.
        case likePatternLength
        /// The highest number of a parameter.
        case variableNumber
        /// How deep triggers call triggers.
        case triggerDepth
        /// The threads that help a statement with its sorting.
        case workerThreads
        /// How deep expressions and subqueries nest before the parser gives up.
        case parserDepth
    }
}
