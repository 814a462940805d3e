import CSQLCipher
import SQLCipherKitCore

/// The differences between two databases, each with its own key: a summary, and the SQL or the changeset that turns the first into
/// the second (<https://sqlite.org/sqldiff.html>).
///
/// ```swift
/// let diff = try DatabaseDiff(from: yesterday.main, to: today.main)
/// for table in try diff.summary() where !table.isSame { print(table.name, table.inserted, table.updated, table.deleted) }
/// try diff.apply(to: replica)                  // or: try diff.sql(), try diff.changeset()
/// ```
/// Rows are identified by their row id, or by the primary key in a table `WITHOUT ROWID`. A table whose definition differs is
/// dropped and created again with all its rows. Full-text and other virtual tables are compared by the tables that hold their
/// content. `user_version`, `application_id`, sequences and statistics are compared as well; page size, journal mode and encryption
/// are not. Both databases must have the same text encoding.
///
/// Each call reads both databases again, each in one consistent snapshot.
public struct DatabaseDiff {
    /// The differences in a table.
    public struct Table: Hashable, Sendable {
        /// The difference between a table's definitions in the two databases.
        public enum Definition: Hashable, Sendable {
            /// The definitions are the same.
            case same
            /// Only the second database has the table.
            case added
            /// Only the first database has the table.
            case removed
            /// Both have the table, with different columns or constraints.
            case changed
        }

        /// The table's name.
        public let name: String
        /// The difference between the table's definitions in the two databases.
        public let definition: Definition
        /// The number of rows that only the second database has.
        public let inserted: Int
        /// The number of rows that only the first database has.
        public let deleted: Int
        /// The number of rows that both have, with different values.
        public let updated: Int
        /// The number of rows that are equal in both.
        public let unchanged: Int

        /// True if neither the definition nor any row differs.
        public var isSame: Bool { definition == .same && inserted == 0 && deleted == 0 && updated == 0 }
    }

    private let old: DiffSide
    private let new: DiffSide
    /// True to leave virtual tables of modules that are not SQLite's own out of the comparison and of the SQL; false, the default,
    /// to refuse them. ``otherModules()`` names these tables. The tables that hold their content are compared like any other.
    public var leavesOutOtherModules = false
    /// Tells which other objects are left out. Default: none.
    package var isLeftOut: (SchemaEntry) -> Bool = { _ in false }

    /// Compares two databases, of one connection or of two.
    /// - Parameters:
    ///   - from: the first database.
    ///   - to: the second database.
    /// - Throws: ``DatabaseError/Reason/schemaName``, ``DatabaseError/Reason/closed``, and ``DatabaseError/Reason/misuse`` if the
    ///   text encodings differ.
    public init(from: Schema, to: Schema) throws {
        old = try DiffSide(from)
        new = try DiffSide(to)
        if try old.pragma("encoding") != new.pragma("encoding") {
            throw DatabaseError.misuse("the two databases store text in different encodings")
        }
    }

    /// Returns the differences table by table, ordered by name, including the tables that hold the content of virtual tables.
    /// - Throws: ``DatabaseError/Reason/closed``, ``DatabaseError/Reason/schemaName`` if a database was detached, and errors from
    ///   SQLite.
    public func summary() throws -> [Table] {
        try looking { old, new in
            var names = Set(old.tables.keys).union(new.tables.keys)
            if old.has("sqlite_sequence") || new.has("sqlite_sequence") { names.insert(ExactText("sqlite_sequence")) }
            return try names.map(\.text).sorted().map { name in
                guard let ours = old.object("table", name) else {
                    return try table(name, .added, inserted: self.new.count(name))
                }
                guard let new = new.object("table", name) else {
                    return try table(name, .removed, deleted: self.old.count(name))
                }
                if ours.sql.isSameText(as: new.sql) { return try compare(name) }
                return try table(name, .changed, inserted: self.new.count(name), deleted: self.old.count(name))
            }
        }
    }

