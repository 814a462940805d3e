import SQLCipherKit

/// Calls of a schema that look at its objects or change them.
struct SchemaCallStep: Step {
    enum Call: Sendable {
        /// All that is known about the tables, and about a table by its name in capital letters.
        case look
        case violations, integrity, space
        case drop(String, ifExists: Bool), rename(String, to: String), addColumn(String, to: String), renameColumn(String, to: String, of: String)
        case dropColumn(String, of: String), dropIndex(String), create(String, ifNotExists: Bool), index(String, of: String, isUnique: Bool)
        /// The same definition again: nothing changes.
        case rebuild(String)
        case userVersion(Int32), applicationID(Int32)
    }

    var schema: String
    var call: Call

    func run(in world: World) throws {
        guard !world.isAborted, schema == "main" || world.attached.contains(where: { $0.name == schema }) else { return }
        let quoted = schema.quotedSQLIdentifier
        func same(_ sql: String, _ body: (Schema) throws -> Void) throws {
            try world.both { db in
                try body(Schema.named(schema, db))
                return .done
            } _: { reference in
                let outcome = reference.run(sql)
                return outcome.isError ? outcome : .done
            }
        }
        func name(_ table: String) -> String { "\(quoted).\(table.quotedSQLIdentifier)" }
        switch call {
        case .look: try look(world)
        case .violations:
            try world.both { db in
                .rows(try Schema.named(schema, db).foreignKeyViolations().map {
                    [.text($0.table), $0.rowID.map { .integer($0) } ?? .null, .text($0.parent), .integer(Int64($0.foreignKey))]
                })
            } _: { $0.run("PRAGMA \(quoted).foreign_key_check") }
        case .integrity:
            try world.only(.text("[]")) { .text("\(try Schema.named(schema, $0).integrityCheck())") }
        case .space:
            try world.only(.done) { db in
                let schema = try Schema.named(schema, db), report = try schema.spaceReport()
                let pages = report.objects.reduce(0) { $0 + $1.pages } + report.freePages + report.otherPages
                return pages == (try schema.pageCount) && report.otherPages == 0 ? .done : .text("\(pages) pages of \(try schema.pageCount)")
            }
        case .drop(let table, let ifExists):
            try same("DROP TABLE \(ifExists ? "IF EXISTS " : "")\(name(table))") { try $0.dropTable(table, ifExists: ifExists) }
        case .dropIndex(let index): try same("DROP INDEX \(name(index))") { try $0.dropIndex(index) }
        case .rename(let table, let other):
            try same("ALTER TABLE \(name(table)) RENAME TO \(other.quotedSQLIdentifier)") { try $0.renameTable(table, to: other) }
        case .addColumn(let column, let table):
            try same("ALTER TABLE \(name(table)) ADD COLUMN \(column.quotedSQLIdentifier) INTEGER NOT NULL DEFAULT 5") {
                try $0.addColumn(SQLColumn(column, .integer).notNull().default(5), to: table)
            }
        case .renameColumn(let column, let other, let table):
            try same("ALTER TABLE \(name(table)) RENAME COLUMN \(column.quotedSQLIdentifier) TO \(other.quotedSQLIdentifier)") {
                try $0.renameColumn(column, to: other, of: table)
            }
        case .dropColumn(let column, let table):
            try same("ALTER TABLE \(name(table)) DROP COLUMN \(column.quotedSQLIdentifier)") { try $0.dropColumn(column, from: table) }
        case .create(let table, let ifNotExists):
            let new = SQLTable(table) {
                SQLColumn("id", .integer).primaryKey()
                SQLColumn("b", .text).unique()
                SQLColumn("c", .any).check("c <> 13").default("it's")
            }
            try same(text(new, world, ifNotExists)) { try $0.create(new, ifNotExists: ifNotExists) }
        case .index(let column, let table, let isUnique):
            let index = SQLIndex("n_\(table)", on: [.column(SQLColumn(column))], isUnique: isUnique)
            try same("CREATE \(isUnique ? "UNIQUE " : "")INDEX \(name(index.name)) ON \(table.quotedSQLIdentifier)(\(column.quotedSQLIdentifier))") {
                try $0.create(index, on: table)
            }
        case .rebuild(let table):
            // Where something would be broken, or foreign keys would have to be switched off, it is refused.
            let found = try world.only(.either, writing: schema) { db in
                let schema = try Schema.named(schema, db)
                guard let description = try schema.table(table), description.kind == .table else { return .done }
                try schema.rebuildTable(table, sql: SQL(raw: description.sql))
                return .done
            }
            // A key that an UPDATE has raised counts from now on, which inserting it again does.
            if found == .done {
                let key = "SELECT max(rowid) FROM \(name(table))"
                _ = world.reference.run("UPDATE \(quoted).sqlite_sequence SET seq = max(seq, ifnull((\(key)), 0)) WHERE name = ?", [.text(table)])
            }
        case .userVersion(let number): try same("PRAGMA \(quoted).user_version = \(number)") { try $0.setUserVersion(number) }
        case .applicationID(let number): try same("PRAGMA \(quoted).application_id = \(number)") { try $0.setApplicationID(number) }
        }
    }

