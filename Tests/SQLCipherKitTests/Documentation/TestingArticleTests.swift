import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// The code of the article "Testing your code": a store, and the tests of it.
struct NoteStore {
    static let migrator: Migrator = {
        var migrator = Migrator()
        migrator.add("notes") { db in
            try db.execute("""
                CREATE TABLE note(
                    id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE)
                """)
        }
        return migrator
    }()
    let database: DatabaseWriter

    init(_ database: DatabaseWriter) throws {
        self.database = database
        try Self.migrator.migrate(database)
    }

    func add(_ title: String) async throws {
        try await database.write { db in
            try db.execute("INSERT INTO note(title) VALUES (\(title))")
        }
    }

    func titles() async throws -> [String] {
        try await database.read { db in
            try db.fetchAll(
                String.self, "SELECT title FROM note ORDER BY title")
        }
    }
}

@Suite struct NoteStoreTests {
    @Test func notesAreSorted() async throws {
        let store = try NoteStore(DatabaseQueue(.memory))
        try await store.add("Mill")
        try await store.add("Bakery")
        #expect(try await store.titles() == ["Bakery", "Mill"])
    }

    @Test func aSecondNoteOfOneTitleIsRefused() async throws {
        let store = try NoteStore(DatabaseQueue(.memory))
        try await store.add("Mill")
        await #expect {
            try await store.add("Mill")
        } throws: { error in
            (error as? DatabaseError)?.code == .constraintUnique
        }
        #expect(try await store.titles() == ["Mill"])
    }
}

final class NotesFolder {
    let url = FileManager.default.temporaryDirectory
        .appendingPathComponent("notes-\(UUID().uuidString)")
    let key: DatabaseKey

    init() throws {
        key = try .raw([UInt8](repeating: 7, count: 32))
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true)
    }

    func open() throws -> DatabasePool {
        let file = url.appendingPathComponent("notes.db")
        return try DatabasePool(.file(file), key: key)
    }

    deinit { try? FileManager.default.removeItem(at: url) }
}

extension NoteStoreTests {
    @Test func notesAreThereAtTheNextStart() async throws {
        let folder = try NotesFolder()
        defer { withExtendedLifetime(folder) {} }
        let first = try folder.open()
        try await NoteStore(first).add("Mill")
        try await first.close()
        let second = try NoteStore(folder.open())
        #expect(try await second.titles() == ["Mill"])
    }

    @Test func anotherKeyOpensNothing() throws {
        let folder = try NotesFolder()
        defer { withExtendedLifetime(folder) {} }
        try folder.open().close()
        let file = folder.url.appendingPathComponent("notes.db")
        #expect {
            try Connection(.file(file), key: .passphrase("other"))
        } throws: { error in
            (error as? DatabaseError)?.reason == .wrongKeyOrNotADatabase
        }
    }
}

extension NoteStore {
    static func seeded() throws -> NoteStore {
        let store = try NoteStore(DatabaseQueue(.memory))
        try store.database.write { db in
            for title in ["Bakery", "Mill", "Garden"] {
                try db.execute(
                    "INSERT INTO note(title) VALUES (\(title))")
            }
        }
        return store
    }
}

extension NoteStoreTests {
    @Test func seededNotes() async throws {
        #expect(try await NoteStore.seeded().titles().count == 3)
    }

    /// The article's advice on passphrases in tests: few rounds open the file, and only with the same setting.
    @Test func fewKeyDerivationRoundsNeedTheSameSetting() throws {
        let folder = try TemporaryFolder(), path = folder.path("notes.db")
        var cipher = CipherConfiguration()
        cipher.kdfIterations = 1_000
        let key = try DatabaseKey.passphrase("correct horse", cipher: cipher)
        try Connection(.file(path), key: key).close()
        try Connection(.file(path), key: key).close()
        #expect(throws: DatabaseError.self) { try Connection(.file(path), key: .passphrase("correct horse")) }
    }
}
