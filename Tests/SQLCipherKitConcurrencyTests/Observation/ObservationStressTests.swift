import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Synchronization
import Testing
import TestSupport

/// Observation under load: each element is a committed state, later than the previous element, and the last element is the final
/// state.
@Suite(.timeLimit(.minutes(60))) struct ObservationStressTests {
    private final class Judge: Sendable {
        let isOver = Atomic<Bool>(false)
        let polled = Lock<[Int]>([])
    }

    @Test(arguments: [Store.memory, .queue, .pool]) func observationUnderLoadMissesAndRepeatsNothing(store: Store) async throws {
        let folder = try TemporaryFolder()
        let database = try store.open(folder)
        try await database.write { db in
            try db.execute("CREATE TABLE counter(id INTEGER PRIMARY KEY, n INTEGER, other INTEGER)")
            try db.execute("INSERT INTO counter VALUES (1, 0, 0)")
            // The log often begins again.
            if store == .pool { try db.execute("INSERT INTO note(title) VALUES (\(String(repeating: "x", count: 100_000)))") }
        }
        try await database.barrierWriteWithoutTransaction { db in try db.execute("PRAGMA synchronous = OFF") }
        let rounds = LongTests.areOn ? 400 : 120, writers = 3
        let observers = (0..<3).map { number in
            Task {
                var seen: [Int] = []
                for try await n in database.observe({ db in try db.fetchOne(Int.self, "SELECT n FROM counter WHERE id = 1") ?? -1 }) {
                    seen.append(n)
                    if n == rounds * writers { break }
                    if number == 1 { await Task.yield() }
                    if number == 2, n % 7 == 0 { try await Task.sleep(for: .milliseconds(1)) }
                }
                return seen
            }
        }
        // Polls meanwhile, as a judge.
        let judge = Judge()
        await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<writers {
                group.addTask {
                    for round in 0..<rounds {
                        try await database.write { db in
                            try db.execute("UPDATE counter SET n = n + 1")
                            if round % 10 == writer { try db.execute("UPDATE note SET title = \(String(repeating: "y", count: 30_000))") }
                        }
                        // Notifications without a change, and changes that are rolled back.
                        if round % 3 == 0 { try await database.write { db in try db.execute("UPDATE counter SET other = other + 1") } }
                        if round % 5 == 0 {
                            _ = try? await database.write { db in
                                try db.execute("UPDATE counter SET n = -1")
                                throw CancellationError()
                            }
                        }
                    }
                }
            }
            group.addTask {
                while !judge.isOver.load(ordering: .relaxed) {
                    let n = try await database.read { db in try db.fetchOne(Int.self, "SELECT n FROM counter") ?? -1 }
                    judge.polled.withLock { if $0.last != n { $0.append(n) } }
                    if n == rounds * writers { return }
                }
            }
            do { try await group.waitForAll() } catch { Issue.record(error) }
        }
        judge.isOver.store(true, ordering: .relaxed)
        let judged = judge.polled.withLock { $0 }
        #expect(judged == judged.sorted() && judged.last == rounds * writers)
        for observer in observers {
            let seen = try await observer.value
            // Strictly upwards: no state twice, none that was rolled back, and the end was reached.
            #expect(zip(seen, seen.dropFirst()).allSatisfy { $0 < $1 }, "\(seen)")
            #expect(seen.last == rounds * writers && (seen.first ?? -1) >= 0)
            #expect(seen.count > 1)
        }
        let isSound = try await database.read { db in try db.fetchOne(String.self, "PRAGMA integrity_check") }
        #expect(isSound == "ok")
    }
}
