import Foundation
import SQLCipherKit

/// Rows that come in pairs: written, read, kept in snapshots, observed.
extension SoakSite {
    /// Writes a pair of rows in one of several ways, and deletes the oldest pair of this writer.
    func write(_ worker: Int) async throws {
        let number = ledger.next(of: worker), ledger = ledger, pool = pool, who = "task\(worker)"
        let insert: @Sendable (Connection) throws -> Void = { db in
            for half in ["a", "b"] {
                try db.execute("INSERT INTO t VALUES (\(who), \(number), \(half), zeroblob(\(number * 37 % 2000)))")
            }
            try db.execute("DELETE FROM t WHERE who = \(who) AND number <= \(number - Ledger.window)")
            if number % 7 == 6 {
                ledger.undone(number, of: worker)
                throw Undo()
            }
        }
        switch (worker, number % 4) {
        case (0, 0):
            let count = try await pool.write(insert, then: { db, _ in
                try db.fetchOne(Int.self, "SELECT count(*) FROM t WHERE who = \(who) AND number = \(number)")
            })
            expect(count == 2, "\(count ?? 0) rows of a pair that was just written")
        case (1, 1):
            // Cancelled somewhere on its way.
            let task = Task { try await pool.write(insert) }
            if number % 2 == 0 { try? await Task.sleep(for: .microseconds(number % 400)) }
            task.cancel()
            try await task.value
        case (2, 2): try await pool.write(timeout: .microseconds(number % 3000), insert)
        case (2, 3): try await pool.writeWithoutTransaction { db in try db.transaction { db in try insert(db) } }
        default: try await pool.write(insert)
        }
        ledger.returned(number, of: worker)
    }

    func read() async throws {
        let odd = try await pool.read(timeout: .seconds(60)) { db in
            try db.fetchOne(Int.self, "SELECT count(*) FROM (SELECT 1 FROM t GROUP BY who, number HAVING count(*) <> 2)")
        }
        expect(odd == 0, "a read sees half of a pair")
        // Two readers without a pause would leave the others no time.
        try await Task.sleep(for: .milliseconds(random(1..<8)))
    }

    func takeSnapshot() async throws {
        let sum: @Sendable (Connection) throws -> String? = { db in
            try db.fetchOne(String.self, "SELECT count(*) || ' ' || total(number) FROM t")
        }
        let snapshot = try await pool.snapshot()
        let first = try await snapshot.read(sum)
        try await Task.sleep(for: .milliseconds(20))
        async let second = snapshot.read(sum)
        let third = try await snapshot.read(sum)
        let isSame = try await first == second && first == third
        expect(isSame, "a snapshot changes")
        if random(0..<2) == 0 { try await snapshot.close() }
    }

    /// Observes for some seconds, or until the pool is closed.
    func observe() async throws {
        let isWatchingOthers = random(0..<2) == 0, pool = pool, end = min(ContinuousClock.now + .seconds(4), deadline)
        let observer = Task {
            let counts = pool.observe { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") ?? 0 }
            for try await count in isWatchingOthers ? counts.includingOtherProcesses(every: .milliseconds(50)) : counts {
                expect(count % 2 == 0, "an observation sees half of a pair")
            }
        }
        try? await Task.sleep(until: end)
        observer.cancel()
        try await observer.value
    }

    /// Begins observations, reads and writes, and cancels them somewhere on their way.
    func cancel() async throws {
        let pool = pool
        let tasks = [
            Task { for try await _ in pool.observe({ db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") ?? 0 }) {} },
            Task { _ = try await pool.read { db in try db.fetchOne(Int.self, "SELECT max(number) FROM t") } },
            Task { try await pool.write { db in try db.execute("DELETE FROM t WHERE who = 'nobody'") } },
        ]
        try await Task.sleep(for: .microseconds(random(0..<3000)))
        for task in tasks { task.cancel() }
        for task in tasks { try await task.value }
    }

    // MARK: The end

    /// Each file has exactly the rows that its writers were told of. Uncertain rows may be there or not, but never half.
    func judgeContent() async throws {
        let last = try await pool.read { db in
            var rows: [[Int]] = []
            for writer in 0..<Self.writers {
                let who = "task\(writer)"
                rows.append(try db.fetchAll(
                    Int.self, "SELECT number FROM t WHERE who = \(who) GROUP BY number HAVING count(*) = 2 ORDER BY number"))
            }
            return rows
        }
        for (writer, rows) in last.enumerated() {
            let known = ledger.entry(of: writer), newest = rows.last ?? 0
            let lost = known.returned.filter { $0 > newest - Ledger.window }.subtracting(rows)
            expect(lost.isEmpty, "writer \(writer): \(lost.count) pairs whose call returned are lost: \(lost.sorted().prefix(5))")
            let extra = Set(rows).subtracting(known.returned).subtracting(known.uncertain)
            expect(extra.isEmpty, "writer \(writer): \(extra.count) pairs whose call threw are there: \(extra.sorted().prefix(5))")
            expect(rows.allSatisfy { $0 > newest - Ledger.window }, "writer \(writer): pairs that were deleted are there")
        }
        try await read()
        let problems = try await pool.writeWithoutTransaction { db in try db.main.verify().problems.count }
        expect(problems == 0, "the database is damaged: \(problems) problems")
        try await pool.close()
        let remaining = Set(try FileManager.default.contentsOfDirectory(atPath: folder))
            .subtracting(["a.db", "s.db", "s.db.keys", "s.db.keys.lock"])
        expect(remaining.isEmpty, "files remain: \(remaining.sorted())")
    }
}
