import Foundation
import KitSupport
import SQLCipherKit
import SQLCipherKitReplication
import Testing
import TestSupport

/// Every public call that takes a file and a key, where another file was put in the place of the right one, without the key:
/// scripts/workshop/surface --contract compares the doors with the public interface and the articles. No call gives what is in a
/// file of a weaker encryption or of another key; what takes an older state of the right file is named here, as in the article
/// Security.
@Suite struct SubstitutedFileTests {
    enum Substitute: CaseIterable {
        /// The file with its page authentication taken off, a page of it, and a page in its write-ahead log.
        case stripped, strippedPage, strippedFrame
        /// Other databases with the same table.
        case plaintext, foreign
        /// A former state of the file.
        case older
    }

    /// A call, and the way its caller gets the content of the file.
    struct Door: Sendable {
        /// The calls, which stand for their forms with `async` too; and the functions of articles, by article.
        let calls: [String]
        /// The rows that the caller sees for a substitute where the call does not throw. Default: the older state alone.
        var sees: [Substitute: [Int]] = [.older: [Bench.older]]
        /// Runs on the right file before it is replaced.
        var prepare: @Sendable (Bench) async throws -> Void = { _ in }
        /// The values that the caller gets.
        let open: @Sendable (Bench) async throws -> [Int]
    }

    /// A file, and the file that others have put in its place.
    struct Bench {
        static let newest = 101, older = 100, foreign = 99, source = 55
        let folder: TemporaryFolder
        let key: DatabaseKey, other: DatabaseKey
        var path: String { folder.path("a.db") }
        var location: DatabaseLocation { .file(path) }
        var store: FolderStore { get throws { try FolderStore(folder.path("store")) } }

        init() throws {
            folder = try TemporaryFolder()
            key = try .raw([UInt8](repeating: 7, count: 32))
            other = try .raw([UInt8](repeating: 8, count: 32))
        }

        func make(_ name: String, _ key: DatabaseKey, _ value: Int) throws {
            let db = try Connection(.file(folder.path(name)), key: key)
            // As a replicator needs it.
            try db.main.setJournalMode(.wal)
            try db.execute("CREATE TABLE t(x)")
            try db.execute("INSERT INTO t VALUES (\(value))")
            db.close()
        }

        func set(_ value: Int, keepingLog: Bool = false) throws -> (file: Data, log: Data) {
            let db = try Connection(location, key: key)
            if keepingLog { try db.main.setJournalMode(.wal) }
            // The same value again would write no page.
            for value in [Bench.source, value] { try db.execute("UPDATE t SET x = \(value)") }
            let files = try (data(), keepingLog ? data("-wal") : Data())
            db.close()
            return files
        }

