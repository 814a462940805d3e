import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct ConcurrencyInterruptTests {
    let folder: TemporaryFolder
    let databases: [DatabaseWriter]

    init() throws {
        folder = try TemporaryFolder()
        var configuration = DatabaseConfiguration()
        configuration.label = "notes"
        databases = [
            try DatabasePool(.file(folder.path("a.db")), key: .passphrase("one").quick, configuration: configuration),
            try DatabaseQueue(.memory, configuration: configuration),
        ]
        for database in databases { try database.write { db in try db.execute("CREATE TABLE t(x)") } }
    }

    @Test func interruptEndsRunningCallsOnly() throws {
        let endless: SQL = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
        @Sendable func end(_ db: Connection, _ endless: SQL, _ started: Latch) throws {
            started.open()
            try db.execute(endless)
        }
        for database in databases {
            let isPool = database is DatabasePool
            let snapshot = try (database as? DatabasePool)?.snapshot()
            let started = (0..<3).map { _ in Latch() }
            var running: [Outcomes] = []
            let bodies: [@Sendable () throws -> Void] = [
                { try database.read { db in try end(db, endless, started[0]) } },
                {
                    try database.write { db in
                        try db.execute("INSERT INTO t VALUES (1)")
                        started[1].open()
                        try db.execute(endless)
                    }
                },
                { try snapshot?.read { db in try end(db, endless, started[2]) } },
            ]
            for (body, latch) in zip(bodies, started).prefix(isPool ? 3 : 1) {
                running.append(onThread(body))
                latch.wait()
            }
            // The statement begins some microseconds after it was announced.
            while !running.allSatisfy(\.isEnded) {
                database.interrupt()
                usleep(1000)
            }
            for outcome in running {
                let error = #expect(throws: DatabaseError.self) { try outcome.wait() }
                #expect(error?.code == .interrupted)
            }
            for _ in 0..<3 {
                database.interrupt()
                #expect(try database.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } == 0)
                #expect(try database.write { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } == 0)
            }
            try database.close()
            database.interrupt()
        }
    }

    /// A checkpoint would heed it, and so would the one of closing, which then leaves the log.
    @Test func interruptOfIdleDatabaseHasNoEffect() throws {
        let path = folder.path("b.db")
        let db = try Connection(.file(path), key: .passphrase("one").quick)
        try db.main.setJournalMode(.wal)
        for isClosing in [false, true] {
            try db.execute("CREATE TABLE \(identifier: "t\(isClosing)")(x)")
            try db.interruptHandle.interrupt()
            if isClosing { db.close() } else { #expect(try db.main.checkpoint(.truncate).isComplete) }
        }
        #expect(try folder.names().filter { $0.hasPrefix("b.db") } == ["b.db"])

        for isClosing in [false, true] {
            let pool = try DatabasePool(.file(path), key: .passphrase("one").quick)
            try pool.write { db in
                try db.execute("CREATE TABLE IF NOT EXISTS u(x)")
                pool.interrupt()
            }
            // The last thing that the writer does.
            try pool.writeWithoutTransaction { _ in pool.interrupt() }
            if !isClosing { #expect(try pool.main.checkpoint(.truncate).isComplete) }
            try pool.close()
            #expect(try folder.names().filter { $0.hasPrefix("b.db") } == ["b.db"])
        }
    }

    #if os(Linux)
        @Test func memoryReleaseClosesIdleReaders() throws {
            // SQLite keeps descriptors of the database itself, whose locks go with the first one that is closed.
            let path = folder.path("a.db-wal")
            func descriptors() throws -> Int {
                let all = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
                let targets = all.map { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
                return targets.filter { $0 == path }.count
            }
            let pool = databases[0], latch = Latch()
            #expect(try descriptors() == 1)
            let readers = (0..<3).map { _ in
                onThread {
                    try pool.read { db in
                        _ = try db.fetchOne(Int.self, "SELECT count(*) FROM t")
                        latch.wait()
                    }
                }
            }
            try waitUntil("all readers are open") { try descriptors() == 4 }
            try pool.releaseMemory()
            #expect(try descriptors() == 4)
            latch.open()
            for reader in readers { try reader.wait() }
            try pool.releaseMemory()
            #expect(try descriptors() == 1)
            for database in databases {
                try database.releaseMemory()
                #expect(try database.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } == 0)
            }
        }
    #endif

    @Test func labelAppearsInDescription() throws {
        #expect(databases.map(\.description) == ["DatabasePool notes", "DatabaseQueue notes"])
        #expect(databases.map(\.label) == ["notes", "notes"])
    }

    // MARK: Access that only reads

    @Test func databaseReaderReadsQueuesPoolsAndSnapshots() async throws {
        func count(_ reader: DatabaseReader) async throws -> Int? {
            try await reader.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") }
        }
        var readers = databases.map(\.reader)
        if let pool = databases[0] as? DatabasePool { readers.append(try await pool.snapshot().reader) }
        for database in databases { try await database.write { db in try db.execute("INSERT INTO t VALUES (1)") } }
        let counts = try await [count(readers[0]), count(readers[1]), count(readers[2])]
        #expect(counts == [1, 1, 0])
        for reader in readers {
            #expect(reader.isOpen)
            await #expect(throws: DatabaseError.self) { try await reader.read { db in try db.execute("DELETE FROM t") } }
        }
        for try await rows in readers[0].observe({ db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") }) {
            #expect(rows == 1)
            break
        }
        let error = await #expect(throws: DatabaseError.self) {
            for try await _ in readers[2].observe({ db in try db.fetchOne(Int.self, "SELECT 1") }) {}
        }
        #expect(error?.reason == .misuse)
    }
}
