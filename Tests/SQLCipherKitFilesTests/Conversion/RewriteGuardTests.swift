import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitFiles
import SQLCipherKitRecords
import SQLCipherKitSearch
import SQLCipherKitSync
import Testing
import TestSupport

/// The connection in what a rewrite of its database calls: each use throws, and nothing happens.
@Suite struct RewriteGuardTests {
    let folder: TemporaryFolder
    let old: DatabaseKey, new: DatabaseKey
    var path: String { folder.path("a.db") }
    private let rows = (0..<400).map { "row \($0) " + String(repeating: "x", count: 300) }

    init() throws {
        folder = try TemporaryFolder()
        old = try .passphrase("old").quick
        new = try .passphrase("new").quick
    }

    enum Operation: String, CaseIterable {
        case inPlace, newFile, restore, restoreOtherKey, backup, compactBackup, backupFrom, backupOver, rotateInPlace, rotateNewFile
        case copyTables, fullText, erase
    }

    private func make(_ mode: DatabaseConfiguration.JournalMode, _ key: DatabaseKey) throws -> Connection {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = mode
        let db = try Connection(.file(path), key: key, configuration: configuration)
        try db.transaction { db in
            try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
            for row in rows { try db.execute("INSERT INTO t(x) VALUES (\(row))") }
            try db.create(FTS5Table("f", columns: ["x"]))
            try db.execute("INSERT INTO f VALUES ('common word')")
            try KeyValueStore("k", in: db).set("one", to: 1)
        }
        return db
    }

    /// Every way to use a connection, with what was made before: statements, a recorder, an index, a store.
    private func uses(_ db: Connection) throws -> [(String, () throws -> Void)] {
        let select = try db.prepare("SELECT x FROM t"), insert = try db.prepare("INSERT INTO t(x) VALUES ('stray')")
        let recorder = try ChangeRecorder(db.main), index = try db.fullText("f"), store = try KeyValueStore("k", in: db)
        let scratch = folder.path("scratch.db"), main = db.main, other = self.new
        let reading: [(String, () throws -> Void)] = [
            ("SELECT", { _ = try db.fetchOne(Int.self, "SELECT count(*) FROM t") }), ("step", { try select.step() }),
            ("fetchAll", { _ = try select.fetchAll(String.self) }), ("reset", { try select.reset() }),
            ("prepare", { _ = try db.prepare("SELECT 1") }), ("cursor", { _ = try db.cursor(Int.self, "SELECT 1").next() }),
            ("blob", { _ = try main.openBlob(table: "t", column: "x", rowID: 1) }), ("pragma", { _ = try main.pageCount }),
            ("verify", { _ = try main.verify() }), ("tables", { _ = try main.tables() }),
            ("encryption", { _ = try main.key }),
            ("changeset", { _ = try recorder.changeset() }), ("search", { _ = try index.search("common") }),
            ("get", { _ = try store.get("one", as: Int.self) }), ("tokens", { _ = try index.tokens(of: "common") }),
            ("diff", { _ = try DatabaseDiff(from: main, to: db.temp).summary() }),
        ]
        let writing: [(String, () throws -> Void)] = [
            ("INSERT", { try db.execute("INSERT INTO t(x) VALUES (1)") }), ("prepared INSERT", { try insert.execute() }),
            ("TEMP", { try db.execute("CREATE TEMP TABLE IF NOT EXISTS stray(x)") }), ("rebuild", { try index.rebuild() }),
            ("script", { try db.execute(SQLScript("DELETE FROM t")) }),
            ("begin", { try db.begin() }), ("BEGIN", { try db.execute("BEGIN") }), ("transaction", { try db.transaction { _ in } }),
            ("savepoint", { try db.savepoint { _ in } }), ("attach", { try db.attach(.memory, as: "stray", key: nil) }),
            ("withAttached", { try db.withAttached(.memory, as: "stray", key: nil) { _ in } }),
            ("journal", { try main.setJournalMode(.persist) }), ("checkpoint", { try main.checkpoint() }),
            ("vacuum", { try main.vacuum() }),
            ("changeKey", { try db.changeKey(to: other) }),
            ("changeKey by a new file", { try db.changeKey(to: other, mode: .newFile) }),
            ("backup", { try main.backup(toFileAt: scratch) }), ("backup to", { try main.backup(to: Connection(.memory).main) }),
            ("backup over", { try Connection(.memory).main.backup(to: main) }),
            ("restore", { try main.restore(fromFileAt: scratch) }),
            ("recorder", { _ = try ChangeRecorder(main) }), ("set", { try store.set("one", to: 2) }),
            ("migrate", { try Migrator().migrate(db) }),
            ("function", { try db.register(.function("stray") { (x: Int) in x }) }), ("hook", { try db.addCommitHook {} }),
        ]
        return reading + writing
    }