        func data(_ suffix: String = "") throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path + suffix)) }

        func put(_ bytes: Data, _ suffix: String = "") throws { try bytes.write(to: URL(fileURLWithPath: path + suffix)) }

        /// The value in the last byte of the second page changes, where nothing authenticates it.
        static let change = (offset: 4096 - 80 - 17, bits: UInt8(0x1a))

        func replace(by substitute: Substitute, older: Data) throws {
            let names = try folder.names()
            for suffix in ["-wal", "-shm"] where names.contains("a.db" + suffix) {
                try FileManager.default.removeItem(atPath: path + suffix)
            }
            switch substitute {
            case .stripped: try folder.stripAuthentication("a.db", flipping: (4096 + Self.change.offset, Self.change.bits))
            case .strippedPage:
                try folder.stripAuthentication("a.db", pages: 2...2, flipping: (4096 + Self.change.offset, Self.change.bits))
            case .strippedFrame:
                let files = try set(Self.newest, keepingLog: true)
                var log = WriteAheadLog(files.log, pageSize: 4096)
                log.strip(page: 2, flipping: Self.change)
                log.sign()
                try put(files.file)
                try put(log.bytes, "-wal")
            case .plaintext, .foreign:
                try FileManager.default.removeItem(atPath: path)
                try make("a.db", substitute == .plaintext ? .plaintext : other, Self.foreign)
            case .older: try put(older)
            }
        }

        func values(_ db: Connection, in schema: String = "main") throws -> [Int] {
            defer { if schema == "main" { db.close() } }
            return try db.fetchAll(Int.self, SQL(raw: "SELECT x FROM \(schema).t"))
        }

        func values(of name: String = "a.db", _ key: DatabaseKey? = nil) throws -> [Int] {
            try values(try Connection(.file(folder.path(name)), key: key ?? self.key))
        }
    }

    private static let all = Dictionary(uniqueKeysWithValues: Substitute.allCases.map { ($0, [Int]()) })
    /// A call that replaces a file refuses one with a log.
    private static let withoutLog = all.filter { $0.key != .strippedFrame }

    static let doors: [Door] = [
        Door(calls: ["Connection.init(_:key:configuration:)"]) { try $0.values() },
        Door(
            calls: [
                "DatabasePool.init(_:key:configuration:)", "InAnApp.open(in:)", "Synchronize.init(_:_:_:_:_:)",
                "TestingYourCode.open()",
            ]
        ) { bench in
            try await values(try DatabasePool(bench.location, key: bench.key))
        },
        Door(calls: ["DatabaseQueue.init(_:key:configuration:)"]) { bench in
            let queue = try DatabaseQueue(bench.location, key: bench.key)
            defer { close(queue) }
            return try await queue.read { db in try db.fetchAll(Int.self, "SELECT x FROM t") }
        },
        Door(calls: ["Connection.attach(_:as:key:safeguards:)"]) { bench in
            let db = try Connection(.memory)
            try db.attach(bench.location, as: "a", key: bench.key)
            return try bench.values(db, in: "a")
        },
        Door(calls: ["Connection.withAttached(_:as:key:safeguards:_:)"]) { bench in
            let db = try Connection(.memory)
            return try db.withAttached(bench.location, as: "a", key: bench.key) { _ in try bench.values(db, in: "a") }
        },
        Door(calls: ["DatabaseWriter.attach(_:as:key:timeout:)"]) { bench in
            let pool = try DatabasePool(.file(bench.folder.path("main.db")), key: bench.key)
            defer { close(pool) }
            try await pool.attach(bench.location, as: "a", key: bench.key)
            return try await pool.read { db in try db.fetchAll(Int.self, "SELECT x FROM a.t") }
        },
        Door(calls: ["DatabaseWriter.attach(_:as:key:timeout:)"]) { bench in
            let queue = try DatabaseQueue(.memory)
            _ = try sync { try queue.attach(bench.location, as: "a", key: bench.key) }
            return try await queue.read { db in try db.fetchAll(Int.self, "SELECT x FROM a.t") }
        },
        Door(calls: ["Schema.restore(fromFileAt:key:options:progress:)"]) { bench in
            let db = try Connection(.file(bench.folder.path("b.db")), key: bench.key)
            try db.main.restore(fromFileAt: bench.path, key: bench.key)
            return try bench.values(db)
        },
        Door(calls: ["Schema.restore(fromFileAt:key:options:progress:)"]) { bench in
            // With the key of the database itself.
            let db = try Connection(.file(bench.folder.path("b.db")), key: bench.key)
            try db.main.restore(fromFileAt: bench.path)
            return try bench.values(db)
        },
        Door(calls: ["SharedSchema.restore(fromFileAt:key:options:timeout:progress:)"]) { bench in
            let pool = try DatabasePool(.file(bench.folder.path("b.db")), key: bench.key)
            defer { close(pool) }
            try await pool.main.restore(fromFileAt: bench.path, key: bench.key)
            return try await pool.read { db in try db.fetchAll(Int.self, "SELECT x FROM t") }
        },
        // The file is what a backup is to replace: nothing of the source may be in it but encrypted.
        Door(calls: ["Schema.backup(toFileAt:key:options:progress:)"], sees: withoutLog) { bench in
            try bench.make("source.db", bench.key, Bench.source)
            var options = Schema.BackupOptions()
            options.replacesFile = true
            let db = try Connection(.file(bench.folder.path("source.db")), key: bench.key)
            defer { db.close() }
            try db.main.backup(toFileAt: bench.path, options: options)
            return try bench.values().filter { $0 != Bench.source }
        },
        Door(calls: ["SharedSchema.backup(toFileAt:key:options:timeout:progress:)"], sees: withoutLog) { bench in
            try bench.make("source.db", bench.key, Bench.source)
            var options = Schema.BackupOptions()
            options.replacesFile = true
            let queue = try DatabaseQueue(.file(bench.folder.path("source.db")), key: bench.key)
            try await queue.main.backup(toFileAt: bench.path, options: options)
            try await queue.close()
            return try bench.values().filter { $0 != Bench.source }
        },
        Door(calls: ["DatabaseConverter.identify(fileAt:key:limits:)"], sees: all) { bench in
            let kind = try DatabaseConverter.identify(fileAt: bench.path, key: bench.key)
            // A version, or settings with authentication, belong to a file whose first page the key has authenticated.
            if case .encrypted(let version, let settings) = kind { #expect((version == 4) == settings.usesHMAC) }
            return []
        },
        Door(calls: ["DatabaseConverter.convert(fileAt:from:to:pageSize:configuration:progress:)"]) { bench in
            try DatabaseConverter.convert(fileAt: bench.path, from: bench.key, to: bench.other)
            return try bench.values(bench.other)
        },
        Door(calls: ["DatabaseConverter.decrypt(fileAt:key:configuration:progress:)"]) { bench in
            try DatabaseConverter.decrypt(fileAt: bench.path, key: bench.key)
            return try bench.values(.plaintext)
        },
        // The only call that takes plaintext, which is its purpose.
        Door(calls: ["DatabaseConverter.encrypt(fileAt:key:configuration:progress:)"], sees: [.plaintext: [Bench.foreign]]) { bench in
            try DatabaseConverter.encrypt(fileAt: bench.path, key: bench.key)
            return try bench.values()
        },
        Door(calls: ["DatabaseConverter.encryptOnce(fileAt:key:mark:configuration:progress:)"]) { bench in
            let mark = EncryptionMark(isSet: { true }, set: {})
            #expect(try !DatabaseConverter.encryptOnce(fileAt: bench.path, key: bench.key, mark: mark))
            return try bench.values()
        },
        Door(calls: ["DatabaseConverter.migrate(fileAt:key:acceptingUnauthenticated:configuration:progress:)"]) { bench in
            #expect(try DatabaseConverter.migrate(fileAt: bench.path, key: bench.key) == 4)
            return try bench.values()
        },
        // Salvaging saves the authentic pages.
        Door(
            calls: ["DatabaseConverter.salvage(fileAt:key:to:newKey:recoveryCopy:configuration:progress:)"],
            sees: [.older: [Bench.older], .strippedPage: [], .strippedFrame: []]
        ) { bench in
            _ = try DatabaseConverter.salvage(fileAt: bench.path, key: bench.key, to: bench.folder.path("b.db"))
            return try bench.values(of: "b.db")
        },
        Door(
            calls: ["DatabaseConverter.openOrSalvage(fileAt:key:configuration:progress:)"],
            sees: [.older: [Bench.older], .strippedPage: []]
        ) { bench in
            try bench.values(try DatabaseConverter.openOrSalvage(fileAt: bench.path, key: bench.key).0)
        },
        Door(calls: ["KeySlots.create(_:label:for:at:existingKey:derivation:cipher:configuration:progress:)"]) { bench in
            _ = try KeySlots.create(
                .passphrase("correct horse"), label: "a", for: bench.location, existingKey: bench.key, derivation: .quick)
            return try bench.values(try Connection(bench.location, key: .slots(secret: .passphrase("correct horse"))))
        },
        // The older state does not know the slots.
        Door(
            calls: [
                "KeySlots.unlock(_:of:at:preferredSlot:costLimit:memoryLimit:acceptingRollback:cipher:configuration:)",
                "DatabaseKey.slots(_:secret:preferredSlot:acceptingRollback:cipher:)",
            ],
            sees: [:],
            prepare: { bench in
                _ = try KeySlots.create(
                    .passphrase("correct horse"), label: "a", for: bench.location, existingKey: bench.key, derivation: .quick)
            }
        ) { bench in
            try bench.values(try Connection(bench.location, key: .slots(secret: .passphrase("correct horse"))))
        },
        // An older state written over the file is a change like any other: the replica goes on from it.
        Door(calls: ["Replicator.init(of:key:in:options:)"], prepare: replicate) { bench in
            try await replicate(bench)
            _ = try await Replicator.restore(to: bench.folder.path("b.db"), from: bench.store, key: bench.key)
            return try bench.values(of: "b.db")
        },
        // A follower's note is of the copy that it has written, and of no older one.
        Door(
            calls: ["ReplicaFollower.init(at:following:key:every:configuration:)"], sees: [:],
            prepare: { bench in
                try await replicate(bench)
                try FileManager.default.removeItem(atPath: bench.path)
                let follower = try await ReplicaFollower(at: bench.path, following: bench.store, key: bench.key)
                _ = try await follower.catchUp()
                await follower.stop()
            }
        ) { bench in
            let follower = try await ReplicaFollower(at: bench.path, following: bench.store, key: bench.key)
            _ = try await follower.catchUp()
            await follower.stop()
            return try bench.values()
        },
        // The file is replaced, whatever it was.
        Door(
            calls: ["Replicator.restore(to:from:key:at:replacing:progress:)"],
            sees: withoutLog.mapValues { _ in [Bench.newest] }, prepare: replicate
        ) { bench in
            _ = try await Replicator.restore(to: bench.path, from: bench.store, key: bench.key, replacing: true)
            return try bench.values()
        },
        Door(calls: ["Replicator.restoreIfMissing(_:from:key:progress:)"], prepare: replicate) { bench in
            _ = try await Replicator.restoreIfMissing(bench.path, from: bench.store, key: bench.key)
            return try bench.values()
        },
        // The functions of the articles that get a file and its key.
        Door(calls: ["Migrating.open()"]) { bench in
            let mark = EncryptionMark(isSet: { true }, set: {})
            try DatabaseConverter.encryptOnce(fileAt: bench.path, key: bench.key, mark: mark)
            return try await values(try DatabasePool(bench.location, key: bench.key))
        },
        Door(calls: ["Migrating.open(_:)"]) { bench in
            do { return try await values(try DatabasePool(bench.location, key: bench.key)) } catch let error as DatabaseError
                where error.reason == .wrongKeyOrNotADatabase
            {
                try DatabaseConverter.migrate(fileAt: bench.path, key: bench.key)
                return try await values(try DatabasePool(bench.location, key: bench.key))
            }
        },
        Door(calls: ["AppGroups.moveToGroup(from:oldKey:to:key:)"]) { bench in
            let old = try DatabasePool(bench.location, key: bench.key)
            defer { close(old) }
            try await old.main.backup(toFileAt: bench.folder.path("b.db"), key: bench.other)
            return try bench.values(of: "b.db", bench.other)
        },
    ]

    private static func values(_ pool: DatabasePool) async throws -> [Int] {
        defer { close(pool) }
        return try await pool.read { db in try db.fetchAll(Int.self, "SELECT x FROM t") }
    }

    private static func close(_ database: DatabaseWriter) { try? database.close() }

    private static func sync<R>(_ body: () throws -> R) rethrows -> R { try body() }

    private static func replicate(_ bench: Bench) async throws {
        let replicator = try await Replicator(of: bench.location, key: bench.key, in: bench.store)
        do { try await replicator.waitUntilStored(timeout: .seconds(60)) } catch {
            await replicator.stop()
            throw error
        }
        await replicator.stop()
    }

    @Test(arguments: doors.indices, Substitute.allCases)
    func substitutedFileIsNotTaken(_ index: Int, _ substitute: Substitute) async throws {
        let door = Self.doors[index], bench = try Bench()
        try bench.make("a.db", bench.key, Bench.older)
        let older = try bench.data()
        _ = try bench.set(Bench.newest)
        try await door.prepare(bench)
        try bench.replace(by: substitute, older: older)
        let before = try bench.data()
        let seen: [Int]
        do { seen = try await door.open(bench) } catch {
            #expect(door.sees[substitute] == nil, "\(door.calls) \(substitute): \(error)")
            // Where a single page is not authentic, what is written to others stays, and a log is merged page by page.
            if [.stripped, .plaintext, .foreign].contains(substitute) {
                #expect(try bench.data() == before, "\(door.calls) \(substitute)")
            }
            return
        }
        #expect(door.sees[substitute] == seen, "\(door.calls) \(substitute)")
    }
}
