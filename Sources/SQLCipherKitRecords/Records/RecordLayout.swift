import SQLCipherKitCore

/// The facts about a table that are needed to write its records.
struct RecordLayout {
    /// The columns to read; nil for all.
    var columns: [String]?
    private var readsRowID = false
    var selection: String {
        columns.map { $0.map(\.quotedSQLIdentifier).joined(separator: ", ") } ?? (readsRowID ? "rowid, *" : "*")
    }
    /// The primary key's columns, in the key's order.
    let key: [String]
    /// True if the table is a virtual one, which does not return the number of a new row.
    let isVirtual: Bool
    /// The generated columns.
    let generated: Set<SQLName>
    /// The key's column whose numbers SQLite chooses and never gives again. They begin with 1: a record with 0 there is new.
    let autoincrement: String?
    /// The defaults of the key's columns as SQL expressions, by their names.
    private let keyDefaults: [SQLName: String]

    /// Derives the layout from a description.
    init(_ table: SQLTable, _ profiles: [String: ValueProfile], _ profile: ValueProfile) throws {
        try Self.check(profiles, table.columns.map(\.name), table)
        columns = table.columns.map(\.name)
        key = table.primaryKeyColumns
        isVirtual = false
        generated = table.columns.filter(\.isGenerated).map(\.name).nameSet
        autoincrement = table.columns.first(where: \.isAutoincrement)?.name
        var defaults: [(String, String)] = []
        for column in table.columns {
            guard let value = try column.defaultSQL(in: profiles[column.name] ?? profile) else { continue }
            defaults.append((column.name, value.text))
        }
        keyDefaults = Self.only(key, defaults)
    }

    /// Reads the layout from the database.
    init(_ table: SQLTable, _ profiles: [String: ValueProfile], _ db: Connection) throws {
        let schema = try db.schema(of: table)
        let found = try schema.columns(of: table.name)
        guard !found.isEmpty else { throw DatabaseError.invalidArgument("there is no table \(table.qualifiedName)") }
        try Self.check(profiles, found.map(\.name), table)
        columns = nil
        readsRowID = table.readsRowID
        let kind = try schema.form(of: table.name)?.kind
        isVirtual = kind == .virtual
        key = Self.key(found, kind, table)
        generated = found.filter(\.isGenerated).map(\.name).nameSet
        let definition = key.count == 1 ? try schema.definition(of: table.name) : nil
        autoincrement = definition?.isAutoincrement == true ? key[0] : nil
        keyDefaults = Self.only(
            key, found.compactMap { column in column.defaultValue.map { (column.name, Self.expression($0)) } })
    }

    /// The primary key. Without a declared key, the column `id` identifies a row of a view, and `rowid` a row of a table.
    private static func key(_ columns: [Schema.Column], _ kind: Schema.Table.Kind?, _ table: SQLTable) -> [String] {
        let key = columns.primaryKey.map(\.name)
        if !key.isEmpty { return key }
        guard kind == .view else { return table.readsRowID ? ["rowid"] : [] }
        return columns.first { $0.name.isSameName(as: "id") }.map { [$0.name] } ?? []
    }

    /// Throws for a profile whose name is not a column's: it would silently have no effect.
    private static func check(
        _ profiles: [String: ValueProfile], _ columns: [String], _ table: SQLTable
    ) throws {
        if profiles.isEmpty { return }
        let columns = Set(columns.map { ExactText($0) })
        guard let stray = profiles.keys.filter({ !columns.contains(ExactText($0)) }).min() else { return }
        throw DatabaseError.invalidArgument("columnProfiles names \(stray), and \(table.qualifiedName) has no such column")
    }

