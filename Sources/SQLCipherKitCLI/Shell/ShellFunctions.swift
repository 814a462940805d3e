import SQLCipherKit
import ToolStart

extension Connection {
    /// Adds what people who know SQLite's shell expect in SQL: `REGEXP`, and the table `generate_series`.
    func addShellFunctions() throws {
        try register(SQLExtension.regularExpressions())
        try check(toolstart_add_series(engineHandle))
    }
}
