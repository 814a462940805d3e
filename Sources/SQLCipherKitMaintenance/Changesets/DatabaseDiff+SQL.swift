import CSQLCipher
import SQLCipherKitCore

extension DatabaseDiff {
    /// Returns the SQL that turns the first database into the second: one transaction, for this engine or another SQLite.
    ///
    /// Triggers are dropped first and created again last, so that none fires. Foreign keys are switched off, and stay off for the
    /// connection that runs the script. The script contains the data in plaintext. It writes directly to the tables that hold the
    /// content of virtual tables, which a connection in defensive mode refuses.
    /// - Returns: the script; empty if nothing differs.
    /// - Throws: ``DatabaseError/Reason/schemaText`` if a text in the second database's schema is not the single CREATE statement
    ///   that it claims to be, or if it uses a virtual table module that is not SQLite's own and ``leavesOutOtherModules`` is not
    ///   set.
    public func sql() throws(DatabaseError) -> String {
        try DatabaseError.typed {
            var script = ""
            try forEachStatement { script += $0 + ";\n" }
            if script.isEmpty { return "" }
            return """
                PRAGMA foreign_keys = OFF;
                PRAGMA writable_schema = ON;
                BEGIN IMMEDIATE;
                \(script)COMMIT;
                PRAGMA writable_schema = RESET;

                """
        }
    }

    /// Turns a database that is equal to the first into the second, in one transaction. The statements are collected in memory.
    ///
    /// If the second database's connection does not trust its schema (``ConnectionOption/trustedSchema``), as with
    /// ``DatabaseConfiguration/safeguards``, this connection does not trust it either until the call returns.
    /// Your database then has the triggers, views and expressions of the second one: check them before you trust them.
    /// - Parameter db: the connection; it may be the first database's own, whose `main` is changed.
    /// - Throws: ``DatabaseError/Reason/misuse`` inside a transaction or on a read-only database,
    ///   ``DatabaseError/Reason/schemaText`` as ``sql()`` does, and what SQLite reports if the database is not equal
    ///   to the first. Nothing has changed then.
    public func apply(to db: Connection) throws(DatabaseError) {
        try DatabaseError.typed {
            try db.main.requireRewritable()
            var statements: [String] = []
            try writeStatements(isScript: false) { statements.append(String(decoding: $0, as: UTF8.self)) }
            if statements.isEmpty { return }
            let trusts = try db.settings.isEnabled(.trustedSchema)
            let isUntrusted = try !new.connection.settings.isEnabled(.trustedSchema)
            if trusts, isUntrusted { try db.settings.setEnabled(.trustedSchema, to: false) }
            defer { if trusts { _ = try? db.settings.setEnabled(.trustedSchema, to: true) } }
            let enforcesForeignKeys = try db.settings.isEnabled(.foreignKeys)
            try db.settings.setEnabled(.foreignKeys, to: false)
            // Old schemas may have strings in double quotes.
            let options = [SQLITE_DBCONFIG_DQS_DDL, SQLITE_DBCONFIG_DQS_DML]
            var before: [Int32] = [0, 0], now: Int32 = 0
            for index in options.indices {
                try db.check(sqlcipherkit_db_config(db.live(), options[index], -1, &before[index]))
                try db.check(sqlcipherkit_db_config(db.live(), options[index], 1, &now))
            }
            try db.execute("PRAGMA writable_schema = ON")
            let ignoresChecks = try db.fetchOne(Bool.self, "PRAGMA ignore_check_constraints") ?? false
            try db.execute("PRAGMA ignore_check_constraints = ON")
            defer {
                if let handle = db.handle {
                    for index in options.indices { _ = sqlcipherkit_db_config(handle, options[index], before[index], &now) }
                }
                // Makes virtual tables read their tables again.
                try? db.restoring { try db.execute("PRAGMA writable_schema = RESET") }
                if !ignoresChecks { try? db.restoring { try db.execute("PRAGMA ignore_check_constraints = OFF") } }
                if enforcesForeignKeys { _ = try? db.settings.setEnabled(.foreignKeys, to: true) }
            }
            try db.transaction { db in
                for statement in statements { try db.prepare(SQL(raw: statement)).execute() }
            }
        }
    }

    /// Calls `body` with each statement of the script between `BEGIN` and `COMMIT`, without its semicolon. The statements need
    /// `foreign_keys` off and `writable_schema` on, and at the end `PRAGMA writable_schema = RESET`.
    func forEachStatement(_ body: (String) throws -> Void) throws {
        try writeStatements { try body(String(decoding: $0, as: UTF8.self)) }
    }

