import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// Small twins of files that people have.
@Suite struct ImportRealFilesTests {
    struct Twin: CustomTestStringConvertible {
        let name: String
        let text: String
        var options: [String] = []
        /// A part of what the import says.
        let says: String
        let columns: [String]
        let rows: [String]
        var testDescription: String { name }
    }

    private static let twins = [
        Twin(
            name: "a column of words", text: "city\nNew York\nLos Angeles\n", says: "CSV with one column", columns: ["city"],
            rows: ["'New York'", "'Los Angeles'"]),
        Twin(
            name: "a column of times", text: "2020-01-01 10:00\n2020-01-02 11:30\n", says: "CSV with one column", columns: ["column1"],
            rows: ["'2020-01-01 10:00'", "'2020-01-02 11:30'"]),
        Twin(
            name: "numbers but for a word", text: "a,b,c\n1,NA,-\n2,3.5,x\n", says: "b text, c text", columns: ["a", "b", "c"],
            rows: ["1,'NA','-'", "2,'3.5','x'"]),
        Twin(
            name: "blanks after some commas", text: "a, b\n1,x\n2, y\n", says: "CSV with commas, quoted", columns: ["a", " b"], rows: ["1,'x'", "2,' y'"]),
        Twin(
            name: "several returns before a line feed", text: "a,b\r\r\n\"1\",x\r\r\r\n2,y\rz\r\n", says: "CSV with commas", columns: ["a", "b"],
            rows: ["'1','x'", "'2','y\rz'"]),
    ]

    @Test(arguments: twins) func realWorldCSVKeepsEveryCell(twin: Twin) throws {
        let folder = try TemporaryFolder()
        let file = folder.path("t.csv"), database = folder.path("a.db")
        try Data(twin.text.utf8).write(to: URL(fileURLWithPath: file))
        let outcome = try Tool.run(["import", database, file, "--no-key"] + twin.options).expectSuccess()
        #expect(outcome.output.contains(twin.says), "\(outcome.output)")
        let db = try Connection(.file(database))
        let columns = try db.main.columns(of: "t").map(\.name)
        #expect(columns == twin.columns)
        let list = columns.map { "quote(\($0.quotedSQLIdentifier))" }.joined(separator: " || ',' || ")
        #expect(try db.fetchAll(String.self, SQL(raw: "SELECT \(list) FROM t")) == twin.rows)
    }

    /// Files that nothing but an option makes clear are refused, and the message names it.
    @Test func ambiguousDelimiterIsRefused() throws {
        let folder = try TemporaryFolder()
        func load(_ name: String, _ text: String, _ options: String...) throws -> Command.Outcome {
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path(name)))
            return try Tool.run(["import", folder.path("a.db"), folder.path(name), "--no-key"] + options)
        }
        let zones = "# zones\n# with comments\nAD\t+42\tAndorra\nAE,OM\t+25\tDubai\tand more\nAQ\t-66\tCasey\nX\t1\n"
        try load("zone.csv", zones, "--skip", "2").expectFailure(64, "2 to 4 fields with tabs", "--delimiter tab --ragged pad")
        try load("zone.csv", zones, "--skip", "2", "--delimiter", "tab", "--ragged", "pad").expectSuccess()
        #expect(try Connection(.file(folder.path("a.db"))).fetchOne(String.self, "SELECT column4 FROM zone WHERE column4 IS NOT NULL") == "and more")
        // By the letter, a delimiter at the end of each row is one column more than there are names.
        try load("end.csv", "a,b\n1,2,\n3,4,\n").expectFailure(1, "line 2", "3 fields, not 2", "--ragged pad")
        try load("most.csv", "a title\n1\t2\n3\n4\t5\n6\t7\n").expectFailure(64, "most of its lines have 2 fields with tabs")
        try load("tab.tab", "a\tb\n1,5\t2\n").expectSuccess()
        #expect(try Connection(.file(folder.path("a.db"))).fetchOne(String.self, "SELECT a || b FROM tab") == "1,52")
        try load("empty.csv", "\n").expectFailure(1, "it is empty")
    }

    /// A table has the columns of its file, also after a round trip; only a full-text index adds a key.
    @Test func importedTableHasItsFileColumns() throws {
        let folder = try TemporaryFolder()
        let database = folder.path("a.db")
        var file = folder.path("t.csv")
        let text = "id,name\n7,one\n7,two\n"
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        for round in 0..<3 {
            let table = "t\(round)"
            try Tool.run("import", database, file, "--table", table, "--no-key").expectSuccess()
            try Tool.run("import", database, file, "--table", table, "--no-key", "--again").expectSuccess()
            let db = try Connection(.file(database))
            #expect(try db.main.columns(of: table).map(\.name) == ["id", "name"])
            #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM \(identifier: table)") == 4)
            let outcome = try Tool.run("query", database, "SELECT * FROM \(table) LIMIT 2", "--no-key", "--format", "csv").expectSuccess()
            #expect(outcome.output == text)
            file = folder.path("u\(round).csv")
            try Data(outcome.output.utf8).write(to: URL(fileURLWithPath: file))
        }
        // The index comes with a later import: the table then gets its key, and keeps its rows.
        try Tool.run("import", database, file, "--table", "t0", "--no-key", "--search", "name").expectSuccess()
        let db = try Connection(.file(database))
        #expect(try db.fetchAll(String.self, "SELECT row_id || ' ' || id || ' ' || name FROM t0 ORDER BY row_id").suffix(2) == ["5 7 one", "6 7 two"])
        #expect(try db.main.primaryKey(of: "t0") == ["row_id"])
        #expect(try db.fullText("t0_search").search("two", limit: 5).hits.map(\.rowID).sorted() == [2, 4, 6])
    }

    /// Columns that have the names of SQLite's row id, which wider types use.
    @Test func importAcceptsColumnsNamedLikeRowID() throws {
        let folder = try TemporaryFolder()
        let (database, file) = (folder.path("a.db"), folder.path("t.csv"))
        for names in [["rowid"], ["rowid", "oid", "_rowid_"]] {
            let values = (1...6000).map { number in names.map { _ in "\(number * 2)" }.joined(separator: ",") }
            let text = ([names.joined(separator: ",") + ",x"] + values.map { $0 + ",1" } + [names.map { _ in "007" }.joined(separator: ",") + ",2"])
            try Data(text.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: file))
            let table = "t\(names.count)"
            try Tool.run("import", database, file, "--table", table, "--no-key").expectSuccess()
            let db = try Connection(.file(database))
            let list = names.joined(separator: " || ',' || ")
            #expect(try db.fetchAll(String.self, SQL(raw: "SELECT \(list) FROM \(table) WHERE x = 2 OR rowid IN ('2', 2)")).suffix(2) == [names.map { _ in "2" }.joined(separator: ","), names.map { _ in "007" }.joined(separator: ",")])
        }
    }
}
