import CSQLCipher

/// Pragmas by name, with typed values.
extension Schema {
    /// The value of a pragma (<https://sqlite.org/pragma.html>, <https://www.zetetic.net/sqlcipher/sqlcipher-api/>).
    /// ```swift
    /// let pages = try db.main.pragma("cache_size", as: Int.self)
    /// ```
    /// A pragma about the connection as a whole, such as `recursive_triggers`, has the same value for each of its databases. SQLite
    /// silently ignores an unknown pragma; here it is an error.
    /// - Parameters:
    ///   - name: the pragma's name. For a pragma that takes an argument, use ``setPragma(_:to:)`` or a table-valued function such
    ///     as `pragma_table_info('note')`.
    ///   - type: the type of the value.
    /// - Returns: the first column of the first row; nil if there is no row.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for an unknown name, ``DatabaseError/Reason/refusedSQL`` for pragmas that
    ///   take keys, or any error from reading the value.
    public func pragma<T: SQLValueConvertible>(_ name: String, as type: T.Type = T.self) throws -> T? {
        try answer(to: pragmaText(name))
    }

    /// Sets a pragma, or runs a pragma with an argument.
    /// ```swift
    /// let pages = try db.main.setPragma("cache_size", to: -16_000)     // what took effect
    /// ```
    /// - Parameters:
    ///   - name: its name.
    ///   - value: the value; text is quoted.
    /// - Returns: the value in effect, which is read again if setting it returned no row; nil if the pragma has no value.
    /// - Throws: the same errors as ``pragma(_:as:)``, ``DatabaseError/Reason/refusedSQL`` for a cipher setting, which must be
    ///   given when a database is opened, or an error from SQLite. ``DatabaseError/Reason/typeMismatch`` if the pragma's value is
    ///   not read as the type of `value`: then nothing is set.
    @discardableResult
    public func setPragma<T: SQLValueConvertible>(_ name: String, to value: T) throws -> T? {
        try setPragma(name, to: value, as: T.self)
    }

    /// Sets a pragma whose value is read as a different type, such as `journal_mode` or `secure_delete`.
    /// - Throws: the same errors as ``setPragma(_:to:)``.
    @discardableResult
    public func setPragma<T: SQLValueConvertible>(
        _ name: String, to value: some SQLValueConvertible, as type: T.Type
    ) throws -> T? {
        let text = try pragmaText(name)
        guard let literal = try value.sqlValue.pragmaLiteral else {
            throw DatabaseError.invalidArgument("a pragma takes numbers and text only")
        }
        // Reading one of these would run it.
        if Self.actions.contains(SQLName(name)) { return try answer(to: "\(text) = \(literal)") }
        let before = try pragma(name, as: SQLValue.self)
        // A value of another type is refused before anything is set.
        _ = try pragma(name, as: type)
        func set() throws -> T? {
            if let answer: T = try answer(to: "\(text) = \(literal)") { return answer }
            return try pragma(name, as: type)
        }
        // A value that the file holds is undone if it cannot be read again.
        if Self.stored.contains(SQLName(name)) {
            return try connection.savepoint { _ in try set() }
        }
        let settings = try KeptSettings(of: connection)
        do { return try set() } catch {
            defer { settings.putBack() }
            if let literal = before?.pragmaLiteral {
                try? connection.restoring { let _: SQLValue? = try answer(to: "\(text) = \(literal)") }
            }
            throw error
        }
    }

    private func answer<T: SQLValueConvertible>(to text: String) throws -> T? {
        let statement = try connection.prepare(SQL(raw: text))
        // incremental_vacuum returns rows without columns.
        if statement.columnCount > 0 { return try statement.fetchOne(T.self) }
        try statement.execute()
        return nil
    }

    private static let actions: Set<SQLName> = [
        "incremental_vacuum", "optimize", "shrink_memory", "wal_checkpoint", "integrity_check", "quick_check", "foreign_key_check",
        "case_sensitive_like",
    ]

    private static let stored: Set<SQLName> = ["user_version", "application_id", "schema_version"]

    private func pragmaText(_ name: String) throws -> String {
        try live()
        guard !name.utf8.contains(0), sqlcipherkit_is_pragma(name) != 0 else {
            throw DatabaseError.invalidArgument("there is no pragma \(name)")
        }
        return "PRAGMA \(quotedName).\(name)"
    }
}

extension SQLValue {
    /// The value as the argument of a pragma; nil for what a pragma does not take.
    fileprivate var pragmaLiteral: String? {
        switch self {
        case .integer(let number): "\(number)"
        case .real(let number) where number.isFinite: "\(number)"
        case .text(let text) where !text.utf8.contains(0): text.quotedSQLLiteral
        default: nil
        }
    }
}

extension Schema {
    /// A row that violates a foreign key.
    public struct ForeignKeyViolation: Hashable, Sendable {
        /// The table that the row is in.
        public let table: String
        /// The row's id; nil in a `WITHOUT ROWID` table.
        public let rowID: Int64?
        /// The table that it refers to.
        public let parent: String
        /// The number of the foreign key in its table, as `PRAGMA foreign_key_list` counts it: from the last foreign key declared.
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
        /// The kind of a column: stored or computed, visible or hidden.
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
        /// The column's name.
        public let name: String
        /// The declared type, as written; empty if there is none.
        public let type: String
        /// True if the column was declared `NOT NULL`.
        public let isNotNull: Bool
        /// The default as an SQL expression; nil if there is none.
        public let defaultValue: String?
        /// The position in the primary key, counted from 1; 0 if the column is not part of the key.
        public let primaryKeyPosition: Int
        /// The kind of the column: stored or computed, visible or hidden.
        public let kind: Kind

        package var isGenerated: Bool { kind == .generatedVirtual || kind == .generatedStored }
    }
}

/// A column of a foreign key of a table, as `PRAGMA foreign_key_list` has it.
package typealias ForeignKeyColumn = (
    id: Int, sequence: Int, parent: String, from: String, to: String?, onUpdate: String, onDelete: String
)

extension [Schema.Column] {
    /// The columns of the primary key, in the key's order.
    package var primaryKey: [Schema.Column] {
        filter { $0.primaryKeyPosition > 0 }.sorted { $0.primaryKeyPosition < $1.primaryKeyPosition }
    }
}
