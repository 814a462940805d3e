import ExtensionSample
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

/// An extension in C, with a function and a virtual table, on a connection, a queue and a pool.
@Suite struct ExtensionEntryPointTests {
    private func numbers(_ db: Connection) throws -> [Int] {
        try db.fetchAll(Int.self, "SELECT sample_twice(value) FROM sample_countdown(3)")
    }

    @Test func extensionInCWorksOnAConnection() throws {
        let db = try Connection(.memory, key: nil)
        try db.register(.entryPoint(sqlite3_sample_init))
        #expect(try numbers(db) == [6, 4, 2])
        try db.unregister(.function("sample_twice", arguments: 1))
        #expect(throws: DatabaseError.self) { try numbers(db) }
    }

    @Test(arguments: [false, true]) func extensionInCWorksOnEachConnectionOfAQueueOrPool(isPool: Bool) async throws {
        let folder = try TemporaryFolder(), key = try DatabaseKey.passphrase("one").quick
        let location = DatabaseLocation.file(folder.path("a.db"))
        let database: DatabaseWriter = isPool ? try DatabasePool(location, key: key) : try DatabaseQueue(location, key: key)
        try await database.register(.entryPoint(sqlite3_sample_init))
        #expect(try await database.read { db in try numbers(db) } == [6, 4, 2])
        try await database.write { db in try db.execute("CREATE TABLE t AS SELECT value FROM sample_countdown(5)") }
        #expect(try await database.read { db in try db.fetchOne(Int.self, "SELECT sum(sample_twice(value)) FROM t") } == 30)
        try await database.close()
    }

    @Test func failingExtensionThrowsItsMessage() throws {
        let db = try Connection(.memory, key: nil)
        let error = #expect(throws: DatabaseError.self) { try db.register(.entryPoint(sqlite3_failing_init)) }
        #expect(error?.code == .error && error?.message == "the sample does not work today")
        #expect(try db.fetchOne(Int.self, "SELECT 1") == 1)
    }

    @Test func extensionInCIsRefusedInsideAHook() throws {
        let db = try Connection(.memory, key: nil)
        try db.execute("CREATE TABLE t(x)")
        try db.addUpdateHook { [unowned db] _ in
            let error = #expect(throws: DatabaseError.self) { try db.register(.entryPoint(sqlite3_sample_init)) }
            #expect(error?.reason == .misuse)
        }
        try db.execute("INSERT INTO t VALUES (1)")
        #expect(throws: DatabaseError.self) { try numbers(db) }
    }
}
