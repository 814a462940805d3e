import SQLCipherKitCore

/// A connection's statements for writing records, and the layouts of their tables.
final class RecordStatements: ConnectionState {
    private struct Target: Hashable {
        let type: ObjectIdentifier
        let action: RecordAction
    }

    /// The key of a statement for records that encode the same keys: a property with a default is encoded only if it was set.
    private struct Shape: Hashable {
        let target: Target
        let keys: [ExactText]
    }

    private var statements = RecentCache<Target, EncodedStatement>()
    private var shapes = RecentCache<Shape, EncodedStatement>()
    let positional = PositionalStatements()
    @exclusivity(unchecked) var finders = RecentCache<ObjectIdentifier, RecordFinder>()
    private var layouts: [ObjectIdentifier: RecordLayout] = [:]
    /// The source of the layouts: the file, as another one may be attached under the same name, and its schema's version.
    private var origin: (path: String?, version: Int)?
    /// The database of the tables; nil for the first one that has them.
    private let schema: String?
    private var others: [SQLName: RecordStatements] = [:]

    init(schema: String?) { self.schema = schema }

    convenience init() { self.init(schema: nil) }

    func of(_ schema: String) -> RecordStatements {
        if let known = others[SQLName(schema)] { return known }
        let made = RecordStatements(schema: schema)
        others[SQLName(schema)] = made
        return made
    }

    func table<Record: SQLRecord>(_ type: Record.Type) -> SQLTable {
        var table = Record.source
        table.schema = schema
        return table
    }

    func run<Record: SQLRecord>(
        _ action: RecordAction, _ record: Record, _ db: Connection, _ row: ((borrowing Row) throws -> Void)? = nil
    ) throws {
        if let ready = positional.ready(PositionalStatements.Target(type: ObjectIdentifier(Record.self), action: action)),
            try ready.run(record, row)
        {
            return
        }
        if let columns = Record._recordColumns { return try runPositional(action, record, columns.positions, db, row) }
        let table = table(Record.self)
        let layout = try self.layout(Record.self, table, db)
        let target = Target(type: ObjectIdentifier(Record.self), action: action)
        if let statement = statements.find(target), statement.statement.uses == 0, try statement.run(record, row) { return }
        // The record has keys that were not seen before, or different ones from the last record.
        let all = try RowEncodingState.collect(record).map(\.name)
        let shape = Shape(target: target, keys: all.map { ExactText($0) })
        var statement = shapes.find(shape)
        if statement == nil || statement?.statement.uses != 0 {
            let sql = try RecordSQL(action, table, layout, all)
            let made = EncodedStatement(
                try db.prepareKept(sql.text),
                RowEncodingState(
                    db.profile, Record.self, keys: sql.keys,
                    unused: Set(all.lazy.map { ExactText($0) }).subtracting(sql.keys.lazy.map { ExactText($0) })))
            if statement == nil { shapes.add(made, shape) }
            statement = made
        }
        guard let statement, try statement.run(record, row) else {
            throw DatabaseError.misuse("\(Record.self) encodes different keys each time")
        }
        statements.add(statement, target)
    }

    /// Whether rows are written to a virtual table and found by their numbers.
    func isOfVirtualTable<Record: SQLRecord>(_ type: Record.Type) -> Bool {
        guard let layout = layouts[ObjectIdentifier(type)] else { return false }
        return layout.isVirtual && layout.key == ["rowid"]
    }

    /// The layout of a record's table, from its description or from the database's current schema.
    func layout<Record: SQLRecord>(_ type: Record.Type, _ table: SQLTable, _ db: Connection) throws(DatabaseError) -> RecordLayout {
        let id = ObjectIdentifier(type)
        if table.columns.isEmpty {
            // Using an outdated key would change the wrong rows.
            let place = schema.map { Schema(db, $0) } ?? db.main
            let version = try db.fetchOne(Int.self, SQL(raw: "PRAGMA \(place.quotedName).schema_version")) ?? 0
            let path = schema == nil ? nil : try place.path
            if origin?.version != version || !(origin?.path).isSameText(as: path) {
                layouts = [:]
                statements.removeAll()
                shapes.removeAll()
                positional.removeAll()
                finders.removeAll()
                origin = (path, version)
            }
        }
        if let known = layouts[id] { return known }
        let profiles = Record.columnProfiles
        var layout = try table.columns.isEmpty ? RecordLayout(table, profiles, db) : RecordLayout(table, profiles, db.profile)
        if let positions = table.positions { layout.columns = positions.names }
        layouts[id] = layout
        return layout
    }
}