    /// Returns true if the databases have the same content and the same schema.
    /// - Throws: the errors of ``sql()``.
    public func isEmpty() throws -> Bool {
        struct Found: Error {}
        do { try forEachStatement { _ in throw Found() } } catch is Found { return false }
        return true
    }

    /// Returns the names of the virtual tables of either database whose modules are not SQLite's own, ordered by name. Such a
    /// module may read data outside the database, and other programs may lack it.
    /// - Throws: the errors of ``summary()``.
    public func otherModules() throws -> [String] {
        let objects = try old.schema().objects + new.schema().objects
        return Set(objects.filter(\.usesOtherModule).map { ExactText($0.name) }).map(\.text).sorted()
    }

    /// Runs `body` with both schemas, in one snapshot of each database.
    private func looking<R>(_ body: (DiffSchema, DiffSchema) throws -> R) throws -> R {
        func schema(_ side: DiffSide) throws -> DiffSchema {
            let schema = try side.schema()
            let objects = schema.objects.filter { !isLeftOut($0) && !(leavesOutOtherModules && $0.usesOtherModule) }
            return DiffSchema(objects: objects)
        }
        return try old.connection.savepoint { _ in
            try new.connection.savepoint { _ in
                try old.connection.withRoomForRowID {
                    try new.connection.withRoomForRowID { try body(schema(old), schema(new)) }
                }
            }
        }
    }

    private func table(_ name: String, _ definition: Table.Definition, inserted: Int = 0, deleted: Int = 0) -> Table {
        Table(name: name, definition: definition, inserted: inserted, deleted: deleted, updated: 0, unchanged: 0)
    }

    private func compare(_ name: String) throws -> Table {
        let walk = try TableWalk(name, old, new)
        var deleted = 0, updated = 0, unchanged = 0
        try walk.overOld { kind, _, _ in
            switch kind {
            case .missing: deleted += 1
            case .different: updated += 1
            case .same: unchanged += 1
            }
        }
        return Table(
            name: name, definition: .same, inserted: try new.count(name) - updated - unchanged, deleted: deleted, updated: updated,
            unchanged: unchanged)
    }
}

private struct DiffSide {
    let database: Schema
    var connection: Connection { database.connection }
    var name: String { database.name }
    var quoted: String { database.quotedName }

    init(_ database: Schema) throws {
        try database.live()
        self.database = database
    }

    func pragma(_ pragma: String) throws -> SQLValue {
        try connection.fetchOne(SQLValue.self, SQL(raw: "PRAGMA \(quoted).\(pragma)")) ?? .null
    }

    func count(_ table: String) throws -> Int {
        try connection.fetchOne(Int.self, SQL(raw: "SELECT count(*) FROM \(quoted).\(table.quotedSQLIdentifier)")) ?? 0
    }

    func schema() throws -> DiffSchema {
        // The marks of key slots belong to one database, and are not compared.
        DiffSchema(objects: try database.entries().filter { !$0.name.isKeptFromSQL && !$0.table.isKeptFromSQL })
    }
}

private struct DiffSchema {
    typealias Object = SchemaEntry

    let objects: [Object]
    /// The tables with rows, except `sqlite_sequence`, which SQLite creates itself.
    let tables: [ExactText: Object]

    init(objects: [Object]) {
        self.objects = objects
        tables = Dictionary(
            objects.filter { $0.type == "table" && !$0.isVirtual && $0.name != "sqlite_sequence" }.map { (ExactText($0.name), $0) },
            uniquingKeysWith: { $1 })
    }

    func has(_ table: String) -> Bool { object("table", table) != nil }

    func object(_ type: String, _ name: String) -> Object? {
        objects.first { $0.type == type && $0.name.isSameText(as: name) }
    }

    /// Returns whether a table has the same definition in another schema.
    func isSame(_ table: String, in other: DiffSchema) -> Bool {
        guard let ours = tables[ExactText(table)], let others = other.tables[ExactText(table)] else { return false }
        return ours.sql.isSameText(as: others.sql)
    }

