import Foundation
import KitSupport
import SQLCipherKitCore
import Testing
import TestSupport

/// A statement that is prepared and never runs changes nothing.
@Suite struct CompilingTests {
    let folder: TemporaryFolder
    let db: Connection
    var path: String { folder.path("a.db") }

    init() throws {
        folder = try TemporaryFolder()
        db = try Connection(.file(folder.path("a.db")))
        try db.execute(SQLScript("CREATE TABLE t(a PRIMARY KEY, b REFERENCES t); CREATE INDEX i ON t(b)"))
        try db.execute("INSERT INTO t VALUES (1, 1)")
    }

    private func value(_ pragma: String) throws -> String {
        "\(pragma) \(try db.fetchAll(OwnedRow.self, SQL(raw: "PRAGMA \(pragma)")).map(\.values.shown))"
    }

    /// The answers of pragmas, and the effects of some that no pragma reports.
    private func state(_ pragmas: [String]) throws -> [String] {
        var state = try pragmas.map(value)
        state.append("\(try db.fetchOne(Bool.self, "SELECT 'a' LIKE 'A'") ?? false)")
        state.append("\(try db.fetchOne(Int.self, "SELECT count(*) FROM t") ?? -1)")
        for name in try folder.names() {
            state.append("\(name) \(try Data(contentsOf: folder.url.appendingPathComponent(name)).base64EncodedString())")
        }
        return state
    }

    /// The pragmas that can be asked without an effect.
    private func readable() throws -> [String] {
        let actions: Set = [
            "incremental_vacuum", "optimize", "shrink_memory", "wal_checkpoint", "case_sensitive_like", "function_list", "pragma_list",
        ]
        return try db.fetchAll(String.self, "PRAGMA pragma_list").sorted().filter { !actions.contains($0) && !$0.hasSuffix("key") }
    }

    @Test func aPreparedPragmaChangesNothing() throws {
        let pragmas = try readable()
        // Preparing what names the temporary database does not open it, but to ask for all tables does.
        _ = try? db.prepare("PRAGMA temp.cache_size")
        _ = try? db.prepare("PRAGMA temp.page_size = 1024")
        #expect(try db.schemas().map(\.name) == ["main"])
        _ = try state(pragmas)
        let before = try state(pragmas)
        let values = [
            "", "= 0", "= 1", "= 2", "= 7", "(-3)", "= 4000000000", "= ON", "= off", "('x')", "= 'wal'", "= memory", "(t)", "= FULL",
            "= exclusive", "= 'UTF-16le'", "= i",
        ]
        for name in try db.fetchAll(String.self, "PRAGMA pragma_list") {
            for value in values {
                // Another test of this process would feel a lower limit if this failed.
                if name.hasSuffix("heap_limit"), value != "= 4000000000" { continue }
                for schema in ["", "main.", "temp."] {
                    let statement = try? db.prepare(SQL(raw: "PRAGMA \(schema)\(name)\(value)"))
                    _ = statement?.columnNames
                    _ = try? db.fetchAll(OwnedRow.self, SQL(raw: "EXPLAIN PRAGMA \(schema)\(name)\(value)"))
                    #expect(throws: DatabaseError.self) { try db.execute(SQL(raw: "SELECT 1; PRAGMA \(schema)\(name)\(value)")) }
                    #expect(throws: DatabaseError.self) { try db.execute(SQL(raw: "PRAGMA \(schema)\(name)\(value); SELECT 1")) }
                    #expect(throws: DatabaseError.self) { try db.execute(SQL(raw: "PRAGMA \(schema)\(name)\(value)"), [1]) }
                    try? statement?.reset()
                }
            }
            let after = try state(pragmas)
            #expect(after == before, "PRAGMA \(name): \(after.filter { !before.contains($0) })")
        }
    }

