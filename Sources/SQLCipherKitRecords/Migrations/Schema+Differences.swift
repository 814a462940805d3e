import SQLCipherKitCore

extension Schema {
    /// A difference between the description of a table and the table in a database; see ``differences(from:)``.
    ///
    /// The ``description`` is a sentence that names the difference, and often the remedy.
    public struct Difference: Hashable, Sendable, CustomStringConvertible {
        /// The table.
        public let table: String
        /// The column; nil for a difference that does not concern a single column.
        public let column: String?
        /// The difference in English.
        public let description: String
    }
}

extension Schema {
    /// Compares the descriptions of records with the tables of this database, to test that migrations and records agree.
    /// ```swift
    /// let db = try Connection(.memory)
    /// try migrator.migrate(db)
    /// #expect(try db.main.differences(from: [Note.self, Tag.self]) == [])
    /// ```
    /// It compares columns with their affinities and defaults, whether they may be NULL, the options `WITHOUT ROWID` and `STRICT`,
    /// primary keys, unique constraints, foreign keys and indexes. It does not compare the order of columns, the names of indexes
    /// on the same terms, the expressions of generated columns, or `CHECK` constraints. For a record without a description, it only
    /// looks for a column for each stored property.
    ///
    /// Nothing is changed. The described tables are created in a new in-memory database with this connection's configuration.
    /// - Returns: the differences, table by table; empty if there are none.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a description that cannot be made into a table, and other
    ///   ``DatabaseError``s that SQLite reports.
    public func differences(from records: [any SQLRecord.Type]) throws -> [Difference] {
        try found(from: records)
    }

    private func found(from records: [any SQLRecord.Type]) throws -> [Difference] {
        var differences: [Schema.Difference] = []
        for record in records {
            let table = record.table
            if !table.columns.isEmpty {
                differences += try self.differences(from: [table])
                continue
            }
            let columns = try columns(of: table.name)
            if columns.isEmpty {
                differences.append(.missingTable(table.name))
                continue
            }
            let names = columns.map(\.name).nameSet
            for name in record.source.knownNames where !name.isEmpty && !names.contains(SQLName(name)) {
                differences.append(
                    Schema.Difference(
                        table: table.name, column: name,
                        description: """
                            \(table.name) has no column \(name), and \(record) has a property of this name: if it is stored under \
                            another, describe the table
                            """))
            }
        }
        return differences
    }

    private func differences(from tables: [SQLTable]) throws -> [Schema.Difference] {
        var configuration = connection.configuration
        (configuration.onCreate, configuration.journalMode, configuration.access) = (nil, nil, .readWriteCreate)
        let model = try Connection(.memory, configuration: configuration)
        defer { model.close() }
        var differences: [Schema.Difference] = []
        for table in tables {
            var described = table
            described.schema = nil
            for statement in try described.createStatements(on: connection) { try model.execute(statement) }
            guard let wanted = try model.main.table(table.name) else { continue }
            guard let found = try self.table(table.name) else {
                differences.append(.missingTable(table.name))
                continue
            }
            var comparison = TableComparison(wanted, found)
            comparison.compareColumns()
            comparison.compareKeys { (try? self.primaryKey(of: $0)) ?? [] }
            comparison.compareIndexes()
            differences += comparison.differences
        }
        return differences
    }
}

extension Schema.Difference {
    fileprivate static func missingTable(_ name: String) -> Schema.Difference {
        Schema.Difference(table: name, column: nil, description: "there is no table \(name): create it in a migration")
    }
}

/// Compares the description of a table with the table in a database.
struct TableComparison {
    private let wanted: Schema.Table, found: Schema.Table
    private(set) var differences: [Schema.Difference] = []

    init(_ wanted: Schema.Table, _ found: Schema.Table) { (self.wanted, self.found) = (wanted, found) }

    private mutating func add(_ column: String? = nil, _ text: String) {
        differences.append(Schema.Difference(table: found.name, column: column, description: text))
    }

    // MARK: Columns

