import Foundation
import SQLCipherKit
import SQLCipherKitSync
import Testing
import TestSupport

/// The examples of the article "Synchronize", in its order.
@Suite struct SynchronizeArticleTests {
    private static func migrator(isNew: Bool = false) -> Migrator {
        var migrator = Migrator()
        migrator.add("folders, notes and places") { db in
            try db.execute(SQLScript("""
                CREATE TABLE folder(id TEXT PRIMARY KEY, name TEXT);
                CREATE TABLE note(id TEXT PRIMARY KEY, folder TEXT REFERENCES folder ON DELETE SET NULL, title TEXT);
                CREATE TABLE place(id TEXT PRIMARY KEY, x REAL, y REAL);
                """))
        }
        if isNew { migrator.add("stars") { db in try db.execute("ALTER TABLE note ADD COLUMN stars INTEGER NOT NULL DEFAULT 0") } }
        return migrator
    }

    private func titles(_ pool: DatabasePool) async throws -> [String] {
        try await pool.read { db in try db.fetchAll(String.self, "SELECT title FROM note ORDER BY id") }
    }

    @Test func synchronizeArticleExamplesWork() async throws {
        let folder = try TemporaryFolder(), key = try DatabaseKey.raw([UInt8](repeating: 7, count: 32))
        let path = folder.path("laptop.db"), shared = folder.path("shared"), copy = folder.path("tablet.db")
        let other = folder.path("watch.db")
        do {
            for path in [path, other] {
                let pool = try DatabasePool(.file(path), key: key)
                try await Self.migrator().migrate(pool)
                try await pool.close()
            }
        }

        let pool = try DatabasePool(.file(path), key: key)
        let log = try await SharedChangeLog(
            pool, tables: ["folder", "note"], localPeer: "laptop")
        let store = ChangeStore(try FolderStore(shared), key: key)

        try await log.write { db in
            try db.execute("INSERT INTO folder VALUES ('f1', 'Birds')")
            try db.execute("""
                INSERT INTO note(id, folder, title)
                VALUES ('n1', 'f1', 'Foxes')
                """)
        }
        try await log.synchronize(with: store)

        try await pool.writeWithoutTransaction { db in
            let log = try ChangeLog(
                db, tables: ["folder", "note"], localPeer: "laptop")
            try log.write { db in
                try db.execute("UPDATE note SET title = 'Owls'")
            }
        }

        let queue = try DatabaseQueue(.file(other), key: key)
        let watch = try await SharedChangeLog(
            queue, tables: ["folder", "note"], localPeer: "watch")

        func addFolder(to log: SharedChangeLog) throws {
            try log.write { db in
                try db.execute(
                    "INSERT INTO folder VALUES ('f2', 'Trees')")
            }
        }

        try addFolder(to: watch)
        try await watch.synchronize(with: store)

        let names = queue.observe { db in
            try db.fetchAll(
                String.self, "SELECT name FROM folder ORDER BY id")
        }
        for try await names in names {
            print(names)
            if names == ["Birds", "Trees"] { break }
        }
        try await log.synchronize(with: store)
        #expect(try await pool.read { try $0.fetchAll(String.self, "SELECT name FROM folder ORDER BY id") } == ["Birds", "Trees"])

        struct Device {
            let pool: DatabasePool
            let log: SharedChangeLog
            let store: ChangeStore

            init(
                _ name: String, _ path: String, _ migrator: Migrator,
                _ store: ChangeStore, _ key: DatabaseKey
            ) throws {
                pool = try DatabasePool(.file(path), key: key)
                try migrator.migrate(pool)
                log = try SharedChangeLog(
                    pool, tables: ["folder", "note"], localPeer: name)
                self.store = store
            }

            func keepSynchronised(every pause: Duration) async throws {
                while true {
                    do {
                        try await log.synchronize(with: store)
                    } catch let error as DatabaseError
                        where error.code == .schema
                    {
                        print("This app is too old for some changes.")
                    } catch let error as DatabaseError
                        where error.reason == .storeUnavailable
                    {
                        print("Offline: \(error)")
                    }
                    try await Task.sleep(for: pause)
                }
            }
        }
        let phone = try Device("phone", folder.path("phone.db"), Self.migrator(), store, key)
        let loops = [
            Task { try await phone.keepSynchronised(every: .milliseconds(20)) },
            Task {
                while true {
                    try await log.synchronize(with: store)
                    try await Task.sleep(for: .milliseconds(20))
                }
            },
        ]
        defer { for loop in loops { loop.cancel() } }
        try await phone.log.write { db in try db.execute("INSERT INTO note(id, title) VALUES ('n2', 'Foxes')") }

        let titles = phone.pool.observe { db in
            try db.fetchAll(
                String.self, "SELECT title FROM note ORDER BY id")
        }
        for try await titles in titles {
            print(titles)
            if titles == ["Owls", "Foxes"] { break }
        }

        // The laptop's app is updated, and writes to a column that the phone lacks.
        try await Self.migrator(isNew: true).migrate(pool)
        try await log.write { db in try db.execute("UPDATE note SET stars = 5, title = 'Stars' WHERE id = 'n1'") }
        try await suspendUntil("the titles are there") { try await self.titles(pool) == ["Stars", "Foxes"] }
        await #expect { for _ in 0..<50 { try await phone.log.synchronize(with: store) } } throws: {
            ($0 as? DatabaseError)?.code == .schema
        }
        try await phone.log.write { db in try db.execute("UPDATE note SET title = 'Bats' WHERE id = 'n2'") }
        try await suspendUntil("the titles are there") { try await self.titles(pool) == ["Stars", "Bats"] }
        #expect(try await self.titles(phone.pool) == ["Owls", "Bats"])
        try await Self.migrator(isNew: true).migrate(phone.pool)
        try await suspendUntil("the titles are there") { try await self.titles(phone.pool) == ["Stars", "Bats"] }
        #expect(try await phone.pool.read { try $0.fetchAll(Int.self, "SELECT stars FROM note ORDER BY id") } == [5, 0])
        for loop in loops {
            loop.cancel()
            _ = await loop.result
        }
        try await log.write { db in try db.execute("UPDATE note SET title = 'By hand' WHERE id = 'n1'") }

