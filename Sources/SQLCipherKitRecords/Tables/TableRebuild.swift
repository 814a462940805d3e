import CSQLCipher
import SQLCipherKitCore

/// A call of `rebuildTable`, inside a transaction.
///
/// The rows are kept in a table without column types while the new table replaces the old table. No table is renamed, so the
/// definition stays as written and may name its own table, and SQLite does not rewrite anything that refers to it.
struct TableRebuild {
    let schema: Schema
    let table: String
    let definition: SQL
    let indexes: [SQL]
    let values: [String: SQL]

    private var db: Connection { schema.connection }

    fileprivate func runChecked() throws {
        let before = try ForeignKeyState(of: schema)
        try run()
        let after = try ForeignKeyState(of: schema)
        if let violation = after.compared(with: before).new.first {
            throw DatabaseError.migration("after \(table) is rebuilt, \(violation.inWords)")
        }
        if let (table, error) = after.unchecked(since: before) {
            throw DatabaseError.migration(
                "after \(self.table) is rebuilt, the foreign keys of \(table) cannot be checked: \(error.message)")
        }
    }

    /// Throws if the table has foreign keys or is the target of one. Used inside a transaction that enforces foreign keys.
    fileprivate func refuseForeignKeys() throws {
        for other in try schema.objects(.table) {
            let parents = try schema.foreignKeys(of: other).map(\.parent)
            guard other.isSameName(as: table) && !parents.isEmpty || parents.contains(name: table) else { continue }
            throw DatabaseError.misuse(
                "\(table) has foreign keys, or is their target, and cannot be rebuilt in a transaction that enforces them: "
                    + "use a migration, or call this outside of the transaction")
        }
    }

    func run() throws {
        let own: SQL = "tbl_name = \(table) COLLATE NOCASE"
        // Verify the entries' texts before anything changes.
        let oldIndexes = try schema.entries(where: "\(own) AND type = 'index' AND sql IS NOT NULL").map { try $0.statement() }
        let triggers = try schema.entries(where: "\(own) AND type = 'trigger'").map { try $0.statement() }
        let temporary =
            schema.isTemporary ? [] : try db.temp.entries(where: "\(own) AND type = 'trigger'").map { try $0.statement() }
        let whole = try SchemaProbe.compiling(schema)
        let sequence = try self.sequence()
        let statistics = try self.statistics()
        let count = try self.count(table)

        let rows = try setAside()
        guard try self.count(rows.table) == count else {
            throw DatabaseError.migration("\(table) would not keep its rows: a value must be an expression for each row")
        }
        try schema.dropTable(table)
        try db.execute(definition)
        guard try schema.form(of: table)?.kind == .table else {
            throw DatabaseError.invalidArgument("the SQL does not create a table \(table)")
        }
        try putBack(rows)
        try schema.dropTable(rows.table)

        try keep(sequence, count)
        for (name, lines) in statistics { try put(lines, into: name) }
        for sql in indexes { try db.execute(sql) }
        for index in oldIndexes where try !schema.has(index.entry.name) { try db.execute(index.sqlAsWritten(in: schema)) }
        for trigger in triggers { try db.execute(trigger.sqlAsWritten(in: schema)) }
        // Triggers of another table with the same name still exist.
        for trigger in temporary where try !db.temp.has(trigger.entry.name) { try db.execute(trigger.sqlAsWritten(in: db.temp)) }
        let now = try SchemaProbe.compiling(schema)
        if let broken = whole.subtracting(now).min(by: { $0.name < $1.name }) { throw broken.error(rebuilding: table) }
    }

    /// The table that holds the old rows, and the names of their columns there.
    private struct Rows {
        let table: String
        var rowID: String?
        var columns: [SQLName: String] = [:]
        var values: [SQLName: String] = [:]
    }

