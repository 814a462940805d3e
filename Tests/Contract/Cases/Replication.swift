import Foundation
import SQLCipherKit
import SQLCipherKitReplication
import SQLCipherKitSync

/// Stores, replicas, followers, and change logs that travel through a store.
extension Cases {
    static var replication: [ContractCase] { stores + replicas + followers + exchanges }

    private static func store(_ t: Trial) throws -> FolderStore { try FolderStore(t.inFolder("store")) }

    private static func other() throws -> DatabaseKey { try .passphrase("other", cipher: Subject.quick) }

    private static var options: Replicator.Options {
        var options = Replicator.Options()
        options.interval = .milliseconds(5)
        return options
    }

    /// Makes a store with a replica of a database of two commits.
    private static func makeReplica(_ t: Trial) throws {
        let store = try store(t), path = t.inFolder("source.db"), key = try other()
        try waiting {
            let pool = try DatabasePool(.file(path), key: key)
            let replica = try await Replicator(of: pool, in: store, options: options)
            try await pool.write { db -> Void in try Fixture.fill(db) }
            try await pool.write { db -> Void in try db.execute("INSERT INTO note(id, title) VALUES (50, \(Secrets.value))") }
            _ = try await replica.waitUntilStored(timeout: .seconds(10))
            await replica.stop()
            try await pool.close()
        }
    }

    /// Checks that a file holds the replica's content.
    private static func checkCopy(_ path: String, _ t: Trial) throws {
        let db = try Connection(.file(path), key: other(), configuration: Subject.existing)
        defer { db.close() }
        try t.same(Secrets.value, db.fetchOne(String.self, "SELECT title FROM note WHERE id = 50"))
    }

    private static var stores: [ContractCase] {
        family("folder-store",
            call("put, get, list and delete", .rewrites, on: .nothing, isStepwise: true, waits: true) { t in
                let store = try store(t), name = t.text("name", "a/b", .name), bytes = Array(t.text("bytes", "some").utf8), prefix = t.text("prefix", "a")
                let version = try waiting { try await store.put(name, bytes, if: .always) }
                let back: StoredObject? = try waiting { try await store.get(name) }
                try t.same(bytes, back?.bytes)
                try t.same(version, back?.version)
                let isRefused: Bool = try waiting { try await store.put(name, [1], if: .isAbsent) == nil }
                let names: [String] = try waiting { try await store.list(prefix: prefix).map(\.name) }
                try waiting { try await store.delete(name) }
                return try (isRefused, names, waiting { try await store.get(name) == nil })
            },
            call("a folder", .rewrites, on: .nothing, prepare: { t in _ = try store(t) }) { t in
                // A path may have more than one part.
                let name = t.text("path", "other", .name)
                _ = try FolderStore(t.inFolder("store/" + name))
                if name.utf8.contains(0) { throw BrokenPromise("the path has been cut") }
                return 0
            })
    }

    private static func useLog(_ t: Trial) throws {
        let db = try t.subject.other()
        try db.main.setJournalMode(.wal)
        db.close()
    }

    /// The generation of what was stored, after the replica has stopped.
    private static func ended(_ replica: Replicator) async throws -> UInt64 {
        do {
            let position = try await replica.waitUntilStored(timeout: .seconds(5))
            await replica.stop()
            return UInt64(position.generation)
        } catch {
            await replica.stop()
            throw error
        }
    }