        try await pool.main.backup(toFileAt: folder.path("backup"))
        try await log.write { db in try db.execute("UPDATE note SET title = 'Later' WHERE id = 'n1'") }
        try await log.synchronize(with: store)
        try await pool.main.restore(fromFileAt: folder.path("backup"))
        #expect(try await self.titles(pool) == ["By hand", "Bats"])

        do {
            try await log.synchronize(with: store)
        } catch let error as DatabaseError
            where error.reason == .copyRestored
        {
            try await log.withLog { log in
                try log.resolveRestore(.takingOthers)
            }
            try await log.synchronize(with: store)
        }
        #expect(try await self.titles(pool) == ["Later", "Bats"])

        let question = try await JSONEncoder().encode(
            phone.log.withLog { log in try log.position })

        let position = try JSONDecoder().decode(
            ChangeLog.Position.self, from: question)
        let answer = try await log.changes(since: position).data

        let outcome = try await phone.log.receive(
            ChangeLog.Message(data: answer))
        for table in outcome.tables {
            print(table.name, table.applied, table.outdated)
        }
        #expect(outcome.tables.map(\.applied) == [2])
        do {
            let pool = try DatabasePool(.file(folder.path("other.db")), key: key)
            try await Self.migrator().migrate(pool)
            let log = try await SharedChangeLog(
                pool, tables: ["place", "note", "folder"], localPeer: "laptop",
                mergePolicies: ["place": .row])
            #expect(try await log.withLog { try $0.peers } == [])
        }

        for log in [log, phone.log] {
            try await log.write { db in try db.execute("UPDATE note SET title = \(log.localPeer) WHERE id = 'n2'") }
        }
        try await log.receive(phone.log.changes(since: log.withLog { try $0.position }))
        try await phone.log.receive(log.changes(since: phone.log.withLog { try $0.position }))
        #expect(try await pool.read { try ChangeLog.conflicts(in: $0).map(\.lost) } == [["title": "laptop"]])

        let conflicts = pool.observe { db in
            try ChangeLog.conflicts(in: db)
        }
        for try await found in conflicts {
            for conflict in found {
                print(conflict.table, conflict.peer ?? "a copy")
            }
            guard let last = found.last else { break }
            try await pool.write { db in
                try ChangeLog.clearConflicts(in: db, upTo: last.id)
            }
        }
        #expect(try await pool.read { try ChangeLog.conflicts(in: $0) } == [])
        try await log.write { db in try db.execute("UPDATE note SET title = 'Bats' WHERE id = 'n2'") }

        try await log.withLog { log in try log.add(peer: "tablet") }
        try await pool.main.backup(toFileAt: copy)
        let tablet = try await SharedChangeLog(
            DatabasePool(.file(copy), key: key),
            tables: ["folder", "note"], localPeer: "tablet")
        try await tablet.write { try $0.execute("UPDATE note SET title = 'Tablet' WHERE id = 'n1'") }
        try await log.receive(tablet.changes(since: log.withLog { try $0.position }))
        #expect(try await self.titles(pool) == ["Tablet", "Bats"])
        try await tablet.receive(log.changes(since: tablet.withLog { try $0.position }))
        try await log.receive(tablet.changes(since: log.withLog { try $0.position }))

        try await log.withLog { try $0.remove(peer: "watch") }
        let count = try await log.withLog { log in
            try log.remove(peer: "phone")
            return try log.prune(gracePeriod: .seconds(365 * 86_400))
        }
        #expect(count > 0)
    }
}
