import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// The recipes of the article "Cookbook", one after the other.
@Suite struct CookbookTests {
    struct Note: SQLRecord {
        var id: Int64?
        var title: String
        var year: Int
    }

    @Test func cookbookRecipesWork() async throws {
        let folder = try TemporaryFolder(), key = try DatabaseKey.raw([UInt8](repeating: 7, count: 32))
        let path = folder.path("notes.db"), archivePath = folder.path("archive.db")
        let backupPath = folder.path("backup.db"), vaultPath = folder.path("vault.db")
        let untrusted = "SELECT count(*) FROM note"
        let pieces = [[UInt8](repeating: 1, count: 1000), [UInt8](repeating: 2, count: 1000)]

        var migrator = Migrator()
        migrator.add("notes") { db in
            try db.execute("""
                CREATE TABLE note(
                    id INTEGER PRIMARY KEY,
                    title TEXT NOT NULL UNIQUE, year INTEGER NOT NULL)
                """)
        }
        let pool = try DatabasePool(.file(path), key: key)
        try await migrator.migrate(pool)

        do {
            let fox = try await pool.write { db in
                try db.inserted(Note(title: "Foxes", year: 2026))
            }
            print(fox.id ?? 0)                                  // 1
            #expect(fox.id == 1)
        }

        do {
            let batch = (1...1000).map { Note(title: "Note \($0)", year: 2020) }
            try await pool.write { db in try db.insertAll(batch) }
            #expect(try await pool.read { db in try db.count(Note.all) } == 1001)
        }

        do {
            try await pool.write { db in
                try db.execute("""
                    INSERT INTO note(title, year) VALUES (\("Foxes"), \(2027))
                    ON CONFLICT(title) DO UPDATE SET year = excluded.year
                    """)
            }
            #expect(try await pool.read { db in try db.fetchOne(Note.self, id: 1)?.year } == 2027)
        }

        do {
            do {
                try await pool.write { db in
                    try db.insert(Note(title: "Foxes", year: 2026))
                }
                Issue.record("a duplicate was inserted")
            } catch let error as DatabaseError
                where error.code == .constraintUnique
            {
                print("There is a note with this title.")
            }
        }

        do {
            let page = try await pool.read { db in
                try db.fetchAll(Note.order { $0.year; $0.id }.limit(20))
            }
            let last = page[page.count - 1]
            let next = try await pool.read { db in
                let rest = Note.filter {
                    SQLRowValue($0.year, $0.id) > (last.year, last.id)
                }
                return try db.fetchAll(rest.order { $0.year; $0.id }.limit(20))
            }
            #expect(page.count == 20 && next.map(\.title) == (21...40).map { "Note \($0)" })
        }

        do {
            let counts: [(Int, Int)] = try await pool.read { db in
                try db.fetchAll("""
                    SELECT year, count(*) FROM note GROUP BY year ORDER BY year
                    """)
            }
            #expect(counts.map(\.0) == [2020, 2027] && counts.map(\.1) == [1000, 1])
        }

        do {
            try await pool.write { db in
                try db.create(FTS5Table(
                    "note_fts", columns: ["title"],
                    content: .external(table: "note"),
                    tokenizer: .multilingual()))
            }
            let hits = try await pool.read { db in
                try db.fullText("note_fts").search("foxs", limit: 20).hits
            }
            print(hits.first?.snippet ?? "")                    // [Foxes]
            #expect(hits.map { $0.snippet?.description } == ["[Foxes]"])
        }

        do {
            for try await count in pool.observe({ try $0.count(Note.all) }) {
                print(count)
                #expect(count == 1001)
                break
            }
        }

        do {
            let settings = try SharedKeyValueStore("settings", in: pool)
            try await settings.set("theme", to: "dark")
            let theme = try await settings.get("theme", default: "light")
            #expect(theme == "dark")
        }

        do {
            struct Place: SQLRecord {
                var id: Int64?
                var tags: [String]
                static let table = SQLTable(of: Place.self) {
                    $0.id.primaryKey()
                    $0.tags
                }
            }
            let places = try await pool.write { db in
                try db.create(Place.table)
                try db.insert(Place(tags: ["food", "river"]))
                let atRivers = Place.filter { $0.tags.contains("river") }
                return try db.fetchAll(atRivers)
            }
            #expect(places.map(\.tags) == [["food", "river"]])
        }

        do {
            try await pool.write { db in
                let room = ZeroBlob(count: pieces.count * 1000)
                try db.execute("CREATE TABLE film(id INTEGER PRIMARY KEY, data)")
                try db.execute("INSERT INTO film VALUES (1, \(room))")
                let blob = try db.main.openBlob(
                    table: "film", column: "data", rowID: 1, forWriting: true)
                for piece in pieces { try blob.write(piece) }
                blob.close()
            }
            #expect(try await pool.read { db in try db.fetchOne(Data.self, "SELECT data FROM film") } == Data(pieces.joined()))
        }

        do {
            try await pool.register(
                .function("shout", .deterministic) { (text: String) in
                    text.uppercased() + "!"
                })
            let loud = try await pool.read { db in
                try db.fetchOne(String.self, "SELECT shout('fox')")
            }
            #expect(loud == "FOX!")
        }

        do {
            let values = try await pool.read(timeout: .seconds(1)) { db in
                try db.withPermissions(.readOnly) { db in
                    try db.fetchAll(SQLValue.self, "\(raw: untrusted)")
                }
            }
            #expect(values == [.integer(1001)])
        }

        do {
            let left = try await pool.write { db in
                try db.execute("DELETE FROM note WHERE year < 2026")
                let count = try db.count(Note.all)
                return .rollback(count)
            }
            #expect(left == 1)
            #expect(try await pool.read { db in try db.count(Note.all) } == 1001)
        }

        do {
            var options = Schema.BackupOptions()
            options.replacesFile = true
            try await pool.main.backup(toFileAt: backupPath, options: options)
            let copy = try Connection(.file(backupPath), key: key)
            #expect(try copy.count(Note.all) == 1001)
            copy.close()
        }

        do {
            try await pool.barrierWriteWithoutTransaction { db in
                let archive = try db.attach(
                    .file(archivePath), as: "archive", key: key)
                try db.execute("""
                    CREATE TABLE IF NOT EXISTS archive.note(
                        id INTEGER PRIMARY KEY, title TEXT, year INTEGER)
                    """)
                try db.main.moveRows(
                    of: "note", to: archive, where: "year < \(2026)")
                try archive.detach()
                try db.main.vacuum()
            }
            #expect(try await pool.read { db in try db.count(Note.all) } == 1)
            let archive = try Connection(.file(archivePath), key: key)
            #expect(try archive.count(Note.all) == 1000)
            archive.close()
        }

        do {
            try await pool.changeKey(to: .passphrase("battery staple"))
            try await pool.close()
            let other = try Connection(.file(path), key: .passphrase("battery staple"))
            #expect(try other.count(Note.all) == 1)
            other.close()
        }

        do {
            let vault = DatabaseLocation.file(vaultPath)
            let slots = try KeySlots.create(
                .passphrase("correct horse"), label: "laptop", for: vault)
            let recovery = try slots.addRecoveryKey(label: "safe")
            print(recovery.text)     // to be written down, and shown only here
            let db = try Connection(
                vault, key: .slots(secret: .passphrase("correct horse")))
            db.close()
            let reopened = try Connection(vault, key: .slots(secret: .recoveryKey(recovery)))
            #expect(reopened.isOpen)
        }
    }
}
