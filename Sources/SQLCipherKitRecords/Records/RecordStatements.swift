import CSQLCipher
import SQLCipherKitCore

/// The tables of records that a connection knows, in one of its databases or in the first that has the table, and
/// the statements that are kept for them.
final class RecordStatements: ConnectionState {
    private var layouts: [ObjectIdentifier: RecordLayout] = [:]
    private var columns: [ObjectIdentifier: PositionalLayout] = [:]
    private var hasVirtualTables = false
    private var plans = RecentCache<ObjectIdentifier, RecordChangePlan>()
    /// The source of the layouts: the file, because another file may be attached under the same name; the version of its schema;
    /// and the versions of all schemas as this connection knows them, because a temporary table hides a table in the file.
    private var origin: (path: String?, version: Int, stamp: UInt64)?
    /// The database of the tables; nil for the first database that has them.
    private let schema: String?
    private let place: String
    private var others: [SQLName: RecordStatements] = [:]

    init(schema: String?) { (self.schema, place) = (schema, schema ?? "") }

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

    /// Returns the key under which a statement is kept.
    @inline(__always)
    func key<Kept: AnyObject, Record>(
        _ kind: Kept.Type, _ type: Record.Type, _ code: UInt64 = 0, text: String = ""
    ) -> StatementKey {
        StatementKey(kind, ObjectIdentifier(type), code, text: text, place: place)
    }

    /// Runs the statement of an action with a record.
    /// - Parameters:
    ///   - row: is called with the row that the statement returns, while the statement can still fail: if `row` throws, nothing is
    ///     changed.
    ///   - ended: is called after the statement. If it throws because nothing was written, or for a virtual table, nothing is
    ///     changed either.
    func run<Record: SQLRecord>(
        _ action: RecordAction, _ record: Record, _ db: Connection, _ row: ((borrowing Row) throws -> Void)? = nil,
        ended: () throws -> Void = {}
    ) throws {
        if let columns = Record._recordColumns {
            let key = key(PositionalStatement.self, Record.self, action.number, text: action.columns)
            try run(key, Record.self, db) { kept in
                try self.run(kept.mayLeaveOut, db, ended) { try kept.run(record, row) }
            } make: { table, layout in
                try self.statement(action, record, columns.positions, table, layout, db)
            }
        } else {
            let key = key(RecordStatement.self, Record.self, action.number, text: action.columns)
            try run(key, Record.self, db) { kept in
                try self.run(kept.mayLeaveOut, db, ended) { try kept.encoded.run(record, row) }
            } make: { table, layout in
                try self.statement(action, record, table, layout, db)
            }
        }
    }

    /// Runs a statement and what follows it, in a savepoint only if that may have to undo something.
    private func run(
        _ mayLeaveOut: Bool, _ db: Connection, _ ended: () throws -> Void, _ run: () throws -> StatementRun
    ) throws -> StatementRun {
        func runToTheEnd() throws -> StatementRun {
            let end = try run()
            if end == .done { try ended() }
            return end
        }
        return mayLeaveOut ? try db.savepoint { _ -> StatementRun in try runToTheEnd() } : try runToTheEnd()
    }

    /// Runs a kept statement, or another statement for the columns that the record sets.
    ///
    /// A statement that was made for one schema is not compiled again for another schema: it might then find rows by a former key.
    /// SQLite reports the change when the statement begins to run, so no check is needed before.
    private func run<Record: SQLRecord, Kept: AnyObject>(
        _ key: StatementKey, _ type: Record.Type, _ db: Connection, _ run: (Kept) throws -> StatementRun,
        make: (SQLTable, RecordLayout) throws -> (Statement, Kept)
    ) throws {
        if let known: Kept = db.kept(key), case .done = try run(known) { return }
        let table = table(type)
        for _ in 0..<Self.attempts {
            let layout = try self.layout(type, table, db)
            var isOutdated = false
            do {
                let isRun = try db.runKept(key, Kept.self) { kept in
                    let end = try run(kept)
                    isOutdated = end == .outdated
                    return end != .otherColumns
                } make: {
                    try self.made(table, db) { try make(table, layout) }
                }
                if !isRun { throw DatabaseError.misuse("\(type) encodes different columns each time") }
            } catch is SchemaChange {
                continue
            }
            if !isOutdated { return }
            forget(key, db)
        }
        throw DatabaseError.changingSchema
    }

