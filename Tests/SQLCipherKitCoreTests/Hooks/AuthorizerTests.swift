import SQLCipherKitCore
import Testing
import TestSupport

/// SQL from strangers: it reads what it may, and nothing else.
@Suite struct AuthorizerTests {
    let db: Connection

    init() throws {
        db = try Connection(.memory)
        try db.execute(SQLScript("""
            CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, secret TEXT);
            CREATE TABLE other(x);
            CREATE VIEW titles AS SELECT title FROM note;
            CREATE VIEW leak AS SELECT secret FROM note;
            CREATE VIRTUAL TABLE note_fts USING fts5(title, content='note', content_rowid='id');
            INSERT INTO note VALUES (1, 'one', 'hidden'), (2, 'two', 'hidden');
            INSERT INTO note_fts(note_fts) VALUES ('rebuild');
            """))
    }

    private func denied(_ sql: SQL, _ access: SQLPermissions) -> Bool {
        let error = #expect(throws: DatabaseError.self) { try db.withPermissions(access) { try $0.execute(sql) } }
        return error.map { .authorization ~= $0.code } ?? false
    }

    private func allowed(_ sql: SQL, _ access: SQLPermissions) throws -> [SQLValue] {
        try db.withPermissions(access) { try $0.fetchAll(SQLValue.self, sql) }
    }

    @Test func authorizerClosureAllowsIgnoresAndDenies() throws {
        var requests: [AuthorizationRequest] = []
        try db.settings.setAuthorizer { request in
            requests.append(request)
            if request.action == .read && request.second == "secret" { return .ignore }
            return request.action == .attach || request.action == .drop ? .deny : .allow
        }
        let rows: [(String, String?)] = try db.fetchAll("SELECT title, secret FROM note ORDER BY id")
        #expect(rows.map(\.0) == ["one", "two"] && rows.map(\.1) == [nil, nil])
        #expect(requests.contains { $0.action == .select })
        #expect(requests.contains { $0.action == .read && $0.first == "note" && $0.second == "title" && $0.schema == "main" })
        let error = #expect(throws: DatabaseError.self) { try db.execute("DROP TABLE other") }
        #expect(error.map { .authorization ~= $0.code } == true)
        #expect(throws: DatabaseError.self) { try db.execute("ATTACH ':memory:' AS a") }
        requests = []
        _ = try db.fetchAll(String.self, "SELECT upper(title) FROM titles")
        #expect(requests.contains { $0.action == .function && $0.second == "upper" })
        #expect(requests.contains { $0.action == .read && $0.origin == "titles" })
        try db.settings.setAuthorizer(nil)
        #expect(try db.fetchOne(String.self, "SELECT secret FROM note") == "hidden")
        try db.execute("DROP TABLE other")
    }

    @Test(arguments: [
        "INSERT INTO note VALUES (3, 'x', 'y')", "UPDATE note SET title = 'x'", "DELETE FROM note", "DROP TABLE note",
        "CREATE TABLE n(x)", "CREATE TEMP TABLE n(x)", "CREATE TRIGGER t AFTER INSERT ON note BEGIN SELECT 1; END",
        "CREATE TEMP VIEW w AS SELECT 1", "ATTACH ':memory:' AS a", "DETACH main", "PRAGMA user_version = 5", "PRAGMA table_info(note)",
        "SELECT * FROM pragma_table_info('note')", "BEGIN", "COMMIT", "SAVEPOINT s", "ALTER TABLE note RENAME TO n", "REINDEX", "ANALYZE",
        "VACUUM", "CREATE VIRTUAL TABLE n USING fts5(x)", "WITH n AS (SELECT 1) INSERT INTO note SELECT 1, 2, 3",
        "REPLACE INTO note VALUES (1, 'x', 'y')", "PRAGMA key = 'x'", "INSERT INTO note_fts(note_fts) VALUES ('rebuild')",
        "SELECT sqlcipher_export('main')", "PRAGMA writable_schema = ON",
    ]) func readOnlyAccessRefusesWritesAndPragmas(_ sql: String) throws {
        let before = db.totalChanges
        #expect(throws: DatabaseError.self) { try db.withPermissions(.readOnly) { try $0.execute(SQL(raw: sql)) } }
        #expect(db.totalChanges == before && !db.isInTransaction)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM note WHERE secret = 'hidden'") == 2)
        // And nothing is left of the restriction.
        try db.execute("INSERT INTO other VALUES (1)")
    }

