import SQLCipherKitCore
import Synchronization
import Testing
import TestSupport

@Suite struct AggregateTests {
    struct Refusal: Error, Equatable {}

    struct Product: SQLAggregate {
        var product = 1.0
        mutating func step(_ arguments: borrowing FunctionArguments) throws {
            if let value: Double = try arguments[0] { product *= value }
        }
        func finish() -> Double { product }
    }

    /// A moving sum, as text, so that the order of calls shows.
    struct Window: SQLWindowFunction {
        var values: [Int] = []
        mutating func step(_ arguments: borrowing FunctionArguments) throws {
            let value: Int = try arguments[0]
            if value == 13 { throw Refusal() }
            values.append(value)
        }
        mutating func inverse(_ arguments: borrowing FunctionArguments) throws {
            let value: Int = try arguments[0]
            #expect(values.first == value)
            values.removeFirst()
        }
        func value() -> String { values.map(String.init).joined(separator: "+") }
        func finish() -> String { value() + "." }
    }

    let db: Connection

    init() throws {
        db = try Connection(.memory)
        try db.execute("CREATE TABLE t(g, x)")
        try db.execute("INSERT INTO t VALUES ('a', 2), ('a', 3), ('b', 5), ('b', NULL), ('c', NULL)")
        try db.register(.aggregate("product", arguments: 1, .deterministic) { Product() })
        try db.register(.windowFunction("plus", arguments: 1) { Window() })
    }

    @Test func aggregateReturnsOneValuePerGroup() throws {
        let rows: [(String, Double)] = try db.fetchAll("SELECT g, product(x) FROM t GROUP BY g ORDER BY g")
        #expect(rows.map(\.0) == ["a", "b", "c"] && rows.map(\.1) == [6, 5, 1])
        #expect(try db.fetchOne(Double.self, "SELECT product(x) FILTER (WHERE g = 'a') FROM t") == 6)
        #expect(try db.fetchOne(Double.self, "SELECT product(DISTINCT x % 2 + 1) FROM t WHERE x") == 2)
        let two: [(Double, Double)] = try db.fetchAll("SELECT product(x), product(x + 1) FROM t WHERE g = 'a'")
        #expect(two[0] == (6, 12))
    }

    @Test func aggregateOverNoRowsReturnsItsInitialValue() throws {
        #expect(try db.fetchOne(Double.self, "SELECT product(x) FROM t WHERE 0") == 1)
        #expect(try db.fetchOne(String.self, "SELECT plus(x) FROM t WHERE 0") == ".")
        #expect(try db.fetchAll(Double.self, "SELECT product(x) FROM t WHERE 0 GROUP BY g") == [])
    }

    @Test func windowFunctionSlidesOverFrames() throws {
        let sums = try db.fetchAll(
            String.self, "SELECT plus(x) OVER (ORDER BY x ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t WHERE x ORDER BY x")
        #expect(sums == ["2", "2+3", "3+5"])
        #expect(try db.fetchOne(String.self, "SELECT plus(x) FROM t WHERE x") == "2+3+5.")
        let error = #expect(throws: DatabaseError.self) { try db.execute("SELECT product(x) OVER () FROM t") }
        #expect(error?.message.contains("window") == true)
    }

    @Test func aggregateErrorsReachTheCaller() throws {
        let typed = #expect(throws: DatabaseError.self) { try db.execute("SELECT product('text')") }
        #expect(typed?.reason == .typeMismatch)
        let thrown = #expect(throws: DatabaseError.self) { try db.execute("SELECT plus(13)") }
        #expect(thrown?.underlyingError as? Refusal == Refusal())
        try db.register(.aggregate("never", arguments: 0) { () throws -> Product in throw Refusal() })
        for sql: SQL in ["SELECT never()", "SELECT never() FROM t WHERE 0"] {
            #expect(#expect(throws: DatabaseError.self) { try db.execute(sql) }?.underlyingError as? Refusal == Refusal())
        }
    }

    @Test func aggregateStateIsFreedAfterSuccessErrorAndClose() throws {
        final class Counter: Sendable {
            let alive = Atomic(0)
        }
        final class Member {
            let counter: Counter
            init(_ counter: Counter) {
                self.counter = counter
                counter.alive.add(1, ordering: .relaxed)
            }
            deinit { counter.alive.subtract(1, ordering: .relaxed) }
        }
        struct Counted: SQLWindowFunction {
            let member: Member
            mutating func step(_ arguments: borrowing FunctionArguments) throws {
                if try arguments.get(0, as: Int.self) == 3 { throw Refusal() }
            }
            mutating func inverse(_ arguments: borrowing FunctionArguments) {}
            func value() -> Int { 1 }
            func finish() -> Int { 1 }
        }
        let counter = Counter()
        try db.register(.windowFunction("counted", arguments: 1) { Counted(member: Member(counter)) })
        let alive = { counter.alive.load(ordering: .relaxed) }
        #expect(try db.fetchAll(Int.self, "SELECT counted(0) FROM t GROUP BY g").count == 3)
        #expect(alive() == 0)
        #expect(throws: DatabaseError.self) { try db.execute("SELECT g, counted(x) FROM t WHERE x GROUP BY g") }
        #expect(alive() == 0)
        // Cut off by an error elsewhere, and by a caller who has seen enough.
        #expect(throws: DatabaseError.self) {
            try db.execute("SELECT counted(0), abs(CASE x WHEN 5 THEN -9223372036854775808 ELSE 1 END) FROM t GROUP BY rowid")
        }
        #expect(alive() == 0)
        _ = try db.fetchOne(Int.self, "SELECT counted(0) OVER (ROWS 1 PRECEDING) FROM t")
        #expect(alive() == 0)
        let statement = try db.prepare("SELECT counted(0) OVER (ORDER BY g) FROM t")
        try statement.step()
        #expect(alive() == 1)
        db.close()
        #expect(alive() == 0)
    }
}