    /// The definition as the package writes it, which the reference gets too.
    private func text(_ table: SQLTable, _ world: World, _ ifNotExists: Bool) throws -> String {
        let scratch = try Connection(.memory)
        defer { scratch.close() }
        try scratch.create(table)
        let sql = try scratch.fetchOne(String.self, "SELECT sql FROM sqlite_schema WHERE type = 'table'") ?? ""
        let head = "CREATE TABLE "
        guard sql.hasPrefix(head) else { throw Mismatch(description: "a table is created with \(sql)") }
        return "\(head)\(ifNotExists ? "IF NOT EXISTS " : "")\(schema.quotedSQLIdentifier).\(sql.dropFirst(head.count))"
    }

    private func look(_ world: World) throws {
        let quoted = schema.quotedSQLIdentifier
        let list = """
            SELECT name, sql FROM \(quoted).sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite^_%' ESCAPE '^' \
            AND name NOT LIKE 'sqlcipherkit%' ORDER BY lower(name)
            """
        let expected = try world.reference.must(list)
        let found = try Outcome.of {
            let schema = try Schema.named(schema, world.db)
            var lines: [[SQLValue]] = []
            for table in try schema.tables() where !table.name.hasPrefix("sqlcipherkit") {
                if try schema.table(capitals(table.name)) != table { return .text("\(table.name) is another in capital letters") }
                lines.append([.text(table.name), .text(table.sql)])
                let isSame = try columns(table) == self.columns(world.reference, table.name)
                if !isSame { return .text("columns of \(table.name): \(columns(table))") }
                let indexes = try self.indexes(world.reference, table.name)
                if table.indexes.map({ "\($0.name) \($0.isUnique) \($0.isPartial) \($0.terms.map { $0.column ?? "-" })" }) != indexes {
                    return .text("indexes of \(table.name): \(table.indexes), not \(indexes)")
                }
            }
            return .rows(lines)
        }
        try world.expect(.rows(expected), found)
    }

    /// SQLite's names are equal in capital letters of ASCII only.
    private func capitals(_ name: String) -> String {
        String(decoding: name.utf8.map { (0x61...0x7A).contains($0) ? $0 - 32 : $0 }, as: UTF8.self)
    }

    private func columns(_ table: Schema.Table) -> String {
        "\(table.columns.map { "\($0.name) \($0.type) \($0.isNotNull) \($0.defaultValue ?? "-") \($0.primaryKeyPosition) \($0.kind.rawValue)" })"
    }

    private func columns(_ reference: Reference, _ table: String) throws -> String {
        // A view that does not compile has none.
        let found = reference.run(
            "SELECT name || ' ' || type || ' ' || iif(\"notnull\", 'true', 'false') || ' ' || ifnull(dflt_value, '-') || ' ' || pk || ' ' || hidden "
                + "FROM pragma_table_xinfo(?, ?)", [.text(table), .text(schema)])
        let rows = if case .rows(let rows) = found { rows } else { [[SQLValue]]() }
        return "\(rows.map { if case .text(let line) = $0[0] { line } else { "?" } })"
    }

    private func indexes(_ reference: Reference, _ table: String) throws -> [String] {
        let rows = try reference.must(
            "SELECT name, \"unique\", partial FROM pragma_index_list(?, ?) ORDER BY seq DESC", [.text(table), .text(schema)])
        return try rows.map { row in
            guard case .text(let name) = row[0] else { return "?" }
            let terms = try reference.must(
                "SELECT ifnull(name, '-') FROM pragma_index_xinfo(?, ?) WHERE \"key\" ORDER BY seqno", [row[0], .text(schema)])
            let names = terms.map { if case .text(let name) = $0[0] { name } else { "?" } }
            return "\(name) \(row[1] == .integer(1)) \(row[2] == .integer(1)) \(names)"
        }
    }

    var description: String { "db.schema(\(show(schema))): \(call)" }
}

extension Sketch {
    mutating func schemaCallStep() -> (any Step)? {
        let table = anyTable(), schema = table?.schema ?? "main"
        let name = dice.oneIn(6) ? dice.pick(["nothing", "item", "fdoc"]) : table?.name ?? "t"
        let column = table.map { dice.pick($0.columns) } ?? "a"
        let call: SchemaCallStep.Call
        switch dice.below(20) {
        case 0, 1, 2, 3: call = .look
        case 4: call = .violations
        case 5: call = .integrity
        case 6: call = .space
        case 7: call = .drop(name, ifExists: dice.oneIn(2))
        case 8:
            let other = dice.pick(Self.tableNames)
            call = .rename(name, to: other)
            if let index = tables.firstIndex(where: { $0.schema == schema && $0.name == name }) { tables[index].name = other }
        case 9: call = .addColumn("n \(count("object"))", to: name)
        case 10: call = .renameColumn(column, to: dice.pick(["b", "x y", "c"]), of: name)
        case 11: call = .dropColumn(column, of: name)
        case 12: call = .dropIndex(dice.pick(["i1", "i 1", "i2", "n_t", "n_item two"]))
        case 13:
            let new = dice.pick(Self.tableNames)
            call = .create(new, ifNotExists: dice.oneIn(3))
            tables.append(Table(schema: schema, name: new, columns: ["id", "b", "c"]))
        case 14, 15: call = .index(column, of: name, isUnique: dice.oneIn(3))
        case 16, 17: call = .rebuild(name)
        case 18: call = .userVersion(Int32(dice.below(9)))
        default: call = .applicationID(dice.pick([0, -1, .min, .max]))
        }
        return SchemaCallStep(schema: schema, call: call)
    }
}