    /// Thrown if the schema is not the schema that a statement was made for.
    struct SchemaChange: Error {}

    /// Forgets an outdated statement and the known schema: the version may belong to another database than the table's.
    func forget(_ key: StatementKey, _ db: Connection) {
        db.forget(key)
        origin = nil
    }

    /// The number of times that a statement is made again because the schema has changed meanwhile.
    static let attempts = 10

    /// Makes a statement for the known schema.
    /// - Throws: ``SchemaChange`` if another connection has changed it since it was read.
    func made<Made>(_ table: SQLTable, _ db: Connection, _ make: () throws -> Made) throws -> Made {
        let made = try make()
        if table.columns.isEmpty, try version(db) != origin?.version { throw SchemaChange() }
        return made
    }

    /// Returns the object that is kept for a question, and makes and keeps it if there is none.
    func kept<Kept: AnyObject>(
        _ key: StatementKey, _ table: SQLTable, _ db: Connection, _ make: () throws -> (Statement, Kept)
    ) throws -> Kept {
        if let known: Kept = db.kept(key) { return known }
        let (statement, kept) = try made(table, db, make)
        db.keep(statement, kept, key)
        return kept
    }

    private func statement<Record: SQLRecord>(
        _ action: RecordAction, _ record: Record, _ table: SQLTable, _ layout: RecordLayout, _ db: Connection
    ) throws -> (Statement, RecordStatement) {
        let all = try RowEncodingState.collect(record, db.profile).map(\.name)
        try table.checkNames(Record.self)
        let sql = try RecordSQL(action, table, layout, all)
        let state = RowEncodingState(
            db.profile, Record.self, keys: sql.keys,
            unused: Set(all.lazy.map { ExactText($0) }).subtracting(sql.keys.lazy.map { ExactText($0) }))
        let statement = try db.prepareKept(sql.text)
        let encoded = EncodedStatement(statement, state, isFreeOfSchema: isFreeOfSchema(action, table))
        return (statement, RecordStatement(encoded, mayLeaveOut: mayLeaveOut(action, table, layout, db)))
    }

    private func statement<Record: SQLRecord>(
        _ action: RecordAction, _ record: Record, _ positions: RecordPositions, _ table: SQLTable, _ layout: RecordLayout,
        _ db: Connection
    ) throws -> (Statement, PositionalStatement) {
        let columns = columns(Record.self, positions, db)
        let present = try columns.values(of: record).map { $0 != nil }
        let sql = try RecordSQL(action, table, layout, zip(positions.names, present).filter(\.1).map(\.0))
        let statement = try db.prepareKept(sql.text)
        return (
            statement,
            PositionalStatement(
                statement, columns, keys: sql.keys, present: present, isFreeOfSchema: isFreeOfSchema(action, table),
                mayLeaveOut: mayLeaveOut(action, table, layout, db))
        )
    }

    /// Returns whether an action's statement may be compiled again when the schema changes.
    private func isFreeOfSchema(_ action: RecordAction, _ table: SQLTable) -> Bool {
        !table.columns.isEmpty && !action.isWritten
    }

    /// Returns whether an action's statement may change something although it writes no row. A row is left out by `RAISE(IGNORE)`
    /// in a trigger, by `ON CONFLICT IGNORE` in the table, or by a trigger that deletes it before it is updated. Until then,
    /// triggers may have changed other rows, and a number may have been used up. A virtual table's row is read after the statement.
    ///
    /// The schema is read after the statement was compiled, which runs only if it has not changed since. Where it may not be read,
    /// the answer is true.
    private func mayLeaveOut(_ action: RecordAction, _ table: SQLTable, _ layout: RecordLayout, _ db: Connection) -> Bool {
        if !action.isWritten || layout.isVirtual { return action.isReturning }
        let isInsertion = if case .insert = action { true } else { false }
        let entries = try? [db.schema(of: table), db.temp].flatMap { schema in
            try schema.entries(where: "tbl_name = \(table.name) COLLATE NOCASE")
        }
        return entries?.contains { entry in
            !isInsertion && entry.type == "trigger" || entry.sql?.lowercased().contains("ignore") == true
        } ?? true
    }

