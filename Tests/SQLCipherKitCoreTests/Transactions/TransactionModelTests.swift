import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

/// Random nestings of transactions, savepoints and statements that abort, against a model that says what must be in the table.
@Suite struct TransactionModelTests {
    /// The steps of a program.
    indirect enum Step {
        case insert(Int)
        /// A statement that fails and undoes only itself.
        case fail
        /// A statement that fails and takes the transaction with it.
        case rollBack
        /// SQL that would end the transaction, or begin another one.
        case control(String)
        case scope(Scope, [Step], End)
        /// A closure that goes on after an error.
        case swallowing(Step)
    }

    enum Scope: CaseIterable { case transaction, savepoint }
    enum End: CaseIterable { case commit, rollback, error }
    enum Outermost: CaseIterable { case closure, hand, queue }

    /// The ways that a step fails.
    enum Failure: Error, Equatable {
        case own, statement, control, aborted

        init(_ error: any Error) {
            switch (error as? DatabaseError)?.reason {
            case .transactionAborted: self = .aborted
            case .misuse: self = .control
            case .some: self = .statement
            case nil: self = (error as? Failure) ?? .statement
            }
        }
    }

    /// The content that must be there.
    struct Model {
        var rows: Set<Int> = [0]
        /// The rows that a rollback goes back to; nil outside of a transaction.
        private var base: Set<Int>?
        private var depth = 0
        private var isAborted = false

        mutating func begin() { base = rows }

        /// Returns true if there was a transaction to commit.
        mutating func commit() -> Bool {
            defer { base = nil }
            return base != nil
        }

        mutating func run(_ step: Step) throws {
            switch step {
            case .swallowing(let step): try? run(step)
            case _ where isAborted: throw Failure.aborted
            case .insert(let row): rows.insert(row)
            case .fail: throw Failure.statement
            case .rollBack:
                if let base { rows = base }
                base = nil
                isAborted = depth > 0
                throw Failure.statement
            case .control: throw Failure.control
            case .scope(let scope, let steps, let end): try run(scope, steps, end)
            }
        }

        private mutating func run(_ scope: Scope, _ steps: [Step], _ end: End) throws {
            let before = rows, isOutermost = base == nil
            if isOutermost { base = rows }
            depth += 1
            defer {
                depth -= 1
                if depth == 0 { isAborted = false }
            }
            do {
                for step in steps { try run(step) }
                if end == .error { throw Failure.own }
                if isAborted { throw Failure.aborted }
            } catch {
                // SQLite has rolled back more than the scope.
                if !isAborted { rows = before }
                if isOutermost { base = nil }
                throw error
            }
            if end == .rollback { rows = before }
            if isOutermost { base = nil }
        }
    }

    private func perform(_ step: Step, _ db: Connection) throws {
        switch step {
        case .insert(let row): try db.execute("INSERT INTO t VALUES (\(row))")
        case .fail: try db.execute("INSERT INTO t VALUES (0)")
        case .rollBack: try db.execute("INSERT OR ROLLBACK INTO t VALUES (0)")
        case .control(let sql): try db.execute(SQL(raw: sql))
        case .swallowing(let step): try? perform(step, db)
        case .scope(let scope, let steps, let end):
            let body = { (db: Connection) throws -> TransactionEnd<Void> in
                for step in steps { try perform(step, db) }
                if end == .error { throw Failure.own }
                return end == .commit ? .commit(()) : .rollback(())
            }
            if scope == .transaction { try db.transaction(.deferred, body) } else { try db.savepoint(nil, body) }
        }
    }

    /// The error that is expected counts, and the rows that were seen when it came.
    private func outcome(_ body: () throws -> Void) -> Failure? {
        do { try body() } catch { return Failure(error) }
        return nil
    }

    private func steps(_ random: inout SeededGenerator, _ next: inout Int, depth: Int, controls: Bool) -> [Step] {
        (0..<Int.random(in: 0...4, using: &random)).map { _ in
            let step: Step
            switch Int.random(in: 0..<14, using: &random) {
            case 0: step = .fail
            case 1: step = .rollBack
            case 2 where controls:
                let sql = ["BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT s", "RELEASE s"].randomElement(using: &random)
                step = .control(sql ?? "")
            case 3...7 where depth < 4:
                step = .scope(
                    Bool.random(using: &random) ? .transaction : .savepoint,
                    steps(&random, &next, depth: depth + 1, controls: true), End.allCases.randomElement(using: &random) ?? .commit)
            default:
                next += 1
                step = .insert(next)
            }
            return Int.random(in: 0..<3, using: &random) > 0 ? .swallowing(step) : step
        }
    }

    /// 3,000 programs; with `SQLCIPHERKIT_LONG_TESTS` 200,000.
    @Test func randomNestedTransactionsMatchModel() throws {
        let count: UInt64 = LongTests.areOn ? 200_000 : 3_000
        let db = try Connection(.memory), queue = try DatabaseQueue(.memory)
        try db.execute("CREATE TABLE t(x INTEGER PRIMARY KEY)")
        try queue.write { try $0.execute("CREATE TABLE t(x INTEGER PRIMARY KEY)") }
        var aborted = 0
        for seed in 0..<count {
            var random = SeededGenerator(state: seed), next = 0
            let kind = Outermost.allCases[Int(seed % 3)]
            let end = End.allCases.randomElement(using: &random) ?? .commit
            let program = steps(&random, &next, depth: 0, controls: kind != .hand)
            var model = Model(), expected: Failure?, found: Failure?
            try db.execute(SQLScript("DELETE FROM t; INSERT INTO t VALUES (0)"))
            try queue.write { try $0.execute(SQLScript("DELETE FROM t; INSERT INTO t VALUES (0)")) }
            func rows(_ db: Connection) throws -> Set<Int> { Set(try db.fetchAll(Int.self, "SELECT x FROM t")) }
            switch kind {
            case .closure:
                expected = outcome { try model.run(.scope(.savepoint, program, end)) }
                found = outcome { try perform(.scope(.savepoint, program, end), db) }
            case .queue:
                // A queue's closure rolls back only by an error.
                let end = end == .rollback ? .commit : end
                expected = outcome { try model.run(.scope(.transaction, program, end)) }
                found = outcome {
                    try queue.write { db in
                        for step in program { try perform(step, db) }
                        if end == .error { throw Failure.own }
                    }
                }
            case .hand:
                // Without a closure, what follows a rollback is committed one by one.
                model.begin()
                try db.begin(.deferred)
                for step in program {
                    expected = outcome { try model.run(step) }
                    found = outcome { try perform(step, db) }
                    let there = try rows(db)
                    #expect(found == expected && there == model.rows, "seed \(seed)")
                }
                #expect(db.isInTransaction == model.commit(), "seed \(seed)")
                if db.isInTransaction { try db.commit() }
            }
            if expected == .aborted { aborted += 1 }
            let there = try kind == .queue ? queue.read { try rows($0) } : rows(db)
            #expect(found == expected, "seed \(seed): \(program)")
            #expect(there == model.rows, "seed \(seed): \(program)")
            #expect(!db.isInTransaction, "seed \(seed)")
            if found != expected || there != model.rows { break }
        }
        #expect(aborted > 100)
    }
}
