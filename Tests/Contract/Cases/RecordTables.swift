import Foundation
import SQLCipherKit

/// Tables that are described, changed and migrated.
extension Cases {
    static var tables: [ContractCase] {
        family("record-tables",
            call("create", .writes) { t in
                let name = t.text("table", "made", .new), column = t.text("column", "c", .new)
                let table = SQLTable(name) {
                    SQLColumn("id", .integer).primaryKey(autoincrement: true)
                    SQLColumn(column, .text).notNull().unique(onConflict: .ignore).default(t.text("default", "usual"))
                    SQLColumn("two").named("b").references("note", "id", onDelete: .setNull, isDeferred: true).check("b <> 7")
                    SQLColumn("d", .integer).generated(as: "b * 2").collate("NOCASE")
                    if name == "made" { SQLIndex("made_index", on: [.column("b", isDescending: true)], where: "b > 1") }
                    SQLConstraint.unique("b", "id")
                    SQLConstraint.check("b IS NOT 9")
                    SQLConstraint.foreignKey(SQLForeignKey(["b"], references: "note", ["id"]))
                }
                if t.subject.kind == .attached { try t.schema.create(table, ifNotExists: name == "made") } else { try t.db.create(table, ifNotExists: name == "made") }
                t.then {
                    guard let found = try t.schema.table(name), found.name == name else { return }
                    try t.db.execute("INSERT INTO \(identifier: t.schema.name).\(identifier: name)(b) VALUES (NULL)")
                    try t.same(t.text("default", "usual"), t.db.fetchOne(String.self, "SELECT \(identifier: column) FROM \(identifier: t.schema.name).\(identifier: name)"))
                }
                return try table.createStatements().count
            },
            call("an index", .writes) { t in
                let index = SQLIndex(t.text("index", "made_index", .new), on: [.column(SQLColumn(t.text("column", "c", .name)), collation: t.text("collation", "NOCASE", .name)), .expression("b + 1")])
                return try t.schema.create(index, on: t.text("table", "pair", .name), ifNotExists: true)
            },
            call("an index of documents", .writes) { t in
                let name = t.text("index", "made_index", .new), table = t.text("table", "note", .name), column = t.text("column", "meta", .name)
                return try t.schema.createJSONIndex(name, on: table, column: column, t.text("key", "n"), isUnique: true)
            },
            call("an index of several paths", .writes) { t in
                let name = t.text("index", "made_index", .new), table = t.text("table", "note", .name), column = t.text("column", "meta", .name)
                return try t.schema.createJSONIndex(name, on: table, column: column, paths: [JSONPath("tags", 0), JSONPath(t.text("key", "n"))], where: "id > 0")
            },
            call("a column of documents", .writes) { t in
                try t.schema.addJSONColumn(t.text("column", "made", .new), to: t.text("table", "note", .name), from: t.text("source", "meta", .name), at: t.text("key", "n"), type: .integer)
            },
            call("differences of an index with another name", .writes, isStepwise: true) { t in
                struct Indexed: SQLRecord {
                    var a: String?
                    var b: Int?
                    static let tableName = "pair"
                    static let table = SQLTable("pair") {
                        SQLColumn("a", .text).primaryKey()
                        SQLColumn("b", .integer)
                        SQLIndex("pair_next", on: [.expression("b + 1")])
                    }
                }
                let index = SQLIndex(t.text("index", "odd (index", .new), on: [.expression("b + 1")])
                try t.schema.create(index, on: "pair")
                let found = try t.schema.differences(from: [Indexed.self]).map(\.description)
                if let wrong = found.first(where: { $0.contains("pair_next") }) { throw BrokenPromise(wrong) }
                return found
            },
            call("differences") { t in try t.schema.differences(from: [Note.self, Child.self, Pair.self, Spot.self]).map(\.description) })
        + family("record-alter",
            call("addColumn", .writes) { t in
                let column = SQLColumn(t.text("column", "made", .new), .text).notNull().default(t.text("default", "usual"))
                try t.schema.addColumn(column, to: t.text("table", "pair", .name))
                t.then { try t.same(t.text("default", "usual"), t.db.fetchOne(String.self, "SELECT \(identifier: column.name) FROM \(identifier: t.text("table", "pair", .name))")) }
                return 0
            },
            call("dropColumn", .writes) { t in try t.schema.dropColumn(t.text("column", "c", .name), from: t.text("table", "pair", .name)) },
            call("renameColumn", .writes) { t in
                try t.schema.renameColumn(t.text("column", "c", .name), to: t.text("new", "made", .new), of: t.text("table", "pair", .name))
            },
            call("renameTable", .writes) { t in try t.schema.renameTable(t.text("table", "log", .name), to: t.text("new", "made", .new)) },
            call("rebuildTable", .writes) { t in
                let table = SQLTable(of: Child.self) {
                    $0.id.primaryKey()
                    $0.note.references(Note.self)
                    $0.name.collate("NOCASE")
                    SQLColumn(t.text("column", "made", .new), .text)
                }
                let value = t.text("value", Secrets.value)
                try t.schema.rebuildTable(table, values: [t.text("column", "made", .new): "\(value)"])
                t.then { try t.same(value, t.db.fetchOne(String.self, "SELECT \(identifier: t.text("column", "made", .new)) FROM child")) }
                return 0
            },
            call("rebuildTable by SQL", .writes) { t in
                try t.schema.rebuildTable(
                    t.text("table", "pair", .name), sql: SQL(raw: t.text("sql", "CREATE TABLE pair(a TEXT, b INTEGER, c, d, PRIMARY KEY (a, b)) WITHOUT ROWID", .sql)),
                    values: ["d": "\(t.text("value", Secrets.value))"])
            })
        + family("record-reindex",
            call("reindex", .settles, refusing: [.readOnly]) { t in
                try t.schema.reindex()
                try t.schema.reindex(collation: t.text("collation", "BINARY", .name))
                return try t.schema.reindex(t.text("name", "note_title", .name))
            })
    }

