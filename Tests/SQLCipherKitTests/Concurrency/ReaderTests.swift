import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// The readers of a pool.
@Suite struct ConcurrencyReaderTests {
    let folder: TemporaryFolder
    var location: DatabaseLocation { .file(folder.path("a.db")) }

    init() throws { folder = try TemporaryFolder() }

    /// Runs `body` on as many readers at the same time.
    private func onReaders(_ count: Int, of pool: DatabasePool, _ body: @escaping @Sendable (Connection) throws -> Void) throws {
        let inside = Outcomes(count)
        try onThreads(count) { _ in
            try pool.read { db in
                inside.finish(.success(()))
                try inside.wait()
                try body(db)
            }
        }
    }

    @Test func poolReaderChecksFullTextIndex() async throws {
        let pool = try DatabasePool(location)
        try await pool.write { db in
            try db.create(FTS5Table("words", columns: ["x"]))
            try db.execute("INSERT INTO words VALUES ('one')")
        }
        #expect(try await pool.read { db in try db.fullText("words").passesIntegrityCheck() })
        try await pool.write { try $0.execute("DELETE FROM words_data WHERE id > 10") }
        #expect(try await !pool.read { db in try db.fullText("words").passesIntegrityCheck() })
    }

    #if os(Linux)
        @Test func aPassphraseIsDerivedOnce() throws {
            let key = try DatabaseKey.passphrase("correct horse")
            var opened: DatabasePool?
            let first = try processorTime { opened = try DatabasePool(location, key: key) }
            let pool = try #require(opened)
            let second = try processorTime { try pool.read { db in _ = try db.fetchOne(Int.self, "SELECT count(*) FROM sqlite_schema") } }
            #expect(second < first / 5, "\(first) of processor time for the first connection, \(second) for the second")
            try pool.attach(.file(folder.path("b.db")), as: "other", key: .passphrase("battery"))
            let attached = try processorTime { try pool.read { db in _ = try db.fetchOne(Int.self, "SELECT count(*) FROM other.sqlite_schema") } }
            #expect(attached < first / 5, "\(first) for the first connection, \(attached) for a reader with an attached database")
        }