    /// Runs an operation that calls `progress` again and again.
    private func run(_ operation: Operation, _ db: Connection, _ slots: inout KeySlots?,
        _ progress: @escaping () throws -> Void) throws {
        let report: DatabaseProgress.Handler = { _ in try progress() }
        var steps = Schema.BackupOptions()
        steps.pagesPerStep = 20
        let copy = folder.path("copy.db")
        switch operation {
        case .inPlace: try db.changeKey(to: new, progress: report)
        case .newFile: try db.changeKey(to: new, mode: .newFile, progress: report)
        case .rotateInPlace, .rotateNewFile:
            let mode = operation == .rotateInPlace ? Schema.KeyChangeMode.inPlace : .newFile
            try slots?.rotateKey(of: db, keeping: ["first": .passphrase("one")], mode: mode, progress: report)
        case .restore, .restoreOtherKey:
            let key = operation == .restore ? try db.main.key : new
            if !FileManager.default.fileExists(atPath: copy) { try db.main.backup(toFileAt: copy, key: key) }
            try db.main.restore(fromFileAt: copy, key: key, options: steps, progress: report)
        case .backup: try db.main.backup(toFileAt: copy, options: steps, progress: report)
        case .compactBackup: try db.main.backup(toFileAt: copy, options: .compact, progress: report)
        case .backupFrom: try db.main.backup(to: Connection(.memory, key: new).main, options: steps, progress: report)
        case .backupOver:
            let copy = try Connection(.memory, key: new)
            try db.main.backup(to: copy.main)
            try copy.main.backup(to: db.main, options: steps, progress: report)
        case .erase: try db.main.eraseDeletedContent(progress: report)
        case .copyTables:
            let target = try db.attach(.memory, as: "target", key: nil)
            defer { try? target.detach() }
            try db.main.copyTables(["t"], to: target) { _ in try progress() }
        case .fullText:
            try db.create(FTS5Table("g", columns: ["x"], content: .external(table: "t", rowID: "id"))) { _ in try progress() }
        }
    }

    private func slots(for operation: Operation) throws -> KeySlots? {
        guard operation == .rotateInPlace || operation == .rotateNewFile else { return nil }
        return try KeySlots.create(.passphrase("one"), label: "first", for: .file(path), derivation: .quick)
    }

    private func expectRows(_ key: DatabaseKey, _ comment: Comment) throws {
        let db = try Connection(.file(path), key: key)
        #expect(try db.fetchAll(String.self, "SELECT x FROM t ORDER BY rowid") == rows, comment)
        #expect(try db.main.verify().problems.isEmpty, comment)
    }

