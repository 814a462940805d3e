import SQLCipherKitCore
import SQLCipherKitSearch
import Testing
import TestSupport

/// `passesIntegrityCheck()` beside FTS5's own check, over tables of every kind, whole and damaged in every way.
@Suite struct FullTextCheckTests {
    struct Kind: CustomTestStringConvertible, Sendable {
        let detail: String, isExternal: Bool, others: String
        var options: String { "detail=\(detail)\(isExternal ? ", content=doc, content_rowid=id" : "")\(others)" }
        var testDescription: String { options }
        /// Where the text is, and its columns.
        var text: (table: String, a: String, b: String) { isExternal ? ("doc", "a", "b") : ("fts_content", "c0", "c1") }
    }

    private static let kinds = ["full", "column", "none"].flatMap { detail in
        [false, true].flatMap { isExternal in
            ["", ", prefix='2 3'", ", columnsize=0", ", locale=1", ", tokenize=porter", ", tokendata=1, prefix=1"].map {
                Kind(detail: detail, isExternal: isExternal, others: $0)
            }
        }
    }

    /// A table in several segments, some rows changed and deleted, with words that are longer than a page.
    private static func made(_ kind: Kind) throws -> Connection {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, a, b, c)")
        try db.execute(SQL(raw: "CREATE VIRTUAL TABLE fts USING fts5(a, b, c UNINDEXED, \(kind.options))"))
        try db.execute("INSERT INTO fts(fts, rank) VALUES ('pgsz', 64)")
        var random = SeededGenerator()
        for id in 1...60 {
            let words = (0..<Int.random(in: 0...30, using: &random)).map { _ in
                let word = String(repeating: "abcdé".randomElement(using: &random) ?? "a", count: Int.random(in: 1...12, using: &random))
                return word + (Int.random(in: 0..<20, using: &random) == 0 ? String(repeating: "long", count: 40) : "")
            }
            let (a, b) = (words.prefix(4).joined(separator: " "), words.joined(separator: "-"))
            try db.execute("INSERT INTO doc VALUES (\(id), \(a), \(b), 'not searched')")
            try db.execute("INSERT INTO fts(rowid, a, b, c) VALUES (\(id), \(a), \(b), 'not searched')")
        }
        for id in [3, 17, 40] {
            if kind.isExternal {
                try db.execute("INSERT INTO fts(fts, rowid, a, b, c) SELECT 'delete', id, a, b, c FROM doc WHERE id = \(id)")
            } else {
                try db.execute("DELETE FROM fts WHERE rowid = \(id)")
            }
            try db.execute("DELETE FROM doc WHERE id = \(id)")
        }
        return db
    }

    private static func isIntactToFTS5(_ db: Connection) throws -> Bool {
        do { try db.execute("INSERT INTO fts(fts, rank) VALUES ('integrity-check', 1)") } catch let error as DatabaseError {
            if .corrupt ~= error.code { return false }
            throw error
        }
        return true
    }

    private static func damages(_ kind: Kind) -> [SQL] {
        let (table, a, b) = kind.text
        var all = [
            "UPDATE \(table) SET \(a) = \(a) || ' aa' WHERE id = 20", "UPDATE \(table) SET \(a) = NULL WHERE id = 21",
            "UPDATE \(table) SET \(a) = 'aa bb', \(b) = '' WHERE id = 22", "UPDATE \(table) SET \(a) = \(b), \(b) = \(a) WHERE id > 30",
            "DELETE FROM \(table) WHERE id = 60", "DELETE FROM \(table) WHERE id = 1",
            "INSERT INTO \(table)(id, \(a)) VALUES (3, 'aa')", "INSERT INTO \(table)(id, \(a)) VALUES (70, '')",
            "UPDATE \(table) SET id = 99 WHERE id = 59", "DELETE FROM fts_data WHERE id > 10 AND id % 3 = 0",
        ]
        if !kind.others.contains("columnsize") {
            all += [
                "UPDATE fts_docsize SET sz = x'010100' WHERE id = 30", "UPDATE fts_docsize SET sz = x'01' WHERE id = 31",
                "UPDATE fts_docsize SET sz = NULL WHERE id = 32", "DELETE FROM fts_docsize WHERE id = 33",
                "INSERT INTO fts_docsize(id, sz) VALUES (3, x'000000')", "UPDATE fts_docsize SET id = 98 WHERE id = 34",
            ]
        }
        // A byte of a page, from its beginning to its end.
        for place in 1...24 {
            let at = "1 + length(block) * \(place) / 25"
            let changed = "CAST(substr(block, 1, \(at) - 1) || x'\(place % 2 == 0 ? "01" : "7a")' || substr(block, \(at) + 1) AS BLOB)"
            all.append("UPDATE fts_data SET block = \(changed) WHERE id = (SELECT id FROM fts_data WHERE id > 10 ORDER BY id % \(place + 5), id LIMIT 1)")
        }
        return all.map { SQL(raw: $0) }
    }

    @Test(arguments: kinds) func isIntactAgreesWithFTS5IntegrityCheck(_ kind: Kind) throws {
        let db = try Self.made(kind)
        #expect(try db.fullText("fts").passesIntegrityCheck() && Self.isIntactToFTS5(db))
        var damaged = 0
        for damage in Self.damages(kind) {
            try db.execute("SAVEPOINT whole")
            try db.execute(damage)
            let (own, theirs) = (try db.fullText("fts").passesIntegrityCheck(), try Self.isIntactToFTS5(db))
            #expect(own == theirs, "\(damage)")
            if !own { damaged += 1 }
            try db.execute("ROLLBACK TO whole")
            try db.execute("RELEASE whole")
        }
        #expect(try damaged > 12 && db.fullText("fts").passesIntegrityCheck(), "\(damaged)")
        try db.execute("INSERT INTO fts(fts) VALUES ('optimize')")
        #expect(try db.fullText("fts").passesIntegrityCheck())
    }

    /// The lengths of these two words differ by the same bit as their last letters do.
    @Test(arguments: ["full", "column", "none"]) func checkDistinguishesWordsOfDifferentLengths(detail: String) throws {
        let db = try Connection(.memory)
        try db.execute(SQL(raw: "CREATE VIRTUAL TABLE word USING fts5(body, detail = \(detail))"))
        try db.execute("INSERT INTO word VALUES ('w1 w10'), ('w1')")
        #expect(try db.fullText("word").passesIntegrityCheck())
        try db.execute("UPDATE word_content SET c0 = 'w10' WHERE id = 2")
        #expect(try !db.fullText("word").passesIntegrityCheck())
    }
}
