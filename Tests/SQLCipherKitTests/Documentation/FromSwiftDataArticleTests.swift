import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// The example of the article "From SwiftData", on a file with the tables of Core Data.
@Suite struct FromSwiftDataArticleTests {
    struct Note: SQLRecord {
        var id: Int64?
        var title: String
        var created: Date
        static let table = SQLTable(of: Note.self) {
            $0.id.primaryKey()
            $0.title
            $0.created
        }
    }

    @Test(arguments: [DatabaseConfiguration.JournalMode.delete, .wal])
    func fromSwiftDataArticleCopiesRows(mode: DatabaseConfiguration.JournalMode) async throws {
        let folder = try TemporaryFolder()
        let storePath = folder.path("default.store")
        let made = try Connection(.file(storePath))
        try made.main.setJournalMode(mode)
        try made.execute(SQLScript("""
            CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
            CREATE TABLE ZNOTE(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCREATED TIMESTAMP, ZTITLE VARCHAR);
            INSERT INTO ZNOTE VALUES (1, 1, 1, 816942600.25, 'Mill'), (2, 1, 1, 0, 'Bakery');
            """))
        let pool = try DatabasePool(.file(folder.path("notes.db")), key: .raw([UInt8](repeating: 7, count: 32)))
        try await pool.write { db in try db.create(Note.table) }
        struct OldNote: Decodable {
            var title: String
            var created: Date
        }
        var reading = DatabaseConfiguration()
        reading.access = .readOnly
        reading.valueProfile = .coreData
        let store = try Connection(.file(storePath), configuration: reading)
        let old = try store.fetchAll(
            OldNote.self,
            "SELECT ZTITLE AS title, ZCREATED AS created FROM ZNOTE")
        try await pool.write { db in
            for note in old {
                try db.insert(Note(title: note.title, created: note.created))
            }
        }
        let found = try await pool.read { db in try db.fetchAll(Note.order { $0.id }) }
        #expect(found.map(\.title) == ["Mill", "Bakery"])
        #expect(found.map(\.created.timeIntervalSinceReferenceDate) == [816_942_600.25, 0])
    }
}