    fileprivate mutating func compareColumns() {
        let name = found.name
        if found.kind != .table, found.kind != .view {
            add(nil, "\(name) is a \(found.kind.rawValue) table, and described as an ordinary one")
        }
        for column in wanted.columns {
            let full = "\(name).\(column.name)"
            guard let other = found.columns.first(where: { $0.name.isSameName(as: column.name) }) else {
                add(column.name, "\(name) has no column \(column.name): add it in a migration, as \(Self.definition(column))")
                continue
            }
            // A view declares nothing of its columns but their names.
            if found.kind != .table { continue }
            if column.isGenerated != other.isGenerated {
                let kind = other.isGenerated ? "a generated" : "an ordinary"
                add(column.name, "\(full) is \(kind) column, and is described otherwise")
            }
            if let type = Self.typeDifference(column, other) { add(column.name, "\(full) \(type)") }
            if let null = nullDifference(column, other) { add(column.name, "\(full) \(null)") }
            let defaults = (Self.expression(column.defaultValue), Self.expression(other.defaultValue))
            if defaults.0 != defaults.1 {
                let (here, there) = (column.defaultValue ?? "none", other.defaultValue ?? "none")
                add(column.name, "the default of \(full) is \(there), and \(here) in the description")
            }
        }
        for column in found.columns where !wanted.columns.contains(where: { $0.name.isSameName(as: column.name) }) {
            let isNeeded = column.isNotNull && column.defaultValue == nil && !column.isGenerated
            let effect = isNeeded ? ", and a row cannot be inserted without it" : ""
            add(column.name, "\(name).\(column.name) is not in the description\(effect): describe it, or drop it in a migration")
        }
        if found.kind == .table {
            if wanted.isWithoutRowID != found.isWithoutRowID {
                add(nil, "\(name) is \(found.isWithoutRowID ? "" : "not ")WITHOUT ROWID, and is described otherwise")
            }
            if wanted.isStrict != found.isStrict {
                add(nil, "\(name) is \(found.isStrict ? "" : "not ")STRICT, and is described otherwise")
            }
        }
    }

    private static func definition(_ column: Schema.Column) -> String {
        var parts = ["\"\(column.name)\"", column.type]
        if column.isNotNull { parts.append("NOT NULL") }
        if let value = column.defaultValue { parts.append("DEFAULT \(value)") }
        return parts.filter { !$0.isEmpty }.joined(separator: " ")
    }

    /// A column that is described without a type can have any type. Otherwise the affinities must be the same
    /// (<https://sqlite.org/datatype3.html#determination_of_column_affinity>).
    private static func typeDifference(_ wanted: Schema.Column, _ found: Schema.Column) -> String? {
        if wanted.type.isEmpty || wanted.type.isSameName(as: "ANY") { return nil }
        if affinity(wanted.type) == affinity(found.type) { return nil }
        return "has the type \(found.type.isEmpty ? "none" : found.type), and \(wanted.type) in the description"
    }

    private static func affinity(_ type: String) -> String {
        let type = type.uppercased()
        if type.contains("INT") { return "INTEGER" }
        if ["CHAR", "CLOB", "TEXT"].contains(where: { type.contains($0) }) { return "TEXT" }
        if type.contains("BLOB") || type.isEmpty { return "BLOB" }
        return ["REAL", "FLOA", "DOUB"].contains { type.contains($0) } ? "REAL" : "NUMERIC"
    }

    private func nullDifference(_ column: Schema.Column, _ other: Schema.Column) -> String? {
        if column.isNotNull == other.isNotNull { return nil }
        // A row id is never NULL, nor is a key of a table without row ids.
        if other.primaryKeyPosition > 0 {
            if found.isWithoutRowID { return nil }
            if found.primaryKey.count == 1, other.type.isSameName(as: "INTEGER") { return nil }
        }
        return other.isNotNull
            ? "is NOT NULL, and may be NULL in the description: make the property not optional, or rebuild the table"
            : "may be NULL, and is NOT NULL in the description: make the property optional, or rebuild the table"
    }

    /// An expression in a form for comparison: in lower case, without white space and names' quotation marks, except within string
    /// literals, and without outer parentheses.
    private static func expression(_ sql: String?) -> String? {
        guard let sql else { return nil }
        var text = "", isText = false
        for character in sql {
            if character == "'" { isText.toggle() }
            if isText { text.append(character) } else if !character.isWhitespace, !"\"`[]".contains(character) {
                text += character.lowercased()
            }
        }
        while text.hasPrefix("("), text.hasSuffix(")") { text = String(text.dropFirst().dropLast()) }
        return text == "null" ? nil : text
    }

    // MARK: Keys

