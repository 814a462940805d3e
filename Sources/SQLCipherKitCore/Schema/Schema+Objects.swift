import CSQLCipher

/// The objects in a database.
extension Schema {
    /// The tables, views and virtual tables, sorted by name, without SQLite's own.
    /// ```swift
    /// for table in try db.main.tables() where table.kind == .table {
    ///     print(table.name, table.columns.map(\.name), table.primaryKey)
    /// }
    /// ```
    /// - Throws: ``DatabaseError/Reason/schemaName`` if the database is no longer attached, ``DatabaseError/Reason/closed``, or
    ///   SQLite's error if the schema cannot be read.
    public func tables() throws -> [Table] {
        let names = try forms().map(\.name).filter { !$0.hasNamePrefix("sqlite_") }
        func folded(_ name: String) -> [UInt8] { name.utf8.map(\.lowercasedASCII) }
        return try names.sorted { folded($0).lexicographicallyPrecedes(folded($1)) }.compactMap { try table($0) }
    }

    /// The table, view or virtual table of a name; nil if there is none.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a name with a NUL character, and the same errors as ``tables()``.
    public func table(_ name: String) throws -> Table? {
        guard let form = try form(of: name) else { return nil }
        let name = form.name
        let sql = try connection.fetchOne(
            String.self,
            """
            SELECT sql FROM \(raw: qualified("sqlite_schema"))
            WHERE type IN ('table', 'view') AND name = \(name) COLLATE NOCASE
            """)
        var columns: [Column] = []
        do {
            columns = try self.columns(of: name)
        } catch let error as DatabaseError where error.code == .error && [.view, .virtual].contains(form.kind) {
            // A view may refer to a table that is missing, and a virtual table's module may be.
        }
        return Table(
            schema: self.name, name: name, kind: form.kind, isWithoutRowID: form.isWithoutRowID, isStrict: form.isStrict,
            sql: sql ?? "", columns: columns, primaryKey: columns.primaryKey.map(\.name),
            foreignKeys: try foreignKeys(of: name), indexes: try indexes(of: name), triggers: try triggers(of: name))
    }

    /// Returns whether there is a table, view or virtual table of that name.
    /// - Throws: the same errors as ``table(_:)``.
    public func hasTable(_ name: String) throws -> Bool { try form(of: name) != nil }

    /// The columns of a table or view, including hidden and generated columns
    /// (<https://sqlite.org/pragma.html#pragma_table_xinfo>). Empty for a table that does not exist.
    /// - Throws: the same errors as ``table(_:)``, or SQLite's error for a view that does not compile, or a virtual table whose
    ///   module is missing.
    public func columns(of table: String) throws -> [Column] {
        let rows: [(Int, String, String, Bool, String?, Int, Column.Kind)] = try rows("table_xinfo", table)
        return rows.map {
            Column(
                index: $0.0, name: $0.1, type: $0.2, isNotNull: $0.3, defaultValue: $0.4, primaryKeyPosition: $0.5, kind: $0.6)
        }
    }

    /// The columns of a table's primary key, in the key's order; empty if it has none.
    /// - Throws: the same errors as ``columns(of:)``.
    public func primaryKey(of table: String) throws -> [String] { try columns(of: table).primaryKey.map(\.name) }

    /// The foreign keys of a table, in the order of their declaration (<https://sqlite.org/pragma.html#pragma_foreign_key_list>).
    /// Empty for a table that does not exist.
    /// - Throws: the same errors as ``table(_:)``.
    package func foreignKeys(of table: String) throws -> [SQLForeignKey] {
        var keys: [(id: Int, key: SQLForeignKey)] = []
        let handle = try connection.live()
        for column in try foreignKeyColumns(of: table).sorted(by: { ($0.id, $0.sequence) < ($1.id, $1.sequence) }) {
            if keys.last?.id != column.id {
                let onDelete = SQLForeignKey.Action(rawValue: column.onDelete) ?? .noAction
                let onUpdate = SQLForeignKey.Action(rawValue: column.onUpdate) ?? .noAction
                let isDeferred = sqlcipherkit_is_deferred(handle, name, table, Int32(column.id)) != 0
                let key = SQLForeignKey(
                    [], references: column.parent, onDelete: onDelete, onUpdate: onUpdate, isDeferred: isDeferred)
                keys.append((column.id, key))
            }
            keys[keys.count - 1].key.columns.append(column.from)
            if let to = column.to { keys[keys.count - 1].key.parentColumns.append(to) }
        }
        // SQLite counts from the last one declared.
        return keys.reversed().map(\.key)
    }