    private static func migrator(_ t: Trial) -> Migrator {
        var migrator = Migrator()
        migrator.add("adopted") { db in try db.execute("CREATE TABLE adopted(x)") }
        migrator.add(t.text("name", "made"), foreignKeys: .enforced) { db in try db.execute(SQLScript("CREATE TABLE main.made(x); INSERT INTO main.made VALUES (1)")) }
        migrator.add("merged", merging: ["one", "two"]) { db, _ in try db.execute("CREATE TABLE main.merged(x)") }
        return migrator
    }

    static var migrations: [ContractCase] {
        family("migrator",
            call("migrate", .writes, isStepwise: true) { t in try migrator(t).migrate(t.db) },
            call("migrate one", .writes) { t in
                var migrator = Migrator(), name = t.text("name", "made")
                migrator.add(name) { db in try db.execute("CREATE TABLE main.made(x)") }
                name = try migrator.migrate(t.db, through: name).last ?? ""
                t.then { try t.same(t.text("name", "made"), migrator.applied(in: t.db).last) }
                return name == t.text("name", "made")
            },
            call("adopt", .writes, isStepwise: true) { t in
                var migrator = migrator(t)
                let last = t.text("last", "adopted")
                migrator.adopt(through: last) { db in try db.fetchOne(Int.self, "SELECT count(*) FROM probe") == 3 }
                migrator.adopt(userVersions: [1: last])
                migrator.adoptGRDBMigrations()
                return try migrator.migrate(t.db)
            },
            call("a dry run", refusing: [.readOnly]) { t in
                let migrator = migrator(t)
                return try (migrator.dryRun(t.db), migrator.applied(in: t.db), migrator.pending(in: t.db))
            },
            call("one that fails", refusing: [.readOnly]) { t in
                var migrator = Migrator()
                migrator.add(t.text("name", "made")) { db in
                    try db.execute("CREATE TABLE main.made(x)")
                    try db.execute("INSERT INTO made SELECT id FROM nothing")
                }
                do { try migrator.migrate(t.db) } catch let error as DatabaseError where error.code.primary == .error || error.reason == .invalidArgument { return 0 }
                throw BrokenPromise("it returned")
            })
    }
}
