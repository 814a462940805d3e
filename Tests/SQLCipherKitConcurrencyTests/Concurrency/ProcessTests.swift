import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

/// Several processes at one file, processes that are killed, and processes that fork.
@Suite struct ConcurrencyProcessTests {
    let folder: TemporaryFolder
    let driver: String
    var path: String { folder.path("a.db") }

    init() throws {
        folder = try TemporaryFolder()
        driver = try BuildProducts.executable("FaultDriver")
        let db = try Connection(.file(path), key: .passphrase("k").quick)
        try db.execute("CREATE TABLE t(who, number, half, padding)")
    }

    private func openPool() throws -> DatabasePool {
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .seconds(20)
        return try DatabasePool(.file(path), key: .passphrase("k").quick, configuration: configuration)
    }

    /// The numbers that a process has said to be committed.
    private func said(_ outcome: Command.Outcome) -> Int {
        outcome.output.split(separator: "\n").filter { $0.hasSuffix(";") }.count
    }

    /// Each committed row is there once, and no part of an interrupted transaction.
    private func check(_ db: Connection, _ who: String, atLeast said: Int) throws {
        let counts: (Int, Int, Int)? = try db.fetchOne(
            "SELECT count(*), count(DISTINCT number), coalesce(max(number), -1) + 1 FROM t WHERE who = ?", [who])
        let (rows, numbers, next) = try #require(counts)
        #expect(rows == 2 * numbers && numbers == next && numbers >= said && numbers <= said + 1, "\(who): \(rows) rows, \(said) said")
    }

    @Test func twoProcessesWriteAndRead() throws {
        let pool = try openPool()
        let others = try ["x", "y"].map { try Command(driver, ["pool-append", path, "k", $0]) }
        for other in others { try other.waitForOutput("ready") }
        for number in 0..<60 {
            try pool.write { db in
                for half in ["a", "b"] { try db.execute("INSERT INTO t VALUES ('here', \(number), \(half), zeroblob(3000))") }
            }
            try pool.read { db in
                let before = try db.fetchOne(Int.self, "SELECT count(*) FROM t")
                let odd = try db.fetchOne(Int.self, "SELECT count(*) FROM (SELECT 1 FROM t GROUP BY who, number HAVING count(*) <> 2)")
                let after = try db.fetchOne(Int.self, "SELECT count(*) FROM t")
                #expect(odd == 0 && before == after)
            }
        }
        for other in others { kill(other.process.processIdentifier, SIGKILL) }
        let outcomes = try others.map { try $0.end() }
        try pool.read { db in
            for (who, outcome) in zip(["x", "y"], outcomes) { try check(db, who, atLeast: said(outcome)) }
            try check(db, "here", atLeast: 60)
            let integrity = try db.fetchOne(String.self, "PRAGMA integrity_check")
            #expect(integrity == "ok")
        }
    }

    @Test func killedWriterLosesNoCommit() throws {
        for moment in LongTests.steps(3, of: 6) {
            let who = "w\(moment)"
            let writer = try Command(driver, ["pool-append", path, "k", who])
            try writer.waitForOutput("ready")
            Thread.sleep(forTimeInterval: 0.01 + 0.013 * Double(moment))
            // The pool that is open meanwhile goes on with the log of the dead; one that opens later recovers it.
            let pool = moment % 2 == 0 ? try openPool() : nil
            try pool?.read { db in _ = try db.fetchOne(Int.self, "SELECT count(*) FROM t") }
            kill(writer.process.processIdentifier, SIGKILL)
            let outcome = try writer.end()
            try (pool ?? openPool()).write { db in
                try check(db, who, atLeast: said(outcome))
                let integrity = try db.fetchOne(String.self, "PRAGMA integrity_check")
                #expect(integrity == "ok")
            }
        }
    }

    @Test func exitDuringWriteKeepsTheDatabaseIntact() throws {
        for moment in LongTests.steps(6, of: 16) {
            // Each a different way through a commit, which takes some hundreds of microseconds.
            let outcome = try Command.run(driver, ["pool-exit", path, "k", "\(moment * 97)"])
            #expect(outcome.status == 0, "\(outcome)")
            let db = try Connection(.file(path), key: .passphrase("k").quick)
            #expect(try db.fetchOne(String.self, "PRAGMA integrity_check") == "ok")
            #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM (SELECT 1 FROM t GROUP BY who, number HAVING count(*) <> 20)") == 0)
        }
    }

    #if os(Linux)
        @Test func forkedChildGetsErrorsAndChangesNothing() throws {
            let outcome = try Command.run(driver, ["pool-fork", path, "k"])
            #expect(
                outcome.output == """
                    child 0
                    pool 2
                    owned 1
                    queue 1
                    lone 52
                    while the child reads: busy
                    reader 0
                    done

                    """, "\(outcome)")
            for (name, key) in [("a.db", "k"), ("a.db-lone", "l"), ("a.db-queue", "q"), ("a.db-owned", "o")] {
                let db = try Connection(.file(folder.path(name)), key: .passphrase(key).quick)
                #expect(try db.fetchOne(String.self, "PRAGMA integrity_check") == "ok")
            }
        }
    #endif
}