    private static func only(_ key: [String], _ defaults: [(String, String)]) -> [SQLName: String] {
        let key = key.nameSet
        return Dictionary(
            defaults.map { (SQLName($0.0), $0.1) }.filter { key.contains($0.0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The key's columns as the record spells them, among its keys.
    func key(among all: [String], _ table: SQLTable) throws -> [String] {
        if key.isEmpty { throw DatabaseError.misuse("the table \(table.name) has no primary key") }
        return try key.map { column in
            guard let key = all.firstIndex(named: column).map({ all[$0] }) else {
                throw DatabaseError.misuse(
                    "the record has no property for \(column), which belongs to the primary key of \(table.name)"
                )
            }
            return key
        }
    }

    /// The columns that a record writes, of those that it encodes.
    /// - Throws: an error if two of its values belong to one column, because SQLite ignores the case of names: one would be lost.
    func written(_ all: [String], _ table: SQLTable) throws -> [String] {
        try all.requireDistinctColumns(table.name)
        return all.filter { !generated.contains(SQLName($0)) }
    }

    /// Returns the SQL that inserts a column's value. Nil is NULL, except in the key, as NULL identifies no row: there the database
    /// fills in the default, just as it fills in a row id.
    func inserted(_ column: String) -> String {
        let name = SQLName(column)
        if let autoincrement, SQLName(autoincrement) == name { return "nullif(?, 0)" }
        return keyDefaults[name].map { "coalesce(?, \($0))" } ?? "?"
    }

    static func condition(_ key: [String], _ values: [any SQLValueConvertible]) -> SQL {
        SQL(raw: key.map { "\($0.quotedSQLIdentifier) = ?" }.joined(separator: " AND "), StatementArguments(values))
    }

    /// A default as an expression: SQLite takes a bare or double-quoted word in a default as text, but anywhere else as a column.
    private static func expression(_ text: String) -> String {
        if text.utf8.count >= 2, text.utf8.first == UInt8(ascii: "\""), text.utf8.last == UInt8(ascii: "\"") {
            return text.utf8.unquoted.quotedSQLLiteral
        }
        let words: Set<SQLName> = ["null", "true", "false", "current_time", "current_date", "current_timestamp"]
        let begins = text.first.map { $0.isLetter || $0 == "_" } ?? false
        let isWord = begins && text.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
        return isWord && !words.contains(SQLName(text)) ? text.quotedSQLLiteral : text
    }
}

enum RecordAction {
    case insert(ConflictResolution?, returning: Bool)
    case upsert([String], returning: Bool)
    case update(returning: Bool)
    case delete, refresh

    /// Tells the actions apart, but for the columns of an upsert.
    var number: UInt64 {
        switch self {
        case .insert(let conflict, let returning): (conflict?.number ?? 0) << 1 | (returning ? 1 : 0)
        case .upsert(_, let returning): 16 | (returning ? 1 : 0)
        case .update(let returning): 18 | (returning ? 1 : 0)
        case .delete: 20
        case .refresh: 21
        }
    }

    /// True if the statement returns the row that it writes.
    var isReturning: Bool {
        switch self {
        case .insert(_, let returning), .upsert(_, let returning), .update(let returning): returning
        case .delete, .refresh: false
        }
    }

    /// True if the statement writes a record's row.
    var isWritten: Bool {
        switch self {
        case .insert, .upsert, .update: true
        case .delete, .refresh: false
        }
    }

    /// The columns of an upsert. No column's name has a NUL character.
    var columns: String {
        if case .upsert(let columns, _) = self, !columns.isEmpty { columns.joined(separator: "\0") } else { "" }
    }
}

/// The statement for an action on records that encode the same keys.
struct RecordSQL {
    let text: String
    /// The bound keys, in the order of the parameters.
    let keys: [String]

    init(_ action: RecordAction, _ table: SQLTable, _ layout: RecordLayout, _ all: [String]) throws {
        let written = try layout.written(all, table)
        func key() throws -> [String] { try layout.key(among: all, table) }
        func matches(_ key: [String], _ keys: [String]) -> String {
            key.map { "\($0.quotedSQLIdentifier) = ?\((keys.firstIndex(ofText: $0) ?? 0) + 1)" }.joined(separator: " AND ")
        }
        let hasRowID = all.contains { $0.isSameName(as: "rowid") }
        let columns = layout.columns == nil && hasRowID ? "rowid, *" : layout.selection
        switch action {
        case .insert(let conflict, let returning):
            keys = written
            text = Self.insertion(table, layout, written, conflict) + (returning ? " RETURNING \(columns)" : "")
        case .upsert(let target, let returning):
            keys = written
            let target = target.isEmpty ? try key() : target
            let fixed = (target + layout.key).nameSet
            var changed = written.filter { !fixed.contains(SQLName($0)) }
            // A row that consists only of its key is overwritten with itself, so that it is returned.
            if changed.isEmpty { changed = [target[0]] }
            let list = changed.map { "\($0.quotedSQLIdentifier) = excluded.\($0.quotedSQLIdentifier)" }.joined(separator: ", ")
            let on = target.map(\.quotedSQLIdentifier).joined(separator: ", ")
            text = Self.insertion(table, layout, written, nil) + " ON CONFLICT(\(on)) DO UPDATE SET \(list)"
                + (returning ? " RETURNING \(columns)" : "")
        case .update(let returning):
            let key = try key()
            keys = written
            let changed = written.enumerated().filter { !key.contains(text: $0.element) }
            if changed.isEmpty { throw DatabaseError.misuse("a record of \(table.name) has no columns except its key") }
            let list = changed.map { "\($0.element.quotedSQLIdentifier) = ?\($0.offset + 1)" }.joined(separator: ", ")
            text = "UPDATE \(table.qualifiedName) SET \(list) WHERE \(matches(key, keys))"
                + (returning ? " RETURNING \(columns)" : "")
        case .delete:
            keys = try key()
            text = "DELETE FROM \(table.qualifiedName) WHERE \(matches(keys, keys))"
        case .refresh:
            keys = try key()
            text = "SELECT \(columns) FROM \(table.qualifiedName) WHERE \(matches(keys, keys))"
        }
    }

    static func insertion(
        _ table: SQLTable, _ layout: RecordLayout, _ keys: [String], _ conflict: ConflictResolution?
    ) -> String {
        let names = keys.map(\.quotedSQLIdentifier).joined(separator: ", ")
        let values = keys.map(layout.inserted).joined(separator: ", ")
        return "INSERT\(conflict.map { " OR \($0.rawValue)" } ?? "") INTO \(table.qualifiedName)(\(names)) VALUES (\(values))"
    }
}
