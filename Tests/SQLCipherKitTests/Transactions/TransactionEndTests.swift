import KitSupport
import SQLCipherKit
import SQLCipherKitSync
import Testing
import TestSupport

/// A closure's transaction ends by the same rule, whatever call runs the closure and whatever it is nested in.
@Suite struct TransactionEndTests {
    /// A call that runs a closure in a transaction or a savepoint.
    enum Entrance: CaseIterable {
        case transaction, transactionOfFunction, transactionOfNothing, savepoint, savepointOfFunction
        case generic, changeLog
        case write, writeOfFunction, asyncWrite, asyncWriteOfFunction, writeThenRead, asyncWriteThenRead, keyValueStore, inWriter

        /// True if a connection can make the call; the others are calls of a queue or pool.
        var isOfConnection: Bool {
            switch self {
            case .transaction, .transactionOfFunction, .transactionOfNothing, .savepoint, .savepointOfFunction, .generic, .changeLog:
                true
            default: false
            }
        }
    }

    /// The ways that the closure ends.
    enum End: CaseIterable { case value, commit, rollback, error }
    struct Thrown: Error {}

    /// The work of the closure before it ends.
    typealias Work = @Sendable (Connection) throws -> Void

    private static func ended(_ end: End, _ work: @escaping Work) -> @Sendable (Connection) throws -> TransactionEnd<Int> {
        { db in
            try work(db)
            if end == .error { throw Thrown() }
            return end == .rollback ? .rollback(5) : .commit(5)
        }
    }