    /// The indexes of a table, including those of its constraints.
    /// - Throws: the same errors as ``table(_:)``.
    package func indexes(of table: String) throws -> [Index] {
        try live()
        let list: [(String, Bool, Index.Origin, Bool)] = try connection.fetchAll(
            """
            SELECT name, "unique", origin, partial FROM pragma_index_list(\(table.cName("the name of a table")), \(name))
            ORDER BY seq DESC
            """)
        return try list.map { index, isUnique, origin, isPartial in
            let sql: String?? = try connection.fetchOne(
                String?.self, "SELECT sql FROM \(raw: qualified("sqlite_schema")) WHERE type = 'index' AND name = \(index)")
            let terms: [(Int, String?, Bool, String)] = try connection.fetchAll(
                "SELECT cid, name, \"desc\", coll FROM pragma_index_xinfo(\(index), \(name)) WHERE \"key\" ORDER BY seqno")
            return Index(
                name: index, table: table, isUnique: isUnique, origin: origin, isPartial: isPartial,
                terms: terms.map { Index.Term(column: $0.1, isExpression: $0.0 == -2, isDescending: $0.2, collation: $0.3) },
                sql: sql ?? nil)
        }
    }

    /// The triggers of a table or view, or with nil, the default, all triggers.
    /// - Throws: the same errors as ``table(_:)``.
    package func triggers(of table: String? = nil) throws -> [Trigger] {
        try live()
        let filter: SQL = if let table { "AND tbl_name = \(table) COLLATE NOCASE" } else { "" }
        let rows: [(String, String, String)] = try connection.fetchAll(
            "SELECT name, tbl_name, sql FROM \(raw: qualified("sqlite_schema")) WHERE type = 'trigger' \(filter) ORDER BY rowid")
        return rows.map { Trigger(name: $0.0, table: $0.1, sql: $0.2) }
    }
}

extension Schema {
    /// Drops a table with its indexes and triggers. Rows that refer to its rows are treated as if its rows were deleted
    /// (<https://sqlite.org/lang_droptable.html>).
    /// - Parameters:
    ///   - table: the name of the table.
    ///   - ifExists: true to do nothing if there is no such table. Default: false.
    /// - Throws: SQLite's error for a table that does not exist, unless `ifExists` is true, for a view, for rows that violate a
    ///   foreign key afterwards, or while a statement reads the table; ``DatabaseError/Reason/schemaName`` if the database is no
    ///   longer attached.
    public func dropTable(_ table: String, ifExists: Bool = false) throws { try drop("TABLE", table, ifExists) }

    /// Drops an index.
    /// - Parameters:
    ///   - index: the name of the index.
    ///   - ifExists: true to do nothing if there is no such index. Default: false.
    /// - Throws: SQLite's error for an index that does not exist, unless `ifExists` is true, or for the index of a constraint;
    ///   ``DatabaseError/Reason/schemaName`` if the database is no longer attached.
    public func dropIndex(_ index: String, ifExists: Bool = false) throws { try drop("INDEX", index, ifExists) }

    /// Drops a trigger.
    /// - Parameters:
    ///   - trigger: the name of the trigger.
    ///   - ifExists: true to do nothing if there is no such trigger. Default: false.
    /// - Throws: SQLite's error for a trigger that does not exist, unless `ifExists` is true;
    ///   ``DatabaseError/Reason/schemaName`` if the database is no longer attached.
    public func dropTrigger(_ trigger: String, ifExists: Bool = false) throws {
        try drop("TRIGGER", trigger, ifExists)
    }

    /// Drops a view.
    /// - Parameters:
    ///   - view: the name of the view.
    ///   - ifExists: true to do nothing if there is no such view. Default: false.
    /// - Throws: SQLite's error for a view that does not exist, unless `ifExists` is true, or for a table;
    ///   ``DatabaseError/Reason/schemaName`` if the database is no longer attached.
    public func dropView(_ view: String, ifExists: Bool = false) throws { try drop("VIEW", view, ifExists) }

    private func drop(_ kind: String, _ object: String, _ ifExists: Bool) throws {
        try live()
        try connection.execute("DROP \(raw: kind)\(raw: ifExists ? " IF EXISTS" : "") \(raw: qualified(object))")
    }
}

/// Information about a database's objects.
extension Schema {
    /// A database's information about a table, a view or a virtual table; see ``Schema/tables()``.
    public struct Table: Hashable, Sendable {
        /// The kind of table.
        public enum Kind: String, Hashable, Sendable, SQLValueConvertible {
            case table, view
            /// A virtual table, such as a full-text table.
            case virtual
            /// A table in which a virtual table keeps its data.
            case shadow
        }

        /// The name of the database that it belongs to.
        public let schema: String
        /// The table's name.
        public let name: String
        /// The kind of table.
        public let kind: Kind
        /// True if the table was created `WITHOUT ROWID`.
        public let isWithoutRowID: Bool
        /// True if the table was created as `STRICT`.
        public let isStrict: Bool
        /// The statement that created it.
        public let sql: String
        /// The table's columns, including hidden and generated columns; empty for a view that does not compile, and for a virtual
        /// table whose module is missing.
        public let columns: [Column]
        /// The columns of the primary key, in the key's order; empty if the table has none.
        public let primaryKey: [String]
        /// The foreign keys that the table declares.
        public let foreignKeys: [SQLForeignKey]
        /// The table's indexes, including the indexes of its unique constraints.
        public let indexes: [Index]
        /// The triggers of the table or view.
        public let triggers: [Trigger]
    }

