import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// Options that real files need beside the usual form of CSV.
@Suite struct ImportOptionsTests {
    let folder: TemporaryFolder
    let database: String

    init() throws {
        folder = try TemporaryFolder()
        database = folder.path("a.db")
    }

    private func load(_ name: String, _ bytes: Data, _ options: String...) throws -> Command.Outcome {
        try bytes.write(to: URL(fileURLWithPath: folder.path(name)))
        return try Tool.run(["import", database, folder.path(name), "--no-key", "--table", String(name.prefix { $0 != "." })] + options)
    }

    private func rows(_ table: String) throws -> [String] {
        let db = try Connection(.file(database))
        let names = try db.main.columns(of: table).map(\.name).filter { $0 != "id" && $0 != "row_id" }
        return try db.fetchAll(
            String.self, SQL(raw: "SELECT \(names.map { "quote(\"\($0)\")" }.joined(separator: " || ',' || ")) FROM \(table)"))
    }

    private func names(_ table: String) throws -> [String] { try Connection(.file(database)).main.columns(of: table).map(\.name).filter { $0 != "id" } }

    @Test func importReadsDecimalPricesAsNumbers() throws {
        try load("p.csv", Data("item,price,n,code\na,9.50,1,007\nb,100.25,2,1\nc,12.00,-3,2\n".utf8)).expectSuccess()
        #expect(try Connection(.file(database)).fetchAll(String.self, "SELECT item FROM p WHERE price > 50") == ["b"])
        #expect(try rows("p") == ["'a',9.5,1,'007'", "'b',100.25,2,'1'", "'c',12.0,-3,'2'"])
        try load("s.csv", Data("price\n9.50\n100.25\n".utf8), "--text").expectSuccess()
        #expect(try rows("s") == ["'9.50'", "'100.25'"])
        // A late text makes the column one of texts, and each is what the file said.
        let many = (1...6000).map { "\($0).50" }.joined(separator: "\n")
        try load("m.csv", Data("x\n\(many)\nN/A\n007\n2.10\n".utf8)).expectSuccess()
        #expect(try rows("m").suffix(4) == ["'6000.50'", "'N/A'", "'007'", "'2.10'"])
    }

    @Test func importSkipsPreambleLines() throws {
        try load("h.csv", Data("#a,b\n1,x\n2,y\n".utf8)).expectSuccess()
        #expect(try names("h") == ["#a", "b"])
        let report = Data("Quarterly report\n\na,b\n1,2\n3,4\n5,6\n".utf8)
        let refused = try load("r.csv", report)
        #expect(refused.status != 0 && refused.errors.contains("--skip 1"), "\(refused)")
        #expect(try load("r.csv", report, "--skip", "2").expectSuccess().output.contains("2 lines left out before it"))
        #expect(try rows("r") == ["1,2", "3,4", "5,6"])
    }

    @Test func importHandlesNullMarksAndQuotes() throws {
        try load("n.csv", Data("a,b\n1,NA\nn/a,\"NA\"\n3,x\n".utf8), "--null", "NA,n/a").expectSuccess()
        #expect(try rows("n") == ["1,NULL", "NULL,'NA'", "3,'x'"])
        // As in SQLite's shell, a quote in the middle of a field is an ordinary character.
        try load("l.csv", Data("a,b\n5\" pipe,\"the \"\"best\"\" one\"\nx,\"y\"\n".utf8)).expectSuccess()
        #expect(try rows("l") == ["'5\" pipe','the \"best\" one'", "'x','y'"])
        try load("o.csv", Data("a,b\n\"x\" y,z\n".utf8), "--quote", "none").expectSuccess()
        #expect(try rows("o") == ["'\"x\" y','z'"])
        let twice = try load("d.csv", Data("a,a,,A\n1,2,3,4\n".utf8))
        #expect(twice.status == 1 && twice.errors.contains("--no-header --skip 1"))
        try load("d.csv", Data("a,a,,A\n1,2,3,4\n".utf8), "--no-header", "--skip", "1").expectSuccess()
        #expect(try names("d") == ["column1", "column2", "column3", "column4"])
    }

    @Test func importRefusesWhatIsNotUTF8() throws {
        try load("g.csv", Data([0x61, 0x0a, 0x78, 0x0a, 0xe9, 0x0a])).expectFailure(1, "line 3", "not UTF-8", "iconv -f")
        try load("g.jsonl", Data([0x7b, 0x22, 0xe9, 0x22, 0x3a, 0x31, 0x7d, 0x0a])).expectFailure(1, "line 1", "not UTF-8")
        for encoding in [String.Encoding.utf16LittleEndian, .utf16BigEndian] {
            let wide = try #require("\u{feff}a,b\n1,x\n".data(using: encoding))
            try load("w.csv", wide).expectFailure(1, "UTF-16", "iconv -f UTF-16 -t UTF-8")
            try load("w.csv", wide.dropFirst(2)).expectFailure(1, "not CSV in UTF-8")
        }
        #expect(!FileManager.default.fileExists(atPath: database))
    }

    @Test func importPreviewsAndReplacesWithFresh() throws {
        let csv = Data("a|b\n1|2\n".utf8)
        let preview = try load("f.csv", csv, "--dry-run", "--delimiter", ",")
        #expect(preview.expectSuccess().output.contains("read as CSV with one column"), "\(preview.output)")
        #expect(preview.output.hasSuffix("columns: a|b text\n"), "\(preview.output)")
        #expect(!FileManager.default.fileExists(atPath: database))
        try load("f.csv", csv, "--delimiter", ",").expectSuccess()
        let path = folder.path("f.csv")
        let again = try Tool.run("import", database, path, "--no-key", "--table", "f")
        #expect(again.expectSuccess().output.contains("--fresh makes the table again"))
        try Tool.run("import", database, path, "--no-key", "--table", "f", "--fresh").expectSuccess()
        #expect(try rows("f") == ["1,2"])
        try Connection(.file(database)).execute("CREATE TABLE mine(x)")
        let other = try Tool.run("import", database, path, "--no-key", "--table", "mine", "--fresh")
        #expect(other.status == 64 && other.errors.contains("was not made by an import"))
    }
}