    @Test func readOnlyAccessAllowsEveryKindOfQuery() throws {
        try db.withPermissions(.readOnly) { db in
            for sql: SQL in [
                "SELECT * FROM note", "SELECT count(*) FROM note", "VALUES (1)", "SELECT sum(id) OVER (ORDER BY id) FROM note",
                "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n",
                "SELECT secret FROM leak", "SELECT name FROM sqlite_schema", "EXPLAIN QUERY PLAN SELECT * FROM note",
                "SELECT title FROM note_fts WHERE note_fts MATCH 'one' ORDER BY rank", "SELECT value FROM json_each('[1]')",
            ] { try db.execute(sql) }
        }
    }

    @Test func accessListsTablesColumnsAndFunctions() throws {
        var access = SQLPermissions.readOnly
        access.tables = ["NOTE": .columns(["id", "Title"]), "titles": .all, "note_fts": .all]
        access.functions = ["COUNT", "upper", "match"]
        #expect(try allowed("SELECT upper(title) FROM note ORDER BY id", access) == [.text("ONE"), .text("TWO")])
        #expect(try allowed("SELECT count(*) FROM note", access) == [.integer(2)])
        #expect(try allowed("SELECT title FROM titles WHERE title = 'two'", access) == [.text("two")])
        #expect(try allowed("SELECT rowid FROM note_fts WHERE note_fts MATCH 'two'", access) == [.integer(2)])
        for sql: SQL in [
            "SELECT secret FROM note", "SELECT * FROM note", "SELECT id FROM note WHERE secret = 'hidden'", "SELECT x FROM other",
            "SELECT count(*) FROM other", "SELECT name FROM sqlite_schema", "SELECT lower(title) FROM note", "SELECT secret FROM leak",
            "SELECT id FROM note ORDER BY secret", "WITH titles AS (SELECT secret FROM note) SELECT * FROM titles",
            "SELECT (SELECT secret FROM note)", "SELECT title FROM note GROUP BY title HAVING max(secret) > 'a'",
            "SELECT a.id FROM note a JOIN note b ON a.secret = b.secret",
        ] { #expect(denied(sql, access), "\(sql.text)") }
        access.hidesColumns = true
        access.functions = nil
        #expect(try allowed("SELECT secret FROM note WHERE id = 1", access) == [.null])
        #expect(try allowed("SELECT max(secret) FROM note", access) == [.null])
        #expect(denied("SELECT x FROM other", access))
    }

    @Test func withAccessRestoresThePreviousAuthorizer() throws {
        try db.settings.setAuthorizer { $0.action == .delete ? .deny : .allow }
        let query = try db.prepare("SELECT secret FROM note")
        var narrow = SQLPermissions.readOnly
        narrow.tables = [:]
        try db.withPermissions(.readOnly) { db in
            try db.withPermissions(narrow) { _ in
                // A statement from before is asked about again.
                #expect(throws: DatabaseError.self) { try query.fetchOne(String.self) }
            }
            #expect(try query.fetchOne(String.self) == "hidden")
        }
        #expect(throws: DatabaseError.self) { try db.execute("DELETE FROM note") }
        try db.execute("UPDATE note SET title = 'x'")
        try db.settings.setPermissions(.readOnly)
        #expect(throws: DatabaseError.self) { try db.execute("UPDATE note SET title = 'x'") }
        try db.settings.setPermissions(nil)
        try db.execute("DELETE FROM note")
    }

    @Test func authorizerAndUpdateHookWorkTogether() throws {
        var deleted = 0
        let token = try db.addUpdateHook { if $0.kind == .delete { deleted += 1 } }
        try db.settings.setAuthorizer { $0.first == "other" ? .deny : .allow }
        try db.execute("DELETE FROM note")
        #expect(deleted == 2)
        #expect(throws: DatabaseError.self) { try db.execute("DROP TABLE other") }
        token.remove()
        #expect(throws: DatabaseError.self) { try db.execute("DROP TABLE other") }
        try db.settings.setAuthorizer(nil)
        try db.execute("DROP TABLE other")
    }
}
