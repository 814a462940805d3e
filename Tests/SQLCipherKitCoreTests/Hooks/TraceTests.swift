import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct TraceTests {
    let db: Connection

    init() throws { db = try Connection(.memory) }

    @Test func traceHidesBoundValuesByDefault() throws {
        var hidden: [String] = [], shown: [String] = []
        try db.execute("CREATE TABLE t(x)")
        try db.addTraceHook { if $0.kind == .started { hidden.append($0.sql) } }
        let token = try db.addTraceHook(showingValues: true) { if $0.kind == .started { shown.append($0.sql) } }
        try db.execute("INSERT INTO t VALUES (\("confidential"))")
        #expect(hidden == ["INSERT INTO t VALUES (?)"])
        #expect(shown == ["INSERT INTO t VALUES ('confidential')"])
        token.remove()
        token.remove()
        try db.execute("SELECT 1")
        #expect(hidden.count == 2 && shown.count == 1)
    }

    @Test func traceReportsTriggersAndStatementTime() throws {
        try db.execute("CREATE TABLE t(x)")
        try db.execute("CREATE TABLE log(x)")
        try db.execute("CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.x); END")
        var started: [String] = []
        var times: [Duration] = []
        try db.addTraceHook { event in
            switch event.kind {
            case .started: started.append(event.sql)
            case .finished(let time): times.append(time)
            }
        }
        try db.execute("INSERT INTO t VALUES (1)")
        #expect(started.first == "INSERT INTO t VALUES (1)")
        #expect(started.contains { $0.hasPrefix("-- ") })
        let count = try db.fetchOne(Int.self, "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT count(*) FROM n")
        #expect(count == 300_000)
        #expect(times.count == 2)
        #expect(times[1] > .microseconds(100))
        #expect(throws: DatabaseError.self) { try db.execute("INSERT INTO log SELECT abs(-9223372036854775808)") }
        #expect(times.count == 3)
    }

    /// S69: no key in a trace, whatever a user types.
    @Test func traceRedactsKeys() throws {
        let folder = try TemporaryFolder()
        var seen = ""
        try db.addTraceHook(showingValues: true) { seen += $0.sql + "\n" }
        for sql in [
            "PRAGMA key = 'hunter2 secret'", "PRAGMA main.rekey('hunter2 secret')",
            "ATTACH '\(folder.path("b.db"))' AS b KEY 'hunter2 secret'",
            "ATTACH 'file:\(folder.path("c.db"))?key=hunter2' AS c", "ATTACH 'file:\(folder.path("c.db"))?' || 'key=hunter2' AS c",
        ] { #expect(throws: DatabaseError.self) { try db.execute(SQL(raw: sql)) } }
        try db.attach(.file(folder.path("d.db")), as: "d", key: .passphrase("hunter2 secret"))
        #expect(seen.split(separator: "\n").count { $0 == "[redacted]" } >= 2)
        #expect(!seen.contains("hunter2") && !seen.contains("secret"))
        let statement = try db.prepare("SELECT 'PRAGMA key = ' || \("hunter2")")
        #expect(statement.expandedSQL == "[redacted]")
    }

    @Test func traceHookThatUsesTheConnectionThrows() throws {
        var error: DatabaseError?
        let statement = try db.prepare("SELECT 2")
        try db.addTraceHook { _ in
            do { try db.execute("SELECT 1") } catch let caught as DatabaseError { error = caught } catch {}
            #expect(throws: DatabaseError.self) { try statement.step() }
            #expect(throws: DatabaseError.self) { try db.addTraceHook { _ in } }
        }
        try db.execute("SELECT 3")
        #expect(error?.reason == .misuse)
        #expect(error?.message.contains("hook") == true)
    }
}