    /// Copies the old rows and the values for the new columns, so that expressions compare values with the affinities of the old
    /// table's columns.
    private func setAside() throws -> Rows {
        var number = 0
        while try schema.has("sqlcipherkit_rows_\(number)") { number += 1 }
        var rows = Rows(table: "sqlcipherkit_rows_\(number)")
        var names: [String] = [], sources: [SQL] = []
        func add(_ source: SQL) -> String {
            names.append("c\(names.count)")
            sources.append(source)
            return "c\(names.count - 1)"
        }
        for column in try schema.columns(of: table) where column.kind != .hidden {
            rows.columns[SQLName(column.name)] = add(SQL(raw: column.name.quotedSQLIdentifier))
        }
        for (name, value) in values { rows.values[SQLName(name)] = add("(\(value))") }
        if let rowID = try schema.rowIDName(of: table) { rows.rowID = add(SQL(raw: rowID)) }
        let target = schema.qualified(rows.table)
        try db.execute(SQL(raw: "CREATE TABLE \(target)(\(names.joined(separator: ", ")))"))
        let source = schema.qualified(table)
        try db.execute("INSERT INTO \(raw: target) SELECT \(list: sources) FROM \(raw: source) AS \(identifier: table) NOT INDEXED")
        return rows
    }

    private func putBack(_ rows: Rows) throws {
        var targets: [String] = [], sources: [String] = []
        var rest = rows.values
        for column in try schema.columns(of: table) where !column.isGenerated {
            let name = SQLName(column.name)
            guard let source = rest.removeValue(forKey: name) ?? rows.columns[name] else { continue }
            targets.append(column.name.quotedSQLIdentifier)
            sources.append(source)
        }
        if let unknown = rest.keys.map(\.text).min() {
            throw DatabaseError.invalidArgument("the new table \(table) has no column \(unknown) that can be written")
        }
        if let from = rows.rowID, let to = try schema.rowIDName(of: table), try !hasRowIDAlias(targets) {
            targets.insert(to, at: 0)
            sources.insert(from, at: 0)
        }
        guard !targets.isEmpty else {
            throw DatabaseError.invalidArgument("the new table \(table) has no column of the old table")
        }
        // An ON CONFLICT clause of the new table must not skip rows.
        try db.execute(
            """
            INSERT OR ABORT INTO \(raw: schema.qualified(table))(\(raw: targets.joined(separator: ", ")))
            SELECT \(raw: sources.joined(separator: ", ")) FROM \(raw: schema.qualified(rows.table))
            """)
    }

    /// Returns whether one of the columns is the row id of the new table (<https://sqlite.org/lang_createtable.html#rowid>).
    private func hasRowIDAlias(_ targets: [String]) throws -> Bool {
        let key = try schema.columns(of: table).primaryKey
        guard key.count == 1, let column = key.first, column.type.isSameName(as: "INTEGER") else { return false }
        // Only `INTEGER PRIMARY KEY DESC` has a separate index.
        guard try !schema.uniqueIndexes(of: table).contains(where: { $0.origin == .primaryKey }) else { return false }
        return targets.contains(column.name.quotedSQLIdentifier)
    }

    private func count(_ table: String) throws -> Int {
        try db.fetchOne(Int.self, SQL(raw: "SELECT count(*) FROM \(schema.qualified(table)) NOT INDEXED")) ?? 0
    }

    /// The highest number that an AUTOINCREMENT key has had.
    private func sequence() throws -> Int64? {
        guard try schema.has("sqlite_sequence") else { return nil }
        let sql = "SELECT seq FROM \(schema.qualified("sqlite_sequence")) WHERE name = ?"
        return try db.fetchOne(Int64.self, SQL(raw: sql, [table]))
    }

    private func keep(_ sequence: Int64?, _ count: Int) throws {
        guard try schema.definition(of: table)?.isAutoincrement == true else { return }
        let sequences = schema.qualified("sqlite_sequence")
        guard let sequence else {
            // Copying no rows has recorded a number that did not exist before.
            if count == 0 { try db.execute(SQL(raw: "DELETE FROM \(sequences) WHERE name = ?", [table])) }
            return
        }
        let highest = try max(sequence, self.sequence() ?? 0)
        try db.execute(SQL(raw: "DELETE FROM \(sequences) WHERE name = ?", [table]))
        try db.execute(SQL(raw: "INSERT INTO \(sequences)(name, seq) VALUES (?, ?)", [table, highest]))
    }

