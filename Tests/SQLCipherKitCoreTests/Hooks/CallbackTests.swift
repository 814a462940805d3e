import KitSupport
import SQLCipherKitCore
import Testing
import TestSupport

/// A callback's calls of the connection that called it: an error, and never a crash.
@Suite struct CallbackTests {
    let folder: TemporaryFolder
    let db: Connection

    init() throws {
        folder = try TemporaryFolder()
        db = try Connection(.file(folder.path("a.db")), key: .passphrase("k").quick)
        try db.execute("CREATE TABLE t(x)")
        try db.execute("INSERT INTO t VALUES (1), (2), (3)")
    }

    private func expectClosed(_ body: () throws -> Void) throws {
        let error = #expect(throws: DatabaseError.self) { try body() }
        #expect(error?.reason == .closed, "\(String(describing: error))")
        #expect(!db.isOpen)
        // The locks are gone, and nothing is damaged.
        let other = try Connection(.file(folder.path("a.db")), key: .passphrase("k").quick)
        try other.execute("INSERT INTO t VALUES (99)")
        #expect(try other.main.integrityCheck() == [])
    }

    @Test func closingInsideFunctionThrows() throws {
        try db.register(.function("shut") { (x: Int) in
            db.close()
            return x
        })
        try expectClosed { _ = try db.fetchAll(Int.self, "SELECT shut(x) FROM t") }
    }

    @Test func closingInsideFunctionOfCursorThrows() throws {
        try db.register(.function("shut") { (x: Int) in
            if x == 2 { db.close() }
            return x
        })
        let cursor = try db.cursor(Int.self, "SELECT shut(x) FROM t")
        #expect(try cursor.next() == 1)
        try expectClosed { _ = try cursor.next() }
        let none = try? cursor.next()
        #expect(none == nil)
    }

    @Test func closingInsideFunctionOfPreparedStatementThrows() throws {
        try db.register(.function("shut") { (x: Int) in
            db.close()
            return x
        })
        let statement = try db.prepare("SELECT shut(x) FROM t")
        try expectClosed { try statement.step() }
        #expect(throws: DatabaseError.self) { try statement.step() }
    }

    @Test func closingInsideAggregateThrows() throws {
        struct Shutting: SQLAggregate {
            let db: Connection
            mutating func step(_ arguments: borrowing FunctionArguments) throws { db.close() }
            func finish() -> Int { 0 }
        }
        try db.register(.aggregate("shut", arguments: 1) { Shutting(db: db) })
        try expectClosed { _ = try db.fetchOne(Int.self, "SELECT shut(x) FROM t") }
    }

    @Test func closingInsideCollationThrows() throws {
        try db.register(.collation("SHUT") { _, _ in
            db.close()
            return .orderedSame
        })
        try expectClosed { for _ in 0..<2 { _ = try db.fetchAll(String.self, "SELECT 'a' || x AS y FROM t ORDER BY y COLLATE SHUT") } }
    }

    @Test func closingInsideAuthorizerThrows() throws {
        try db.settings.setAuthorizer { _ in
            db.close()
            return .allow
        }
        try expectClosed { try db.execute("SELECT x FROM t") }
    }

    @Test func closingInsideTraceHookThrows() throws {
        try db.addTraceHook { _ in db.close() }
        try expectClosed { for _ in 0..<2 { _ = try db.fetchAll(Int.self, "SELECT x FROM t") } }
    }

    @Test func closingInsideUpdateHookThrows() throws {
        try db.addUpdateHook { _ in db.close() }
        try expectClosed { for _ in 0..<2 { try db.execute("UPDATE t SET x = x + 1") } }
    }

    @Test func closingInsideCommitHookThrows() throws {
        try db.addCommitHook { db.close() }
        try expectClosed { for _ in 0..<2 { try db.execute("INSERT INTO t VALUES (4)") } }
    }

    @Test func closingInsideProgressHandlerThrows() throws {
        try db.settings.setProgressHandler(every: 100) {
            db.close()
            return true
        }
        try expectClosed { _ = try db.fetchOne(Int.self, HandlerTests.endless) }
    }

