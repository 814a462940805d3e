import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import StoreSupport
import Testing
import TestSupport

/// A malicious store: it can withhold its objects, but not make a program work or wait without end.
@Suite(.timeLimit(.minutes(60))) struct HostileStoreTests {
    let folder: TemporaryFolder
    let key: DatabaseKey

    init() throws {
        folder = try TemporaryFolder()
        key = try CommitOracle.key
    }

    private func stored(_ store: any ObjectStore, _ key: DatabaseKey, commits: Int = 3) async throws -> DatabasePool {
        let pool = try DatabasePool(.file(folder.path("a.db")), key: key), oracle = CommitOracle(seed: 31)
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        for _ in 0..<commits {
            try oracle.commit(pool)
            try await replica.waitUntilStored(timeout: .forTests)
        }
        await replica.stop()
        return pool
    }

    private func expectDamage(_ store: any ObjectStore, _ key: DatabaseKey, _ text: String) async throws {
        await #expect { try await Replicator.restore(to: folder.path("b.db"), from: store, key: key) } throws: {
            ($0 as? DatabaseError)?.reason == .replicaDamaged && "\($0)".contains(text)
        }
        #expect(!FileManager.default.fileExists(atPath: folder.path("b.db")))
        await #expect(throws: DatabaseError.self) { try await Replicator.generations(in: store, key: key) }
        await #expect(throws: DatabaseError.self) {
            try await ReplicaFollower(at: folder.path("c.db"), following: store, key: key)
        }
    }

    /// A section costs a key derivation: a second, or the time that the database's settings need.
    @Test(arguments: [17, 65535]) func headWithTooManySectionsIsRefused(count: Int) async throws {
        let store = MemoryStore(), key = try DatabaseKey.passphrase("correct horse")
        _ = try await stored(store, CommitOracle.key)
        store.change("head") { bytes in
            var forged = HeadBytes(bytes)
            forged.sections = (0..<count).map { number in
                var section = forged.sections[0]
                section.salt = (0..<16).map { UInt8(truncatingIfNeeded: number >> ($0 % 8)) ^ UInt8($0) }
                return section
            }
            bytes = forged.bytes
        }
        try await expectDamage(store, key, "sections")
    }

    @Test func keyIsDerivedOnceForEachSalt() async throws {
        let store = MemoryStore()
        var cipher = CipherConfiguration()
        cipher.kdfIterations = 1000
        let key = try DatabaseKey.passphrase("correct horse", cipher: cipher)
        _ = try await stored(store, key)
        // Sections of other salts, and of the same: the key opens the oldest.
        store.change("head") { bytes in
            var forged = HeadBytes(bytes)
            for number in 0..<15 {
                var section = forged.sections[0]
                section.id[0] ^= 1
                if number % 2 == 0 { section.salt[0] ^= UInt8(1 + number) }
                forged.sections.append(section)
            }
            bytes = forged.bytes
        }
        try await Replicator.restore(to: folder.path("b.db"), from: store, key: key)
    }

    @Test func restoringCanBeCancelledBetweenSections() async throws {
        let store = MemoryStore()
        _ = try await stored(store, key)
        store.change("head") { bytes in
            var forged = HeadBytes(bytes)
            forged.sections = (0..<16).map { number in
                var section = forged.sections[0]
                section.salt[0] ^= UInt8(1 + number)
                return section
            }
            bytes = forged.bytes
        }
        // As many derivations as can be, of which none begins after the cancellation.
        var cipher = CipherConfiguration()
        cipher.kdfIterations = 100_000
        let passphrase = try DatabaseKey.passphrase("correct horse", cipher: cipher), path = folder.path("b.db")
        let task = Task { try await Replicator.restore(to: path, from: store, key: passphrase) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    /// Each of them would be asked for in a list.
    @Test func headWithTooManyRemovedSectionsIsRefused() async throws {
        let store = MemoryStore(), pool = try await stored(store, key)
        store.change("head") { bytes in bytes.insert(contentsOf: [UInt8](repeating: 1, count: 8 * 100), at: 6); bytes[5] = 100 }
        try await expectDamage(store, key, "removed sections")
        let replica = try await Replicator(of: pool, in: store, options: .forTests)
        await #expect(throws: DatabaseError.self) { try await replica.waitUntilStored(timeout: .milliseconds(300)) }
        let error = await replica.currentStatus.error
        #expect(error?.reason == .replicaDamaged)
        await replica.stop()
    }

    @Test func sizesBeyondTheHeadAreRefused() async throws {
        let store = MemoryStore()
        _ = try await stored(store, key)
        store.change("head") { bytes in
            var forged = HeadBytes(bytes)
            forged.sections[0].declared = .max
            bytes = forged.bytes
        }
        try await expectDamage(store, key, "truncated")
    }

    /// Such as an authentic block again and again.
    @Test func oversizedObjectsAreRefused() async throws {
        let store = MemoryStore()
        _ = try await stored(store, key)
        var refused = 0
        for name in store.objects.keys.sorted() where name != "head" {
            let before = store.objects[name] ?? []
            store.change(name) { $0 += $0 }
            do {
                // Such as the opening's copy in link 1.
                try await Replicator.restore(to: folder.path("b.db"), from: store, key: key, replacing: true)
                #expect(name.contains("/log-"), "\(name)")
            } catch let error as DatabaseError {
                #expect(error.reason == .replicaDamaged)
                refused += 1
            }
            store.change(name) { $0 = before }
        }
        // The opening, the snapshot, and the links that are in no larger object yet.
        #expect(refused >= 4)
    }

    /// A store's listings are not believed.
    @Test func endlessListingsDoNotGrowTheHead() async throws {
        let store = ListingStore(), pool = try await stored(store, key)
        var options = Replicator.Options.forTests
        options.sweepInterval = .zero
        let replica = try await Replicator(of: pool, in: store, options: options)
        for _ in 0..<10 { try await replica.waitUntilStored(timeout: .forTests) }
        await replica.stop()
        let head = try #require(store.store.objects["head"])
        #expect(head.count < 10_000)
        try await Replicator.restore(to: folder.path("b.db"), from: store, key: key)
    }

    private func impatientStore() throws -> FolderStore {
        var store = try FolderStore(folder.path("store"))
        store.patience = .milliseconds(50)
        return store
    }

    @Test func unreleasedStoreLockThrows() async throws {
        let store = try impatientStore()
        try await store.put("head", [1], if: .isAbsent)
        let other = open(folder.path("store/~lock"), O_RDWR | O_CLOEXEC)
        #expect(other >= 0 && flock(other, LOCK_EX) == 0)
        await #expect { try await store.put("head", [2], if: .isAbsent) } throws: {
            ($0 as? DatabaseError)?.reason == .storeUnavailable
        }
        close(other)
        #expect(try await store.put("head", [2], if: .isAbsent) == nil)
    }
}