    /// The results of ANALYZE, which are dropped with the table.
    private func statistics() throws -> [(String, [OwnedRow])] {
        try ["sqlite_stat1", "sqlite_stat4"].filter { try schema.has($0) }.map { name in
            let sql = "SELECT rowid AS rowid, * FROM \(schema.qualified(name)) WHERE tbl = ?"
            return (name, try db.fetchAll(OwnedRow.self, SQL(raw: sql, [table])))
        }
    }

    private func put(_ rows: [OwnedRow], into table: String) throws {
        for row in rows {
            let marks = row.values.map { _ in "?" }.joined(separator: ", ")
            let names = row.columnNames.map(\.quotedSQLIdentifier).joined(separator: ", ")
            let sql = "INSERT INTO \(schema.qualified(table))(\(names)) VALUES (\(marks))"
            try db.execute(SQL(raw: sql, StatementArguments(row.values)))
        }
    }
}

extension Schema {
    /// The text of a table; nil if there is none.
    func definition(of table: String) throws -> String? {
        let sql = "SELECT sql FROM \(qualified("sqlite_schema")) WHERE type = 'table' AND lower(name) = lower(?)"
        return try connection.fetchOne(String.self, SQL(raw: sql, [table]))
    }

    var isTemporary: Bool { sqlite3_stricmp(name, "temp") == 0 }
}

extension String {
    /// True if a table's text has the keyword; SQLite does not report this in any other way.
    var isAutoincrement: Bool {
        var tokens = SQLTokens(self)
        while let token = tokens.next() {
            if tokens.isWord(token, "AUTOINCREMENT") { return true }
        }
        return false
    }
}

/// A view, or an event of a trigger's table, that can be used because its SQL compiles.
struct SchemaProbe: Hashable {
    let name: String
    private let event: Event
    private let sql: String

    private enum Event { case read, insert, delete, update }

    static func == (a: SchemaProbe, b: SchemaProbe) -> Bool { a.event == b.event && a.name.isSameName(as: b.name) }

    func hash(into hasher: inout Hasher) {
        hasher.combine(SQLName(name))
        hasher.combine(event)
    }

    /// The views and triggers of a database that currently compile.
    fileprivate static func compiling(_ schema: Schema) throws -> Set<SchemaProbe> {
        let db = schema.connection
        let temporary = schema.isTemporary ? [] : try db.temp.entries(where: "type IN ('view', 'trigger')")
        var probes: [SchemaProbe] = []
        for entry in try schema.entries(where: "type IN ('view', 'trigger')") { probes += try of(entry, schema) }
        for entry in temporary { probes += try of(entry, db.temp) }
        return Set(probes.filter { (try? db.prepare(SQL(raw: $0.sql))) != nil })
    }

    private static func of(_ entry: SchemaEntry, _ schema: Schema) throws -> [SchemaProbe] {
        if entry.type == "view" {
            return [SchemaProbe(name: entry.name, event: .read, sql: "SELECT * FROM \(schema.qualified(entry.name))")]
        }
        // A temporary trigger may belong to a table of any database: like SQLite, use the first table of that name.
        let table = schema.isTemporary ? entry.table.quotedSQLIdentifier : schema.qualified(entry.table)
        let columns = try schema.storedColumns(of: entry.table).map(\.quotedSQLIdentifier)
        var statements: [(Event, String)] = [(.insert, "INSERT INTO \(table) DEFAULT VALUES"), (.delete, "DELETE FROM \(table)")]
        if !columns.isEmpty {
            statements.append((.update, "UPDATE \(table) SET " + columns.map { "\($0) = \($0)" }.joined(separator: ", ")))
        }
        return statements.map { SchemaProbe(name: entry.name, event: $0.0, sql: $0.1) }
    }

    func error(rebuilding table: String) -> DatabaseError {
        .migration("\(name) would no longer compile after \(table) is rebuilt: drop it first, and create it again afterwards")
    }
}

