/// What a database says about its objects.
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
        /// Its name.
        public let name: String
        /// The kind of table.
        public let kind: Kind
        /// Whether it was created `WITHOUT ROWID`.
        public let isWithoutRowID: Bool
        /// Whether it was created as `STRICT`.
        public let isStrict: Bool
        /// The statement that created it.
        public let sql: String
        /// Its columns, including hidden and generated ones; empty for a view that does not compile, and for a virtual table whose
        /// module is missing.
        public let columns: [Column]
        /// The columns of its primary key, in the key's order; empty if it has none.
        public let primaryKey: [String]
        /// Its foreign keys.
        public let foreignKeys: [SQLForeignKey]
        /// Its indexes, including those of its unique constraints.
        public let indexes: [Index]
        /// Its triggers.
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
            /// Whether it is an expression.
            public let isExpression: Bool
            /// Whether it sorts in descending order.
            public let isDescending: Bool
            /// The collation.
            public let collation: String
        }

        /// Its name.
        public let name: String
        /// The table's name.
        public let table: String
        /// Whether the index is unique, so that no two rows may have equal terms.
        public let isUnique: Bool
        /// The origin of the index.
        public let origin: Origin
        /// Whether it contains only the rows that match a condition.
        public let isPartial: Bool
        /// The terms that it sorts by.
        public let terms: [Term]
        /// The statement that created it; nil for the index of a constraint.
        public let sql: String?
    }

    /// A database's information about a trigger.
    public struct Trigger: Hashable, Sendable {
        /// Its name.
        public let name: String
        /// The table or view that it belongs to.
        public let table: String
        /// The statement that created it.
        public let sql: String
    }
}