    /// A database's information about an index.
    public struct Index: Hashable, Sendable {
        /// The origin of an index.
        public enum Origin: String, Hashable, Sendable, SQLValueConvertible {
            /// `CREATE INDEX`.
            case statement = "c"
            /// A unique constraint of the table.
            case unique = "u"
            /// The table's primary key.
            case primaryKey = "pk"
        }

        /// A term that an index sorts by.
        public struct Term: Hashable, Sendable {
            /// The column; nil for the row id and for an expression, which is only given in ``Schema/Index/sql``.
            public let column: String?
            /// True if the term is an expression.
            public let isExpression: Bool
            /// True if the term sorts in descending order.
            public let isDescending: Bool
            /// The collation.
            public let collation: String
        }

        /// The index's name.
        public let name: String
        /// The table's name.
        public let table: String
        /// True if the index is unique, so that no two rows may have equal terms.
        public let isUnique: Bool
        /// The origin of the index.
        public let origin: Origin
        /// True if the index contains only the rows that match a condition.
        public let isPartial: Bool
        /// The terms that it sorts by.
        public let terms: [Term]
        /// The statement that created it; nil for the index of a constraint.
        public let sql: String?
    }

    /// A database's information about a trigger.
    public struct Trigger: Hashable, Sendable {
        /// The trigger's name.
        public let name: String
        /// The table or view that the trigger belongs to.
        public let table: String
        /// The statement that created it.
        public let sql: String
    }
}

/// A row of `sqlite_schema` (<https://sqlite.org/schematab.html>): an object that a database claims to have.
///
/// An untrusted file may contain anything here. Code that executes the text must only get it through ``text()``.
package struct SchemaEntry {
    package let type: String
    package let name: String
    /// The table that an index or a trigger belongs to; otherwise the same as the name.
    package let table: String
    /// True if it has no content of its own: virtual tables, views and triggers.
    package let isVirtual: Bool
    /// Nil for an index that belongs to a constraint.
    package let sql: String?

    package init(type: String, name: String, table: String, isVirtual: Bool, sql: String?) {
        (self.type, self.name, self.table, self.isVirtual, self.sql) = (type, name, table, isVirtual, sql)
    }

    /// The text, verified to be exactly one CREATE statement of this kind and name. Nil for an index that belongs to a constraint.
    /// - Throws: ``DatabaseError/Reason/malformedSchema``.
    package func text() throws -> SchemaText? {
        guard let sql else {
            if type == "index" { return nil }
            throw refusal("it has no text")
        }
        guard let kind = SchemaText.Kind(self) else { throw refusal("there is no such kind of object") }
        return try SchemaText(sql, kind, self)
    }

    /// The statement that creates the object.
    /// - Throws: the same errors as ``text()``, also for an index that belongs to a constraint.
    package func statement() throws -> SchemaText {
        guard let text = try text() else { throw refusal("it has no text") }
        return text
    }

    /// The tables without which a virtual table cannot be used: of an R-Tree (<https://sqlite.org/rtree.html>) and of a full-text
    /// index (<https://sqlite.org/fts5.html>). Empty for anything else.
    package var parts: [String] {
        guard type == "table", isVirtual, let module = (try? text())?.module else { return [] }
        return (Self.partsOfModules[module] ?? []).map { "\(name)_\($0)" }
    }

    private static let partsOfModules: [SQLName: [String]] = [
        SQLName("rtree"): ["node", "rowid", "parent"], SQLName("rtree_i32"): ["node", "rowid", "parent"],
        SQLName("geopoly"): ["node", "rowid", "parent"], SQLName("fts5"): ["data", "idx", "config"],
        SQLName("fts3"): ["segments", "segdir"], SQLName("fts4"): ["segments", "segdir"],
    ]

    package func refusal(_ what: String) -> DatabaseError {
        DatabaseError(
            code: .corrupt, reason: .malformedSchema, message: "the schema's text for the \(type) \(name) cannot be used: \(what)")
    }
}

extension Schema {
    /// The rows of `sqlite_schema` that match a condition, in order.
    package func entries(where condition: SQL = "1") throws -> [SchemaEntry] {
        let rows: [(String, String, String, Int?, String?)] = try connection.fetchAll(
            """
            SELECT type, name, tbl_name, rootpage, sql FROM \(raw: qualified("sqlite_schema")) WHERE \(condition) ORDER BY rowid
            """)
        return rows.map { SchemaEntry(type: $0.0, name: $0.1, table: $0.2, isVirtual: ($0.3 ?? 0) == 0, sql: $0.4) }
    }
}

extension String {
    /// True if this is the name of a table that the engine keeps from SQL: a database's own record of who may open it.
    package var isKeptFromSQL: Bool { sqlcipherkit_is_slot_mark(self) != 0 }
}