    @Test(arguments: Operation.allCases, [DatabaseConfiguration.JournalMode.delete, .wal])
    func connectionUseDuringRewriteThrows(operation: Operation, mode: DatabaseConfiguration.JournalMode) throws {
        var slots = try slots(for: operation)
        let db = try make(mode, slots.map { .slots($0) } ?? old)
        let uses = try uses(db)
        var calls = 0, failures: Set<String> = []
        try run(operation, db, &slots) {
            calls += 1
            for (name, use) in uses {
                do {
                    try use()
                    failures.insert("\(name) throws nothing") } catch {
                    if (error as? DatabaseError)?.reason != .misuse { failures.insert("\(name): \(error)") }
                }
            }
        }
        #expect(failures.isEmpty, "\(failures.sorted())")
        #expect(calls > (operation == .fullText ? 0 : 1))
        #expect(!folder.exists("scratch.db"))
        // Afterwards everything is as if no use had been tried, and the connection goes on.
        let changed = operation == .inPlace || operation == .newFile
        #expect(db.isOpen == ![.newFile, .rotateNewFile].contains(operation))
        if db.isOpen {
            #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == rows.count)
            #expect(try db.main.journalMode == mode)
            #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM temp.sqlite_schema WHERE name = 'stray'") == 0)
            try db.execute("INSERT INTO t(x) VALUES ('after')")
            try db.execute("DELETE FROM t WHERE x = 'after'")
            db.close()
        }
        let key = try slots.map { _ in try .slots(secret: .passphrase("one")) } ?? (changed ? new : old)
        try expectRows(key, "\(operation)")
        if slots == nil { #expect(throws: DatabaseError.self) { try Connection(.file(path), key: changed ? old : new) } }
    }

    /// A progress closure that closes the connection: the call throws, nothing has changed, and the connection is open.
    @Test(arguments: Operation.allCases, [DatabaseConfiguration.JournalMode.delete, .wal])
    func closingDuringRewriteThrows(operation: Operation, mode: DatabaseConfiguration.JournalMode) throws {
        var slots = try slots(for: operation)
        let db = try make(mode, slots.map { .slots($0) } ?? old)
        let error = #expect(throws: DatabaseError.self) { try run(operation, db, &slots) { db.close() } }
        #expect(error?.reason == .misuse, "\(operation): \(String(describing: error))")
        #expect(db.isOpen && !db.isInTransaction)
        try db.execute("INSERT INTO t(x) VALUES ('after')")
        try db.execute("DELETE FROM t WHERE x = 'after'")
        #expect(try db.main.journalMode == mode)
        db.close()
        try expectRows(try slots.map { _ in try .slots(secret: .passphrase("one")) } ?? old, "\(operation)")
    }

    /// Tries to use a connection from what knows it only by this object.
    final class Intruder: @unchecked Sendable {
        // Sendable: everything happens on the test's thread.
        var db: Connection?
        private(set) var reasons: Set<DatabaseError.Reason?> = []

        func intrude() {
            guard let db else { return }
            do {
                try db.execute("INSERT INTO t(x) VALUES ('stray')")
                reasons.insert(nil)
            } catch { reasons.insert((error as? DatabaseError)?.reason ?? .engine) }
            db.close()
        }

        func takeReasons() -> Set<DatabaseError.Reason?> {
            defer { reasons = [] }
            return reasons
        }
    }

    /// The other closures called during a rewrite: functions of the connection and of the one that writes the copy, `prepare` for
    /// that one, hooks, and key providers.
    @Test func functionsAndHooksDuringRewriteCannotUseConnection() throws {
        try make(.wal, old).close()
        let intruder = Intruder(), inFunction = Intruder()
        var configuration = DatabaseConfiguration()
        configuration.prepareDatabase = { db in
            intruder.intrude()
            try db.register(.function("f", .deterministic) { (x: String) in
                inFunction.intrude()
                return x
            })
        }
        let db = try Connection(.file(path), key: old, configuration: configuration)
        try db.execute("ALTER TABLE t ADD COLUMN g GENERATED ALWAYS AS (f(x)) VIRTUAL")
        // The copy's index is built again, which calls the function.
        try db.execute("CREATE INDEX by_g ON t(g)")
        inFunction.db = db
        try db.main.backup(toFileAt: folder.path("a copy.db"), options: .compact)
        #expect(inFunction.takeReasons() == [.misuse])
        inFunction.db = nil
        intruder.db = db
        try db.main.backup(toFileAt: folder.path("another.db"))
        #expect(intruder.takeReasons() == [.misuse])
        let token = try db.addTraceHook { _ in intruder.intrude() }
        try db.main.vacuum()
        token.remove()
        #expect(intruder.takeReasons() == [.misuse])
        func asking(for key: DatabaseKey) -> DatabaseKey {
            .provided(by: KeySource {
                intruder.intrude()
                return key
            }).quick
        }
        let provider = asking(for: new), oldProvider = asking(for: old)
        for use in [
            { try db.attach(.file(folder.path("b.db")), as: "b", key: provider) }, { try db.changeKey(to: provider) },
            { try db.main.backup(toFileAt: folder.path("b.db"), key: provider) },
            { try db.main.restore(fromFileAt: path, key: oldProvider) },
        ] as [() throws -> Void] {
            let error = #expect(throws: DatabaseError.self) { try use() }
            #expect(error?.reason == .misuse)
            #expect(intruder.takeReasons() == [.misuse])
        }
        #expect(db.isOpen)
        intruder.db = nil
        try db.execute(SQLScript("DROP INDEX by_g; ALTER TABLE t DROP COLUMN g"))
        db.close()
        try expectRows(old, "")
    }

    /// The writer of a pool in a closure that it is lent to, and a pool in its own progress closure.
    @Test(arguments: Schema.KeyChangeMode.allCases) func queueAndPoolUseDuringRewriteThrows(mode: Schema.KeyChangeMode) throws {
        try make(.wal, old).close()
        let pool = try DatabasePool(.file(path), key: old)
        var reasons: Set<DatabaseError.Reason?> = []
        func noting(_ body: () throws -> Void) {
            do { try body(); reasons.insert(nil) } catch { reasons.insert((error as? DatabaseError)?.reason) }
        }
        try pool.changeKey(to: new, mode: mode) { _ in
            noting { try pool.write { try $0.execute("DELETE FROM t") } }
            noting { _ = try pool.read { try $0.fetchOne(Int.self, "SELECT count(*) FROM t") } }
            noting { try pool.close() }
        }
        #expect(reasons == [.misuse])
        try pool.barrierWriteWithoutTransaction { db in
            try db.changeKey(to: old) { _ in noting { try db.execute("DELETE FROM t") } }
        }
        #expect(reasons == [.misuse])
        #expect(try pool.read { try $0.fetchOne(Int.self, "SELECT count(*) FROM t") } == rows.count)
        try pool.close()
        try expectRows(old, "\(mode)")
    }
}

extension TemporaryFolder {
    fileprivate func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: path(name)) }
}
