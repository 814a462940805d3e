import SQLCipherKitCore
import Testing
import TestSupport

/// Columns that a restricted access hides stay hidden, whatever way SQL takes to them; see `AccessSweepTests` for ways by the
/// thousand.
@Suite struct AccessTests {
    let db: Connection
    let access: SQLPermissions

    init() throws {
        db = try Connection(.memory)
        try db.execute(SQLScript("""
            CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, secret TEXT);
            CREATE TABLE hidden(id INTEGER PRIMARY KEY, secret TEXT);
            CREATE VIEW leak AS SELECT * FROM hidden;
            CREATE INDEX note_title ON note(title, secret);
            CREATE VIRTUAL TABLE words USING fts5(title, body);
            CREATE VIRTUAL TABLE area USING rtree(id, x0, x1, +secret);
            INSERT INTO note VALUES (1, 'same', 'z'), (2, 'same', 'a'), (3, 'other', 'm');
            INSERT INTO hidden VALUES (1, 'z'), (7, 'q');
            INSERT INTO words VALUES ('one', 'two');
            """))
        var access = SQLPermissions.readOnly
        access.tables = ["note": .columns(["id", "title"]), "words": .all]
        self.access = access
    }

    private func refusal(_ sql: SQL, _ access: SQLPermissions? = nil) -> String? {
        let error = #expect(throws: DatabaseError.self, "\(sql.text)") { try db.withPermissions(access ?? self.access) { try $0.fetchAll(OwnedRow.self, sql) } }
        #expect(error.map { .authorization ~= $0.code } == true, "\(sql.text): \(String(describing: error))")
        return error?.message
    }

    /// SQLite asks its authorizer for none of these columns and tables.
    @Test func joinUsingDoesNotRevealHiddenColumns() throws {
        for sql: SQL in [
            "SELECT secret FROM note FULL JOIN hidden USING (secret)", "SELECT secret FROM hidden FULL JOIN (SELECT 'q' AS secret) USING (secret)",
            "SELECT secret FROM note NATURAL FULL JOIN hidden", "SELECT id FROM note JOIN (SELECT 1 AS id, 'z' AS secret) USING (id, secret)",
            "SELECT 1 FROM note NATURAL JOIN (SELECT 'z' AS secret)", "SELECT sql FROM sqlite_schema FULL JOIN (SELECT 1 AS sql) USING (sql)",
            "SELECT sql FROM sqlite_stmt FULL JOIN (SELECT 1 AS sql) USING (sql)", "SELECT secret FROM leak FULL JOIN (SELECT 1 AS secret) USING (secret)",
        ] { _ = refusal(sql) }
        #expect(refusal("SELECT secret FROM note FULL JOIN (SELECT 1 AS secret) USING (secret)") == "access to note.secret is prohibited")
        var hiding = access
        hiding.hidesColumns = true
        let ids = try db.withPermissions(hiding) { try $0.fetchAll(OwnedRow.self, "SELECT id, secret FROM note FULL JOIN (SELECT 'z' AS secret) USING (secret)") }
        #expect(ids.map(\.values) == [[.integer(1), .null], [.integer(2), .null], [.integer(3), .null], [.null, .text("z")]])
        // Visible columns may be joined.
        let joined = try db.withPermissions(access) { try $0.fetchAll(Int.self, "SELECT id FROM note FULL JOIN (SELECT 9 AS id) USING (id)") }
        #expect(joined == [1, 2, 3, 9])
    }

    /// An observation needs them as well.
    @Test func joinUsingRecordsColumnsOfBothTables() throws {
        let (_, region) = try db.recordingReads { try $0.fetchAll(String?.self, "SELECT secret FROM note FULL JOIN hidden USING (secret)") }
        #expect("\(region)".contains("note(secret)") && "\(region)".contains("hidden(secret)"), "\(region)")
    }

    @Test func accessToVirtualTableExcludesItsShadowTables() throws {
        let snippet: SQL = "SELECT snippet(words, 1, '<', '>', '', 5) FROM words WHERE words MATCH 'two'"
        #expect(try db.withPermissions(access) { try $0.fetchAll(String.self, snippet) } == ["<two>"])
        #expect(try db.withPermissions(access) { try $0.fetchAll(Int.self, "SELECT count(*) FROM words") } == [1])
        for sql: SQL in [
            "SELECT * FROM words_content", "SELECT block FROM words_data", "SELECT id FROM words_docsize", "SELECT * FROM area", "SELECT * FROM area_node",
            "SELECT secret FROM area FULL JOIN (SELECT 1 AS secret) USING (secret)", "SELECT name FROM dbstat",
            "SELECT name FROM pragma_table_info('hidden')", "SELECT sql FROM sqlite_stmt", "SELECT * FROM tables_used('SELECT 1')",
        ] { _ = refusal(sql) }
        // They read nothing of the database, and are functions.
        #expect(try db.withPermissions(access) { try $0.fetchAll(Int.self, "SELECT value FROM json_each('[1, 2]') ORDER BY 1 DESC") } == [2, 1])
        var narrow = access
        narrow.functions = ["json_tree"]
        #expect(try db.withPermissions(narrow) { try $0.fetchAll(String.self, "SELECT type FROM json_tree('1')") } == ["integer"])
        _ = refusal("SELECT value FROM json_each('[1]')", narrow)
    }

