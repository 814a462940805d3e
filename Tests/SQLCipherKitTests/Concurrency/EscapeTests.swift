import Foundation
import KitSupport
import SQLCipherKit
import SQLCipherKitSync
import Testing
import TestSupport

/// An object carried out of its closure throws or does nothing, whatever thread touches it, also while the connection is used.
@Suite struct ConcurrencyEscapeTests {
    /// Everything that a closure can get from its connection.
    private final class Loot {
        var uses: [(name: String, use: () throws -> Void)] = []

        func add(_ name: String, _ use: @escaping () throws -> Void) { uses.append((name, use)) }
    }

    private func loot(_ db: Connection) throws -> Loot {
        let loot = Loot()
        let statement = try db.prepare("SELECT x FROM t")
        let cursor = try db.cursor(Int.self, "SELECT x FROM t")
        _ = try cursor.next()
        let main = db.main, settings = db.settings
        let blob = try main.openBlob(table: "t", column: "y", rowID: 1), recorder = try ChangeRecorder(main)
        let store = try KeyValueStore("s", in: db), index = try db.fullText("f")
        loot.add("connection") { _ = try db.fetchOne(Int.self, "SELECT 1") }
        loot.add("execute") { try db.execute("DELETE FROM t") }
        loot.add("begin") { try db.begin() }
        loot.add("close") { db.close() }
        loot.add("cursors") { db.closeCursors() }
        loot.add("properties") { _ = (db.isOpen, db.isInTransaction, db.hasOpenCursors, db.lastInsertedRowID) }
        loot.add("statement") { _ = try statement.fetchOne(Int.self) }
        loot.add("cursor") { _ = try cursor.next() }
        loot.add("schema") { _ = try main.tables() }
        loot.add("blob") { _ = try blob.read(1, at: 0) }
        loot.add("close of the blob") { blob.close() }
        loot.add("close of the recorder") { recorder.close() }
        loot.add("blob of another row") { try blob.reopen(rowID: 2) }
        loot.add("recorder") { _ = try recorder.changeset() }
        loot.add("recorded table") { try recorder.add(table: "t") }
        loot.add("store") { _ = try store.get("k", as: Int.self) }
        loot.add("change of the store") { try store.set("k", to: 2) }
        loot.add("search") { _ = try index.search("word") }
        loot.add("change of the index") { try index.optimize() }
        loot.add("settings") { try settings.setBusyTimeout(.seconds(1)) }
        loot.add("hook") { try db.addCommitHook {} }
        loot.add("progress handler") { try db.settings.setProgressHandler { true } }
        for (name, token) in [
            ("commit hook", try db.addCommitHook {}), ("rollback hook", try db.addRollbackHook {}),
            ("update hook", try db.addUpdateHook { _ in }), ("trace hook", try db.addTraceHook { _ in }),
            ("change hook", try db.addChangeHook { _ in }),
        ] { loot.add(name) { token.remove() } }
        return loot
    }

    @Test(arguments: [false, true]) func escapedObjectsThrowOnAnyThread(isPool: Bool) throws {
        let folder = try TemporaryFolder()
        let location = DatabaseLocation.file(folder.path("a.db"))
        let database: DatabaseWriter = try isPool ? DatabasePool(location) : DatabaseQueue(location)
        try database.write { db in
            try db.execute("CREATE TABLE t(x, y DEFAULT (x'0102'))")
            try db.execute("INSERT INTO t(x) VALUES (1), (2), (3)")
            try db.execute("CREATE VIRTUAL TABLE f USING fts5(words)")
            try db.execute("INSERT INTO f VALUES ('a word')")
            try KeyValueStore("s", in: db).set("k", to: 1)
        }
        for round in 0..<3 {
            nonisolated(unsafe) var escaped: Loot?
            switch round % 3 {
            case 0: try database.write { db in escaped = try loot(db) }
            case 1: try database.read { db in escaped = try loot(db) }
            default: try database.barrierWriteWithoutTransaction { db in escaped = try loot(db) }
            }
            let uses = try #require(escaped).uses
            nonisolated(unsafe) let sent = uses
            let isDone = Lock(false)
            let worker = onThread {
                defer { isDone.withLock { $0 = true } }
                for number in 0..<(LongTests.areOn ? 40 : 12) {
                    try database.write { db in
                        for _ in 0..<5 { try db.execute("INSERT INTO t(x) VALUES (\(number))") }
                        let count = try db.fetchOne(Int.self, "SELECT count(*) FROM t") ?? 0
                        try db.execute("DELETE FROM t WHERE x = \(number) AND rowid > 3")
                        #expect(count >= 8)
                    }
                    let rows = try database.read { db in try db.fetchAll(Int.self, "SELECT x FROM t") }
                    #expect(rows == [1, 2, 3])
                    #expect(try database.read { db in try KeyValueStore("s", in: db).get("k", as: Int.self) } == 1)
                }
            }
            try onThreads(3) { number in
                while !isDone.withLock({ $0 }) {
                    for (name, use) in sent {
                        do {
                            try use()
                            let mayPass = name.hasSuffix(" hook") || name.hasPrefix("close") || ["cursors", "properties"].contains(name)
                            #expect(mayPass, "\(name) was of use")
                        } catch let error as DatabaseError {
                            #expect([.misuse, .closed].contains(error.reason), "\(name): \(error)")
                        }
                    }
                }
            }
            try worker.wait()
            escaped = nil
        }
        try database.close()
    }
}
