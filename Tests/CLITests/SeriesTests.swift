import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// The table `generate_series`, in the shell and in queries.
@Suite struct SeriesTests {
    private static let least = "-9223372036854775808", greatest = "9223372036854775807"

    /// What comes after SELECT, and the values in their order.
    private static let series = [
        ("value FROM generate_series(1, 5)", "1,2,3,4,5"), ("value FROM generate_series(1, 10, 3)", "1,4,7,10"),
        ("value FROM generate_series(5, 1, -2)", "5,3,1"), ("value FROM generate_series(1, 3, 0)", "1,2,3"),
        ("value FROM generate_series(5, 1)", ""), ("value FROM generate_series(1, NULL)", ""),
        ("value FROM generate_series(7) LIMIT 2", "7,8"),
        ("value FROM generate_series WHERE start = 2 AND stop = 4", "2,3,4"),
        ("s.value FROM (SELECT 2 AS n UNION ALL SELECT 3) AS q, generate_series(1, q.n) AS s", "1,2,1,2,3"),
        ("value FROM generate_series(1, 9, 2) ORDER BY value DESC", "9,7,5,3,1"),
        ("value FROM generate_series(\(greatest) - 1, \(greatest), 3)", "9223372036854775806"),
        ("value FROM generate_series(\(least), \(greatest), \(greatest))", "\(least),-1,9223372036854775806"),
        ("value FROM generate_series(\(greatest), \(least), \(least))", "\(greatest),-1"),
        ("start || ' ' || stop || ' ' || step FROM generate_series(1, 4, 3)", "1 4 3,1 4 3"),
    ]

    @Test func valuesAreThoseOfSQLitesShell() throws {
        let folder = try TemporaryFolder(), path = folder.path("a.db")
        _ = try Connection(.file(path)).execute("CREATE TABLE t(x)")
        for (sql, values) in Self.series {
            let wanted = values.isEmpty ? "" : values.split(separator: ",").joined(separator: "\n") + "\n"
            let shell = try Tool.run(["shell", path, "--no-key"], input: ".headers off\n.mode list\nSELECT \(sql);\n")
            #expect(shell.status == 0 && shell.output == wanted, "\(sql): \(shell.output) \(shell.errors)")
            let query = try Tool.run(["query", path, "--no-key", "--format", "csv", "SELECT \(sql)"])
            let rows = query.output.split(whereSeparator: \.isNewline).dropFirst().map { "\($0)\n" }.joined()
            #expect(query.status == 0 && rows == wanted, "\(sql): \(query.output) \(query.errors)")
        }
        let without = try Tool.run(["shell", path, "--no-key"], input: "SELECT * FROM generate_series;\n")
        #expect(without.status != 0 && without.errors.contains("needs its first argument"), "\(without.errors)")
    }
}