    /// An index of text tells about all columns, whichever are read.
    @Test func accessToSingleColumnsOfVirtualTableThrows() throws {
        var some = access
        some.tables?["WORDS"] = .columns(["title"])
        some.tables?["words"] = nil
        let error = #expect(throws: DatabaseError.self) { try db.settings.setPermissions(some) }
        #expect(error?.reason == .invalidArgument)
        // The permissions from before are back.
        try db.execute("CREATE TABLE still_unrestricted(a)")
        some.tables?["WORDS"] = nil
        some.tables?["later"] = .columns(["a"])
        try db.settings.setPermissions(some)
        _ = refusal("SELECT title FROM words", some)
        try db.settings.setPermissions(nil)
        try db.execute("CREATE VIRTUAL TABLE area_2 USING rtree(id, x0, x1)")
        some.tables?["area_2"] = .all
        #expect(try db.withPermissions(some) { try $0.fetchAll(Int.self, "SELECT id FROM area_2") } == [])
    }

    /// In the order of this index rows of one title would come in the order of their secrets.
    @Test func hiddenColumnsDoNotAffectRowOrder() throws {
        #expect(try db.fetchAll(Int.self, "SELECT id FROM note WHERE title = 'same'") == [2, 1])
        #expect(try db.withPermissions(access) { try $0.fetchAll(Int.self, "SELECT id FROM note WHERE title = 'same'") } == [1, 2])
        #expect(refusal("SELECT id FROM note INDEXED BY note_title WHERE title = 'same'") == "access to the indexes of note is prohibited")
        try db.execute(SQLScript("""
            CREATE TABLE pair(a PRIMARY KEY, b, secret) WITHOUT ROWID; CREATE INDEX pair_secret ON pair(secret, b);
            INSERT INTO pair VALUES (1, 1, 'z'), (2, 2, 'a');
            """))
        var pairs = access
        pairs.tables?["pair"] = .columns(["a", "b"])
        #expect(try db.fetchAll(Int.self, "SELECT a FROM pair") == [2, 1])
        #expect(refusal("SELECT a FROM pair", pairs) == "access to the indexes of pair is prohibited")
        var all = access
        all.tables?["note"] = .all
        #expect(try db.withPermissions(all) { try $0.fetchAll(Int.self, "SELECT id FROM note WHERE title = 'same'") } == [2, 1])
    }

    /// A statement is compiled again when another connection has changed the schema: what it opens then is another thing.
    @Test func recompiledStatementIsAuthorizedAgain() throws {
        let folder = try TemporaryFolder()
        let db = try Connection(.file(folder.path("a.db"))), other = try Connection(.file(folder.path("a.db")))
        try other.execute(SQLScript("CREATE TABLE note(id INTEGER PRIMARY KEY, title); INSERT INTO note VALUES (1, 'a'); CREATE TABLE hidden(secret); INSERT INTO hidden VALUES ('S')"))
        try db.settings.setPermissions(access)
        let statement = try db.prepare("SELECT title FROM note FULL JOIN (SELECT 1 AS title) USING (title)")
        #expect(try statement.fetchAll(SQLValue.self) == [.text("a"), .integer(1)])
        try other.execute(SQLScript("DROP TABLE note; CREATE VIEW note AS SELECT 1 AS id, secret AS title FROM hidden"))
        let error = #expect(throws: DatabaseError.self) { try statement.fetchAll(SQLValue.self) }
        #expect(error.map { .authorization ~= $0.code } == true)
    }

    @Test func accessToSQLiteSchemaIncludesSQLiteMaster() throws {
        var access = access
        access.tables?["sqlite_schema"] = .columns(["name"])
        #expect(try db.withPermissions(access) { try $0.fetchOne(String.self, "SELECT name FROM sqlite_master WHERE name = 'note'") } == "note")
        #expect(try db.withPermissions(access) { try $0.fetchOne(String.self, "SELECT name FROM main.sqlite_schema WHERE name = 'note'") } == "note")
        _ = refusal("SELECT sql FROM sqlite_schema", access)
    }

    /// The table of the connection's statements shows what other code has run, with the literals in it.
    @Test func readOnlyPermissionsHideOtherStatements() throws {
        let other = "SELECT count(*) FROM note WHERE secret = 'confidential'"
        _ = try db.fetchOne(Int.self, SQL(raw: other))
        let kept = try db.prepare(SQL(raw: other))
        #expect(try db.fetchAll(String.self, "SELECT sql FROM sqlite_stmt").contains(other))
        try db.execute("CREATE VIEW ran AS SELECT * FROM sqlite_stmt")
        for sql: SQL in [
            "SELECT sql FROM sqlite_stmt", "SELECT sql FROM main.SQLITE_STMT", "SELECT count(*) FROM sqlite_stmt", "SELECT * FROM ran",
            "WITH s AS (SELECT * FROM sqlite_stmt) SELECT * FROM s", "SELECT (SELECT max(sql) FROM sqlite_stmt)",
            "SELECT sql FROM sqlite_stmt FULL JOIN (SELECT 1 AS sql) USING (sql)",
        ] {
            #expect(refusal(sql, .readOnly)?.contains("confidential") == false)
        }
        var access = SQLPermissions.readOnly
        access.tables = ["sqlite_stmt": .all]
        #expect(try db.withPermissions(access) { try $0.fetchAll(String.self, "SELECT sql FROM sqlite_stmt") }.contains(other))
        #expect(kept.parameterCount == 0)
    }
}
