import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitMaintenance
import Testing
import TestSupport

/// The examples of the article "Synchronise", in its order.
@Suite struct SynchroniseArticleTests {
    @Test func codeOfTheArticleWorks() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("tablet.db"), key = try Encryption.passphrase("secret").quick
        func make() throws -> Connection {
            let db = try Connection(.memory, key: key)
            try db.execute(SQLScript("""
                CREATE TABLE folder(id TEXT PRIMARY KEY, name TEXT);
                CREATE TABLE note(id TEXT PRIMARY KEY, folder TEXT REFERENCES folder ON DELETE SET NULL, title TEXT);
                CREATE TABLE place(id TEXT PRIMARY KEY, x REAL, y REAL);
                """))
            return db
        }
        let db = try make(), other = try make()
        let phone = try ChangeLog(other, tables: ["folder", "note"], peer: "phone")

        let log = try ChangeLog(
            db, tables: ["folder", "note"], peer: "laptop")
        try log.write { db in
            try db.execute("INSERT INTO folder VALUES ('f1', 'Birds')")
            try db.execute("""
                INSERT INTO note(id, folder, title)
                VALUES ('n1', 'f1', 'Foxes')
                """)
        }

        let question = try JSONEncoder().encode(phone.position)

        let position = try JSONDecoder().decode(
            ChangePosition.self, from: question)
        let answer = try log.changes(since: position).data

        let outcome = try phone.receive(ChangeMessage(data: answer))
        for table in outcome.tables {
            print(table.name, table.applied, table.outdated)
        }
        #expect(outcome.tables.map(\.applied) == [1, 1])
        #expect(try other.fetchAll(String.self, "SELECT title FROM note") == ["Foxes"])
        do {
            let db = try make()
            let log = try ChangeLog(
                db, tables: ["place", "note", "folder"], peer: "laptop",
                rules: ["place": .row])
            #expect(try log.peers == [])
        }

        try log.add(peer: "tablet")
        try db.main.backup(toFileAt: path)
        let tablet = try ChangeLog(
            Connection(.file(path), key: key),
            tables: ["folder", "note"], peer: "tablet")
        try tablet.write { try $0.execute("UPDATE note SET title = 'Owls'") }
        try log.receive(tablet.changes(since: log.position))
        #expect(try db.fetchAll(String.self, "SELECT title FROM note") == ["Owls"])
        try tablet.receive(log.changes(since: tablet.position))
        try log.receive(tablet.changes(since: log.position))

        try log.remove(peer: "phone")
        let count = try log.prune()
        #expect(count == 2)
    }
}
