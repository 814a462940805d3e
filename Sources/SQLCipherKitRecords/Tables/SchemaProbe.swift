import SQLCipherKitCore

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
    static func compiling(_ schema: Schema) throws(DatabaseError) -> Set<SchemaProbe> {
        let db = schema.connection
        let temporary = schema.isTemporary ? [] : try db.temp.entries(where: "type IN ('view', 'trigger')")
        var probes: [SchemaProbe] = []
        for entry in try schema.entries(where: "type IN ('view', 'trigger')") { probes += try of(entry, schema) }
        for entry in temporary { probes += try of(entry, db.temp) }
        return Set(probes.filter { (try? db.prepare(SQL(raw: $0.sql))) != nil })
    }

    private static func of(_ entry: SchemaEntry, _ schema: Schema) throws(DatabaseError) -> [SchemaProbe] {
        if entry.type == "view" {
            return [SchemaProbe(name: entry.name, event: .read, sql: "SELECT * FROM \(schema.qualified(entry.name))")]
        }
        // A temporary trigger may belong to a table of any database: like SQLite, use the first one of that name.
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
