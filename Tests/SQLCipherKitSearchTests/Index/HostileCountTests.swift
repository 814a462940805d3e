import SQLCipherKitCore
import SQLCipherKitSearch
import Testing
import TestSupport

/// The number of rows that an index states is part of a file, and may be any.
@Suite struct HostileCountTests {
    /// In FTS5's form: -1, the least number, 2^62, 2^48 + 1, and 2^48, which is the number of bytes of the largest file.
    @Test(arguments: [
        ("ffffffffffffffffff", false), ("c08080808080808000", false), ("a08080808080808000", false), ("c0808080808001", false),
        ("c0808080808000", true),
    ])
    func impossibleRowCountIsReportedAsCorrupt(number: String, isPossible: Bool) throws {
        let folder = try TemporaryFolder()
        do {
            let db = try Connection(.file(folder.path("a.db")))
            for table in ["t", "u"] {
                try db.create(FTS5Table(table, columns: ["title", "body"]))
                let name = SQL(raw: table)
                for _ in 0..<3 { try db.execute("INSERT INTO \(name) VALUES ('alpha beta', 'gamma delta')") }
                try db.execute("UPDATE \(identifier: table + "_data") SET block = unhex(\(number)) || x'0606' WHERE id = 1")
            }
        }
        let db = try Connection(.file(folder.path("a.db")))
        let index = try db.fullText("t")
        let calls: [() throws -> Void] = [
            { _ = try index.search("alhpa gamma") },
            { _ = try index.correctedText("alhpa gamma") },
            { _ = try index.suggestions(for: "al") },
            { _ = try index.corrections(of: "alhpa") },
            { _ = try db.search("alhpa gamma", in: [index, db.fullText("u")]) },
        ]
        for call in calls {
            if isPossible { try call() } else {
                let error = #expect(throws: DatabaseError.self) { try call() }
                #expect(error.map { .corrupt ~= $0.code } == true)
            }
        }
        #expect(try !index.passesIntegrityCheck())
    }
}