    /// - Throws: ``DatabaseError/Reason/malformedSchema`` if a text is not the single statement that it claims to be, or creates a
    ///   virtual table whose module could read something other than the database.
    func requireStatements() throws {
        for object in objects {
            guard let module = try object.text()?.module, object.usesOtherModule else { continue }
            throw object.refusal("the package does not know whether its module \(module.text) stores its content in the database")
        }
    }

    /// The objects of a kind that another schema does not have, or has with another definition.
    func missing(_ type: String, from other: DiffSchema, virtual: Bool? = nil) -> [Object] {
        objects.filter { ours in
            ours.type == type && ours.sql != nil && (virtual == nil || ours.isVirtual == virtual) && ours.name != "sqlite_sequence"
                && !other.objects.contains {
                    $0.type == type && $0.name.isSameText(as: ours.name) && $0.sql.isSameText(as: ours.sql)
                        && $0.table.isSameText(as: ours.table)
                }
        }
    }
}

private extension SchemaEntry {
    /// The modules of this engine that a schema may name: they read nothing but the database that they are in.
    private static let modules: Set<SQLName> = ["fts3", "fts4", "fts4aux", "fts5", "fts5vocab", "rtree", "rtree_i32"]

    /// True if this is a virtual table of another module.
    var usesOtherModule: Bool { (try? text())?.module.map { !Self.modules.contains($0) } ?? false }
}

/// Walks through a table that both sides have with the same definition, and looks up each row on the other side.
private struct TableWalk {
    enum Finding { case missing, different, same }

    /// The stored columns of the table, quoted; the row id comes first if it is the key.
    let list: [String]
    let key: [Int]
    /// True if the table has unique indexes besides its key, so that a row cannot always be changed before another is deleted.
    let isUnique: Bool
    /// Without a key, rows are matched by position only.
    var hasKey: Bool { !key.isEmpty }
    private let name: String
    private let old: DiffSide
    private let new: DiffSide

    /// - Parameter byPrimaryKey: whether to use the declared primary key even if the table has row ids.
    init(_ name: String, _ old: DiffSide, _ new: DiffSide, byPrimaryKey: Bool = false) throws {
        self.name = name
        self.old = old
        self.new = new
        let schema = new.database
        let identity = try RowKey(of: name, in: schema), isWithoutRowID = try schema.form(of: name)?.isWithoutRowID ?? false
        isUnique = try schema.uniqueIndexes(of: name).contains { !(isWithoutRowID && $0.origin == .primaryKey) }
        var list = try schema.storedColumns(of: name).map(\.quotedSQLIdentifier)
        if name == "sqlite_sequence" {
            // SQLite finds its rows by the name of the table.
            key = [0]
        } else if let identity, isWithoutRowID || byPrimaryKey || identity.columns[0].isRowID {
            try identity.requireCanonical(for: "a diff", isCompared: true)
            key = identity.places
        } else if let rowID = try schema.rowIDName(of: name) {
            list.insert(rowID, at: 0)
            key = [0]
        } else {
            key = []
        }
        self.list = list
    }

    /// Visits every row of the first database, with the row of the second that has the same key.
    func overOld(_ body: (Finding, RawStatement, RawStatement) throws -> Void) throws { try walk(old, new, body) }

    /// Visits every row of the second database, with the row of the first that has the same key.
    func overNew(_ body: (Finding, RawStatement, RawStatement) throws -> Void) throws { try walk(new, old, body) }

    /// Visits every row of the second database alone.
    func overRows(_ body: (RawStatement) throws -> Void) throws {
        let scan = try scan(new)
        while try scan.step() { try body(scan) }
    }

    private func scan(_ side: DiffSide) throws -> RawStatement {
        let columns = list.joined(separator: ", ")
        return try RawStatement(
            side.connection, "SELECT \(columns) FROM \(side.quoted).\(name.quotedSQLIdentifier) NOT INDEXED")
    }