    /// An optional end, one in another, and one behind an existential end the transaction all the same.
    @Test func rollbackInsideOptionalOrExistentialRollsBack() throws {
        let db = try Connection(.memory), queue = try DatabaseQueue(.memory)
        try db.execute("CREATE TABLE t(x)")
        try queue.write { db in try db.execute("CREATE TABLE t(x)") }
        func work<R>(_ end: R) throws {
            _ = try passing(db) { db in
                try db.execute("INSERT INTO t VALUES (1)")
                return end
            }
            _ = try db.savepoint(nil) { db in
                try db.execute("INSERT INTO t VALUES (1)")
                return end
            }
        }
        let rollback = TransactionEnd<Int>.rollback(5)
        try work(Optional(rollback))
        try work(Optional(Optional(rollback)))
        try work(rollback as Any)
        try work(Optional<Any>(rollback))
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 0)
        let written: TransactionEnd<Int>? = try queue.write { db -> TransactionEnd<Int>? in
            try db.execute("INSERT INTO t VALUES (1)")
            return .rollback(5)
        }
        #expect(written?.value == 5)
        #expect(try queue.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } == 0)
        try work(Optional<TransactionEnd<Int>>.none)
        try work(Optional(TransactionEnd<Int>.commit(5)))
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 4)
    }

    /// Generic code that passes on its closure's result: a value, or the end of the transaction.
    private func passing<R>(_ db: Connection, _ body: (Connection) throws -> R) throws -> R { try db.transaction(nil, body) }

    private func call(_ entrance: Entrance, _ end: End, _ db: Connection, _ work: @escaping Work) throws {
        let ended = Self.ended(end, work)
        let value = { @Sendable (db: Connection) throws -> Int in try ended(db).value }
        switch entrance {
        case .transaction where end == .value: expectFive(try db.transaction { try value($0) })
        case .transaction: expectFive(try db.transaction { try ended($0) })
        case .transactionOfFunction where end == .value: expectFive(try db.transaction(nil, value))
        case .transactionOfFunction: expectFive(try db.transaction(nil, ended))
        case .transactionOfNothing:
            try db.transaction { db in
                let end = try ended(db)
                if case .rollback = end { throw Thrown() }
            }
        case .savepoint where end == .value: expectFive(try db.savepoint { try value($0) })
        case .savepoint: expectFive(try db.savepoint { try ended($0) })
        case .savepointOfFunction where end == .value: expectFive(try db.savepoint(nil, value))
        case .savepointOfFunction: expectFive(try db.savepoint(nil, ended))
        case .generic where end == .value: expectFive(try passing(db, value))
        case .generic: expectFive(try passing(db, ended).value)
        case .changeLog: _ = try ChangeLog(db, tables: ["t"], localPeer: "a").write(ended)
        default: Issue.record("\(entrance) is no call of a connection")
        }
    }

    private func call(_ entrance: Entrance, _ end: End, _ database: DatabaseWriter, _ work: @escaping Work) async throws {
        let ended = Self.ended(end, work)
        let value = { @Sendable (db: Connection) throws -> Int in try ended(db).value }
        func read(_ db: Connection) throws -> Int { try db.fetchOne(Int.self, "SELECT count(*) FROM t") ?? 0 }
        switch entrance {
        case .write where end == .value: try synchronously { expectFive(try database.write { try value($0) }) }
        case .write: try synchronously { expectFive(try database.write { try ended($0) }) }
        case .writeOfFunction where end == .value: try synchronously { expectFive(try database.write(value)) }
        case .writeOfFunction: try synchronously { expectFive(try database.write(ended)) }
        case .asyncWrite where end == .value: expectFive(try await database.write { try value($0) })
        case .asyncWrite: expectFive(try await database.write { try ended($0) })
        case .asyncWriteOfFunction where end == .value: expectFive(try await database.write(value))
        case .asyncWriteOfFunction: expectFive(try await database.write(ended))
        case .writeThenRead:
            try synchronously { _ = try database.write { try ended($0) } then: { db, end in (end.value, try read(db)) } }
        case .asyncWriteThenRead: _ = try await database.write { try ended($0) } then: { db, end in (end.value, try read(db)) }
        case .keyValueStore:
            let settings = try SharedKeyValueStore("settings", in: database)
            try synchronously { _ = try settings.write { store in try ended(store.schema.connection) } }
        case .inWriter: try synchronously { try database.writeWithoutTransaction { db in expectFive(try db.transaction { try ended($0) }) } }
        default: Issue.record("\(entrance) is no call of a queue or pool")
        }
    }

    private func expectFive(_ value: Int) { #expect(value == 5) }

    private func synchronously(_ body: () throws -> Void) rethrows { try body() }

    private func rows(_ db: Connection) throws -> [Int] { try db.fetchAll(Int.self, "SELECT id FROM t ORDER BY id") }

    private func isKept(_ entrance: Entrance, _ end: End) -> Bool { end == .value || end == .commit }

    /// Runs `body`, which must throw `Thrown` exactly if `throws` says so.
    private func expect(_ throwing: Bool, _ context: String, _ body: () throws -> Void) {
        do {
            try body()
            if throwing { Issue.record("\(context): nothing was thrown") }
        } catch is Thrown { if !throwing { Issue.record("\(context): thrown") } } catch { Issue.record("\(context): \(error)") }
    }

    @Test(arguments: Entrance.allCases.filter(\.isOfConnection))
    func connectionTransactionEndsAsClosureSays(_ entrance: Entrance) throws {
        for end in End.allCases {
            let throwing = end == .error || (end == .rollback && entrance == .transactionOfNothing)
            for outer in [nil] + Entrance.allCases.filter({ $0.isOfConnection && $0 != .changeLog }).map({ $0 as Entrance? }) {
                // A log's write begins its own transaction.
                if entrance == .changeLog, outer != nil { continue }
                for outerEnd in outer == nil ? [End.value] : End.allCases {
                    let context = "\(entrance) \(end) in \(outer.map { "\($0) \(outerEnd)" } ?? "nothing")"
                    let db = try Connection(.memory)
                    try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY)")
                    let inner: Work = { db in
                        expect(throwing, context) {
                            try call(entrance, end, db) { db in try db.execute("INSERT INTO t VALUES (2)") }
                        }
                        try db.execute("INSERT INTO t VALUES (3)")
                    }
                    guard let outer else {
                        try inner(db)
                        #expect(try rows(db) == (isKept(entrance, end) ? [2, 3] : [3]), "\(context)")
                        continue
                    }
                    let outerThrows = outerEnd == .error || (outerEnd == .rollback && outer == .transactionOfNothing)
                    expect(outerThrows, context) { try call(outer, outerEnd, db, inner) }
                    let expected = isKept(outer, outerEnd) ? (isKept(entrance, end) ? [2, 3] : [3]) : []
                    #expect(try rows(db) == expected, "\(context)")
                    #expect(!db.isInTransaction, "\(context)")
                }
            }
        }
    }

    @Test(arguments: Entrance.allCases.filter { !$0.isOfConnection }, Store.allCases)
    func sharedDatabaseTransactionEndsAsClosureSays(_ entrance: Entrance, _ store: Store) async throws {
        let folder = try TemporaryFolder()
        let database = try store.open(folder)
        try await database.write { db in try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY)") }
        for end in End.allCases {
            for inner in [nil] + Entrance.allCases.filter({ $0.isOfConnection && $0 != .changeLog }).map({ $0 as Entrance? }) {
                for innerEnd in inner == nil ? [End.value] : End.allCases {
                    let context = "\(inner.map { "\($0) \(innerEnd)" } ?? "nothing") in \(entrance) \(end)"
                    let work: Work = { db in
                        try db.execute("INSERT INTO t VALUES (1)")
                        guard let inner else { return }
                        let throwing = innerEnd == .error || (innerEnd == .rollback && inner == .transactionOfNothing)
                        expect(throwing, context) {
                            try call(inner, innerEnd, db) { db in try db.execute("INSERT INTO t VALUES (2)") }
                        }
                    }
                    do {
                        try await call(entrance, end, database, work)
                        #expect(end != .error, "\(context)")
                    } catch is Thrown { #expect(end == .error, "\(context)") }
                    let expected = !isKept(entrance, end) ? [] : inner.map { isKept($0, innerEnd) ? [1, 2] : [1] } ?? [1]
                    let found = try await database.read { try rows($0) }
                    #expect(found == expected, "\(context)")
                    try await database.write { db in try db.execute("DELETE FROM t") }
                }
            }
        }
    }

    /// The freedom of another connection shows the locks of a nested transaction.
    @Test(arguments: [DatabaseConfiguration.JournalMode.wal, .delete], TransactionKind.allCases)
    func unavailableNestedTransactionKindThrows(_ mode: DatabaseConfiguration.JournalMode, _ outer: TransactionKind) throws {
        let folder = try TemporaryFolder()
        let db = try Connection(.file(folder.path("a.db")), key: .passphrase("key").quick)
        try db.main.setJournalMode(mode)
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY)")
        for inner in [nil, .deferred, .immediate, .exclusive] as [TransactionKind?] {
            for hasWritten in [false, true] {
                let isWriting = hasWritten || outer != .deferred
                let isHad =
                    switch inner {
                    case nil, .deferred: true
                    case .immediate: isWriting
                    case .exclusive: isWriting && (mode == .wal || outer == .exclusive)
                    }
                let context = "\(mode), \(String(describing: inner)) in \(outer), written \(hasWritten)"
                try db.transaction(outer) { db in
                    if hasWritten { try db.execute("INSERT INTO t VALUES (1)") } else { _ = try rows(db) }
                    var hasRun = false
                    do { try db.transaction(inner) { _ in hasRun = true } } catch let error as DatabaseError {
                        #expect(error.reason == .misuse, "\(context)")
                    }
                    #expect(hasRun == isHad, "\(context)")
                    #expect(db.isInTransaction, "\(context)")
                    return .rollback(())
                }
            }
        }
    }

    @Test func transactionCanBeSoleClosureExpression() throws {
        let db = try Connection(.memory), queue = try DatabaseQueue(.memory)
        let closures: [(Connection) throws -> Void] = [
            { db in
                try db.transaction { db in
                    try db.execute("CREATE TABLE a(x)")
                    try db.execute("INSERT INTO a VALUES (1)")
                }
            },
            { try $0.savepoint { try $0.execute("INSERT INTO a VALUES (2)") } },
            { try $0.transaction { try $0.main.setCacheSize(100) } },
        ]
        for closure in closures { try closure(db) }
        #expect(try db.fetchAll(Int.self, "SELECT x FROM a") == [1, 2])
        let writes: [(DatabaseQueue) throws -> Void] = [
            { queue in
                try queue.write { db in
                    try db.execute("CREATE TABLE a(x)")
                    try db.execute("INSERT INTO a VALUES (1)")
                }
            },
            { try $0.write { try $0.main.setCacheSize(100) } },
        ]
        for write in writes { try write(queue) }
        let seen = try queue.write { db in
            try db.execute("INSERT INTO a VALUES (2)")
            return .rollback(try db.fetchAll(Int.self, "SELECT x FROM a"))
        }
        #expect(seen == [1, 2])
        #expect(try queue.read { try $0.fetchAll(Int.self, "SELECT x FROM a") } == [1])
    }
}