    /// - Parameter primaryKey: returns the primary key of another table, to which a foreign key may refer without naming its
    ///   columns.
    fileprivate mutating func compareKeys(_ primaryKey: (String) -> [String]) {
        if found.kind != .table { return }
        if wanted.primaryKey.map(Self.folded) != found.primaryKey.map(Self.folded) {
            let (here, there) = (Self.list(wanted.primaryKey), Self.list(found.primaryKey))
            add(nil, "the primary key of \(found.name) is \(there), and \(here) in the description")
        }
        func form(_ key: SQLForeignKey) -> [[String]] {
            let columns = key.parentColumns.isEmpty ? primaryKey(key.parent) : key.parentColumns
            return [key.columns.map(Self.folded), [Self.folded(key.parent)], columns.map(Self.folded)]
        }
        var others = found.foreignKeys
        for key in wanted.foreignKeys {
            let what = "the foreign key of \(found.name) from \(Self.list(key.columns)) to \(key.parent)"
            guard let place = others.firstIndex(where: { form($0) == form(key) }) else {
                add(nil, "\(what) is only in the description: rebuild the table with it, or remove it")
                continue
            }
            let other = others.remove(at: place)
            if other.onDelete != key.onDelete {
                add(nil, "\(what) has ON DELETE \(other.onDelete.rawValue), and \(key.onDelete.rawValue) in the description")
            }
            if other.onUpdate != key.onUpdate {
                add(nil, "\(what) has ON UPDATE \(other.onUpdate.rawValue), and \(key.onUpdate.rawValue) in the description")
            }
        }
        for key in others {
            add(nil, "the foreign key of \(found.name) from \(Self.list(key.columns)) to \(key.parent) is not in the description")
        }
    }

    private static func folded(_ name: String) -> String { name.lowercased() }
    private static func list(_ names: [String]) -> String { names.isEmpty ? "none" : names.joined(separator: ", ") }

    // MARK: Indexes

    private struct Form: Equatable {
        let isUnique: Bool
        let terms: [[String]]
        /// The text after the table's name, for an index with expressions or a condition.
        let text: String?

        init(_ index: Schema.Index) {
            isUnique = index.isUnique
            terms = index.terms.map {
                [TableComparison.folded($0.column ?? ""), $0.isDescending ? "-" : "", TableComparison.folded($0.collation)]
            }
            let isPlain = !index.isPartial && !index.terms.contains(where: \.isExpression)
            text = isPlain ? nil : TableComparison.expression(index.sql.map(Self.tail))
        }

        /// From the parenthesis that begins the terms: a name or a comment may have one too.
        private static func tail(of sql: String) -> String {
            var tokens = SQLTokens(sql)
            while let token = tokens.next() {
                if token.kind == .opening { return String(decoding: sql.utf8.dropFirst(token.range.lowerBound), as: UTF8.self) }
            }
            return sql
        }
    }

    fileprivate mutating func compareIndexes() {
        if found.kind != .table { return }
        var others = found.indexes.filter { $0.origin != .primaryKey }
        for index in wanted.indexes where index.origin != .primaryKey {
            let isOwn = index.origin == .statement
            let name = isOwn ? "the index \(index.name)" : "the unique constraint on \(Self.terms(index))"
            if let place = others.firstIndex(where: { Form($0) == Form(index) }) {
                others.remove(at: place)
            } else if isOwn, let place = others.firstIndex(where: { $0.name.isSameName(as: index.name) }) {
                let there = Self.terms(others.remove(at: place))
                add(nil, "\(name) of \(found.name) is on \(there), and on \(Self.terms(index)) in the description")
            } else {
                add(nil, "\(name) of \(found.name) does not exist: create it in a migration")
            }
        }
        for index in others {
            let name = index.origin == .statement ? "the index \(index.name)" : "the unique constraint on \(Self.terms(index))"
            add(nil, "\(name) of \(found.name) is not in the description")
        }
    }

    private static func terms(_ index: Schema.Index) -> String {
        var text = index.terms.map { term in
            let collation = term.collation.isSameName(as: "BINARY") ? "" : " COLLATE \(term.collation)"
            return (term.column ?? "an expression") + collation + (term.isDescending ? " DESC" : "")
        }.joined(separator: ", ")
        if index.isUnique, index.origin == .statement { text += " (unique)" }
        if index.isPartial { text += " (with a condition)" }
        return text
    }
}
