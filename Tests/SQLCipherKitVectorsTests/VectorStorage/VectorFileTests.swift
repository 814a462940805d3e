import Foundation
import KitSupport
import SQLCipherKit
import SQLCipherKitSync
import SQLCipherKitVectors
import Testing
import TestSupport

/// Operations on a whole file keep its vectors, and every program with SQLCipher can write their content.
@Suite struct VectorFileTests {
    private let folder: TemporaryFolder
    private let key = InteroperableKey.key
    private static let dimensions = 33

    /// A key that other programs are told by a pragma, with SQLCipher's own settings.
    private enum InteroperableKey {
        static let bytes = (0..<32).map { UInt8(7 * $0 & 255) }
        static let key = Result { try DatabaseKey.raw(bytes) }
        static let pragma = "\"x'\(bytes.map { String(format: "%02x", $0) }.joined())'\""
    }

    init() throws { folder = try TemporaryFolder() }

    private func path(_ name: String) -> String { folder.path(name + ".db") }

    /// A database with a table of vectors of each kind over the same rows. Some rows are missing a vector, and some are gone.
    private func make(_ location: DatabaseLocation? = nil) throws -> Connection {
        let db = try Connection(location ?? .file(path("a")), key: location == nil ? key.get() : nil)
        var random = SeededGenerator(state: 7)
        try db.transaction { db in
            try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)")
            for element in VectorTable.Element.allCases {
                try db.create(VectorTable(
                    "v" + element.rawValue, dimensions: Self.dimensions, of: element, content: .external(table: "note", columns: ["title"]),
                    keepsBits: element != .bits))
            }
            for id in 1...60 { try db.execute("INSERT INTO note VALUES (\(id), \("note \(id)"))") }
            for index in try db.main.vectorIndexes() {
                let vectors = RandomVectors.some(50, Self.dimensions, &random)
                try index.set(vectors.enumerated().map { (id: Int64($0.offset + 1), vector: $0.element) })
            }
            try db.execute("DELETE FROM note WHERE id % 10 = 3")
        }
        return db
    }

    /// All that the tables of vectors answer.
    private func answers(_ db: Connection, _ condition: SQL = "title LIKE '%1'") throws -> [String] {
        var random = SeededGenerator(state: 8)
        let query = RandomVectors.one(Self.dimensions, &random)
        let indexes = try db.main.vectorIndexes()
        #expect(indexes.count == 3)
        return try indexes.flatMap { index -> [String] in
            #expect(try index.passesIntegrityCheck())
            var search = VectorSearch(query, limit: 20)
            var lines = try ["\(index.name) \(index.element) \(index.count), missing \(index.missing().map(\.id))"]
            lines += try index.search(search).map { "\($0.rowID) \($0.distance)" }
            search.filter = condition
            lines += try index.search(search).map { "\($0.rowID) \($0.distance)" }
            search.filter = nil
            if try index.element != .bits { search.coarse = .bits(oversampling: 2) }
            return try lines + index.search(search).map { "\($0.rowID) \($0.distance)" }
        }
    }

    /// Triggers go on to keep the tables in step.
    private func expectStep(_ db: Connection, _ table: String = "note") throws {
        let counts = try db.main.vectorIndexes().map { try $0.count }
        try db.execute("INSERT INTO \(identifier: table)(id, title) VALUES (1000, 'new')")
        try db.execute("UPDATE \(identifier: table) SET title = 'other' WHERE id = 1")
        try db.execute("DELETE FROM \(identifier: table) WHERE id = 2")
        for (index, count) in zip(try db.main.vectorIndexes(), counts) {
            #expect(try index.passesIntegrityCheck() && index.count == count - 2)
            #expect(try index.missing().map(\.id).filter { [1, 2, 1000].contains($0) } == [1, 1000])
        }
    }

    // MARK: Whole files

    enum Way: String, CaseIterable {
        case changeKey, changeKeyByNewFile, convert, decrypt, slots, vacuum, erase, backup, backupWithKey, restore, salvage, migrate
    }

    @Test(arguments: Way.allCases) func wholeFilesKeepTheirVectors(_ way: Way) throws {
        let db = try make(), before = try answers(db), key = try key.get(), other = try DatabaseKey.raw([UInt8](InteroperableKey.bytes.reversed()))
        let (a, b) = (path("a"), path("b"))
        let (found, foundKey): (String, DatabaseKey)
        switch way {
        case .changeKey:
            try db.changeKey(to: other)
            (found, foundKey) = (a, other)
        case .changeKeyByNewFile:
            try db.changeKey(to: other, mode: .newFile)
            (found, foundKey) = (a, other)
        case .convert:
            db.close()
            try DatabaseConverter.convert(fileAt: a, from: key, to: other)
            (found, foundKey) = (a, other)
        case .decrypt:
            db.close()
            try DatabaseConverter.decrypt(fileAt: a, key: key)
            (found, foundKey) = (a, .plaintext)
        case .slots:
            db.close()
            let slots = try KeySlots.create(
                .passphrase("three"), label: "desk", for: .file(a), existingKey: key, derivation: .pbkdf2(iterations: 1000))
            (found, foundKey) = (a, .slots(slots))
        case .vacuum:
            try db.main.vacuum()
            (found, foundKey) = (a, key)
        case .erase:
            _ = try db.main.eraseDeletedContent()
            (found, foundKey) = (a, key)
        case .backup:
            try db.main.backup(toFileAt: b)
            (found, foundKey) = (b, key)
        case .backupWithKey:
            try db.main.backup(toFileAt: b, key: other)
            (found, foundKey) = (b, other)
        case .restore:
            try db.main.backup(toFileAt: b, key: other)
            try db.execute("DELETE FROM note")
            try db.main.restore(fromFileAt: b, key: other)
            (found, foundKey) = (a, key)
        case .salvage:
            db.close()
            try DatabaseConverter.salvage(fileAt: a, key: key, to: b)
            (found, foundKey) = (b, key)
        case .migrate:
            var migrator = Migrator()
            migrator.add("years") { db in
                try db.main.rebuildTable("note", sql: "CREATE TABLE note(id INTEGER PRIMARY KEY, year INTEGER, title TEXT NOT NULL)")
            }
            try migrator.migrate(db)
            (found, foundKey) = (a, key)
        }
        db.close()
        let after = try Connection(.file(found), key: foundKey)
        #expect(try answers(after) == before)
        try expectStep(after)
    }

    /// Other dimensions, another form: the table is made again within a migration.
    @Test func migrationsMakeTablesAgain() throws {
        let db = try make()
        var migrator = Migrator()
        migrator.add("a larger model") { db in
            try db.vectors("vfloat32").drop()
            try db.create(VectorTable("vfloat32", dimensions: 5, of: .int8, content: .external(table: "note", columns: ["title"])))
            try db.main.renameColumn("title", to: "name", of: "note")
            try db.main.renameTable("note", to: "page")
        }
        try migrator.migrate(db)
        let vectors = try db.vectors("vfloat32")
        #expect(try vectors.dimensions == 5 && vectors.count == 0 && vectors.missingCount == 54)
        try db.execute("ALTER TABLE page RENAME COLUMN name TO title")
        try vectors.set([1, 2, 3, 4, 5], for: 1)
        try vectors.set([1, 2, 3, 4, 5], for: 2)
        try expectStep(db, "page")
    }

    // MARK: Changes

    /// Rows that another database's changes bring are missing their vectors; with the tables of vectors and without triggers, all
    /// of it travels.
    @Test func changesetsKeepTablesInStep() throws {
        let source = try make(.memory), target = try make(.memory), plain = try make(.memory), whole = try make(.memory)
        func change(_ db: Connection) throws {
            try db.execute("INSERT INTO note VALUES (100, 'new')")
            try db.execute("UPDATE note SET title = 'other' WHERE id IN (4, 5)")
            try db.execute("DELETE FROM note WHERE id = 6")
            for index in try db.main.vectorIndexes() { try index.set([Float](repeating: 1, count: Self.dimensions), for: 5) }
        }
        let changes = try source.main.recordingChanges(change)
        try changes.apply(to: target, tables: ["note"]) { _ in .abort }
        for index in try target.main.vectorIndexes() {
            #expect(try index.passesIntegrityCheck() && index.count == 45 - 3)
            #expect(try index.missing().map(\.id).filter { $0 < 10 || $0 == 100 } == [4, 5, 100])
        }
        var options = Changeset.Options()
        options.triggers = .essentialOnly
        try changes.apply(to: plain, tables: ["note"], options: options) { _ in .abort }
        #expect(try answers(plain) == answers(target))
        try changes.apply(to: whole, options: options) { _ in .abort }
        #expect(try answers(whole) == answers(source))
        try changes.inverted().apply(to: whole, options: options) { _ in .abort }
        #expect(try answers(whole) == answers(make(.memory)))
    }

    @Test func synchronizedRowsAreMissingTheirVectors() throws {
        let db = try make(.memory), other = try make(.memory)
        for name in ["vint8", "vint8_chunks", "vint8_missing", "VINT8_bits"] {
            #expect { try ChangeLog(db, tables: ["note", name], localPeer: "a") } throws: { error in
                (error as? DatabaseError)?.message.contains("each copy creates its own") == true
            }
        }
        let log = try ChangeLog(db, tables: ["note"], localPeer: "a"), copy = try ChangeLog(other, tables: ["note"], localPeer: "b")
        try copy.receive(log.changes())
        try log.write { db in
            try db.execute("INSERT INTO note VALUES (100, 'new')")
            try db.execute("UPDATE note SET title = 'other' WHERE id IN (4, 5)")
            try db.execute("DELETE FROM note WHERE id = 6")
        }
        try copy.receive(log.changes())
        #expect(try answers(other) == answers(db))
        for index in try other.main.vectorIndexes() { #expect(try index.missing().map(\.id).filter { $0 < 10 } == [4, 5]) }
    }

    @Test func observationsSeeVectors() async throws {
        let queue = try DatabaseQueue(.memory)
        try await queue.write { db in
            try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)")
            try db.create(FTS5Table("f", columns: ["title"], content: .external(table: "note")))
            try db.create(VectorTable("v", dimensions: 2, content: .external(table: "note", columns: ["title"])))
            try db.execute("INSERT INTO note VALUES (1, 'one'), (2, 'two')")
        }
        let found = queue.observe { db in
            try db.search(HybridSearch("one", vector: [1, 0]), words: db.fullText("f"), vectors: db.vectors("v")).hits.map { hit in
                "\(hit.rowID) \(hit.wordRank ?? 0) \(hit.vectorRank ?? 0)"
            }
        }
        var seen: [[String]] = []
        for try await hits in found.removingDuplicates() {
            seen.append(hits)
            if seen.count == 1 { try await queue.write { db in try db.vectors("v").set([1, 0], for: 2) } }
            if seen.count == 2 { try await queue.write { db in try db.execute("DELETE FROM note WHERE id = 1") } }
            if seen.count == 3 { break }
        }
        #expect(seen == [["1 1 0"], ["1 1 0", "2 0 1"], ["2 0 1"]])
    }

    /// Another connection gives the row's slot to another row between the statements that read it.
    @Test func vectorIsReadFromOneSnapshot() throws {
        let db = try make()
        try db.main.setJournalMode(.wal)
        let other = try Connection(.file(path("a")), key: key.get()), vectors = try db.vectors("vfloat32")
        let stored = try #require(try vectors.vector(for: 1))
        var writes: [Result<Void, any Error>] = []
        let token = try db.addTraceHook { event in
            guard case .finished = event.kind, event.sql.hasPrefix("SELECT slot"), writes.isEmpty else { return }
            writes.append(Result {
                try other.execute("INSERT INTO note VALUES (100, 'new')")
                try other.execute("DELETE FROM note WHERE id = 1")
                try other.vectors("vfloat32").set([Float](repeating: 1, count: Self.dimensions), for: 100)
            })
        }
        #expect(try vectors.vector(for: 1) == stored)
        token.remove()
        #expect(writes.count == 1)
        try writes.first?.get()
        #expect(try vectors.vector(for: 1) == nil && vectors.passesIntegrityCheck())
    }

    // MARK: Other programs

    /// An independent build of SQLCipher, which has none of this package's functions and fires no delete trigger for a replaced
    /// row.
    @Test func anotherSQLCipherBuildWritesTheContent() throws {
        let db = try make()
        let before = try db.main.vectorIndexes().map { try $0.count }
        db.close()
        let found = try Python.run(
            """
            import sys
            from sqlcipher3 import dbapi2 as sqlite
            db = sqlite.connect(sys.argv[1], isolation_level=None)
            db.execute('PRAGMA key = ' + sys.argv[2])
            db.execute("INSERT INTO note VALUES (200, 'new')")
            db.execute("UPDATE note SET title = 'other' WHERE id = 5")
            db.execute("DELETE FROM note WHERE id = 6")
            db.execute("INSERT OR REPLACE INTO note VALUES (7, 'replaced'), (201, 'new')")
            db.execute("UPDATE OR REPLACE note SET id = 9 WHERE id = 8")
            print(db.execute('SELECT count(*) FROM vint8_missing').fetchone()[0], db.execute('PRAGMA integrity_check').fetchone()[0])
            """, path("a"), InteroperableKey.pragma)
        #expect(found == "14 ok")
        let after = try Connection(.file(path("a")), key: key.get())
        for (index, count) in zip(try after.main.vectorIndexes(), before) {
            #expect(try index.passesIntegrityCheck() && index.count == count - 5)
            #expect(try index.missing().map(\.id).filter { $0 < 50 || $0 > 100 } == [5, 7, 9, 200, 201])
        }
        try expectStep(after)
    }

    /// The output of SQLite's own dump makes the same tables again, in a program without this package.
    @Test func dumpOfAnotherProgramHasTheVectors() throws {
        let db = try make(.file(path("plain")))
        let before = try answers(db)
        db.close()
        let found = try Python.run(
            """
            import sqlite3, sys
            script = '\\n'.join(sqlite3.connect(sys.argv[1]).iterdump())
            db = sqlite3.connect(sys.argv[2])
            db.executescript(script)
            print(db.execute('PRAGMA integrity_check').fetchone()[0])
            """, path("plain"), path("copy"))
        #expect(found == "ok")
        let copy = try Connection(.file(path("copy")))
        #expect(try answers(copy) == before)
        try expectStep(copy)
    }
}
