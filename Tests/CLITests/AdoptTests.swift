import SQLCipherKit
import TestSupport
import Testing

/// adopt.
@Suite struct AdoptTests {
    let folder: TemporaryFolder
    let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("a.db")
        let key: [UInt8] = [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef]
        let db = try Connection(.file(path), key: .raw(key + key + key + key))
        try db.execute(SQLScript("""
            CREATE TABLE author(id PRIMARY KEY, created DATETIME);
            CREATE TABLE book(author REFERENCES author, created DATETIME, title TEXT);
            INSERT INTO author VALUES ('0F1E2D3C-4B5A-4978-8796-A5B4C3D2E1F0', '2026-11-21 08:30:00.250');
            INSERT INTO book VALUES ('0F1E2D3C-4B5A-4978-8796-A5B4C3D2E1F0', '2026-11-21 08:30:00.250', 'Mill');
            INSERT INTO book VALUES (NULL, 1795249800, 'Bakery');
            """))
    }

    private func run(_ arguments: String...) throws -> Command.Outcome { try Tool.run(["adopt", path] + arguments + Tool.key) }

    @Test func adoptReportsValueForms() throws {
        let outcome = try run()
        outcome.expectSuccess()
        #expect(outcome.output.contains("yyyy-MM-dd HH:mm:ss.SSS"))
        #expect(outcome.output.contains("book.created mixes forms"))
        #expect(outcome.output.contains("no profile has these forms"))
        let lines = try run("--format", "csv", "--all").output.split(separator: "\n")
        #expect(lines.first == "table,column,type,holds,stored_as,values,reason")
        #expect(lines.contains("author,id,\"\",uuids,text in capitals,1,"))
        #expect(lines.contains { $0.hasPrefix("book,created,DATETIME,dates,integer seconds since 1970,1,\"a guess") })
        #expect(outcome.output.contains("book.created holds seconds: a guess"))
    }

    @Test func adoptConvertsColumns() throws {
        let columns = ["--convert", "author.id", "--convert", "book.author", "--convert", "book.created", "--to", "grdb"]
        // The meaning of a number is not guessed into the file.
        try Tool.run(["adopt", path] + columns + Tool.key).expectFailure(1, "book.created", "a guess", "--numbers")
        let outcome = try Tool.run(["adopt", path, "--numbers", "seconds"] + columns + Tool.key)
        outcome.expectSuccess()
        #expect(outcome.output == "author.id: 1 value converted\nbook.author: 1 value converted\nbook.created: 1 value converted\n")
        #expect(try run().output.contains("open it with the profile standard or grdb\n"))
        // All or nothing.
        try run("--convert", "author.id", "--convert", "book.created", "--to", "sap").expectFailure(1, "book.created", "fraction")
        #expect(try run().output.contains("open it with the profile standard or grdb\n"))
        let all = ["author.id", "book.author", "book.created", "author.created"].flatMap { ["--convert", $0] }
        try Tool.run(["adopt", path, "--to", "SAP", "--round"] + all + Tool.key).expectSuccess()
        #expect(try run().output.contains("open it with the profile sap\n"))
        try run("--convert", "book.title").expectFailure(1, "book.title", "text")
        try run("--convert", "book.missing").expectFailure(1, "book.missing")
        try run("--convert", "title").expectFailure(64, "note.created")
        try run("--to", "fmdb").expectFailure(64, "fmdb", "grdb")
        try run("--sample", "0").expectFailure(64, "--sample")
        try run("--numbers", "hours").expectFailure(64, "--numbers", "milliseconds")
    }
}