    private func walk(_ a: DiffSide, _ b: DiffSide, _ body: (Finding, RawStatement, RawStatement) throws -> Void) throws {
        let columns = list.joined(separator: ", ")
        let scan = try scan(a)
        guard hasKey else { return try walkByPlace(scan, b, body) }
        let condition = key.map { "\(list[$0]) = ?" }.joined(separator: " AND ")
        let find = try RawStatement(
            b.connection, "SELECT \(columns) FROM \(b.quoted).\(name.quotedSQLIdentifier) WHERE \(condition)")
        while try scan.step() {
            find.reset()
            for (index, column) in key.enumerated() { try find.bind(Int32(column), of: scan, at: Int32(index + 1)) }
            try body(try find.step() ? (scan.equals(find) ? .same : .different) : .missing, scan, find)
        }
    }

    private func walkByPlace(
        _ scan: RawStatement, _ b: DiffSide, _ body: (Finding, RawStatement, RawStatement) throws -> Void
    ) throws {
        let other = try self.scan(b)
        var more = true
        while try scan.step() {
            if more { more = try other.step() }
            try body(more ? (scan.equals(other) ? .same : .different) : .missing, scan, other)
        }
    }
}

extension DatabaseDiff {
    /// Returns the changes of rows that turn the first database into the second.
    ///
    /// The changeset has only tables that both databases have with the same definition and a declared primary key. It leaves out
    /// the schema, and the tables that hold the content of virtual tables. If the key is not the row id, rows with equal keys may
    /// have different row ids.
    /// - Parameter tables: the tables to compare; nil, the default, for all.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a table that cannot be compared this way: it has a key whose
    ///   collation is not one of SQLite's own, or a row with NULL in its key.
    public func changeset(tables: [String]? = nil) throws -> Changeset {
        try looking { old, new in
            let database = self.new.database
            let keyed = try database.objects(.table).filter { try !database.primaryKey(of: $0).isEmpty }.nameSet
            let comparable = new.tables.keys.filter { keyed.contains(SQLName($0.text)) && new.isSame($0.text, in: old) }
            for table in tables ?? [] where !comparable.contains(ExactText(table)) {
                throw DatabaseError.invalidArgument(
                    "the table \(table) must be in both databases, with the same definition and a primary key")
            }
            let group = try ChangeGroup()
            try group.useSchema(of: self.new.connection, self.new.name)
            let wanted = (tables ?? comparable.map(\.text)).filter { !$0.hasNamePrefix("sqlite_") }
            try self.new.database.requireCanonicalKeys(wanted, for: "a changeset")
            for side in [self.old, self.new] { try side.database.requireKeys(wanted, for: "a changeset") }
            for name in wanted.sorted() { try add(name, to: group) }
            return try group.changeset()
        }
    }

    private func add(_ name: String, to group: ChangeGroup) throws {
        let walk = try TableWalk(name, old, new, byPrimaryKey: true)
        func set(isNew: Bool, _ places: [Int], _ row: RawStatement) throws {
            for place in places { try group.set(isNew: isNew, place, to: Int32(place), of: row) }
        }
        let all = Array(walk.list.indices)
        try walk.overOld { finding, a, b in
            if finding == .same { return }
            let changed = finding == .missing ? [] : all.filter { !a.equals(b, column: Int32($0)) }
            if finding == .different, !changed.contains(where: walk.key.contains) {
                try group.add(SQLITE_UPDATE, name) { () throws in
                    try set(isNew: false, walk.key + changed, a)
                    try set(isNew: true, changed, b)
                }
                return
            }
            try group.add(SQLITE_DELETE, name) { () throws in try set(isNew: false, all, a) }
            // The key is equal by its collation, but its bytes differ.
            if finding == .different {
                try group.add(SQLITE_INSERT, name) { () throws in try set(isNew: true, all, b) }
            }
        }
        try walk.overNew { finding, b, _ in
            if finding == .missing {
                try group.add(SQLITE_INSERT, name) { () throws in try set(isNew: true, all, b) }
            }
        }
    }
}