/// Changes to a table that ALTER TABLE cannot make.
extension Schema {
    /// Rebuilds a table with a new definition, and keeps its rows, row ids, indexes, triggers and all references to it. The call
    /// carries out the procedure of <https://sqlite.org/lang_altertable.html#otheralter>.
    /// ```swift
    /// migrator.add("titles are unique") { db in
    ///     let note = SQLTable("note") {
    ///         SQLColumn("id", .integer).primaryKey()
    ///         SQLColumn("title", .text).notNull().unique()
    ///         SQLColumn("slug", .text)
    ///     }
    ///     try db.main.rebuildTable(note, values: ["slug": "lower(title)"])
    /// }
    /// ```
    /// A column with an expression in `values` gets the values of the expression. Any other column gets the values of the former
    /// column with the same name, or its default if it is new. If the new definition refuses a row, the call throws. The next
    /// number of an AUTOINCREMENT key does not change. Triggers do not run.
    ///
    /// The call takes as long as copying the rows twice. A ``ChangeRecorder`` records the insertion of every row.
    ///
    /// Indexes are created again, unless the description has an index of the same name, and so are triggers, including temporary
    /// triggers. Views, other tables and full-text tables are left unchanged. If one of them no longer compiles because a column is
    /// missing, the call throws: drop it first, in the same transaction, and create it again afterwards.
    ///
    /// Foreign keys are not enforced during the call, but checked at its end: if a row violates a foreign key, but did not do so
    /// before the call, the call throws. Since enforcement cannot be switched inside a transaction, call this in a migration or
    /// outside a transaction. Inside a transaction, the call throws if the connection enforces foreign keys and the table has a
    /// foreign key or is the target of one.
    /// - Parameters:
    ///   - table: the new description, under the same name.
    ///   - values: expressions over the old columns, by the names of the new columns.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a table that does not exist or is not an ordinary table, or a value
    ///   for a column that cannot be written; ``DatabaseError/Reason/misuse`` if foreign key enforcement would have to be switched;
    ///   ``DatabaseError/Reason/migration`` if something would be broken; or an error from SQLite. In each case nothing has
    ///   changed.
    public func rebuildTable(_ table: SQLTable, values: [String: SQL] = [:]) throws {
        try live()
        var table = table
        table.schema = name
        let described = table
        let statements = try described.createStatements(on: connection)
        try rebuild(described.name, statements[0], indexes: Array(statements.dropFirst()), values)
    }

    /// Rebuilds a table with a definition in SQL, like ``rebuildTable(_:values:)``.
    /// ```swift
    /// try db.main.rebuildTable("note", sql: "CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT NOT NULL CHECK (title <> ''))")
    /// ```
    /// - Parameters:
    ///   - table: the table's name.
    ///   - sql: a single CREATE TABLE statement for this name, without a database name and without bound values.
    ///   - values: expressions over the old columns, by the names of the new columns.
    /// - Throws: the same errors as with a description; ``DatabaseError/Reason/malformedSchema`` for any other SQL.
    public func rebuildTable(_ table: String, sql: SQL, values: [String: SQL] = [:]) throws {
        // A definition has no parameters, so an interpolation cannot be meant as a value.
        guard sql.arguments.isEmpty else {
            throw DatabaseError.invalidArgument("the definition of a table cannot have bound values: write them as literals")
        }
        let entry = SchemaEntry(type: "table", name: table, table: table, isVirtual: false, sql: sql.text)
        try rebuild(table, try entry.statement().sqlAsWritten(in: self), indexes: [], values)
    }

    private func rebuild(_ table: String, _ definition: SQL, indexes: [SQL], _ values: [String: SQL]) throws {
        guard let form = try form(of: table) else {
            throw DatabaseError.invalidArgument("the database \(name) has no table \(table)")
        }
        guard form.kind == .table, !form.name.isKeptFromSQL, !form.name.hasNamePrefix("sqlite_") else {
            throw DatabaseError.invalidArgument("\(table) is not a table that can be rebuilt")
        }
        let run = TableRebuild(schema: self, table: form.name, definition: definition, indexes: indexes, values: values)
        let isEnforcing = try connection.settings.isEnabled(.foreignKeys)
        guard isEnforcing else { return try connection.transaction { _ in try run.run() } }
        if connection.isInTransaction {
            try connection.savepoint { _ in
                try run.refuseForeignKeys()
                try run.run()
                try run.refuseForeignKeys()
            }
        } else {
            try connection.withoutForeignKeys { try connection.transaction { _ in try run.runChecked() } }
        }
    }
}
