/// A statement that takes the values of records of one type as its parameters, by their coding keys.
package final class EncodedStatement {
    package let statement: Statement
    private let state: RowEncodingState

    package init(_ statement: Statement, _ state: RowEncodingState) {
        self.statement = statement
        self.state = state
    }

    /// Runs the statement with a record's values.
    /// - Returns: false, without running anything, if the record has different keys from those before.
    package func run(_ record: some Encodable, _ row: ((borrowing Row) throws -> Void)? = nil) throws -> Bool {
        let handle = try statement.beginUse()
        defer { statement.endUse(handle) }
        state.begin(handle)
        // An encoder that outlives this call must not bind to a statement that may be gone.
        defer { state.end() }
        try RowEncoder.encode(record, state)
        guard state.isComplete else { return false }
        try statement.connection.wholly(handle) {
            while try statement.advance(handle) { try row?(Row(handle, statement.names(handle))) }
        }
        return true
    }
}
