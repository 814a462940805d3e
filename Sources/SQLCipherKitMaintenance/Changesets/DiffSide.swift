import CSQLCipher
import SQLCipherKitCore

struct DiffSide {
    let database: Schema
    var connection: Connection { database.connection }
    var name: String { database.name }
    var quoted: String { database.quotedName }

    init(_ database: Schema) throws(DatabaseError) {
        try database.live()
        self.database = database
    }

    func pragma(_ pragma: String) throws(DatabaseError) -> SQLValue {
        try connection.fetchOne(SQLValue.self, SQL(raw: "PRAGMA \(quoted).\(pragma)")) ?? .null
    }

    func count(_ table: String) throws(DatabaseError) -> Int {
        try connection.fetchOne(Int.self, SQL(raw: "SELECT count(*) FROM \(quoted).\(table.quotedSQLIdentifier)")) ?? 0
    }

    func schema() throws(DatabaseError) -> DiffSchema {
        // The marks of key slots belong to one database, and are not compared.
        DiffSchema(objects: try database.entries().filter { !$0.name.isKeptFromSQL && !$0.table.isKeptFromSQL })
    }
}

struct DiffSchema {
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

    /// Whether a table has the same definition in another schema.
    func isSame(_ table: String, in other: DiffSchema) -> Bool {
        guard let ours = tables[ExactText(table)], let others = other.tables[ExactText(table)] else { return false }
        return ours.sql.isSameText(as: others.sql)
    }

    /// - Throws: ``DatabaseError/Reason/schemaText`` if a text is not the single statement that it claims to be, or creates a
    ///   virtual table whose module could read something other than the database.
    func requireStatements() throws(DatabaseError) {
        for object in objects {
            guard let module = try object.text()?.module, object.usesOtherModule else { continue }
            throw object.refusal("its module \(module.text) is not one of those that keep their content in the database")
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

extension SchemaEntry {
    /// The modules of this engine that a schema may name: they read nothing but the database that they are in.
    private static let modules: Set<SQLName> = ["fts3", "fts4", "fts4aux", "fts5", "fts5vocab", "rtree", "rtree_i32"]

    /// Whether this is a virtual table of another module.
    var usesOtherModule: Bool { (try? text())?.module.map { !Self.modules.contains($0) } ?? false }
}

/// Walks through a table that both sides have with the same definition, and looks up each row on the other side.
struct TableWalk {
    enum Finding { case missing, different, same }

    /// The stored columns of the table, quoted; the row id comes first if it is the key.
    let list: [String]
    let key: [Int]
    /// Whether the table has unique indexes besides its key, so that a row cannot always be changed before another is deleted.
    let isUnique: Bool
    /// Without a key, rows are matched by position only.
    var hasKey: Bool { !key.isEmpty }
    private let name: String
    private let old: DiffSide
    private let new: DiffSide

    /// - Parameter byPrimaryKey: whether to use the declared primary key even if the table has row ids.
    init(_ name: String, _ old: DiffSide, _ new: DiffSide, byPrimaryKey: Bool = false) throws(DatabaseError) {
        self.name = name
        self.old = old
        self.new = new
        let schema = new.database
        let identity = try RowKey(of: name, in: schema), isWithoutRowID = try schema.form(of: name)?.isWithoutRowID ?? false
        isUnique = try schema.uniqueIndexes(of: name).contains { !(isWithoutRowID && $0.origin == .primaryKey) }
        var list = try schema.storedColumns(of: name).map(\.quotedSQLIdentifier)
        if let identity, isWithoutRowID || byPrimaryKey || identity.columns[0].isRowID {
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