    @Test func preparedPragmaTakesEffectOnEachRun() throws {
        let off = try db.prepare("PRAGMA foreign_keys = OFF")
        #expect(try db.settings.isEnabled(.foreignKeys))
        try off.execute()
        #expect(try !db.settings.isEnabled(.foreignKeys))
        try db.settings.setEnabled(.foreignKeys, to: true)
        try off.execute()
        #expect(try !db.settings.isEnabled(.foreignKeys))
        for value in [5, 5, 9] {
            try db.execute(SQL(raw: "PRAGMA user_version = \(value)"))
            #expect(try db.main.userVersion == value)
        }
        let mode = try db.prepare("PRAGMA journal_mode = TRUNCATE")
        #expect(!mode.isReadOnly)
        // A change of the schema in between.
        try db.execute("CREATE TABLE u(x)")
        #expect(try mode.fetchOne(String.self) == "truncate")
        #expect(throws: DatabaseError.self) { try db.transaction { try $0.execute("PRAGMA synchronous = OFF") } }
    }

    @Test func pragmaColumnNamesAreKnownBeforeFirstStep() throws {
        for (sql, columns) in [
            ("PRAGMA journal_mode = memory", ["journal_mode"]), ("PRAGMA wal_checkpoint(FULL)", ["busy", "log", "checkpointed"]),
            ("PRAGMA foreign_keys = ON", []), ("PRAGMA busy_timeout = 5000", ["timeout"]), ("PRAGMA cache_size", ["cache_size"]),
            ("PRAGMA index_info(i)", ["seqno", "cid", "name"]), ("PRAGMA no_such_pragma", []), ("PRAGMA incremental_vacuum(1)", []),
        ] {
            let statement = try db.prepare(SQL(raw: sql))
            #expect(statement.columnNames == columns, "\(sql)")
            try statement.execute()
            #expect(statement.columnNames == columns, "\(sql)")
        }
    }

    @Test func authorizerIsCalledWhenPragmaIsPrepared() throws {
        var asked: [String] = []
        try db.settings.setAuthorizer { request in
            if request.action == .pragma { asked.append("\(request.first ?? "") \(request.second ?? "") \(request.schema ?? "")") }
            return request.first == "user_version" ? .deny : .allow
        }
        _ = try db.prepare("PRAGMA main.cache_size = -5")
        #expect(asked == ["cache_size -5 main"])
        #expect(throws: DatabaseError.self) { try db.prepare("PRAGMA user_version = 3") }
    }

    /// The oracle is the compiler: a tail that it makes no statement of is none.
    @Test func statementTailDetectionAgreesWithCompiler() throws {
        let pieces = [
            " ", "\n", "\t", "\r\n", "\u{0B}", " \u{0B}", "\u{0C}", ";", ";;", "--", "-- c", "-- c\n", "--\r", "/**/",
            "/* c */", "/*/", "/*", "*/", "/* ; */", "/",
            "-", "\u{FEFF}", "\u{FE}", "é", "SELECT 2", "x", "'", "\"", "1", "(", "/*\u{0B}*/", "-- /* \n", "/* -- \n*/",
            "\u{00A0}", "\u{2028}",
        ]
        var random = SeededGenerator(state: 7)
        var counts = [0, 0]
        for round in 0..<6000 {
            var tail = round < pieces.count ? pieces[round] : ""
            if round >= pieces.count {
                for _ in 0...Int.random(in: 0..<5, using: &random) { tail += pieces.randomElement(using: &random) ?? "" }
            }
            var statements = 0
            do { try db.execute(SQLScript(tail)) { _, _ in statements += 1; return .next } } catch { statements += 1 }
            var isRefused = false
            do { _ = try db.prepare(SQL(raw: "SELECT 1;" + tail)) } catch { isRefused = true }
            #expect(isRefused == (statements > 0), "\(tail.debugDescription)")
            counts[isRefused ? 1 : 0] += 1
        }
        #expect(counts.allSatisfy { $0 > 500 }, "\(counts)")
    }
}
