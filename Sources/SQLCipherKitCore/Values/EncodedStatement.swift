/// A statement that takes the values of records of one type as its parameters, by their coding keys.
package final class EncodedStatement {
    package let statement: Statement
    private let state: RowEncodingState
    private let isFreeOfSchema: Bool

    /// - Parameter isFreeOfSchema: whether nothing about the statement was read from the schema, so that it may be compiled again
    ///   when that changes.
    package init(_ statement: Statement, _ state: RowEncodingState, isFreeOfSchema: Bool = true) {
        self.statement = statement
        self.state = state
        self.isFreeOfSchema = isFreeOfSchema
    }

    /// Runs the statement with a record's values.
    /// - Returns: whether that was possible.
    package func run(_ record: some Encodable, _ row: ((borrowing Row) throws -> Void)? = nil) throws -> StatementRun {
        let handle = try statement.beginUse()
        defer { statement.endUse(handle) }
        state.begin(handle)
        // An encoder that outlives this call must not bind to a statement that may be gone.
        defer { state.end() }
        try RowEncoder.encode(record, state)
        return state.isComplete ? try statement.run(handle, isFreeOfSchema: isFreeOfSchema, row) : .otherColumns
    }
}

/// The outcome of running a kept statement.
package enum StatementRun {
    case done
    /// Nothing was run: the statement is for records that set other columns.
    case otherColumns
    /// Nothing was run: the schema has changed since the statement was made.
    case outdated
}

extension Statement {
    /// Runs the statement, whose parameters are bound, to its end: wholly or not at all.
    /// - Parameters:
    ///   - isFreeOfSchema: whether it may be compiled again if the schema has changed.
    ///   - row: is called with each row.
    package func run(
        _ handle: OpaquePointer, isFreeOfSchema: Bool, _ row: ((borrowing Row) throws -> Void)? = nil
    ) throws -> StatementRun {
        try connection.wholly(handle) {
            var isOnRow: Bool
            if isFreeOfSchema {
                isOnRow = try advance(handle)
            } else {
                guard let first = try advanceAsCompiled(handle) else { return .outdated }
                isOnRow = first
            }
            while isOnRow {
                try row?(Row(handle, names(handle)))
                isOnRow = try advance(handle)
            }
            return .done
        }
    }
}
