import Foundation
import SQLCipherKit

/// Queues, pools and observations.
extension Cases {
    static var concurrency: [ContractCase] { calls + shared + observations }

    private final class Place<R>: @unchecked Sendable {
        // Sendable: written before the signal, and read after it.
        var result: Result<R, any Error>?
    }

    /// Runs an asynchronous call to its end.
    static func waiting<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) throws -> R {
        let place = Place<R>(), done = DispatchSemaphore(value: 0)
        Task.detached {
            do { place.result = .success(try await body()) } catch { place.result = .failure(error) }
            done.signal()
        }
        done.wait()
        guard let result = place.result else { throw BrokenPromise("a task has no result") }
        return try result.get()
    }

    private static var calls: [ContractCase] {
        family("shared-read",
            call("read", on: .shared) { t in
                let text = t.text("text", Secrets.value)
                let back = try t.shared.read { db in try db.fetchOne(String.self, "SELECT \(text)") }
                try t.same(text, back)
                return 0
            },
            call("reader", on: .shared) { t in
                try t.shared.reader.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0 }
            },
            call("read, async", on: .shared, waits: true) { t in
                let shared = try t.shared
                return try waiting { try await shared.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0 } }
            })
        + family("shared-write",
            call("write", .writes, on: .shared) { t in
                let title = t.text("title", Secrets.value)
                try t.shared.write { db -> Void in try db.execute("INSERT INTO note(title) VALUES (\(title))") }
                t.then {
                    try t.same(title, t.shared.read { db in try db.fetchOne(String.self, "SELECT title FROM note ORDER BY id DESC LIMIT 1") })
                }
                return 0
            },
            call("write, async", .writes, on: .shared, waits: true) { t in
                let shared = try t.shared
                let count: Int = try waiting { try await shared.write { db in try db.execute("UPDATE note SET body = 'x'"); return db.changes } }
                return count
            },
            call("barrier", .writes, on: .shared) { t in try t.shared.barrierWriteWithoutTransaction { db in try db.execute("UPDATE note SET body = 'x'"); return db.changes } },
            call("withWriter", .writes, on: .shared) { t in try t.shared.writeWithoutTransaction { db in try db.execute("UPDATE note SET body = 'x'"); return db.changes } },
            call("transaction", .writes, on: .shared) { t in
                let count: Int = try t.shared.transaction(.exclusive) { db in try db.execute("UPDATE note SET body = 'x'"); return db.changes }
                return count
            },
            call("write and then read", .writes, on: .shared, isStepwise: true) { t in
                try t.shared.write({ db in try db.execute("UPDATE note SET body = 'x'"); return 1 }, then: { db, one in
                    try one + (db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0)
                })
            },
            call("write with a short timeout", .writes, on: .shared) { t in
                try t.shared.write(timeout: .seconds(1)) { db in try db.execute("UPDATE note SET body = 'x'"); return db.changes }
            })
    }

    private static var shared: [ContractCase] {
        family("shared-open",
            call("queue and pool", on: .file) { t in
                let queue = try DatabaseQueue(.file(t.path), key: t.key, configuration: Subject.existing)
                defer { try? queue.close() }
                return try (queue.isOpen, queue.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0 })
            },
            call("closed twice", on: .shared, worksClosed: true) { t in
                try t.shared.close()
                try t.shared.close()
                return try t.shared.isOpen
            },
            call("closed, async", on: .shared, waits: true, worksClosed: true) { t in
                let shared = try t.shared
                let isOpen: Bool = try waiting { try await shared.close(); return shared.isOpen }
                return isOpen
            })
        + family("shared-schema",
            call("attach and detach", .rewrites, on: .shared, refusing: [.readOnly], isStepwise: true) { t in
                let schema = try t.shared.attach(
                    .file(t.file("path", "more.db")), as: t.text("name", "more", .new), key: .passphrase("other", cipher: Subject.quick))
                try schema.detach()
                return 0
            },
            call("schema", on: .shared) { t in try t.shared.schema(t.text("name", "main", .name)).checkpoint(.passive).isComplete })
        + family("shared-hooks",
            call("hooks", .settles, on: .shared, worksClosed: true) { t in
                let tokens = try [
                    t.shared.addCommitHook {}, t.shared.addRollbackHook {}, t.shared.addUpdateHook { _ in }, t.shared.addTraceHook { _ in },
                ]
                for token in tokens { token.remove() }
                return tokens.count
            })
        + family("shared-functions",
            call("register", .settles, on: .shared) { t in
                let name = t.text("name", "shout", .new)
                try t.shared.register(.function(name) { (text: String) in text + "!" })
                let back = try t.shared.read { db in try db.fetchOne(String.self, "SELECT \(identifier: name)('a')") }
                try t.same("a!", back)
                try t.shared.unregister(.function(name, arguments: 1))
                return 0
            })
        + family("shared-upkeep",
            call("interrupt, memory, suspension", .settles, on: .shared, worksClosed: true) { t in
                try t.shared.interrupt()
                try t.shared.releaseMemory()
                try t.shared.suspend(timeout: .milliseconds(100))
                try t.shared.resume()
                return try t.shared.isSuspended
            })
        + family("snapshot",
            call("snapshot", on: .shared, worksClosed: true) { t in
                // A queue has none.
                guard let pool = try t.shared as? DatabasePool else { return 3 }
                let snapshot = try pool.snapshot()
                let count = try snapshot.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0 }
                try snapshot.close()
                return count
            })
    }

    private static var observations: [ContractCase] {
        family("observation",
            call("first value", on: .shared, waits: true) { t in
                let observation = try t.shared.observe { db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0 }
                let first: Int = try waiting {
                    for try await count in observation.removingDuplicates() { return count }
                    return -1
                }
                return first
            },
            call("of a table", on: .shared, worksClosed: true) { t in
                let region = DatabaseRegion(DatabaseTable(t.text("table", "note", .name)))
                let observation = try t.shared.observe(tracking: region) { db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0 }
                let token = observation.start(concurrently: .later, onError: { _ in }, onChange: { _ in })
                token.cancel()
                return 0
            },
            call("changes", on: .shared, waits: true, worksClosed: true) { t in
                let changes = try t.shared.changes()
                let ended: Bool = try waiting {
                    let task = Task { () -> Bool in
                        var iterator = changes.makeAsyncIterator()
                        return try await iterator.next() == nil
                    }
                    task.cancel()
                    return (try? await task.value) ?? true
                }
                return ended
            })
    }
}
