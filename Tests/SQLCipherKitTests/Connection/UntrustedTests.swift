import Foundation
import SQLCipherKit
import SQLCipherKitSync
import Testing
import TestSupport

/// Files that are not one's own.
@Suite struct UntrustedTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        let db = try Connection(.file(folder.path("theirs.db")), configuration: configuration())
        try db.execute(SQLScript("""
            CREATE TABLE note(id INTEGER PRIMARY KEY, title);
            INSERT INTO note(title) VALUES ('a'), ('b');
            CREATE VIEW titles AS SELECT title FROM note;
            CREATE TRIGGER note_new AFTER INSERT ON note BEGIN INSERT INTO note VALUES (100, 'by a trigger'); END;
            """))
        let spying = try Connection(.file(folder.path("spying.db")), configuration: configuration())
        try spying.execute(SQLScript("CREATE TABLE checked(a, b GENERATED ALWAYS AS (spy(a)) VIRTUAL); INSERT INTO checked VALUES (1)"))
    }

    /// With a function that a schema may call where it is trusted.
    private func configuration(_ base: DatabaseConfiguration = DatabaseConfiguration()) -> DatabaseConfiguration {
        var configuration = base
        configuration.prepareDatabase = { db in try db.register(.function("spy", .deterministic) { (a: Int) in a }) }
        return configuration
    }

    @Test func untrustedConfigurationRestrictsConnection() throws {
        let db = try Connection(.file(folder.path("theirs.db")), configuration: configuration(.untrusted))
        #expect(try db.settings.isEnabled(.defensive))
        #expect(try !db.settings.isEnabled(.trustedSchema) && !db.settings.isEnabled(.views) && !db.settings.isEnabled(.triggers))
        #expect(try db.fetchOne(Bool.self, "PRAGMA cell_size_check") == true)
        #expect(try db.settings.limit(.expressionDepth) == 100 && db.settings.limit(.length) == 100_000_000)
        #expect(try db.fetchAll(String.self, "SELECT title FROM note") == ["a", "b"])
        #expect(throws: DatabaseError.self) { try db.fetchAll(String.self, "SELECT title FROM titles") }
        let written = #expect(throws: DatabaseError.self) { try db.execute("INSERT INTO note(title) VALUES ('c')") }
        #expect(written.map { .readOnly ~= $0.code } == true)
        var own = DatabaseConfiguration.untrusted
        own.access = .readWrite
        own.safeguards?.allowsViews = true
        let writer = try Connection(.file(folder.path("theirs.db")), configuration: own)
        try writer.execute("INSERT INTO note(title) VALUES ('c')")
        #expect(try writer.fetchAll(String.self, "SELECT title FROM titles") == ["a", "b", "c"])
    }

    /// A check of the structure computes the expression of a column that cannot be NULL: here half an hour's work.
    @Test func endlessStructureCheckTimesOut() async throws {
        let path = folder.path("endless.db")
        do {
            let db = try Connection(.file(path))
            try db.execute("CREATE TABLE t(x, y AS (length(replace(hex(zeroblob(2000000)), '0', 'a'))) NOT NULL)")
            try db.execute("WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) INSERT INTO t(x) SELECT i FROM n")
        }
        var quick = DatabaseConfiguration.untrusted
        quick.safeguards?.resourceLimits.time = .milliseconds(200)
        let configuration = quick
        let begun = ContinuousClock.now
        let error = #expect(throws: DatabaseError.self) { try Connection(.file(path), configuration: configuration) }
        #expect(error?.reason == .timeout, "\(String(describing: error))")
        let db = try Connection(.memory)
        #expect(throws: DatabaseError.self) {
            try db.attach(.file(path), as: "theirs", key: .plaintext, safeguards: configuration.safeguards)
        }
        #expect(try db.fetchOne(Int.self, "SELECT 1") == 1)
        // No other limit may end it while this test waits for a thread.
        quick.safeguards?.resourceLimits.time = .seconds(3600)
        let patient = quick
        let task = Task.detached { () -> Bool in
            do { _ = try Connection(.file(path), configuration: patient) } catch let error as DatabaseError {
                return error.code == .interrupted && error.underlyingError is CancellationError
            }
            return false
        }
        try await Task.sleep(for: .milliseconds(100))
        task.cancel()
        #expect(try await task.value)
        // Without a limit they take hours on a machine that runs all tests at once; each is ended between two steps.
        #expect(ContinuousClock.now - begun < .forTests)
    }

    /// A pattern of the file's own may take for ever.
    @Test func untrustedSchemaCannotUseRegularExpressions() throws {
        let path = folder.path("patterns.db")
        func configuration(_ base: DatabaseConfiguration) -> DatabaseConfiguration {
            var configuration = base
            configuration.prepareDatabase = { try $0.register(.regularExpressions()) }
            return configuration
        }
        do {
            let db = try Connection(.file(path), configuration: configuration(DatabaseConfiguration()))
            try db.execute(SQLScript("CREATE TABLE t(x, y AS (x REGEXP 'a')); INSERT INTO t VALUES ('a')"))
            #expect(try db.fetchAll(Int.self, "SELECT y FROM t") == [1])
        }
        let db = try Connection(.file(path), configuration: configuration(.untrusted))
        let error = #expect(throws: DatabaseError.self) { try db.fetchAll(Int.self, "SELECT y FROM t") }
        #expect(error?.message.contains("unsafe use of") == true, "\(String(describing: error))")
        #expect(try db.fetchAll(Int.self, "SELECT 'cab' REGEXP 'a'") == [1])
    }

    /// Schemas with expensive expressions in each place that may have one: each call that works on a file of unknown origin ends,
    /// in time or with the reason.
    @Test(arguments: LongTests.steps(2, of: 24)) func callsOnHostileSchemasEndInTime(seed: Int) throws {
        var random = SeededGenerator(state: UInt64(seed))
        func expression(_ depth: Int = 0) -> String {
            let size = [1000, 100_000, 3_000_000, 40_000_000].randomElement(using: &random) ?? 1
            switch Int.random(in: 0..<(depth > 3 ? 3 : 7), using: &random) {
            case 0: return "length(hex(zeroblob(\(size))))"
            case 1: return "length(replace(hex(zeroblob(\(size))), '0', 'aa'))"
            case 2: return "(printf('%.*c', \(size), 'a') LIKE '%a%a%a%ab')"
            case 3: return "(\(expression(depth + 1)) + \(expression(depth + 1)))"
            case 4: return "instr(hex(zeroblob(\(size))), \(expression(depth + 1)))"
            case 5: return "coalesce(nullif(\(expression(depth + 1)), x), \(expression(depth + 1)))"
            default: return "(x + \(expression(depth + 1)) GLOB '*0*0*0*1')"
            }
        }
        let path = folder.path("hostile.db")
        do {
            let db = try Connection(.file(path))
            try db.execute("CREATE TABLE source(x)")
            try db.execute("WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO source SELECT i FROM n")
            // The expressions take effect after the rows are there.
            let text = """
                CREATE TABLE t(x INTEGER CHECK (\(expression()) > -1), y AS (\(expression())) NOT NULL, z AS (\(expression())))
                """
            try db.execute("CREATE TABLE t(x INTEGER)")
            try db.execute("INSERT INTO t SELECT x FROM source")
            try db.execute("PRAGMA writable_schema = ON")
            try db.execute("UPDATE sqlite_schema SET sql = \(text) WHERE name = 't'")
            for (type, name, sql) in [
                ("view", "v", "CREATE VIEW v AS SELECT \(expression()) AS a FROM t"),
                ("trigger", "r", "CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT \(expression().replacingOccurrences(of: "x", with: "new.x")); END"),
            ] {
                try db.execute("INSERT INTO sqlite_schema(type, name, tbl_name, rootpage, sql) VALUES (\(type), \(name), \(type == "view" ? name : "t"), 0, \(sql))")
            }
            db.close()
        }
        var quick = DatabaseConfiguration.untrusted
        quick.safeguards?.resourceLimits.time = .milliseconds(200)
        let begun = ContinuousClock.now
        for entrance in WorkLimitTests.Entrance.allCases {
            do {
                try WorkLimitTests.enter(entrance, path, nil, quick.safeguards?.resourceLimits ?? .none, folder)
            } catch let error as DatabaseError {
                #expect([.timeout, .limitExceeded].contains(error.reason) || [.corrupt, .tooBig, .error].contains(error.code.primary), "\(entrance): \(error)")
            }
        }
        #expect(ContinuousClock.now - begun < .forTests)
    }

    /// A pipe in place of a database, its journal or its log would be waited for.
    @Test(arguments: ["", "-journal", "-wal"]) func pipeInPlaceOfDatabaseOrJournalIsRefused(suffix: String) throws {
        let path = folder.path("theirs.db")
        if suffix == "" { try FileManager.default.removeItem(atPath: path) }
        if suffix == "-wal" { try Connection(.file(path)).main.setJournalMode(.wal) }
        #expect(mkfifo(path + suffix, 0o600) == 0)
        for access in [DatabaseConfiguration.Access.readOnly, .readWrite] {
            var configuration = DatabaseConfiguration()
            configuration.access = access
            #expect(throws: DatabaseError.self) {
                try Connection(.file(path), configuration: configuration).fetchOne(Int.self, "SELECT count(*) FROM note")
            }
        }
    }

    /// In a folder that others may write to, the name of a journal may lead to a file that is not meant: it is not written to, nor
    /// given to the owner of the database.
    @Test(arguments: ["-journal", "-wal", "-shm"], ["secret", "\0\0\0\0\0\0\0\0\0"])
    func hardLinkedJournalIsNotUsed(suffix: String, content: String) throws {
        let path = folder.path("theirs.db"), secret = folder.path("private")
        if suffix != "-journal" { try Connection(.file(path)).main.setJournalMode(.wal) }
        try Data(content.utf8).write(to: URL(fileURLWithPath: secret))
        if geteuid() == 0 { #expect(chown(path, 1234, 1234) == 0) }
        #expect(chmod(secret, 0o400) == 0 && link(secret, path + suffix) == 0)
        for access in [DatabaseConfiguration.Access.readOnly, .readWrite] {
            var configuration = DatabaseConfiguration()
            configuration.access = access
            _ = try? Connection(.file(path), configuration: configuration).execute("INSERT INTO note DEFAULT VALUES")
            #expect(try Data(contentsOf: URL(fileURLWithPath: secret)) == Data(content.utf8))
            let found = try FileManager.default.attributesOfItem(atPath: secret)
            #expect(found[.ownerAccountID] as? Int == Int(geteuid()) && found[.posixPermissions] as? Int == 0o400)
        }
        // As soon as it is gone, the database opens.
        unlink(path + suffix)
        #expect(try Connection(.file(path)).main.verify().isIntact)
    }

    /// A copy by hard links of a folder in use leaves the original with the reason.
    @Test func errorNamesHardLinksBesideDatabase() throws {
        let path = folder.path("live.db"), db = try Connection(.file(path), key: .passphrase("k").quick)
        try db.main.setJournalMode(.wal)
        try db.execute("CREATE TABLE t(x)")
        for suffix in ["", "-wal", "-shm"] { #expect(link(path + suffix, folder.path("copy.db") + suffix) == 0) }
        let error = #expect(throws: DatabaseError.self) { try Connection(.file(path), key: .passphrase("k").quick) }
        #expect(error?.reason == .cannotOpen && error?.message.contains("copied by hard links") == true, "\(String(describing: error))")
        for suffix in ["-wal", "-shm"] { unlink(folder.path("copy.db") + suffix) }
        #expect(try Connection(.file(path), key: .passphrase("k").quick).main.verify().isIntact)
    }

    /// Found at opening, and not when a query happens to come by.
    @Test func damagedUntrustedFileDoesNotOpen() throws {
        let path = folder.path("theirs.db")
        let db = try Connection(.file(path), configuration: configuration())
        let root = try #require(try db.fetchOne(Int.self, "SELECT rootpage FROM sqlite_schema WHERE name = 'note'"))
        db.close()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        // A cell that points behind its page.
        bytes[(root - 1) * 4096 + 8] = 0x0f
        bytes[(root - 1) * 4096 + 9] = 0xff
        try bytes.write(to: URL(fileURLWithPath: path))
        #expect(throws: Never.self) { try Connection(.file(path), configuration: configuration()) }
        let error = #expect(throws: DatabaseError.self) { try Connection(.file(path), configuration: .untrusted) }
        #expect(error.map { .corrupt ~= $0.code } == true)
        let own = try Connection(.memory)
        #expect(throws: DatabaseError.self) { try own.attach(.file(path), as: "theirs", key: nil, safeguards: .init()) }
        // The call threw, so that nothing has changed.
        #expect(try own.schemas().map(\.name) == ["main"] && own.settings.isEnabled(.trustedSchema) && !own.settings.isEnabled(.defensive))
        #expect(try own.fetchOne(Bool.self, "PRAGMA cell_size_check") == false && own.settings.limit(.expressionDepth) == 1000)
    }

    @Test func attachingUntrustedFileAppliesSafeguards() throws {
        let db = try Connection(.memory, configuration: configuration())
        let theirs = try db.attach(.file(folder.path("theirs.db")), as: "theirs", key: nil, safeguards: .init())
        #expect(throws: DatabaseError.self) { try db.fetchAll(String.self, "SELECT title FROM theirs.titles") }
        #expect(try theirs.copyTables(["note"], to: db.main) == 2)
        try theirs.detach()
        #expect(try db.settings.isEnabled(.defensive) && !db.settings.isEnabled(.trustedSchema))
        // A connection that is careful already stays so with each file.
        let careful = try Connection(.memory, configuration: configuration(.untrustedInMemory))
        try careful.attach(.file(folder.path("theirs.db")), as: "theirs", key: nil)
        #expect(throws: DatabaseError.self) { try careful.fetchAll(String.self, "SELECT title FROM theirs.titles") }
    }

    /// A function that does not say that it is harmless is for one's own SQL, whenever it was registered.
    @Test func untrustedSchemaCannotCallFunctions() throws {
        let path = folder.path("spying.db")
        #expect(try Connection(.file(path), configuration: configuration()).fetchAll(Int.self, "SELECT b FROM checked") == [1])
        let db = try Connection(.file(path), configuration: configuration(.untrusted))
        let error = #expect(throws: DatabaseError.self) { try db.fetchAll(Int.self, "SELECT b FROM checked") }
        #expect(error?.message.contains("unsafe use of spy") == true)
        let own = try Connection(.memory, configuration: configuration())
        #expect(throws: DatabaseError.self) { try own.attach(.file(path), as: "theirs", key: nil, safeguards: .init()) }
        #expect(try own.schemas().map(\.name) == ["main"] && own.settings.isEnabled(.trustedSchema))
    }

    /// The trust of one's own connection does not extend to the other's schema.
    @Test func applyingUntrustedDifferenceCallsNoFunctions() throws {
        let own = try Connection(.file(folder.path("own.db")), configuration: configuration())
        let trusted = try Connection(.file(folder.path("spying.db")), configuration: configuration())
        let theirs = try Connection(.file(folder.path("spying.db")), configuration: .untrusted)
        let error = #expect(throws: DatabaseError.self) { try DatabaseDiff(from: own.main, to: theirs.main).apply(to: own) }
        #expect(error?.message.contains("unsafe use of spy") == true, "\(String(describing: error))")
        #expect(try own.main.tables().isEmpty && own.settings.isEnabled(.trustedSchema))
        try DatabaseDiff(from: own.main, to: trusted.main).apply(to: own)
        #expect(try own.fetchAll(Int.self, "SELECT b FROM checked") == [1])
    }

    /// The readers of a pool are as careful as its writer, and check the file no second time.
    @Test func untrustedPoolReadersAreRestricted() throws {
        var configuration = DatabaseConfiguration.untrusted
        configuration.access = .readWrite
        let pool = try DatabasePool(.file(folder.path("theirs.db")), configuration: configuration)
        let (isDefensive, trustsSchema) = try pool.read { (try $0.settings.isEnabled(.defensive), try $0.settings.isEnabled(.trustedSchema)) }
        #expect(isDefensive && !trustsSchema)
        #expect(throws: DatabaseError.self) { try pool.read { try $0.fetchAll(String.self, "SELECT title FROM titles") } }
    }
}

extension DatabaseConfiguration {
    fileprivate static var untrustedInMemory: DatabaseConfiguration {
        var configuration = untrusted
        configuration.access = .readWriteCreate
        return configuration
    }
}