    /// Calls `body` with the bytes of each statement, in UTF-8.
    /// - Parameter isScript: whether a semicolon will follow a statement.
    package func writeStatements(isScript: Bool = true, _ write: ([UInt8]) throws -> Void) throws {
        try looking { old, new in
            if !leavesOutOtherModules { try new.requireStatements() }
            func statement(_ object: SchemaEntry) throws -> String {
                let text = try object.statement()
                return isScript ? text.forScript : text.sql
            }
            let triggers = old.objects.filter { $0.type == "trigger" }
            var isFirst = true
            func emit(_ sql: [UInt8]) throws {
                if isFirst {
                    isFirst = false
                    for trigger in triggers { try write(Array("DROP TRIGGER IF EXISTS \(trigger.name.quotedSQLIdentifier)".utf8)) }
                }
                try write(sql)
            }
            func emit(_ sql: String) throws { try emit(Array(sql.utf8)) }
            try emitDrops(old, new, emit)
            for table in new.missing("table", from: old, virtual: false) { try emit(statement(table)) }
            for name in new.tables.keys.map(\.text).sorted() where !name.hasNamePrefix("sqlite_stat") {
                try emitRows(name, isKept: new.isSame(name, in: old), emit)
            }
            let rebuilt = new.missing("table", from: old, virtual: false).map(\.name).nameSet
            for index in new.objects where index.type == "index" {
                guard let sql = index.sql else { continue }
                let isKept = (old.object("index", index.name)?.sql).isSameText(as: sql) && !rebuilt.contains(SQLName(index.table))
                if !isKept { try emit(statement(index)) }
            }
            try emitStatistics(old, new, emit)
            try emitVirtual(old, new, emit)
            for view in new.missing("view", from: old) { try emit(statement(view)) }
            for pragma in ["user_version", "application_id"] {
                if case .integer(let value) = try self.new.pragma(pragma), try self.old.pragma(pragma) != .integer(value) {
                    try emit("PRAGMA \(pragma) = \(value)")
                }
            }
            let newTriggers = new.objects.filter { $0.type == "trigger" }
            let isSame = triggers.elementsEqual(newTriggers) { $0.name.isSameText(as: $1.name) && $0.sql.isSameText(as: $1.sql) }
            if isFirst, isSame, try !sequencesDiffer(old, new) { return }
            try emitSequences(new, old, emit)
            if isFirst { try emit("SELECT 1") }
            for trigger in newTriggers { try emit(statement(trigger)) }
        }
    }

    // MARK: The schema

    private func emitDrops(_ old: DiffSchema, _ new: DiffSchema, _ emit: (String) throws -> Void) throws {
        for view in old.missing("view", from: new) { try emit("DROP VIEW \(view.name.quotedSQLIdentifier)") }
        let virtual = old.missing("table", from: new, virtual: true)
        for table in virtual {
            // Its module may be missing here. The tables that hold its content are compared one by one.
            try emit("DELETE FROM sqlite_schema WHERE type = 'table' AND rootpage = 0 AND name = \(table.name.quotedSQLLiteral)")
        }
        if !virtual.isEmpty {
            try emit("PRAGMA writable_schema = RESET")
            try emit("PRAGMA writable_schema = ON")
        }
        let dropped = old.missing("table", from: new, virtual: false)
        for index in old.missing("index", from: new) where !dropped.contains(where: { $0.name.isSameName(as: index.table) }) {
            try emit("DROP INDEX \(index.name.quotedSQLIdentifier)")
        }
        for table in dropped { try emit("DROP TABLE \(table.name.quotedSQLIdentifier)") }
    }

    private func emitVirtual(_ old: DiffSchema, _ new: DiffSchema, _ emit: (String) throws -> Void) throws {
        let tables = new.missing("table", from: old, virtual: true)
        for table in tables {
            let name = table.name.quotedSQLLiteral
            try emit(
                "INSERT INTO sqlite_schema(type, name, tbl_name, rootpage, sql) "
                    + "VALUES ('table', \(name), \(name), 0, \((table.sql ?? "").quotedSQLLiteral))"
            )
        }
        if tables.isEmpty && old.missing("table", from: new, virtual: true).isEmpty { return }
        // Other connections read the schema again only after a statement that changes it.
        try emit("CREATE TABLE sqlcipherkit_schema_change(x)")
        try emit("DROP TABLE sqlcipherkit_schema_change")
    }

    // MARK: Rows

