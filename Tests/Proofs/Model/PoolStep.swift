import Foundation
import SQLCipherKit

/// A pool or a queue on a file of its own, with several threads. The model is a set of numbers.
struct PoolStep: Step {
    enum Call: Sendable {
        case insert([Int]), insertAndThrow([Int]), read, writeInRead, insertThenRead([Int]), barrier, changeKey, backupAndRestore([Int])
        case snapshot([Int])
    }

    var isPool: Bool
    /// The calls of each thread; the numbers of different threads differ.
    var threads: [[Call]]

    func run(in world: World) throws {
        let path = world.folder.appendingPathComponent("pool\(world.steps).db").path
        let key = try ModelKey(form: .raw(1, salt: nil)).encryption()
        let database: DatabaseWriter = try isPool ? DatabasePool(.file(path), key: key) : DatabaseQueue(.file(path), key: key)
        try database.write { try $0.execute("CREATE TABLE n(x INTEGER PRIMARY KEY)") }
        let problems = Lock<[String]>([]), seen = Lock<[Int]>([])
        let observation = database.observe { try $0.fetchAll(Int.self, "SELECT x FROM n") }
        let token = observation.start(concurrently: .immediate) { rows in seen.withLock { $0 = rows } }
        let counts = Lock(Set<Int>())
        DispatchQueue.concurrentPerform(iterations: threads.count) { index in
            for call in threads[index] {
                do { try perform(call, database, path, counts) } catch {
                    problems.withLock { $0.append("\(call): \(error)") }
                }
            }
        }
        let found = try database.read { try Set($0.fetchAll(Int.self, "SELECT x FROM n")) }
        let expected = counts.withLock { $0 }
        if found != expected { problems.withLock { $0.append("expected \(expected.sorted()), found \(found.sorted())") } }
        // The observation arrives at the last state.
        let end = problems.withLock { $0.isEmpty } ? Date() + 10 : Date()
        while Set(seen.withLock { $0 }) != expected, Date() < end { Thread.sleep(forTimeInterval: 0.001) }
        if Set(seen.withLock { $0 }) != expected {
            problems.withLock { $0.append("observed \(seen.withLock { $0 }.sorted()), expected \(expected.sorted())") }
        }
        token.cancel()
        try database.close()
        let first = problems.withLock { $0.first }
        if let first { throw Mismatch(description: first) }
        let db = try Connection(.file(path), key: key, configuration: World.configuration)
        defer { db.close() }
        if try Set(db.fetchAll(Int.self, "SELECT x FROM n")) != expected { throw Mismatch(description: "the closed file differs") }
    }

    private func perform(_ call: Call, _ database: DatabaseWriter, _ path: String, _ model: borrowing Lock<Set<Int>>) throws {
        func insert(_ numbers: [Int], _ db: Connection) throws {
            for number in numbers { try db.execute("INSERT INTO n VALUES (\(number))") }
        }
        func own(_ numbers: [Int], _ db: Connection) throws -> Int {
            try db.fetchOne(Int.self, "SELECT count(*) FROM n WHERE x IN \(numbers)") ?? -1
        }
        switch call {
        case .insert(let numbers):
            try database.write { try insert(numbers, $0) }
            model.withLock { $0.formUnion(numbers) }
            let count = try database.read { try own(numbers, $0) }
            if count != numbers.count { throw Mismatch(description: "after a write, a read finds \(count) of \(numbers)") }
        case .insertAndThrow(let numbers):
            let outcome = try Outcome.of {
                try database.write { db in
                    try insert(numbers, db)
                    throw Thrown()
                }
                return .done
            }
            if outcome != .thrown { throw Mismatch(description: "the write gave \(outcome)") }
            let count = try database.read { try own(numbers, $0) }
            if count != 0 { throw Mismatch(description: "a write that threw has left \(count)") }
        case .read:
            // One snapshot: two reads of the same call agree.
            let (a, b) = try database.read { db in
                let a = try db.fetchOne(Int.self, "SELECT count(*) FROM n") ?? -1
                Thread.sleep(forTimeInterval: 0.0002)
                return (a, try db.fetchOne(Int.self, "SELECT count(*) FROM n") ?? -1)
            }
            if a != b { throw Mismatch(description: "a read saw \(a) rows and then \(b)") }
        case .writeInRead:
            let outcome = try Outcome.of {
                try database.read { try $0.execute("INSERT INTO n VALUES (-1)") }
                return .done
            }
            guard case .failed(8, _) = outcome else { throw Mismatch(description: "a write in a read gave \(outcome)") }
        case .insertThenRead(let numbers):
            let count = try database.write({ try insert(numbers, $0) }, then: { db, _ in try own(numbers, db) })
            model.withLock { $0.formUnion(numbers) }
            if count != numbers.count { throw Mismatch(description: "the read after its write finds \(count)") }
        case .barrier: try database.barrierWriteWithoutTransaction { try $0.main.vacuum() }
        case .changeKey:
            // The same key with another salt.
            try database.changeKey(to: try ModelKey(form: .raw(1, salt: 5)).encryption())
        case .backupAndRestore(let numbers):
            try database.main.backup(toFileAt: "\(path)-\(numbers[0])")
            let copy = try Connection(.file("\(path)-\(numbers[0])"), key: try ModelKey(form: .raw(1, salt: nil)).encryption())
            defer { copy.close() }
            _ = try copy.fetchOne(Int.self, "SELECT count(*) FROM n")
        case .snapshot(let numbers):
            guard let pool = database as? DatabasePool else { return }
            let snapshot = try pool.snapshot()
            let before = Result { try snapshot.read { try own(numbers, $0) } }
            try database.write { try insert(numbers, $0) }
            model.withLock { $0.formUnion(numbers) }
            let after = Result { try snapshot.read { try own(numbers, $0) } }
            try? snapshot.close()
            for seen in [before, after] {
                switch seen {
                case .success(let count): if count != 0 { throw Mismatch(description: "a snapshot saw \(count)") }
                // A change of key, or a barrier, of another thread ends it.
                case .failure(let error as DatabaseError) where error.reason == .snapshotLost: break
                case .failure(let error): throw error
                }
            }
        }
    }

    var simpler: [any Step] {
        var found: [any Step] = []
        for index in threads.indices where threads.count > 1 {
            var step = self
            step.threads.remove(at: index)
            found.append(step)
        }
        for (index, calls) in threads.enumerated() {
            for position in calls.indices {
                var step = self
                step.threads[index].remove(at: position)
                found.append(step)
            }
        }
        return found
    }

    var description: String { "\(isPool ? "DatabasePool" : "DatabaseQueue"): \(threads)" }
}

extension Sketch {
    mutating func poolStep() -> (any Step)? {
        if depth > 0 || !onDisk { return dataStep() }
        var next = 0
        func numbers(_ count: Int) -> [Int] {
            next += count
            return Array(next - count..<next)
        }
        let threads = (0..<1 + dice.below(3)).map { _ in
            (0..<1 + dice.below(5)).map { _ -> PoolStep.Call in
                switch dice.below(12) {
                case 0, 1, 2: .insert(numbers(1 + dice.below(3)))
                case 3: .insertAndThrow(numbers(2))
                case 4: .read
                case 5, 6: .writeInRead
                case 7: .insertThenRead(numbers(1))
                case 8: .barrier
                case 9: dice.oneIn(2) ? .changeKey : .read
                case 10: .backupAndRestore(numbers(1))
                default: .snapshot(numbers(1))
                }
            }
        }
        return PoolStep(isPool: dice.oneIn(2), threads: threads)
    }
}