    /// Returns whether rows are written to a virtual table and found by their numbers.
    func isOfVirtualTable<Record: SQLRecord>(_ type: Record.Type) -> Bool {
        // A layout is copied to be looked at, which would cost each record a quarter of a microsecond.
        guard hasVirtualTables, let layout = layouts[ObjectIdentifier(type)] else { return false }
        return layout.isVirtual && layout.key == ["rowid"]
    }

    /// Returns the forms in which the columns of a positional record are stored.
    func columns<Record: SQLRecord>(_ type: Record.Type, _ positions: RecordPositions, _ db: Connection) -> PositionalLayout {
        let id = ObjectIdentifier(type)
        if let known = columns[id] { return known }
        let made = PositionalLayout(positions.names, db.profile, Record.columnProfiles)
        columns[id] = made
        return made
    }

    /// Returns the facts that changing positional records needs.
    /// - Parameter isChecked: whether the schema is looked at, if it matters.
    func plan<Record: SQLRecord>(
        _ type: Record.Type, _ positions: RecordPositions, _ db: Connection, isChecked: Bool
    ) throws -> RecordChangePlan {
        let id = ObjectIdentifier(type)
        if !isChecked, let known = plans.find(id) { return known }
        let table = table(type)
        let layout = try self.layout(type, table, db)
        if let known = plans.find(id) { return known }
        let made = try RecordChangePlan(columns(type, positions, db), table, layout)
        plans.add(made, id)
        return made
    }

    private func version(_ db: Connection) throws -> Int {
        let place = schema.map { Schema(db, $0) } ?? db.main
        return try db.fetchOne(Int.self, SQL(raw: "PRAGMA \(place.quotedName).schema_version")) ?? 0
    }

    /// The layout of a record's table, from its description or from the database's current schema.
    func layout<Record: SQLRecord>(_ type: Record.Type, _ table: SQLTable, _ db: Connection) throws -> RecordLayout {
        let id = ObjectIdentifier(type)
        if table.columns.isEmpty {
            // Using an outdated key would change the wrong rows.
            let version = try version(db)
            let path = try schema.map { name in try Schema(db, name).path } ?? nil
            // 0 if a schema is yet to be read.
            let stamp = sqlcipherkit_schema_stamp(try db.live())
            if origin?.version != version || origin?.stamp != stamp || stamp == 0 || !(origin?.path).isSameText(as: path) {
                layouts = [:]
                plans.removeAll()
                db.forgetAnswers()
                origin = (path, version, stamp)
            }
        }
        if let known = layouts[id] { return known }
        let profiles = Record.columnProfiles
        var layout = try table.columns.isEmpty ? RecordLayout(table, profiles, db) : RecordLayout(table, profiles, db.profile)
        if let positions = table.positions { layout.columns = positions.names }
        layouts[id] = layout
        if layout.isVirtual { hasVirtualTables = true }
        return layout
    }
}

/// The statement of an action on records of one type that encode themselves.
final class RecordStatement {
    let encoded: EncodedStatement
    let mayLeaveOut: Bool

    /// - Parameter mayLeaveOut: whether the statement may change something although it writes no row.
    init(_ encoded: EncodedStatement, mayLeaveOut: Bool) { (self.encoded, self.mayLeaveOut) = (encoded, mayLeaveOut) }
}

extension DatabaseError {
    static var changingSchema: DatabaseError {
        DatabaseError(code: .schema, message: "the schema changes each time that a record's statement is prepared")
    }
}
