import Foundation
import KitSupport
import SQLCipherKit
import SQLCipherKitSync
import Synchronization
import StoreSupport
import Testing
import TestSupport

/// A store that is cut off before or after one request, and counts requests.
final class CutStore: ObjectStore {
    struct Cut: Error {}
    let store: any ObjectStore
    private let state = Mutex((count: 0, last: Int.max, isAfter: false))

    init(_ store: any ObjectStore) { self.store = store }

    var requests: Int { state.withLock { $0.count } }

    /// - Parameter last: the number of the request, counted from now on.
    func cut(at last: Int = .max, isAfter: Bool = false) { state.withLock { $0 = (0, last, isAfter) } }

    private func run<R>(_ body: () async throws -> R) async throws -> R {
        let (isCut, isAfter) = state.withLock { state in
            state.count += 1
            return (state.count >= state.last, state.count == state.last && state.isAfter)
        }
        if isCut, !isAfter { throw StoreFault("cut") }
        let result = try await body()
        if isCut { throw StoreFault("cut") }
        return result
    }

    func list(prefix: String) async throws -> [StoredObject.Info] { try await run { try await store.list(prefix: prefix) } }
    func get(_ name: String) async throws -> StoredObject? { try await run { try await store.get(name) } }
    func put(_ name: String, _ bytes: [UInt8], if condition: StoredObject.Condition) async throws -> String? {
        try await run { try await store.put(name, bytes, if: condition) }
    }
    func delete(_ name: String) async throws { try await run { try await store.delete(name) } }
}

/// Change logs over a store.
@Suite struct ChangeStoreTests {
    static let key = DatabaseKey.raw32(7)
    let folder: TemporaryFolder
    let memory = MemoryStore()

    init() throws { folder = try TemporaryFolder() }

    private var store: ChangeStore { ChangeStore(memory, key: Self.key) }

    private func peer(_ name: String, at path: String? = nil) throws -> SharedChangeLog {
        let queue = try DatabaseQueue(path.map { .file($0) } ?? .memory, key: .raw32(1))
        try queue.write { try $0.execute("CREATE TABLE IF NOT EXISTS note(id TEXT PRIMARY KEY, title, body)") }
        return try SharedChangeLog(queue, tables: ["note"], localPeer: name)
    }

    private func set(_ log: SharedChangeLog, _ id: String, _ title: String) throws {
        try log.write { db in
            try db.execute("INSERT INTO note(id, title) VALUES (\(id), \(title)) ON CONFLICT (id) DO UPDATE SET title = excluded.title")
        }
    }

    private func rows(_ log: SharedChangeLog) throws -> [String] {
        try log.database.read { db in try db.fetchAll(String.self, "SELECT id || '=' || title FROM note ORDER BY id") }
    }

    private func settle(_ logs: SharedChangeLog..., through store: ChangeStore? = nil) async throws {
        for _ in 0..<3 { for log in logs { try await log.synchronize(with: store ?? self.store) } }
    }

    // MARK: The common cases

