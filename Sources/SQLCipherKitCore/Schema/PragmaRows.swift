extension Schema {
    /// A row that violates a foreign key.
    public struct ForeignKeyViolation: Hashable, Sendable {
        /// The table that the row is in.
        public let table: String
        /// The row's id; nil in a `WITHOUT ROWID` table.
        public let rowID: Int64?
        /// The table that it refers to.
        public let parent: String
        /// The number of the foreign key in its table, as `PRAGMA foreign_key_list` counts it: from the last one declared.
        public let foreignKey: Int

        package init(table: String, rowID: Int64?, parent: String, foreignKey: Int) {
            (self.table, self.rowID, self.parent, self.foreignKey) = (table, rowID, parent, foreignKey)
        }

        /// A description of the row and the missing parent row.
        package var inWords: String {
            "\(rowID.map { "row \($0) of " } ?? "a row of ")\(table) refers to a row of \(parent) that does not exist"
        }
    }

    /// A column of a table, view or virtual table.
    public struct Column: Hashable, Sendable {
        /// Whether the column is stored, and whether it is visible.
        public enum Kind: Int, Hashable, Sendable, SQLValueConvertible {
            case normal
            /// A hidden column of a virtual table.
            case hidden
            /// A generated column that is computed when it is read.
            case generatedVirtual
            /// A generated column that is stored.
            case generatedStored
        }

        /// The column's index, counted from 0.
        public let index: Int
        /// Its name.
        public let name: String
        /// Its declared type, as written; empty if there is none.
        public let type: String
        /// Whether it was declared `NOT NULL`.
        public let isNotNull: Bool
        /// Its default as an SQL expression.
        public let defaultValue: String?
        /// Its position in the primary key, counted from 1; 0 if it is not part of it.
        public let primaryKeyPosition: Int
        /// Whether it is stored, and whether it is visible.
        public let kind: Kind

        package var isGenerated: Bool { kind == .generatedVirtual || kind == .generatedStored }
    }
}

/// One column of a foreign key of a table, as `PRAGMA foreign_key_list` has it.
package typealias ForeignKeyColumn = (
    id: Int, sequence: Int, parent: String, from: String, to: String?, onUpdate: String, onDelete: String
)

extension [Schema.Column] {
    /// The columns of the primary key, in the key's order.
    package var primaryKey: [Schema.Column] {
        filter { $0.primaryKeyPosition > 0 }.sorted { $0.primaryKeyPosition < $1.primaryKeyPosition }
    }
}