extension DatabaseDiff {
    /// Returns the SQL that turns the first database into the second: one transaction, for this engine or another SQLite.
    ///
    /// Triggers are dropped first and created again last, so that none fires. Foreign keys are switched off, and stay off for the
    /// connection that runs the script. The script contains the data in plaintext. It writes directly to the tables that hold the
    /// content of virtual tables, which a connection in defensive mode refuses.
    /// - Returns: the script; empty if nothing differs.
    /// - Throws: ``DatabaseError/Reason/malformedSchema`` if a text in the second database's schema is not the single CREATE
    ///   statement that it claims to be, or if the schema uses a virtual table module that is not SQLite's own while
    ///   ``leavesOutOtherModules`` is false.
    public func sql() throws -> String {
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

    /// Turns a database that is equal to the first into the second, in one transaction. The statements are collected in memory.
    ///
    /// If the second database's connection does not trust its schema (``ConnectionOption/trustedSchema``), as with
    /// ``DatabaseConfiguration/safeguards``, `db` does not trust its own schema either until the call returns. Your database then
    /// has the triggers, views and expressions of the second database: check them before you trust them.
    /// - Parameter db: the connection whose `main` is changed. It may be the first database's own connection.
    /// - Throws: ``DatabaseError/Reason/misuse`` inside a transaction or on a read-only database,
    ///   ``DatabaseError/Reason/malformedSchema`` as ``sql()`` does, and an error from SQLite if the database is not equal
    ///   to the first. Nothing has changed then.
    public func apply(to db: Connection) throws {
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

/// Writes the rows of a table as INSERT statements. A statement has many rows, each on a line of its own: that is shorter, and runs
/// several times as fast, as one for each row.
private struct InsertStatements {
    /// SQLite before 3.8.8 takes 500 rows.
    private static let rowLimit = 100
    private static let byteLimit = 1 << 16
    /// A result or a list of values has at most as many columns as a table (<https://sqlite.org/limits.html#max_column>).
    private static let columnLimit = 2000

    private let start: [UInt8]
    private let table: String
    /// True if the row id comes first, and leaves no room for the last column: it is then set after the row is inserted.
    private let setsRowID: Bool
    private let rowID: String
    private var sql: [UInt8] = []
    private var rows = 0

    /// - Parameters:
    ///   - table: the table, quoted.
    ///   - list: the columns, quoted.
    init(into table: String, _ list: [String]) {
        (self.table, rowID) = (table, list.first ?? "")
        setsRowID = list.count > Self.columnLimit
        let names = (setsRowID ? list.dropFirst() : list[...]).joined(separator: ", ")
        start = Array("INSERT INTO \(table)(\(names)) VALUES ".utf8)
    }

    mutating func add(_ row: RawStatement, _ write: ([UInt8]) throws -> Void) throws {
        if rows == 0 {
            sql += start
        } else {
            sql.append(ascii: ",\n")
        }
        sql.append(UInt8(ascii: "("))
        if setsRowID {
            for column in 1..<row.columns {
                if column > 1 { sql.append(ascii: ", ") }
                try SQLLiterals.append(row.handle, column, to: &sql)
            }
        } else {
            try SQLLiterals.append(row, to: &sql)
        }
        sql.append(UInt8(ascii: ")"))
        rows += 1
        guard setsRowID || rows == Self.rowLimit || sql.count >= Self.byteLimit else { return }
        try finish(write)
        guard setsRowID else { return }
        // Rows come in the order of their ids, so the new id is not greater than the right id, which no row has yet.
        let value = sqlite3_column_int64(row.handle, 0)
        try write(Array("UPDATE \(table) SET \(rowID) = \(value) WHERE \(rowID) = last_insert_rowid()".utf8))
    }

    mutating func finish(_ write: ([UInt8]) throws -> Void) throws {
        guard rows > 0 else { return }
        try write(sql)
        sql.removeAll(keepingCapacity: true)
        rows = 0
    }
}
