#if DEBUG || SQLCIPHERKIT_TESTABLE
import Foundation
import SQLCipherKit
@testable import SQLCipherKitReplication
import StoreSupport
import Synchronization
import Testing
import TestSupport

/// A note beside a database is sealed, and its numbers may be any for a writer that has the key: a call refuses them, or works.
@Suite(.timeLimit(.minutes(60))) struct HostileNoteTests {
    let folder: TemporaryFolder, store = MemoryStore(), key: DatabaseKey, pool: DatabasePool, oracle = CommitOracle(seed: 81)
    let noteKey: ReplicaKey

    init() throws {
        folder = try TemporaryFolder()
        key = try CommitOracle.key
        // A raw key does not depend on the salt.
        noteKey = try ReplicaKey(key, salt: [UInt8](repeating: 0, count: 16))
        pool = try DatabasePool(.file(folder.path("a.db")), key: key)
    }

    /// The note with one of its numbers replaced by others, each sealed.
    private func changed(_ note: [UInt8], _ label: String) throws -> [(number: String, note: [UInt8])] {
        let label = Array(label.utf8), nonce = note.prefix(ReplicaKey.nonceCount)
        let plain = try #require(noteKey.open(note.dropFirst(nonce.count), with: label, nonce: Array(nonce)))
        var found: [(String, [UInt8])] = []
        func change(_ value: Any, _ path: String, _ whole: (Any) -> Any) throws {
            if let members = value as? [String: Any] {
                for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                    try change(member, "\(path).\(name)") { other in whole(members.merging([name: other]) { $1 }) }
                }
            } else if value is NSNumber {
                for number in [NSNumber(value: Int64.min), -1, NSNumber(value: Int64.max), NSNumber(value: UInt64.max)] {
                    let json = try JSONSerialization.data(withJSONObject: whole(number)), nonce = [UInt8](nonce)
                    found.append(("\(path) = \(number)", nonce + (try noteKey.seal([UInt8](json), with: label, nonce: nonce))))
                }
            }
        }
        try change(try JSONSerialization.jsonObject(with: Data(plain)), "") { $0 }
        return found
    }

    @Test func restoreRefusesImpossibleNumbersInItsNote() async throws {
        for _ in 0..<5 { try oracle.commit(pool) }
        let filling = [UInt8](repeating: 1, count: 300_000)
        try await pool.write { db in
            try db.execute("CREATE TABLE filling(x)")
            for _ in 0..<5 { try db.execute("INSERT INTO filling VALUES (\(filling))") }
        }
        var options = Replicator.Options.forTests
        options.fanOut = 16
        let replica = try await Replicator(of: pool, in: store, options: options)
        for _ in 0..<8 {
            try oracle.commit(pool)
            try await replica.waitUntilStored(timeout: .forTests)
        }
        await replica.stop()
        let path = folder.path("b.db"), counting = LimitedStore(store)
        func restore(_ store: any ObjectStore) async throws {
            try await Replicator.restore(to: path, from: store, key: key, at: .newest, replacing: true, recordEvery: .zero)
        }
        try await restore(counting)
        let reads = counting.reads.load(ordering: .relaxed)
        var names: Set<String> = []
        // In the snapshot, and in the log.
        for left in [reads / 2, reads - 2] {
            await #expect(throws: DatabaseError.self) { try await restore(LimitedStore(store, left)) }
            let record = URL(fileURLWithPath: path + "-restoring-state"), note = [UInt8](try Data(contentsOf: record))
            let pages = URL(fileURLWithPath: path + "-restoring"), before = try Data(contentsOf: pages)
            for (number, changed) in try changed(note, "SQLCipherKit restore 2") {
                for (file, bytes) in [(record, Data(changed)), (pages, before)] {
                    try bytes.write(to: file)
                    // Of a file that others may read, nothing is believed.
                    chmod(file.path, 0o600)
                }
                names.insert(String(number.prefix { $0 != " " }))
                do {
                    try await restore(store)
                    // The pages count for nothing then.
                    #expect(number.hasPrefix(".pageSize"), "\(number)")
                    #expect(try oracle.check(fileAt: path) == oracle.commits)
                } catch let error as DatabaseError {
                    #expect(error.reason == .replicaDamaged && error.message.contains("-restoring-state"), "\(number): \(error)")
                }
            }
            unlink(record.path)
        }
        #expect(names.isSuperset(of: [
            ".bytes", ".held.place.link", ".place.commits", ".place.frames", ".snapshotPlace.bytes", ".snapshotPlace.pages",
            ".snapshotPlace.parts", ".target",
        ]))
    }

    /// The note of a writer is not sealed: its place only has to be in the store.
    @Test func writerRefusesLastGenerationInItsNote() async throws {
        try oracle.commit(pool)
        var replica = try await Replicator(of: pool, in: store, options: .forTests)
        try await replica.waitUntilStored(timeout: .forTests)
        await replica.stop()
        let head = try ReplicaHead(try #require(store.objects[ReplicaHead.name]))
        let memory = ReplicaMemory(of: folder.path("a.db"), section: try #require(head.sections.last).id)
        var held = try memory.read()
        // As if the store had gone back.
        held[0].place.link += 1
        held[0].generation = .max
        try memory.write(held)
        replica = try await Replicator(of: pool, in: store, options: .forTests)
        // A store may be late, so the first looks at it decide nothing.
        var error: DatabaseError?, looks = 0
        while error?.reason != .replicaDamaged, looks < 200 {
            await #expect(throws: DatabaseError.self) { try await replica.waitUntilStored(timeout: .milliseconds(100)) }
            error = await replica.currentStatus.error
            looks += 1
        }
        #expect(error?.message.contains("no generation can follow 4294967295") == true, "\(String(describing: error))")
        await replica.stop()
    }

    @Test func followerRefusesImpossibleNumbersInItsNote() async throws {
        try oracle.commit(pool)
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        try await replica.waitUntilStored(timeout: .forTests)
        let path = folder.path("b.db"), url = URL(fileURLWithPath: path + "-replica")
        func follow() async throws {
            let follower = try await ReplicaFollower(at: path, following: store, key: key, every: .seconds(1000))
            try await follower.catchUp()
            await follower.stop()
            try await follower.database.close()
        }
        try await follow()
        var reader = ByteReader(replica: try Data(contentsOf: url))
        let note = Array(try reader.prefixed())
        for (number, changed) in try changed(note, "SQLCipherKit follower 1") {
            var bytes: [UInt8] = []
            bytes.append(prefixed: changed)
            try Data(bytes).write(to: url)
            let error = await #expect(throws: DatabaseError.self, "\(number)") { try await follow() }
            #expect(error?.path == url.path, "\(number)")
        }
        await replica.stop()
    }
}

/// Fails after a number of objects that were read.
private final class LimitedStore: ObjectStore {
    private let store: MemoryStore, limit: Int
    let reads = Atomic<Int>(0)

    init(_ store: MemoryStore, _ limit: Int = .max) { (self.store, self.limit) = (store, limit) }

    func list(prefix: String) async throws -> [StoredObject.Info] { try await store.list(prefix: prefix) }
    func delete(_ name: String) async throws { try await store.delete(name) }

    func get(_ name: String) async throws -> StoredObject? {
        guard reads.add(1, ordering: .relaxed).oldValue < limit else { throw StoreFault("broken") }
        return try await store.get(name)
    }

    func put(_ name: String, _ bytes: [UInt8], if condition: StoredObject.Condition) async throws -> String? {
        try await store.put(name, bytes, if: condition)
    }
}
#endif
