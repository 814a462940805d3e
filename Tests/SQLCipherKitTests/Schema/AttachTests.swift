import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

@Suite struct AttachTests {
    let folder: TemporaryFolder
    let db: Connection

    init() throws {
        folder = try TemporaryFolder()
        db = try Connection(.file(folder.path("main.db")), key: .passphrase("main").quick)
        try db.execute("CREATE TABLE t(x)")
        try db.execute("INSERT INTO t VALUES (1), (2)")
    }

    private func expectOnlyMain() throws { #expect(try db.schemas().map(\.name) == ["main"]) }

    /// A transaction that takes the lock at once also takes the lock of a database that was attached after its statement was
    /// compiled.
    @Test(arguments: [TransactionKind.immediate, .exclusive]) func transactionLocksLaterAttachedDatabase(kind: TransactionKind) throws {
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .zero
        let key = try DatabaseKey.raw([UInt8](repeating: 1, count: 32)), path = folder.path("late.db")
        let prepared = try db.prepare(SQL(raw: "BEGIN \(kind.rawValue)"))
        try prepared.execute()
        try db.rollback()
        try db.transaction(kind) { _ in }
        try db.begin(kind)
        try db.commit()
        let rows = try db.cursor(Int.self, "SELECT x FROM t ORDER BY x")
        #expect(try rows.next() == 1)
        try db.attach(.file(path), as: "late", key: key)
        // A result that is being read goes on.
        #expect(try rows.next() == 2)
        #expect(try rows.next() == nil)
        let other = try Connection(.file(path), key: key, configuration: configuration)
        func expectLocked() {
            #expect(throws: DatabaseError.self) { try other.execute("PRAGMA user_version = 1") }
        }
        try db.transaction(kind) { _ in expectLocked() }
        try db.begin(kind)
        expectLocked()
        try db.rollback()
        try prepared.execute()
        expectLocked()
        try db.rollback()
        try other.execute("PRAGMA user_version = 1")
    }

    /// A file that cannot be attached, whatever the engine says of it, takes nothing from the transaction around the call.
    @Test(arguments: [0, 32], [false, true]) func transactionSurvivesFailedAttach(header: Int, inSavepoint: Bool) throws {
        var cipher = CipherConfiguration.quick
        cipher.plaintextHeaderSize = header
        let raw = [UInt8](repeating: 1, count: 32), salt = [UInt8](repeating: 2, count: 16), path = folder.path("other.db")
        let key = try DatabaseKey.raw(raw, salt: salt, cipher: cipher)
        do {
            let other = try Connection(.file(path), key: key)
            for number in 0..<40 {
                let name = "table \(number) " + String(repeating: "x", count: 200)
                try other.execute("CREATE TABLE \(identifier: name)(x)")
            }
            other.close()
        }
        let whole = try Data(contentsOf: URL(fileURLWithPath: path)), size = cipher.pageSize
        var damages: [(inout Data) -> Void] = [{ $0.removeLast($0.count - 100) }, { $0.removeLast(size) }]
        for page in 0..<whole.count / size {
            for offset in [page * size + 40, (page + 1) * size - 1] { damages.append { $0[offset] ^= 1 } }
        }
        let wrong = try DatabaseKey.raw([UInt8](repeating: 3, count: 32), salt: salt, cipher: cipher)
        var safeguards = DatabaseConfiguration.Safeguards(), attempts = 0
        safeguards.checksStructure = true
        func expectFailure(_ key: DatabaseKey?, _ damage: (inout Data) -> Void = { _ in }) throws {
            var bytes = whole
            damage(&bytes)
            try bytes.write(to: URL(fileURLWithPath: path))
            func body() throws {
                try db.execute("INSERT INTO t VALUES (3)")
                let cursors = try (0..<attempts % 4).map { _ in try db.cursor(Int.self, "SELECT x FROM t LIMIT 2") }
                for cursor in cursors { #expect(try cursor.next() == 1) }
                #expect(throws: DatabaseError.self) {
                    try db.attach(.file(path), as: "other", key: key, safeguards: safeguards)
                }
                try expectOnlyMain()
                for cursor in cursors { #expect(try cursor.next() == 2) }
                try db.execute("INSERT INTO t VALUES (4)")
            }
            try db.transaction { _ in if inSavepoint { try db.savepoint { _ in try body() } } else { try body() } }
            attempts += 1
        }
        try expectFailure(wrong)
        try expectFailure(nil)
        for damage in damages { try expectFailure(key, damage) }
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 2 + 2 * attempts)
        #expect(try db.main.verify().isIntact)
    }

    @Test func attachAcceptsEachKindOfKey() throws {
        try db.attach(.file(folder.path("own.db")), as: "own", key: .passphrase("own", cipher: .quick))
        try db.attach(.file(folder.path("inherited.db")), as: "inherited", key: db.main.key)
        try db.attach(.file(folder.path("plain.db")), as: "plain", key: .plaintext)
        try db.attach(.memory, as: "memory", key: .plaintext)
        try db.attach(.temporary, as: "temporary", key: .plaintext)
        #expect(try db.schemas().map(\.name) == ["main", "own", "inherited", "plain", "memory", "temporary"])
        #expect(try db.schemas().first?.path == folder.path("main.db"))
        for name in ["own", "inherited", "plain", "memory", "temporary"] {
            try db.execute("CREATE TABLE \(identifier: name).t AS SELECT x FROM main.t")
            #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM main.t JOIN \(identifier: name).t AS o USING (x)") == 2)
            try db.schema(name).detach()
        }
        try expectOnlyMain()
        #expect(try Connection(.file(folder.path("own.db")), key: .passphrase("own").quick).fetchOne(Int.self, "SELECT count(*) FROM t") == 2)
        #expect(try Connection(.file(folder.path("plain.db"))).fetchOne(Int.self, "SELECT count(*) FROM t") == 2)
        // Inheriting shares the key and the salt, so that the passphrase opens it as well.
        #expect(try Connection(.file(folder.path("inherited.db")), key: .passphrase("main").quick).fetchOne(Int.self, "SELECT count(*) FROM t") == 2)
        try db.attach(.file(folder.path("inherited.db")), as: "again", key: db.main.key)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM again.t") == 2)
    }

    @Test func keyOfNewAttachedFileIsFixedAtOnce() throws {
        try db.attach(.file(folder.path("new.db")), as: "new", key: .passphrase("a", cipher: .quick))
        try db.schema("new").detach()
        let error = #expect(throws: DatabaseError.self) {
            try db.attach(.file(folder.path("new.db")), as: "new", key: .passphrase("b", cipher: .quick))
        }
        #expect(error?.reason == .wrongKeyOrNotADatabase)
        try expectOnlyMain()
    }