    private func emitRows(_ name: String, isKept: Bool, _ write: ([UInt8]) throws -> Void) throws {
        func emit(_ sql: String) throws { try write(Array(sql.utf8)) }
        let walk = try TableWalk(name, old, new)
        let table = name.quotedSQLIdentifier
        var inserts = InsertStatements(into: table, walk.list)
        guard isKept else {
            try walk.overRows { try inserts.add($0, write) }
            return try inserts.finish(write)
        }
        guard walk.hasKey else {
            var isSame = true
            try walk.overOld { finding, _, _ in if finding != .same { isSame = false } }
            if isSame, try old.count(name) == new.count(name) { return }
            try emit("DELETE FROM \(table)")
            try walk.overRows { try inserts.add($0, write) }
            return try inserts.finish(write)
        }
        func condition(_ row: RawStatement) throws -> String {
            try walk.key.map { "\(walk.list[$0]) = \(try SQLLiterals.literal(row, $0))" }.joined(separator: " AND ")
        }
        // A key may be equal by its collation and still differ in its bytes.
        func isReplaced(_ a: RawStatement, _ b: RawStatement) -> Bool {
            walk.isUnique || !walk.key.allSatisfy { a.equals(b, column: Int32($0)) }
        }
        // Deletes all rows before inserting any, so that no row conflicts with another.
        try walk.overOld { finding, a, b in
            switch finding {
            case .same: break
            case .different where !isReplaced(a, b):
                let changes = try walk.list.indices.filter { !a.equals(b, column: Int32($0)) }
                    .map { "\(walk.list[$0]) = \(try SQLLiterals.literal(b, $0))" }
                try emit("UPDATE \(table) SET \(changes.joined(separator: ", ")) WHERE \(try condition(a))")
            case .missing, .different: try emit("DELETE FROM \(table) WHERE \(try condition(a))")
            }
        }
        try walk.overNew { finding, b, a in
            if finding == .missing || (finding == .different && isReplaced(a, b)) { try inserts.add(b, write) }
        }
        try inserts.finish(write)
    }

    // MARK: Statistics and sequences

    /// Dropping a table or an index deletes its statistics, so they are written last.
    private func emitStatistics(_ old: DiffSchema, _ new: DiffSchema, _ write: ([UInt8]) throws -> Void) throws {
        let isDropping = !old.missing("table", from: new, virtual: false).isEmpty || !old.missing("index", from: new).isEmpty
        for name in new.tables.keys.map(\.text).sorted() where name.hasNamePrefix("sqlite_stat") {
            if !isDropping, new.isSame(name, in: old) {
                var isSame = try self.old.count(name) == self.new.count(name)
                if isSame {
                    try TableWalk(name, self.old, self.new).overOld { finding, _, _ in if finding != .same { isSame = false } }
                }
                if isSame { continue }
            }
            try write(Array("DELETE FROM \(name.quotedSQLIdentifier)".utf8))
            try emitRows(name, isKept: false, write)
        }
    }

    private func sequences(_ side: DiffSide, _ schema: DiffSchema) throws -> [(String?, SQLValue)] {
        guard schema.has("sqlite_sequence") else { return [] }
        return try side.connection.fetchAll(SQL(raw: "SELECT name, seq FROM \(side.quoted).sqlite_sequence ORDER BY name"))
    }

    private func sequencesDiffer(_ old: DiffSchema, _ new: DiffSchema) throws -> Bool {
        let a = try sequences(self.old, old), b = try sequences(self.new, new)
        return !a.elementsEqual(b) { $0.0.isSameText(as: $1.0) && $0.1 == $1.1 }
    }

    /// Inserting and deleting rows advances the sequences, so they are set last.
    private func emitSequences(_ new: DiffSchema, _ old: DiffSchema, _ emit: (String) throws -> Void) throws {
        guard old.has("sqlite_sequence") || new.has("sqlite_sequence") else { return }
        if !old.has("sqlite_sequence"), !new.objects.contains(where: { $0.sql?.uppercased().contains("AUTOINCREMENT") == true }) {
            try emit("CREATE TABLE sqlcipherkit_sequence(id INTEGER PRIMARY KEY AUTOINCREMENT)")
            try emit("DROP TABLE sqlcipherkit_sequence")
        }
        try emit("DELETE FROM sqlite_sequence")
        guard new.has("sqlite_sequence") else { return }
        let rows = try RawStatement(self.new.connection, "SELECT name, seq FROM \(self.new.quoted).sqlite_sequence")
        var sql: [UInt8] = []
        while try rows.step() {
            sql = Array("INSERT INTO sqlite_sequence(name, seq) VALUES (".utf8)
            try SQLLiterals.append(rows, to: &sql)
            try emit(String(decoding: sql, as: UTF8.self) + ")")
        }
    }
}