    @Test func changesSynchronizeThroughFolderStore() async throws {
        let store = ChangeStore(try FolderStore(folder.path("shared")), key: .raw32(9))
        let a = try peer("a"), b = try peer("b"), c = try peer("c")
        try set(a, "1", "foxglove")
        let first = try await a.synchronize(with: store)
        #expect(first.sent == 1 && first.isComplete)
        #expect(try await b.synchronize(with: store).received.received == 1)
        try set(b, "2", "owlets")
        try await b.write { try $0.execute("UPDATE note SET body = 'b' WHERE id = '1'") }
        #expect(try await b.synchronize(with: store).sent == 2)
        try set(a, "1", "elkhound")
        try await settle(a, b, c, through: store)
        for log in [a, b, c] { #expect(try rows(log) == ["1=elkhound", "2=owlets"]) }
        // Nothing to do.
        let last = try await a.synchronize(with: store)
        #expect(last.sent == 0 && last.received == ChangeLog.Outcome())
        // The store learns neither names nor rows.
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path("shared")) {
            guard let bytes = FileManager.default.contents(atPath: folder.path("shared/" + name)) else { continue }
            for word in ["foxglove", "owlets", "elkhound", "changelog"] { #expect(bytes.range(of: Data(word.utf8)) == nil) }
        }
        await #expect { try await c.synchronize(with: ChangeStore(FolderStore(folder.path("shared")), key: Self.key)) } throws: {
            ($0 as? DatabaseError)?.code == .notADatabase
        }
        await #expect { try await c.synchronize(with: ChangeStore(memory, key: .plaintext)) } throws: {
            ($0 as? DatabaseError)?.reason == .notEncrypted
        }
    }

    /// Whatever the last request was, the next call goes on.
    @Test func synchronizationResumesAfterAnyFailedRequest() async throws {
        var hasAll = false
        for number in sequence(first: 1, next: { $0 + (LongTests.areOn ? 1 : 5) }) {
            for isAfter in [false, true] {
                let memory = MemoryStore(), line = CutStore(memory)
                var store = ChangeStore(line, key: Self.key)
                store.partSize = 100
                store.largestCount = 2
                store.largestSize = 600
                let a = try peer("a"), b = try peer("b")
                for round in 0..<5 {
                    try set(a, "\(round)", String(repeating: "fox", count: 30))
                    try set(b, "b", "\(round)")
                    if round == 3 { line.cut(at: number, isAfter: isAfter) }
                    for log in [a, b] { do { try await log.synchronize(with: store) } catch let error as DatabaseError where error.reason == .storeUnavailable {} }
                }
                hasAll = line.requests < number
                line.cut()
                try await settle(a, b, through: store)
                #expect(try rows(a) == rows(b) && rows(a).count == 6, "\(number) \(isAfter)")
                let c = try peer("c")
                let outcome = try await c.synchronize(with: store)
                #expect(try rows(c) == rows(a) && outcome.isComplete, "\(number) \(isAfter)")
            }
            if hasAll { break }
        }
    }

    /// All rows take the place of many small objects.
    @Test func changeStoreObjectCountIsBounded() async throws {
        var store = store
        store.largestCount = 8
        store.largestSize = 20_000
        let a = try peer("a"), b = try peer("b")
        for round in 0..<60 {
            try set(round % 3 == 0 ? b : a, "\(round % 10)", "\(round)")
            try await a.synchronize(with: store)
            try await b.synchronize(with: store)
        }
        #expect(memory.objects.count < 3 * 8)
        #expect(try await a.withLog { try $0.connection.fetchOne(Int.self, "SELECT count(*) FROM changelog") ?? 0 } < 60)
        let c = try peer("c")
        try await settle(c, a, b, through: store)
        for log in [a, b, c] { #expect(try rows(log) == rows(a) && rows(log).count == 10) }
    }

    /// A copy that was ended while it removed the objects that all rows have replaced leaves the rest of its chain before them.
    @Test func objectsBeforeWholeStateAreSkipped() async throws {
        var store = store
        store.largestCount = 3
        let a = try peer("a")
        var before: [String: [UInt8]] = [:]
        for round in 0..<20 where before.keys.allSatisfy({ memory.objects[$0] != nil }) {
            before = memory.objects
            try set(a, "\(round)", "x")
            try await a.synchronize(with: store)
        }
        let removed = before.filter { memory.objects[$0.key] == nil }
        #expect(removed.count > 2)
        memory.restore(removed.filter { !$0.key.hasSuffix("/0") }.merging(memory.objects) { $1 })
        let b = try peer("b"), outcome = try await b.synchronize(with: store)
        #expect(try outcome.isComplete && rows(b) == rows(a))
    }

    // MARK: Copies that come back

    /// The others have pruned their logs meanwhile.
    @Test func copyAwayForYearConverges() async throws {
        let year: TimeInterval = 400 * 86_400
        var a = try peer("a"), b = try peer("b"), away = try peer("away")
        try set(a, "deleted", "x")
        try set(a, "kept", "x")
        try set(a, "both", "x")
        try await settle(a, b, away)
        // Not yet synchronized.
        try set(away, "own", "away")
        try set(away, "kept", "away")
        try set(away, "later", "away")
        try await away.write { try $0.execute("UPDATE note SET body = 'away' WHERE id = 'both'") }
        try await away.write { try $0.execute("DELETE FROM note WHERE id = 'gone'") }
        for index in 0..<3 {
            let now: @Sendable () -> Date = { Date(timeIntervalSinceNow: year) }
            if index == 0 { a.now = now } else if index == 1 { b.now = now } else { away.now = now }
        }
        try set(a, "new", "a")
        try set(a, "both", "a")
        try await a.write { try $0.execute("DELETE FROM note WHERE id = 'deleted'") }
        try await settle(a, b)
        try set(b, "later", "b")
        try await settle(b, a)
        #expect(try await a.withLog { try $0.connection.fetchOne(Int.self, "SELECT count(*) FROM changelog") } == 0)
        try await away.synchronize(with: store)
        try await settle(a, b, away)
        for log in [a, b, away] {
            #expect(try rows(log) == ["both=a", "kept=away", "later=b", "new=a", "own=away"])
            #expect(try await log.database.read { try $0.fetchOne(String.self, "SELECT body FROM note WHERE id = 'both'") } == "away")
        }
        try set(away, "again", "away")
        try await settle(away, a, b)
        #expect(try rows(b) == rows(away) && rows(a) == rows(away))
    }

    @Test func idleSynchronizationCommitsNothing() async throws {
        let a = try peer("a", at: folder.path("a.db")), b = try peer("b")
        for number in 0..<3 {
            try set(a, "\(number)", "one")
            try await settle(a, b)
        }
        let commits = Mutex(0)
        try await a.synchronize(with: store)
        try await a.database.writeWithoutTransaction { db in _ = try db.addCommitHook { commits.withLock { $0 += 1 } } }
        let before = try await a.withLog { try Contents.of($0.connection) }
        for _ in 0..<3 { try await a.synchronize(with: store) }
        #expect(commits.withLock { $0 } == 0)
        #expect(try await a.withLog { try Contents.of($0.connection) } == before)
        try set(a, "last", "one")
        #expect(commits.withLock { $0 } > 0)
    }

    /// A restored copy asks before anything is stored. Its changes since then are kept.
    @Test(arguments: [ChangeLog.RestoreChoice.keepingThisState, .takingOthers])
    func restoredCopyAsksAndThenConverges(_ choice: ChangeLog.RestoreChoice) async throws {
        let path = folder.path("a.db"), backup = folder.path("backup.db")
        let a = try peer("a", at: path), b = try peer("b")
        try set(a, "1", "one")
        try await settle(a, b)
        try await a.database.main.backup(toFileAt: backup)
        try set(a, "2", "two")
        try set(a, "1", "uno")
        try await settle(a, b)
        try set(b, "4", "four")
        try await b.synchronize(with: store)
        try await a.database.close()
        let restored = try peer("a", at: backup), before = memory.objects
        try set(restored, "3", "three")
        try await restored.write { try $0.execute("UPDATE note SET body = 'restored' WHERE id = '1'") }
        for _ in 0..<2 {
            await #expect { try await restored.synchronize(with: store) } throws: { ($0 as? DatabaseError)?.reason == .copyRestored }
            #expect(memory.objects == before)
        }
        try await restored.withLog { try $0.resolveRestore(choice) }
        let outcome = try await restored.synchronize(with: store)
        #expect(outcome.received.renewed >= 2)
        try await settle(b, restored)
        let expected = ["1=\(choice == .takingOthers ? "uno" : "one")", "2=two", "3=three", "4=four"]
        for log in [restored, b] {
            #expect(try rows(log) == expected)
            #expect(try await log.database.read { try $0.fetchOne(String.self, "SELECT body FROM note WHERE id = '1'") } == "restored")
        }
    }

    /// Two copies with one name ask each time, and go on together.
    @Test func copiesWithSamePeerNameConverge() async throws {
        let path = folder.path("a.db"), twin = folder.path("twin.db")
        let a = try peer("a", at: path), b = try peer("b")
        try set(a, "0", "zero")
        try await settle(a, b)
        try await a.database.main.backup(toFileAt: twin)
        let second = try peer("a", at: twin)
        for round in 1..<8 {
            try set(a, "a\(round)", "\(round)")
            try set(second, "t\(round)", "\(round)")
            if round % 2 == 0 { try set(second, "0", "\(round)") }
            async let one = a.synchronize(with: store, restored: .takingOthers)
            async let two = second.synchronize(with: store, restored: .takingOthers)
            _ = try await (one, two)
            try await b.synchronize(with: store)
        }
        for _ in 0..<3 { for log in [a, second, b] { try await log.synchronize(with: store, restored: .takingOthers) } }
        for log in [a, second, b] { #expect(try rows(log) == rows(b) && rows(log).count == 15) }
        #expect(try rows(b).first == "0=6")
    }

    // MARK: Stores that do harm

    /// A changed object stops the chain that it is in, and no other.
    @Test func changedObjectStopsOnlyItsChain() async throws {
        let a = try peer("a"), b = try peer("b")
        try set(a, "1", "one")
        try set(b, "2", "two")
        try await settle(a, b)
        let before = memory.objects
        for (name, bytes) in before.sorted(by: { $0.key < $1.key }) {
            for place in LongTests.areOn ? Array(bytes.indices) : [0, 5, 10, 20, 40, bytes.count / 2, bytes.count - 1] {
                memory.restore(before)
                memory.change(name) { $0[place] ^= 1 }
                let c = try peer("c")
                await #expect(throws: DatabaseError.self, "\(name) \(place)") { try await c.synchronize(with: store) }
                // Changes that follow changes in the other chain wait for that chain.
                #expect(try rows(c).count <= (name.hasSuffix("head") ? 0 : 1))
            }
            memory.restore(before)
            memory.change(name) { $0 = [UInt8](repeating: 0, count: (8 << 20) + 200) }
            let c = try peer("c")
            await #expect(throws: DatabaseError.self) { try await c.synchronize(with: store) }
        }
        // An object under another's name, and an object at another place.
        memory.restore(before)
        let names = before.keys.filter { !$0.hasSuffix("head") }.sorted()
        memory.restore([names[0]: before[names[1]] ?? []].merging(before) { first, _ in first })
        let c = try peer("c")
        await #expect(throws: DatabaseError.self) { try await c.synchronize(with: store) }
        // The owner puts all its rows in the place of the unreadable object.
        memory.restore(before)
        for name in names {
            let chain = name.prefix { $0 != "/" } + "/" + name.split(separator: "/")[1]
            _ = try await memory.put("\(chain)/1", [UInt8](repeating: 1, count: 99), if: .always)
        }
        for log in [a, b] { for _ in 0..<2 { _ = try? await log.synchronize(with: store) } }
        try await settle(a, b)
        let d = try peer("d")
        try await settle(d)
        #expect(try rows(d) == ["1=one", "2=two"])
    }

    /// A chain that has another object under a number that was read is read again. One that is put together from two is refused.
    @Test func replacedChainObjectIsReadAgain() async throws {
        let a = try peer("a"), b = try peer("b")
        try set(a, "1", "one")
        try await settle(a, b)
        let old = memory.objects
        try set(a, "2", "two")
        for log in [a, b] { try await log.synchronize(with: store) }
        let first = memory.objects
        let name = try #require(first.keys.first { old[$0] == nil }), next = (name.dropLast(1)) + "\((name.last?.wholeNumberValue ?? 0) + 1)"
        // The store was restored from a copy, and has other objects in their place before the other copy comes back.
        memory.restore(old)
        for id in ["3", "4"] {
            try set(a, id, "new")
            try await a.synchronize(with: store)
        }
        let second = memory.objects
        #expect(second[name] != first[name] && second[String(next)] != nil)
        let outcome = try await b.synchronize(with: store)
        #expect(outcome.isComplete && outcome.received.received == 2)
        #expect(try rows(b) == ["1=one", "2=two", "3=new", "4=new"])
        // The store shows the object of one history and the later objects of the other.
        memory.change(name) { $0 = first[name] ?? [] }
        let c = try peer("c")
        for _ in 0..<2 {
            await #expect { try await c.synchronize(with: store) } throws: { ($0 as? DatabaseError)?.reason == .replicaDamaged }
        }
        #expect(try rows(c) == ["1=one", "2=two"])
        memory.change(name) { $0 = second[name] ?? [] }
        try await settle(c)
        #expect(try rows(c) == rows(b))
    }

    /// A message with all rows is taken, although the object that it names as the one before it is no longer there.
    @Test func wholeStateRestartsItsChain() async throws {
        let b = try peer("b")
        var c = try peer("c")
        try await c.synchronize(with: store)
        let name = try #require(memory.objects.keys.first { $0.hasSuffix("/0") })
        try set(b, "1", "one")
        try await settle(b, c)
        let old = memory.objects
        c.now = { Date(timeIntervalSinceNow: 7200) }
        try set(b, "2", "two")
        for log in [b, c] { try await log.synchronize(with: store) }
        #expect(memory.objects.count == old.count + 2)
        // Only this chain goes back. Its object has another tag, which the next object names.
        memory.restore(memory.objects.filter { old[$0.key] != nil || !$0.key.hasPrefix(name.dropLast()) })
        memory.change(name) { $0[$0.count - 1] ^= 1 }
        await #expect(throws: DatabaseError.self) { try await c.synchronize(with: store) }
        #expect(memory.objects[name] == nil)
        let outcome = try await b.synchronize(with: store)
        #expect(outcome.isComplete)
        let d = try peer("d")
        try await d.synchronize(with: store)
        #expect(try rows(d) == ["1=one", "2=two"])
    }

    /// A copy that was restored from a backup is shown the store as it was then. The others do not mix its two histories.
    @Test func forkedStoreHistoriesAreNotMixed() async throws {
        let path = folder.path("a.db"), backup = folder.path("backup.db")
        let a = try peer("a", at: path), b = try peer("b")
        try set(a, "1", "one")
        try await settle(a, b)
        try await a.database.main.backup(toFileAt: backup)
        let old = memory.objects
        try set(a, "1", "two")
        try await settle(a, b)
        let new = memory.objects
        try await a.database.close()
        let restored = try peer("a", at: backup)
        memory.restore(old)
        try set(restored, "1", "three")
        try await restored.synchronize(with: store)
        await #expect { try await b.synchronize(with: store) } throws: { ($0 as? DatabaseError)?.reason == .misuse }
        #expect(try rows(b) == ["1=two"])
        // The store shows all of them the same again.
        memory.restore(new)
        try await restored.synchronize(with: store, restored: .takingOthers)
        try await settle(restored, b)
        #expect(try rows(restored) == rows(b) && rows(b) == ["1=three"])
    }

    /// A copy's notes about the chains are not taken for missing if they cannot be read.
    @Test func damagedChainRecordsThrow() async throws {
        let a = try peer("a"), b = try peer("b")
        for (log, id) in [(a, "1"), (b, "2")] { try set(log, id, "x") }
        try await settle(a, b)
        let before = memory.objects
        let chain = #"{"next":1,"until":{"marks":{}},"wholeAt":0,"wholeSize":0,"size":0,"lastSize":0,"time":0}"#
        let numbers = ["next", "wholeAt", "wholeSize", "size", "lastSize", "time"].flatMap { name in
            ["\(Int64.max)", "\(Int64.min)"].map { chain.replacing("\"\(name)\":\(name == "next" ? 1 : 0)", with: "\"\(name)\":\($0)") }
        }
        for text in ["", "x", "{}"] + numbers {
            try await a.database.write { try $0.execute("UPDATE changelog_chain SET state = \(Data(text.utf8))") }
            try set(a, "3", text)
            await #expect { try await a.synchronize(with: store) } throws: { ($0 as? DatabaseError)?.code == .corrupt }
            #expect(memory.objects == before)
        }
        // The message names the remedy.
        try await a.database.write { try $0.execute("DELETE FROM changelog_chain") }
        try await settle(a, b)
        for log in [a, b] { #expect(try rows(log) == ["1=x", "2=x", "3=\(numbers.last ?? "")"]) }
    }

    /// No head makes a copy take or store anything under another key or for another store.
    @Test func hostileHeadsChangeNothing() async throws {
        let a = try peer("a"), b = try peer("b"), name = "changes/head"
        for (log, id) in [(a, "1"), (b, "2")] { try set(log, id, "x") }
        try await settle(a, b)
        let before = memory.objects, head = try #require(before[name])
        try set(a, "3", "x")
        func other(_ key: DatabaseKey) async throws -> [UInt8] {
            let memory = MemoryStore()
            try await peer("o").synchronize(with: ChangeStore(memory, key: key))
            return try #require(memory.objects[name])
        }
        var heads = [[], Array(head.dropLast()), head + [0], [UInt8](repeating: 0xff, count: head.count)]
        heads.append([UInt8](repeating: 0xff, count: 9 << 20))
        heads.append(Array(head.prefix(5)) + [UInt8](repeating: 0xff, count: head.count - 5))
        heads.append(try await other(.raw32(8)))
        for place in stride(from: 0, to: head.count, by: LongTests.areOn ? 1 : 11) {
            heads.append(head)
            heads[heads.count - 1][place] ^= 0x80
        }
        for head in heads {
            memory.change(name) { $0 = head }
            let objects = memory.objects
            for log in [a, b, try peer("c")] {
                await #expect { try await log.synchronize(with: store) } throws: {
                    ($0 as? DatabaseError)?.reason == .replicaDamaged
                }
                #expect(try rows(log).count <= 2 + (log.localPeer == "a" ? 1 : 0))
            }
            #expect(memory.objects == objects)
        }
        // A head of another store with the same key: it was not stored for this store.
        let foreign = try await other(Self.key)
        memory.change(name) { $0 = foreign }
        let c = try peer("c")
        await #expect { try await c.synchronize(with: store) } throws: { ($0 as? DatabaseError)?.reason == .replicaDamaged }
        #expect(try rows(c) == [])
        memory.restore(before)
        try await settle(a, b, c)
        for log in [a, b, c] { #expect(try rows(log) == ["1=x", "2=x", "3=x"]) }
    }

    /// A store that is emptied, or restored from a copy of itself, is filled again.
    @Test func rolledBackChangeStoreIsRefilled() async throws {
        let a = try peer("a"), b = try peer("b")
        try set(a, "1", "one")
        try await settle(a, b)
        let old = memory.objects
        for round in 0..<4 {
            try set(a, "2", "\(round)")
            try set(b, "3", "\(round)")
            try await settle(a, b)
            memory.restore(round % 2 == 0 ? old : [:])
            try set(a, "4", "\(round)")
            try await settle(a, b)
            let c = try peer("c")
            try await c.synchronize(with: store)
            for log in [a, b, c] { #expect(try rows(log) == ["1=one", "2=\(round)", "3=\(round)", "4=\(round)"]) }
        }
    }
}

extension DatabaseKey {
    fileprivate static func raw32(_ byte: UInt8) -> DatabaseKey {
        (try? .raw([UInt8](repeating: byte, count: 32))) ?? .plaintext
    }
}
