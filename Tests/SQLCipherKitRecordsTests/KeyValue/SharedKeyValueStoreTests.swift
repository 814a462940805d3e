import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(60))) struct SharedKeyValueStoreTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    struct Frame: Codable, Equatable, Sendable { var x: Int }

    /// An entry ends by time alone, which no commit tells of. An entry lives longer where a busy machine looks too late.
    @Test(arguments: Store.allCases) func observerSeesEntryExpire(kind: Store) async throws {
        let database = try kind.open(folder), store = try SharedKeyValueStore("settings", in: database)
        var seen: [Int?] = [], seconds = 1.0
        repeat {
            seen = []
            try await store.set("soon", to: 1, expires: Date(timeIntervalSinceNow: seconds))
            for try await value in store.observe("soon", as: Int.self) {
                seen.append(value)
                if value == nil { break }
            }
            seconds *= 4
        } while seen == [nil] && seconds < 100
        #expect(seen == [1, nil])
    }

    /// Each entry that ends is an event of its own, and the observation waits for the next of them.
    @Test(arguments: Store.allCases) func observerOfSeveralEntriesSeesEachExpire(kind: Store) async throws {
        let database = try kind.open(folder), store = try SharedKeyValueStore("settings", in: database)
        try await store.set("a", to: 1, expires: Date(timeIntervalSinceNow: 1))
        try await store.set("b", to: 2, expires: Date(timeIntervalSinceNow: 1.3))
        try await store.set("c", to: 3)
        let keys = database.observe { db in try KeyValueStore("settings", in: db).keys() }.removingDuplicates()
        var last: [String] = []
        for try await now in keys {
            #expect(last.isEmpty || now.count < last.count)
            last = now
            if now == ["c"] { break }
        }
    }

    @Test(arguments: Store.allCases) func sharedStoreReadsWritesAndRemovesEntries(kind: Store) async throws {
        let store = try SharedKeyValueStore("settings", in: kind.open(folder))
        #expect(try await store.get("a", as: Int.self) == nil)
        #expect(try await store.get("a", as: Frame.self) == nil)
        try await store.set("a", to: 1)
        try await store.set("frame", to: Frame(x: 1))
        try await store.set("nil", to: Int?.none)
        #expect(try await store.get("a") == 1)
        #expect(try await store.get("frame") == Frame(x: 1))
        #expect(try await store.get("nil", as: Int?.self) == .some(nil))
        #expect(try await store.get("b", default: "none") == "none")
        #expect(try await store.get("b", default: Frame(x: 4)) == Frame(x: 4))
        #expect(try await store.remove("a"))
        #expect(try await !store.remove("a"))
        let error = await #expect(throws: DatabaseError.self) { try await store.set("big", to: UInt64.max) }
        #expect(error?.reason == .invalidArgument)
        let keys = try await store.read { store in try store.keys() }
        #expect(keys == ["frame", "nil"])
        // All or nothing.
        await #expect(throws: DatabaseError.self) {
            try await store.write { store in
                try store.set("c", to: 1)
                try store.set("d", to: Double.nan)
            }
        }
        #expect(try await store.get("c", as: Int.self) == nil)
        try synchronous(store)
    }

    private func synchronous(_ store: SharedKeyValueStore) throws {
        try store.set("a", to: 2, expires: Date(timeIntervalSinceNow: 100))
        try store.set("frame", to: Frame(x: 2))
        #expect(try store.get("a") == 2)
        #expect(try store.get("frame") == Frame(x: 2))
        #expect(try store.get("none", default: 7) == 7)
        #expect(try store.read { try $0.count() } == 3)
        #expect(try store.remove("a"))
        try store.write { store in try store.removeAll() }
        #expect(try store.read { try $0.keys() } == [])
    }

    /// Every call of a `KeyValueStore` for one key is one of a shared store, with the same arguments, synchronous and asynchronous.
    @Test func sharedStoreHasEveryCallOfKeyValueStore() throws {
        func calls(_ file: String) throws -> [String] {
            let text = try String(contentsOf: Repository.file("Sources/SQLCipherKitRecords/KeyValue/\(file)"), encoding: .utf8)
            return text.components(separatedBy: "public func ").dropFirst().compactMap { declaration in
                // Without the conformance that lets tasks share a value.
                let head = (declaration.components(separatedBy: " {").first ?? "").replacing(#/\s+/#, with: " ")
                    .replacing(" & Sendable", with: "").replacing("sending @escaping ", with: "")
                    .replacing("( ", with: "(").replacing(" )", with: ")")
                guard let call = head.firstMatch(of: #/^(\w+)(?:<.*?>)?(\(.*?\)) (async )?throws/#) else { return nil }
                return "\(call.1)\(call.2)\(call.3 == nil ? "" : " async")"
            }
        }
        // The calls for one key. The others go through `read` and `write`, so that several are one snapshot or one transaction.
        func isForOneKey(_ call: String) -> Bool { call.prefixMatch(of: #/(get|contains|set|remove)\(_ key/#) != nil }
        let own = try calls("KeyValueStore.swift").filter(isForOneKey)
        let shared = try calls("SharedKeyValueStore.swift").filter(isForOneKey)
        #expect(own.count == 10 && own.contains("contains(_ key: String)"))
        #expect(shared.filter { !$0.hasSuffix(" async") }.sorted() == own.sorted())
        #expect(shared.filter { $0.hasSuffix(" async") }.sorted() == own.map { "\($0) async" }.sorted())
    }

    @Test(arguments: Store.allCases) func sharedStoreReadsAndWritesManyKeysAtOnce(kind: Store) async throws {
        let store = try SharedKeyValueStore("settings", in: kind.open(folder))
        try await store.write { try $0.setAll(["a": 1, "b": 2]) }
        try await store.write { try $0.setAll(["c.x": 7, "c.y": "dark", "c.z": Frame(x: 3), "c.nil": Int?.none]) }
        try await store.write { try $0.setAll(["d": Frame(x: 4)]) }
        #expect(try await store.read { try $0.keys() } == ["a", "b", "c.nil", "c.x", "c.y", "c.z", "d"])
        #expect(try await store.read { try $0.count(prefix: "c.") } == 4)
        #expect(try await store.contains("c.nil"))
        #expect(try await store.get("c.y", default: "light") == "dark")
        #expect(try await store.get("c.nil", as: Int?.self) == .some(nil))
        #expect(try await store.read { try $0.all(as: Frame.self, prefix: "d").map(\.value) } == [Frame(x: 4)])
        try await store.read { try $0.forEach(prefix: "d") { entry in #expect(entry.key == "d") } }
        // All or nothing, of any types.
        await #expect(throws: DatabaseError.self) {
            try await store.write { try $0.setAll(["e": 1, "f": "x", "g": Double.nan, "h": Frame(x: 1)]) }
        }
        #expect(try await store.read { try $0.count() } == 7)
        try allSynchronously(store)
        try await store.set("old", to: 1, expires: Date(timeIntervalSinceNow: -1))
        #expect(try await store.write { try $0.purgeExpired() } == 1)
        try await store.write { try $0.removeAll(prefix: "c.") }
        #expect(try await store.read { try $0.keys() } == ["a", "b", "d"])
    }

    private func allSynchronously(_ shared: SharedKeyValueStore) throws {
        try shared.write { store in
            try store.setAll(["a": 3, "b": 4])
            try store.setAll(["c.x": 8, "c.z": Frame(x: 5)])
            try store.setAll(["d": Frame(x: 6)])
            #expect(try store.purgeExpired() == 0)
        }
        #expect(try shared.contains("a") && shared.get("none", default: 1) == 1)
        #expect(try shared.get("c.z", default: Frame(x: 0)) == Frame(x: 5))
        try shared.read { store in
            #expect(try store.keys(prefix: "c.") == ["c.nil", "c.x", "c.y", "c.z"] && store.count() == 7)
            #expect(try store.all(as: Int.self, prefix: "a").map(\.value) == [3])
            var seen: [String] = []
            try store.forEach(prefix: "c.") { entry in seen.append(entry.key) }
            #expect(seen.count == 4)
        }
    }

    @Test(arguments: Store.allCases) func sharedStoreWorksInAttachedDatabase(kind: Store) async throws {
        let database = try kind.open(folder)
        let archive = try await database.attach(.file(folder.path("archive.db")), as: "archive", key: .plaintext)
        let store = try SharedKeyValueStore("settings", in: database), archived = try SharedKeyValueStore("settings", in: archive)
        #expect(store.schema.name == "main" && archived.schema.name == "archive" && archived.database === database)
        var values = archived.observe("a", as: Int.self).makeAsyncIterator()
        #expect(try await values.next() == .some(nil))
        try await store.set("a", to: 1)
        try await archived.set("a", to: 2, expires: Date(timeIntervalSinceNow: 100))
        #expect(try await values.next() == 2)
        #expect(try await store.get("a") == 1)
        #expect(try await archived.get("a") == 2)
        let count = try await database.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM archive.kv_settings") }
        #expect(count == 1)
        try await archive.detach()
        await #expect(throws: DatabaseError.self) { try await archived.get("a", as: Int.self) }
    }

    /// Many tasks at once lose nothing.
    @Test(arguments: Store.allCases) func concurrentStoreWritesLoseNothing(kind: Store) async throws {
        let store = try SharedKeyValueStore("counts", in: kind.open(folder))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for number in 0..<20 {
                        try await store.write { store in try store.set("total", to: try store.get("total", default: 0) + 1) }
                        try await store.set("\(task).\(number)", to: number)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await store.get("total") == 160)
        #expect(try await store.read { try $0.count() } == 161)
    }

    @Test(arguments: Store.allCases) func storeObservationSkipsUnrelatedWrites(kind: Store) async throws {
        let database = try kind.open(folder)
        let store = try SharedKeyValueStore("settings", in: database)
        var frames = store.observe("frame", as: Frame.self).makeAsyncIterator()
        #expect(try await frames.next() == .some(nil))
        try await store.set("frame", to: Frame(x: 1))
        #expect(try await frames.next() == .some(Frame(x: 1)))
        // Other keys, other stores and the same value are no change.
        try await store.set("other", to: 1)
        try await SharedKeyValueStore("others", in: database).set("frame", to: 1)
        try await store.set("frame", to: Frame(x: 1))
        try await store.set("frame", to: Frame(x: 2))
        #expect(try await frames.next() == .some(Frame(x: 2)))
        try await store.write { store in try store.removeAll() }
        #expect(try await frames.next() == .some(nil))
    }
}
