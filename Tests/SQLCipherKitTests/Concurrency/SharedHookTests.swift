import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

@Suite struct SharedHookTests {
    let folder: TemporaryFolder
    let databases: [DatabaseWriter]

    init() throws {
        folder = try TemporaryFolder()
        databases = [
            try DatabasePool(.file(folder.path("a.db")), key: .passphrase("one").quick),
            try DatabaseQueue(.file(folder.path("b.db")), key: .passphrase("one").quick),
        ]
        for database in databases { try database.write { db in try db.execute("CREATE TABLE t(x)") } }
    }

    private final class Log: Sendable {
        private let lines = Lock<[String]>([])
        func note(_ line: String) { lines.withLock { $0.append(line) } }
        /// The notes since the last time.
        var new: [String] {
            lines.withLock { lines in
                defer { lines = [] }
                return lines
            }
        }
    }

    private func insert(_ database: DatabaseWriter) throws {
        try database.write { db in try db.execute("INSERT INTO t VALUES (1)") }
    }

    @Test func sharedHooksRunForEachWriteUntilRemoved() throws {
        struct Undo: Error {}
        for database in databases {
            let log = Log()
            let tokens = [
                database.addCommitHook { log.note("commit") }, database.addCommitHook { log.note("second") },
                database.addRollbackHook { log.note("rollback") }, database.addUpdateHook { log.note("\($0.kind) \($0.table)") },
            ]
            try insert(database)
            #expect(log.new == ["insert t", "commit", "second"])
            try? database.write { db in
                try db.execute("DELETE FROM t")
                throw Undo()
            }
            #expect(log.new == ["delete t", "rollback"])
            // The connection that writes is now another connection.
            try database.changeKey(to: .passphrase("two").quick, mode: .newFile)
            _ = log.new
            try insert(database)
            #expect(log.new == ["insert t", "commit", "second"])
            tokens[0].remove()
            tokens[0].remove()
            try insert(database)
            #expect(log.new == ["insert t", "second"])
            for token in tokens { token.remove() }
            try insert(database)
            #expect(log.new == [])
        }
    }

    @Test func aCommitHookMayVeto() throws {
        struct Veto: Error {}
        for database in databases {
            let token = database.addCommitHook { throw Veto() }
            let error = #expect(throws: DatabaseError.self) { try insert(database) }
            #expect(error?.underlyingError is Veto)
            token.remove()
            try insert(database)
            #expect(try database.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } == 1)
        }
    }

    @Test func sharedTraceHookSeesAllConnections() throws {
        for database in databases {
            let log = Log()
            let token = database.addTraceHook { event in if event.kind == .started { log.note(event.sql) } }
            try database.read { db in _ = try db.fetchOne(Int.self, "SELECT 42") }
            try database.write { db in _ = try db.fetchOne(Int.self, "SELECT ?", [43]) }
            let lines = log.new
            #expect(lines.contains("SELECT 42") && lines.contains("SELECT ?"))
            token.remove()
            try database.read { db in _ = try db.fetchOne(Int.self, "SELECT 44") }
            #expect(log.new == [])
        }
    }

    /// Tokens are removed by any thread while others write: also by the hook itself.
    @Test func sharedHooksAreRemovableFromAnyThread() throws {
        for database in databases {
            try onThreads(4) { number in
                for turn in 0..<25 {
                    if number < 2 {
                        try self.insert(database)
                    } else {
                        let own = Lock<SharedHookToken?>(nil)
                        let box = Box(own)
                        let token = database.addUpdateHook { _ in box.value.withLock { $0 }?.remove() }
                        box.value.withLock { $0 = token }
                        let other = database.addCommitHook {}
                        if turn % 2 == 0 { token.remove() }
                        other.remove()
                    }
                }
            }
            #expect(try database.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } == 50)
        }
    }

    private final class Box: Sendable {
        let value: Lock<SharedHookToken?>
        init(_ value: consuming Lock<SharedHookToken?>) { self.value = value }
    }

    @Test func sharedHookCallingItsDatabaseThrows() throws {
        for database in databases {
            let log = Log()
            database.addUpdateHook { _ in
                do { try database.read { _ in } } catch { log.note("\((error as? DatabaseError)?.reason == .misuse)") }
            }
            try insert(database)
            #expect(log.new == ["true"])
            try database.close()
        }
    }
}
