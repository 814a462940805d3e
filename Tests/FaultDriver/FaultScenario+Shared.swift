import Foundation
import SQLCipherKit

/// Pools with several tasks: what each call says is true, and the pool goes on to work after the fault.
extension FaultScenario {
    static let shared: [FaultScenario] = [
        pool("pool with tasks") { pool, outcome in
            await withTaskGroup(of: Void.self) { tasks in
                for number in 0..<3 {
                    tasks.addTask { await outcome.write(pool, "task \(number)") }
                    tasks.addTask {
                        await outcome.note { _ = try await pool.read { try $0.fetchOne(Int.self, "SELECT sum(length(x)) FROM t") } }
                    }
                }
            }
        },
        pool("timeouts") { pool, outcome in
            await withTaskGroup(of: Void.self) { tasks in
                for number in 0..<3 {
                    tasks.addTask {
                        await outcome.write(pool, "timed \(number)", timeout: .seconds(2))
                        await outcome.note { _ = try await pool.read(timeout: .seconds(2)) { try $0.fetchOne(Int.self, "SELECT 1") } }
                    }
                }
            }
        },
        pool("observation") { pool, outcome in
            let counts = pool.observe { try $0.fetchOne(Int.self, "SELECT count(*) FROM t") ?? -1 }
            await outcome.note {
                var seen: [Int] = []
                for try await count in counts {
                    seen.append(count)
                    if seen.count == 1 { await outcome.write(pool, "observed") }
                    // After an error, there may be nothing more to see.
                    if await outcome.first != nil { break }
                    if count == 31 { break }
                }
                let problem = await outcome.first
                guard problem != nil || seen.first == 30 && seen.last == 31 else { throw Untrue("seen \(seen)") }
            }
        },
    ]

    /// What the calls of several tasks have said.
    private actor Outcome {
        private(set) var first: (any Error)?
        private(set) var written = 0, unknown = 0

        func note(_ body: @Sendable () async throws -> Void) async {
            do { try await body() } catch { first = first ?? error }
        }

        func write(_ pool: DatabasePool, _ text: String, timeout: Duration? = nil) async {
            do {
                try await pool.write(timeout: timeout) { try $0.execute("INSERT INTO t(x) VALUES (\(text))") }
                written += 1
            } catch {
                if (error as? DatabaseError)?.reason == .unknownOutcome { unknown += 1 }
                first = first ?? error
            }
        }
    }

    private static func pool(
        _ name: String, _ body: @escaping @Sendable (DatabasePool, Outcome) async throws -> Void
    ) -> FaultScenario {
        FaultScenario(
            name: name, before: [File("b.db", "two", 30)], after: [File("b.db", "two", 30)],
            run: { folder in
                let pool = try DatabasePool(.file(folder + "/b.db"), key: key("two"))
                defer { try? pool.close() }
                let outcome = Outcome()
                try FaultDriver.waiting { try await body(pool, outcome) }
                Fault.none()
                try FaultDriver.waiting {
                    let (written, unknown) = (await outcome.written, await outcome.unknown)
                    let rows = try await pool.read { try $0.fetchOne(Int.self, "SELECT count(*) FROM t") ?? -1 } - 30
                    guard (written...written + unknown).contains(rows) else {
                        throw Untrue("\(rows) new rows, but \(written) were written")
                    }
                    try await pool.write { try $0.execute("DELETE FROM t WHERE x NOT LIKE 'xxx%'") }
                    if let error = await outcome.first { throw error }
                }
            })
    }
}