    @Test func failedAttachLeavesNothingAttached() throws {
        let own = DatabaseLocation.file(folder.path("own.db")), plain = DatabaseLocation.file(folder.path("plain.db"))
        // The same passphrase, but a salt of its own.
        _ = try Connection(own, key: .passphrase("main").quick)
        try Connection(plain).execute("CREATE TABLE t(x)")
        let attempts: [(DatabaseLocation, DatabaseKey, DatabaseError.Reason)] = [
            (own, try .passphrase("wrong", cipher: .quick), .wrongKeyOrNotADatabase),
            (own, try .passphrase("main"), .wrongKeyOrNotADatabase),
            (own, try db.main.key, .wrongKeyOrNotADatabase), (own, .plaintext, .wrongKeyOrNotADatabase),
            (plain, try .passphrase("k"), .notEncrypted), (plain, try db.main.key, .notEncrypted),
            (.file(folder.path("no/where.db")), .plaintext, .cannotOpen), (.file(folder.url.path), .plaintext, .cannotOpen),
        ]
        for (location, key, reason) in attempts {
            let error = #expect(throws: DatabaseError.self) { try db.attach(location, as: "other", key: key) }
            #expect(error?.reason == reason, "\(location) \(key): \(String(describing: error))")
            try expectOnlyMain()
        }
        let unkeyed = try Connection(.memory)
        let error = #expect(throws: DatabaseError.self) { try unkeyed.attach(own, as: "own", key: unkeyed.main.key) }
        #expect(error?.reason == .notEncrypted && error?.message.contains("main") == true)
    }

    @Test func attachQuotesSchemaNames() throws {
        for name in ["a b", "quo\"te", "it's", "naïve 🎈", "select", "1"] {
            try db.attach(.file(folder.path("\(name).db")), as: name, key: .passphrase("k", cipher: .quick))
            try db.execute("CREATE TABLE \(identifier: name).t(x)")
            #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM \(identifier: name).t") == 0)
            try db.schema(name).detach()
        }
        try db.attach(.memory, as: "twice", key: .plaintext)
        for name in ["twice", "TWICE", "main", "temp", ""] {
            let error = #expect(throws: DatabaseError.self) { try db.attach(.memory, as: name, key: .plaintext) }
            #expect(error?.reason == .schemaName, "\(name)")
        }
    }