    private static var replicas: [ContractCase] {
        family("replica",
            call("of a file", .rewrites, on: .file, refusing: [.plaintext, .slots], isStepwise: true, waits: true, prepare: useLog) { t in
                let store = try store(t), key = try t.key, path = t.path
                let result: (UInt64, Bool, Int) = try waiting {
                    let replica = try await Replicator(of: .file(path), key: key, in: store, options: options)
                    let generation = try await ended(replica)
                    let status = await replica.currentStatus
                    return (generation, status.error == nil, try await Replicator.generations(in: store, key: key).count)
                }
                return result
            },
            call("of a pool", .rewrites, on: .file, refusing: [.plaintext], isStepwise: true, waits: true) { t in
                let store = try store(t), pool = try DatabasePool(.file(t.path), key: t.key, configuration: Subject.existing)
                defer { try? pool.close() }
                let generation: UInt64 = try waiting { try await ended(Replicator(of: pool, in: store, options: options)) }
                return generation
            })
        + family("replica-restore",
            call("restore", .rewrites, on: .nothing, waits: true, prepare: makeReplica) { t in
                let path = t.file("path", "restored.db"), store = try store(t), key = try other()
                let position = try waiting { try await Replicator.restore(to: path, from: store, key: key) }
                t.then { try checkCopy(path, t) }
                return position.generation
            },
            call("restore over a file", .rewrites, on: .nothing, isStepwise: true, waits: true, prepare: { t in
                try makeReplica(t)
                let db = try Connection(.file(t.inFolder("old.db")), key: other())
                try db.execute("CREATE TABLE old(x)")
                db.close()
            }) { t in
                let path = t.inFolder("old.db"), store = try store(t), key = try other()
                let position = try waiting { try await Replicator.restore(to: path, from: store, key: key, at: .time(Date(timeIntervalSinceNow: 60)), replacing: true) }
                t.then { try checkCopy(path, t) }
                return position.generation
            },
            call("restoreIfMissing", .rewrites, on: .nothing, waits: true, prepare: makeReplica) { t in
                let path = t.file("path", "restored.db"), store = try store(t), key = try other()
                return try waiting { try await Replicator.restoreIfMissing(path, from: store, key: key) != nil }
            },
            call("with another key", on: .nothing, waits: true, prepare: makeReplica) { t in
                let path = t.inFolder("restored.db"), store = try store(t), key = try DatabaseKey.raw(Secrets.raw, cipher: Subject.quick)
                do { _ = try waiting { try await Replicator.restore(to: path, from: store, key: key) } } catch let error as DatabaseError {
                    if let secret = Secrets.told(by: error) { throw BrokenPromise("it tells \(secret)") }
                    return reason(error)
                }
                throw BrokenPromise("another key opens it")
            })
        + family("replica-store",
            call("generations and former keys", on: .nothing, waits: true, prepare: makeReplica) { t in
                let store = try store(t), key = try other()
                return try waiting { (try await Replicator.generations(in: store, key: key).count, try await Replicator.removeContentOfFormerKeys(in: store, key: key)) }
            })
    }

    private static var followers: [ContractCase] {
        family("follower",
            call("follows and stops", .rewrites, on: .nothing, isStepwise: true, waits: true, prepare: makeReplica) { t in
                let path = t.file("path", "copy.db"), store = try store(t), key = try other()
                let count: Int = try waiting {
                    let follower = try await ReplicaFollower(at: path, following: store, key: key, every: .milliseconds(10))
                    do {
                        _ = try await follower.catchUp()
                        let count = try await follower.reader.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0 }
                        await follower.stop()
                        try await follower.database.close()
                        return count
                    } catch {
                        await follower.stop()
                        try? await follower.database.close()
                        throw error
                    }
                }
                t.then { try checkCopy(path, t) }
                return count
            })
    }

    private static var exchanges: [ContractCase] {
        family("synchronize",
            call("one copy", .writes, on: .shared, refusing: [.readOnly], isStepwise: true, waits: true, prepare: { t in _ = try store(t) }) { t in
                let shared = try t.shared, peer = t.text("peer", "here"), key = try other(), store = try store(t)
                let result: (Bool, Bool) = try waiting {
                    let log = try await SharedChangeLog(shared, tables: ["note"], localPeer: peer)
                    try await log.write { db -> Void in try db.execute("INSERT INTO note(id, title) VALUES (60, \(Secrets.value))") }
                    let outcome = try await log.synchronize(with: ChangeStore(store, key: key))
                    return (outcome.sent > 0, outcome.isComplete)
                }
                return result
            })
    }
}
