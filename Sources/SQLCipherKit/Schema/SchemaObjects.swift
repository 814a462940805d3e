/// What a database says of a table, a view or a virtual table: see ``Schema/tables()``.
public struct TableSchema: Hashable, Sendable {
    /// What kind of table it is.
    public enum Kind: String, Hashable, Sendable, SQLValueConvertible {
        case table, view
        /// A virtual table, such as a full-text table.
        case virtual
        /// A table in which a virtual table keeps its data.
        case shadow
    }

    /// The attached database that it belongs to.
    public let schema: String
    /// Its name.
    public let name: String
    /// What kind of table it is.
    public let kind: Kind
    /// Whether it was made `WITHOUT ROWID`.
    public let isWithoutRowID: Bool
    /// Whether it was made `STRICT`.
    public let isStrict: Bool
    /// The statement that made it.
    public let sql: String
    /// Its columns, hidden and generated ones among them.
    public let columns: [TableColumn]
    /// The columns of its primary key, in its order; empty if it has none.
    public let primaryKey: [String]
    /// Its foreign keys. The database does not tell which are deferred.
    public let foreignKeys: [SQLForeignKey]
    /// Its indexes, those of its unique constraints among them.
    public let indexes: [IndexSchema]
    /// Its triggers.
    public let triggers: [TriggerSchema]
}

/// What a database says of an index.
public struct IndexSchema: Hashable, Sendable {
    /// Where an index comes from.
    public enum Origin: String, Hashable, Sendable, SQLValueConvertible {
        /// `CREATE INDEX`.
        case statement = "c"
        /// A unique constraint of the table.
        case unique = "u"
        /// The table's primary key.
        case primaryKey = "pk"
    }

    /// What an index sorts by.
    public struct Term: SQLRow, Hashable, Sendable {
        /// The column; nil for an expression, which stands in ``IndexSchema/sql`` alone, and for the row id.
        public let column: String?
        /// Whether it is an expression.
        public let isExpression: Bool
        /// Whether it sorts from the greatest to the least.
        public let isDescending: Bool
        /// The collation.
        public let collation: String

        public init(row: borrowing Row) throws {
            column = try row["name"]
            isExpression = try row.get("cid", as: Int.self) == -2
            isDescending = try row["desc"]
            collation = try row["coll"]
        }
    }

    /// Its name.
    public let name: String
    /// The table's name.
    public let table: String
    /// Whether no two rows may be equal in it.
    public let isUnique: Bool
    /// Where it comes from.
    public let origin: Origin
    /// Whether it holds only the rows that meet a condition.
    public let isPartial: Bool
    /// What it sorts by.
    public let terms: [Term]
    /// The statement that made it; nil for the index of a constraint.
    public let sql: String?
}

/// What a database says of a trigger.
public struct TriggerSchema: SQLRow, Hashable, Sendable {
    /// Its name.
    public let name: String
    /// The table or view that it belongs to.
    public let table: String
    /// The statement that made it.
    public let sql: String

    public init(row: borrowing Row) throws {
        name = try row["name"]
        table = try row["tbl_name"]
        sql = try row["sql"]
    }
}