    @Test func invalidDetachThrows() throws {
        for name in ["main", "MAIN", "temp", "nowhere"] {
            let error = #expect(throws: DatabaseError.self) { try db.schema(name).detach() }
            #expect(error?.reason == .schemaName && error?.message.contains(name.lowercased()) == true)
        }
        try db.attach(.memory, as: "m", key: .plaintext)
        try db.execute("CREATE TABLE m.t AS SELECT 1 AS x")
        let cursor = try db.cursor(Int.self, "SELECT x FROM m.t")
        _ = try cursor.next()
        let error = #expect(throws: DatabaseError.self) { try db.schema("m").detach() }
        #expect(error?.reason == .misuse && error?.message.contains("m") == true)
        cursor.close()
        try db.schema("m").detach()
        // A backup that is not done needs it as well.
        let schema = try db.attach(.file(folder.path("b.db")), as: "b", key: nil)
        try db.execute("CREATE TABLE b.t AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT i, hex(i) FROM n")
        var options = Schema.BackupOptions(), reasons: [DatabaseError.Reason?] = []
        options.pagesPerStep = 1
        try schema.backup(toFileAt: folder.path("c.db"), options: options) { _ in
            if reasons.isEmpty { reasons.append(#expect(throws: DatabaseError.self) { try schema.detach() }?.reason) }
        }
        #expect(reasons == [.misuse])
        try schema.detach()
        let gone = #expect(throws: DatabaseError.self) { try schema.detach() }
        #expect(gone?.reason == .schemaName)
    }

    @Test func attachAllowsUpTo125Databases() throws {
        for number in 1...125 { try db.attach(.memory, as: "m\(number)", key: .plaintext) }
        let error = #expect(throws: DatabaseError.self) { try db.attach(.memory, as: "m126", key: .plaintext) }
        #expect(error?.message.contains("125") == true)
        #expect(try db.schemas().count == 126)
    }

    @Test func withAttachedDetachesAfterClosure() throws {
        struct Refusal: Error {}
        let location = DatabaseLocation.file(folder.path("s.db"))
        let key = try DatabaseKey.passphrase("s", cipher: .quick)
        let count = try db.withAttached(location, as: "s", key: key) { schema in
            #expect(schema.name == "s" && schema.connection === db)
            try db.execute("CREATE TABLE s.t AS SELECT * FROM main.t")
            return try db.fetchOne(Int.self, "SELECT count(*) FROM s.t")
        }
        #expect(count == 2)
        try expectOnlyMain()
        #expect(throws: Refusal.self) { try db.withAttached(location, as: "s", key: key) { _ in throw Refusal() } }
        try expectOnlyMain()
        // Objects that the closure has left open end with it.
        func use(_ db: Connection) throws {
            try db.begin()
            try db.execute("INSERT INTO s.t SELECT x FROM main.t")
            try db.execute("DELETE FROM main.t")
        }
        let left = #expect(throws: DatabaseError.self) {
            try db.withAttached(location, as: "s", key: key) { try use($0.connection) }
        }
        #expect(left?.reason == .misuse)
        try expectOnlyMain()
        #expect(throws: Refusal.self) {
            try db.withAttached(location, as: "s", key: key) {
                try use($0.connection)
                throw Refusal()
            }
        }
        try expectOnlyMain()
        var cursor: RowCursor<Int>?
        #expect(throws: Refusal.self) {
            try db.withAttached(location, as: "s", key: key) { _ in
                cursor = try db.cursor(Int.self, "SELECT x FROM s.t")
                _ = try cursor?.next()
                throw Refusal()
            }
        }
        #expect(cursor?.isOpen == false)
        try expectOnlyMain()
        // The result is not lost for it.
        let value = try db.withAttached(location, as: "s", key: key) { _ in
            cursor = try db.cursor(Int.self, "SELECT x FROM s.t")
            _ = try cursor?.next()
            return 7
        }
        #expect(value == 7 && cursor?.isOpen == false)
        try expectOnlyMain()
        #expect(try !db.isInTransaction && db.fetchOne(Int.self, "SELECT count(*) FROM main.t") == 2)
        // In a transaction it could not be detached.
        let inside = #expect(throws: DatabaseError.self) {
            try db.transaction { try $0.withAttached(location, as: "s", key: key) { _ in } }
        }
        #expect(inside?.reason == .misuse)
        try expectOnlyMain()
    }

    /// The objects that keep the attached database in use after the closure.
    enum Escaped: CaseIterable { case cursor, statement, blob, all }

    @Test(arguments: Escaped.allCases) func withAttachedEndsWhatEscapes(escaped: Escaped) throws {
        let key = try DatabaseKey.passphrase("s", cipher: .quick)
        try db.execute("INSERT INTO t VALUES ('another')")
        // Statements from before read on.
        let outer = try db.prepare("SELECT x FROM t")
        #expect(try outer.step())
        var uses: [() throws -> Void] = []
        let value = try db.withAttached(.file(folder.path("s.db")), as: "s", key: key) { _ in
            try db.execute("CREATE TABLE s.u(id INTEGER PRIMARY KEY, data)")
            try db.execute("INSERT INTO s.u VALUES (1, x'0102'), (2, x'03')")
            if [.cursor, .all].contains(escaped) {
                let cursor = try db.cursor(Int.self, "SELECT id FROM s.u")
                _ = try cursor.next()
                uses.append { _ = try cursor.next() }
            }
            if [.statement, .all].contains(escaped) {
                let statement = try db.prepare("SELECT id FROM s.u")
                #expect(try statement.step())
                uses.append { _ = try statement.step() }
            }
            if [.blob, .all].contains(escaped) {
                let blob = try db.schema("s").openBlob(table: "u", column: "data", rowID: 1)
                uses.append { _ = try blob.read(upTo: 1) }
            }
            return 7
        }
        #expect(value == 7)
        try expectOnlyMain()
        for use in uses { #expect(throws: DatabaseError.self) { try use() } }
        #expect(try outer.step())
        try outer.reset()
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 3)
    }

    @Test func rollbackCoversAttachedDatabases() throws {
        try db.attach(.file(folder.path("o.db")), as: "o", key: .passphrase("o", cipher: .quick))
        try db.execute("CREATE TABLE o.t(x)")
        try db.transaction { db in
            try db.execute("INSERT INTO o.t SELECT x FROM main.t")
            try db.execute("DELETE FROM main.t")
            return TransactionEnd.rollback(())
        }
        #expect(try db.fetchOne(Int.self, "SELECT (SELECT count(*) FROM main.t) * 10 + (SELECT count(*) FROM o.t)") == 20)
    }

    /// Attaching with settings of its own changes process-wide defaults for a short time: no other connection may see that.
    @Test func settingsDoNotLeakIntoOtherThreads() async throws {
        let folder = self.folder
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    for round in 0..<10 {
                        if number % 2 == 0 {
                            var cipher = CipherConfiguration.quick
                            cipher.pageSize = 1024 << (round % 4)
                            cipher.hmacAlgorithm = .sha256
                            let db = try Connection(.memory)
                            let path = folder.path("attached-\(number)-\(round).db")
                            try db.attach(.file(path), as: "a", key: .passphrase("k", cipher: cipher))
                            try db.execute("CREATE TABLE a.t(x)")
                            try db.schema("a").detach()
                            _ = try Connection(.file(path), key: .passphrase("k", cipher: cipher))
                        } else {
                            let path = folder.path("opened-\(number)-\(round).db")
                            for _ in 0..<2 {
                                let db = try Connection(.file(path), key: .raw([UInt8](repeating: 5, count: 32)))
                                #expect(try db.fetchOne(String.self, "PRAGMA cipher_page_size") == "4096")
                                #expect(try db.fetchOne(String.self, "PRAGMA cipher_hmac_algorithm") == "HMAC_SHA512")
                                #expect(try db.fetchOne(String.self, "PRAGMA kdf_iter") == "256000")
                            }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func detachDeniedByAuthorizerStaysAttached() throws {
        let db = try Connection(.memory), other = try db.attach(.memory, as: "other", key: nil)
        try db.settings.setAuthorizer { action in "\(action)".lowercased().contains("detach") ? .deny : .allow }
        #expect(throws: DatabaseError.self) { try other.detach() }
        try db.settings.setAuthorizer(nil)
        #expect(try db.schemas().map(\.name).contains("other"))
        try other.detach()
    }
}
