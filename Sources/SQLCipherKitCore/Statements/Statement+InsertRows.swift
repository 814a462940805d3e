import CSQLCipher

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
