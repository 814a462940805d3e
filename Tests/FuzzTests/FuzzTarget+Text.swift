#if DEBUG || SQLCIPHERKIT_TESTABLE
import Foundation
import SQLCipherKit
import TestSupport
@testable import SQLCipherKitCLI

/// Texts that the tool reads.
extension FuzzTarget {
    /// A script, split by lines and run.
    static let script = FuzzTarget(name: "script", maximumBytes: 2000) {
        [
            "CREATE TABLE t(a, b);\nINSERT INTO t VALUES (1, 'a;b'), (2, x'00'); -- end;\nSELECT * FROM t;",
            "CREATE TEMP TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; SELECT 'x'; END;\n/* ; */ SELECT \"a;\", [b;], `c;`;",
            "EXPLAIN QUERY PLAN SELECT 1; PRAGMA cache_size = 3; ATTACH ':memory:' AS x; WITH RECURSIVE c(n) AS (SELECT 1) SELECT * FROM c;",
            "PRAGMA key = 'hunter2'; SELECT \u{E9} FROM \u{6771};",
        ].map { Array($0.utf8) }
    } body: { input in
        let text = String(decoding: input, as: UTF8.self)
        var splitter = StatementSplitter()
        var statements: [StatementSplitter.Statement] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            for statement in try splitter.take(line.utf8) {
                if !statement.sql.utf8.contains(0) {
                    try require(SQLScript(statement.sql).isComplete, "a statement is incomplete: \(statement.sql)")
                }
                statements.append(statement)
            }
        }
        if let rest = try splitter.rest() { statements.append(rest) }
        let db = try Connection(.memory)
        defer { db.close() }
        var left = 50
        try db.settings.setProgressHandler(every: 1000) {
            left -= 1
            return left > 0
        }
        try db.settings.setLimit(.length, to: 1_000_000)
        try db.settings.setLimit(.attached, to: 0)
        for statement in statements { try? db.execute(SQLScript(statement.sql)) }
        try? db.execute(SQLScript(text))
    }

    private static let folder = try? TemporaryFolder()

    private static func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        guard let folder else { throw Finding("no temporary folder") }
        try Data(bytes).write(to: folder.url.appendingPathComponent(name))
        return folder.path(name)
    }

    /// A file of separated values. One that is read again from the middle, as after an interruption, goes on in the same way.
    static let csv = FuzzTarget(name: "csv", maximumBytes: 4000) {
        [
            "a,b,c\n1,\"x,\"\"y\n\",\n,\"\",01067\n", "name;size\r\nx;1,5\r\ny;2\r\n", "a\tb\n1\t2\n", "'q','r'\n'1','2'\n",
            "\u{FEFF}caf\u{E9},n\n1,2\n",
        ].map { Array($0.utf8) } + [[0xff, 0xfe, 0x61, 0, 0x2c, 0, 0x62, 0, 0x0a, 0, 0x31, 0, 0x2c, 0, 0x32, 0]]
    } body: { input in
        let path = try file("input.csv", input)
        for ragged in CSVOptions.Ragged.allCases {
            var options = CSVOptions()
            options.ragged = ragged
            try resuming(path) { try CSVReader(InputReader(path), options, usual: UInt8(ascii: ",")) }
        }
    }

    /// A file of JSON objects, one on a line or in an array.
    static let jsonLines = FuzzTarget(name: "jsonlines", maximumBytes: 4000) {
        [
            "{\"a\":1,\"b\":\"x\"}\n\n{\"a\":2.5,\"c\":[1,{}]}\n", "[{\"a\":1},\n{\"a\":null}]", "[]", "{\"\\u0000\":1}",
        ].map { Array($0.utf8) }
    } body: { input in
        let path = try file("input.json", input)
        try resuming(path) { try JSONReader(InputReader(path)) }
    }

    private static func resuming(_ path: String, _ open: () throws -> any RecordReader) throws {
        guard let reader = try? open() else { return }
        var places: [(offset: Int, line: Int)] = []
        var records: [String] = []
        while records.count < 40, let record = try? reader.next() {
            records.append("\(record.list.names) \(record.values)")
            places.append((reader.offset, reader.resumeLine))
        }
        guard places.count > 1 else { return }
        let middle = places.count / 2
        let again = try open()
        try again.resume(at: places[middle].offset, line: places[middle].line)
        for expected in records[(middle + 1)...] {
            let record = try again.next()
            let found = record.map { "\($0.list.names) \($0.values)" }
            try require(found == expected, "read from the middle: \(found ?? "nothing"), not \(expected)")
        }
    }

    /// A command line, one argument on each line.
    static let arguments = FuzzTarget(name: "arguments", maximumBytes: 400) {
        [
            "search\nnotes.db\nbread\n--limit\n5\n--json", "import\na.db\nx.csv\n--pk\nid\n--types\nn=real", "query\na.db\nSELECT 1\n-p\nx=1",
            "key\nadd\na.db\n--recovery", "backup\na.db\nb.db\n--key-env\nK", "--help", "shell\n--version",
        ].map { Array($0.utf8) }
    } body: { input in
        let arguments = String(decoding: input, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        do { _ = try SQLCipherKitCommand.parseAsRoot(arguments) } catch {
            let message = SQLCipherKitCommand.fullMessage(for: error)
            try require(SQLCipherKitCommand.exitCode(for: error).rawValue == 0 || !message.isEmpty, "a refusal without a word")
        }
    }

    private static let lines = try? TemporaryFolder()

    /// A file with vectors, a line for each.
    static let vectorLines = FuzzTarget(name: "vectorlines", maximumBytes: 400) {
        ["[1, 0.5, -2e3]\n2,0.25,7\r\n\n", "3,0.000000000e+00,1.000000000e+00\n"].map { Array($0.utf8) }
    } body: { input in
        guard let path = lines?.path("vectors.csv") else { throw Finding("no temporary folder") }
        try Data(input).write(to: URL(fileURLWithPath: path))
        guard let rows = try? VectorFile.read(path) else { return }
        try require(rows.allSatisfy { !$0.vector.isEmpty }, "a row has no numbers")
    }
}
#endif