        @Test func readersAreOpenedOnDemandAndClosedWhenIdle() async throws {
            let pool = try DatabasePool(location, key: .passphrase("one").quick, configuration: .pool { $0.readerIdleTime = .milliseconds(20) })
            // SQLite keeps descriptors of the database itself, whose locks go when the first descriptor is closed.
            func connections() throws -> Int {
                let folder = "/proc/self/fd"
                return try FileManager.default.contentsOfDirectory(atPath: folder).filter {
                    (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")) == self.folder.path("a.db-wal")
                }.count
            }
            #expect(try connections() == 1)
            let inside = Outcomes(3), leave = Latch()
            let readers = (0..<3).map { _ in
                onThread {
                    try pool.read { _ in
                        inside.finish(.success(()))
                        leave.wait()
                    }
                }
            }
            try await inside.ended()
            #expect(try connections() == 4)
            leave.open()
            for reader in readers { try await reader.ended() }
            try await suspendUntil("one connection is left", atMost: .seconds(300)) { try connections() == 1 }
            #expect(try await pool.read { db in try db.fetchOne(Int.self, "SELECT 1") } == 1)
        }
    #endif

    /// The cache of the connection that is used first is worth more than an even wear.
    @Test func sequentialReadsShareOneReader() async throws {
        let opened = Lock(0)
        var configuration = DatabaseConfiguration.pool { $0.readerIdleTime = .zero }
        configuration.prepareDatabase = { _ in opened.withLock { $0 += 1 } }
        let pool = try DatabasePool(location, key: .passphrase("one").quick, configuration: configuration)
        try await onThread { for _ in 0..<10 { _ = try pool.read { db in try db.fetchOne(Int.self, "SELECT 1") } } }.ended()
        for _ in 0..<10 { _ = try await pool.read { db in try db.fetchOne(Int.self, "SELECT 1") } }
        #expect(opened.withLock { $0 } == 2)
    }

    /// Which takes long, with the application's `prepare` for instance: not on the threads of Swift's tasks.
    @Test func readerForTaskOpensOffCooperativeThread() async throws {
        let executor = PausableExecutor()
        defer { executor.stop() }
        let isOnTasksThread = Lock<[Bool]>([])
        var configuration = DatabaseConfiguration()
        configuration.prepareDatabase = { _ in isOnTasksThread.withLock { $0.append(executor.isCurrent) } }
        let pool = try DatabasePool(location, key: .passphrase("one").quick, configuration: configuration)
        let task = Task(executorPreference: executor) {
            _ = try await pool.read { db in try db.fetchOne(Int.self, "SELECT 1") }
            return executor.isCurrent
        }
        #expect(try await task.value)
        #expect(isOnTasksThread.withLock { $0 } == [false, false])
    }

    struct Shouting: FTS5CustomTokenizer {
        func tokenize(_ text: UnsafeBufferPointer<UInt8>, for purpose: FTS5Tokenizer.Purpose, into tokens: inout FTS5Token.Sink) throws {
            // The whole text is one word, in capitals.
            let word = String(decoding: text, as: UTF8.self).uppercased()
            tokens.add(word, range: 0..<text.count)
        }
    }

    @Test func everyReaderHasPreparedExtensions() throws {
        var configuration = DatabaseConfiguration()
        configuration.prepareDatabase = { db in
            try db.register(.tokenizer(Shouting(), as: "shouting"))
            try db.register(.function("twice") { (number: Int) in number * 2 })
            try db.register(.collation("REVERSED") { a, b in
                a == b ? .orderedSame : a < b ? .orderedDescending : .orderedAscending
            })
        }
        let pool = try DatabasePool(location, key: .passphrase("one"), configuration: configuration)
        try pool.write { db in
            try db.create(FTS5Table("f", columns: ["a"], tokenizer: .custom("shouting")))
            try db.execute("INSERT INTO f VALUES ('hello world'), ('Hello World'), ('bye')")
        }
        try onReaders(4, of: pool) { db in
            let hits = try db.fullText("f").search(.phrase("HELLO world")).hits
            #expect(hits.count == 2)
            let twice = try db.fetchOne(Int.self, "SELECT twice(21)")
            #expect(twice == 42)
            let sorted = try db.fetchAll(String.self, "SELECT a FROM f ORDER BY a COLLATE reversed")
            #expect(sorted == ["hello world", "bye", "Hello World"])
        }
    }

    @Test func attachedDatabasesReachAllReaders() throws {
        let pool = try DatabasePool(location, key: .passphrase("one").quick)
        try pool.attach(.file(folder.path("b.db")), as: "keyed", key: .passphrase("two", cipher: .quick))
        let plain = try pool.attach(.file(folder.path("c.db")), as: "plain", key: .plaintext)
        try pool.attach(.file(folder.path("d.db")), as: "same", key: pool.read { db in try db.main.key })
        try pool.write { db in
            for name in ["keyed", "plain", "same"] {
                try db.execute(SQL(raw: "CREATE TABLE \(name).t(x)"))
                try db.execute(SQL(raw: "INSERT INTO \(name).t VALUES ('\(name)')"))
            }
        }
        try onReaders(3, of: pool) { db in
            let all = try db.fetchAll(String.self, "SELECT x FROM keyed.t UNION ALL SELECT x FROM plain.t UNION ALL SELECT x FROM same.t")
            #expect(all == ["keyed", "plain", "same"])
            #expect(throws: DatabaseError.self) { try db.execute("INSERT INTO plain.t VALUES (1)") }
        }
        #expect(try pool.schema("PLAIN").name == "plain")
        #expect(try plain.checkpoint(.truncate).isComplete)
        try plain.detach()
        for call in [{ try plain.detach() }, { _ = try plain.checkpoint() }, { _ = try pool.schema("plain") }] {
            #expect(throws: DatabaseError.self) { try call() }.map { #expect($0.reason == .schemaName) }
        }
        try onReaders(2, of: pool) { db in
            let names = try db.schemas().map(\.name)
            #expect(names == ["main", "keyed", "same"])
        }
        let error = #expect(throws: DatabaseError.self) { try pool.attach(.memory, as: "m", key: .plaintext) }
        #expect(error?.reason == .invalidArgument)
    }

    @Test(arguments: Schema.KeyChangeMode.allCases) func changedKeyReachesAllConnections(mode: Schema.KeyChangeMode) throws {
        let pool = try DatabasePool(location, key: .passphrase("one").quick)
        try pool.attach(.file(folder.path("b.db")), as: "other", key: .passphrase("b", cipher: .quick))
        try pool.write { db in try db.execute("CREATE TABLE t(x)") }
        try pool.write { db in try db.execute("INSERT INTO t VALUES (1)") }
        try onReaders(2, of: pool) { db in _ = try db.fetchOne(Int.self, "SELECT x FROM t") }
        try pool.changeKey(to: .passphrase("two"), mode: mode)
        try onReaders(3, of: pool) { db in
            let value = try db.fetchOne(Int.self, "SELECT x FROM t")
            #expect(value == 1)
            let others = try db.fetchOne(Int.self, "SELECT count(*) FROM other.sqlite_schema")
            #expect(others == 0)
        }
        try pool.write { db in try db.execute("INSERT INTO t VALUES (2)") }
        #expect(try pool.main.checkpoint(.truncate).isComplete)
        try pool.close()
        let error = #expect(throws: DatabaseError.self) { try Connection(location, key: .passphrase("one").quick) }
        #expect(error?.reason == .wrongKeyOrNotADatabase)
        #expect(try Connection(location, key: .passphrase("two").quick).fetchAll(Int.self, "SELECT x FROM t") == [1, 2])
    }

    @Test func poolContinuesOnConvertedFile() throws {
        let pool = try DatabasePool(location, key: .passphrase("one").quick)
        try pool.write { db in try db.execute("CREATE TABLE t(x)") }
        try pool.convert(to: .plaintext)
        try pool.write { db in try db.execute("INSERT INTO t VALUES (1)") }
        try onReaders(2, of: pool) { db in
            let info = try db.main.cipher
            #expect(info == nil)
        }
        var cipher = CipherConfiguration.quick
        cipher.pageSize = 8192
        try pool.convert(to: .passphrase("two", cipher: cipher))
        try pool.write { db in try db.execute("INSERT INTO t VALUES (2)") }
        try onReaders(2, of: pool) { db in
            let values = try db.fetchAll(Int.self, "SELECT x FROM t")
            #expect(values == [1, 2])
            let info = try db.main.cipher
            #expect(info?.settings.pageSize == 8192)
        }
        // A conversion that was cancelled has changed nothing.
        struct Stop: Error {}
        #expect(throws: Stop.self) { try pool.convert(to: .plaintext) { _ in throw Stop() } }
        #expect(try pool.read { db in try db.fetchAll(Int.self, "SELECT x FROM t") } == [1, 2])
    }

    @Test func poolsOpenWithKeySlotsAndProviders() throws {
        let slots = try KeySlots.create(.passphrase("correct horse"), label: "laptop", for: location, derivation: .quick)
        do {
            let pool = try DatabasePool(location, key: .slots(slots))
            try pool.write { db in try db.execute("CREATE TABLE t(x)") }
        }
        let pool = try DatabasePool(location, key: .slots(secret: .passphrase("correct horse")))
        try onReaders(2, of: pool) { db in
            let count = try db.fetchOne(Int.self, "SELECT count(*) FROM t")
            #expect(count == 0)
        }
        let other = DatabaseLocation.file(folder.path("b.db"))
        let provided = try DatabasePool(other, key: .provided(by: KeySource { try .passphrase("b") }).quick)
        try onReaders(2, of: provided) { db in _ = try db.fetchOne(Int.self, "SELECT 1") }
        let queue = try DatabaseQueue(other, key: .provided(by: KeySource { try .passphrase("b") }).quick)
        #expect(try queue.read { db in try db.fetchOne(Int.self, "SELECT 1") } == 1)
    }

    @Test func hooksPersistAcrossPoolCalls() throws {
        struct Veto: Error, Equatable {}
        let pool = try DatabasePool(location, key: .passphrase("one").quick)
        nonisolated(unsafe) var calls: [String] = []
        nonisolated(unsafe) var isVetoed = false
        var token: HookToken?
        try pool.write { db in
            try db.execute("CREATE TABLE t(x)")
            try db.addUpdateHook { calls.append("first \($0.rowID)") }
            token = try db.addUpdateHook { calls.append("second \($0.rowID)") }
            try db.addCommitHook { if isVetoed { throw Veto() } }
        }
        try pool.write { db in try db.execute("INSERT INTO t VALUES (1)") }
        // Outside of a call it does nothing.
        token?.remove()
        try pool.write { db in try db.execute("INSERT INTO t VALUES (2)") }
        #expect(calls == ["first 1", "second 1", "first 2", "second 2"])
        try pool.write { _ in token?.remove() }
        try pool.write { db in try db.execute("INSERT INTO t VALUES (3)") }
        #expect(calls.last == "first 3")
        isVetoed = true
        let error = #expect(throws: DatabaseError.self) { try pool.write { db in try db.execute("INSERT INTO t VALUES (4)") } }
        #expect(error?.underlyingError as? Veto == Veto())
        #expect(try pool.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } == 3)
    }
}