    @Test func closingInsideBusyHandlerThrows() throws {
        let other = try Connection(.file(folder.path("a.db")), key: .passphrase("k").quick)
        try other.begin(.exclusive)
        try db.settings.setBusyHandler { _ in
            db.close()
            return true
        }
        let error = #expect(throws: DatabaseError.self) { try db.execute("INSERT INTO t VALUES (4)") }
        #expect(error?.reason == .closed)
        try other.rollback()
        try other.execute("INSERT INTO t VALUES (5)")
    }

    /// A function may use the connection, but not the statement that calls it.
    @Test func functionMayQueryItsConnection() throws {
        try db.register(.function("total") { (x: Int) in try db.fetchOne(Int.self, "SELECT sum(x) FROM t WHERE x <= ?", [x]) })
        #expect(try db.fetchAll(Int.self, "SELECT total(x) FROM t") == [1, 3, 6])
    }

    @Test func functionThatRunsItsOwnStatementThrows() throws {
        var statement: Statement?
        try db.register(.function("again") { (x: Int) in try statement?.fetchOne(Int.self) ?? x })
        statement = try db.prepare("SELECT again(x) FROM t")
        let error = #expect(throws: DatabaseError.self) { try statement?.fetchAll(Int.self) }
        #expect(error?.reason == .misuse)
        // The same text from the cache is another statement: a recursion that ends is none of its business.
        try db.register(.function("depth") { (x: Int) -> Int in x > 5 ? x : try db.fetchOne(Int.self, "SELECT depth(\(x + 1))") ?? 0 })
        #expect(try db.fetchOne(Int.self, "SELECT depth(\(0))") == 6)
        statement = nil
    }

    @Test func functionThatReplacesItselfThrows() throws {
        try db.register(.function("f") { (x: Int) in
            try db.register(.function("f") { (x: Int) in x + 1 })
            return x
        })
        #expect(throws: DatabaseError.self) { try db.fetchAll(Int.self, "SELECT f(x) FROM t") }
        try db.unregister(.function("f", arguments: 1))
        #expect(throws: DatabaseError.self) { try db.fetchAll(Int.self, "SELECT f(x) FROM t") }
    }

    @Test func forEachClosureMayChangeTheConnection() throws {
        var count = 0
        try db.forEach("SELECT x FROM t") { _ in
            count += 1
            try db.register(.function("new\(count)") { 1 })
            try db.addCommitHook {}
            db.settings.statementCache.clear()
            try db.settings.setAuthorizer { _ in .allow }
        }
        #expect(count == 3)
    }

    /// Closures that SQLite holds for the user are released at the end.
    @Test func callbacksAreReleasedWithTheConnection() throws {
        final class Marker {}
        weak var function: Marker?, aggregate: Marker?, collation: Marker?, hook: Marker?, replaced: Marker?
        do {
            let other = try Connection(.memory)
            let markers = (0..<5).map { _ in Marker() }
            (function, aggregate, collation, hook, replaced) = (markers[0], markers[1], markers[2], markers[3], markers[4])
            struct Holding: SQLAggregate {
                let marker: Marker
                mutating func step(_ arguments: borrowing FunctionArguments) {}
                func finish() -> Int { 1 }
            }
            try other.register(.function("f") { [marker = markers[4]] in "\(marker)" })
            try other.register(.function("f") { [marker = markers[0]] in "\(marker)" })
            try other.register(.aggregate("a", arguments: 1) { [marker = markers[1]] in Holding(marker: marker) })
            try other.register(.collation("C") { [marker = markers[2]] _, _ in "\(marker)".isEmpty ? .orderedSame : .orderedAscending })
            try other.addCommitHook { [marker = markers[3]] in _ = "\(marker)" }
            #expect(try other.fetchOne(Int.self, "SELECT a(1)") == 1)
            #expect(function != nil && aggregate != nil && collation != nil && hook != nil)
        }
        #expect(function == nil && aggregate == nil && collation == nil && hook == nil && replaced == nil)
    }
}
