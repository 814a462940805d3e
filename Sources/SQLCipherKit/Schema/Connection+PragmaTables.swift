/// A row that breaks a foreign key.
public struct ForeignKeyViolation: SQLRow, Hashable, Sendable {
    /// The table that the row is in.
    public let table: String
    /// The row's id; nil in a `WITHOUT ROWID` table.
    public let rowID: Int64?
    /// The table that it refers to.
    public let parent: String
    /// Which of the table's foreign keys: the ``ForeignKeyColumn/id`` of ``Connection/foreignKeys(of:in:)``.
    public let foreignKey: Int

    public init(row: borrowing Row) throws {
        table = try row[0]
        rowID = try row[1]
        parent = try row[2]
        foreignKey = try row[3]
    }
}

/// One column of a foreign key of a table.
public struct ForeignKeyColumn: SQLRow, Hashable, Sendable {
    /// Which foreign key; columns with the same number belong together.
    public let id: Int
    /// The column's place in its foreign key, from 0.
    public let sequence: Int
    /// The table that is referred to.
    public let parent: String
    /// The referring column.
    public let from: String
    /// The column referred to; nil for the parent's primary key.
    public let to: String?
    /// What happens on an update of the parent, such as `CASCADE` or `NO ACTION`.
    public let onUpdate: String
    /// What happens on a delete of the parent.
    public let onDelete: String

    public init(row: borrowing Row) throws {
        id = try row[0]
        sequence = try row[1]
        parent = try row[2]
        from = try row[3]
        to = try row[4]
        onUpdate = try row[5]
        onDelete = try row[6]
    }
}

/// A column of a table, view or virtual table.
public struct TableColumn: SQLRow, Hashable, Sendable {
    /// Whether the column is stored, and how it shows.
    public enum Kind: Int, Hashable, Sendable, SQLValueConvertible {
        case normal
        /// A hidden column of a virtual table.
        case hidden
        /// A generated column that is computed when it is read.
        case generatedVirtual
        /// A generated column that is stored.
        case generatedStored
    }

    /// The column's place, from 0.
    public let index: Int
    /// Its name.
    public let name: String
    /// Its declared type, as written; empty if there is none.
    public let type: String
    /// Whether it was declared `NOT NULL`.
    public let isNotNull: Bool
    /// Its default as an SQL expression.
    public let defaultValue: String?
    /// Its place in the primary key, from 1; 0 if it is no part of it.
    public let primaryKeyPosition: Int
    /// Whether it is stored, and how it shows.
    public let kind: Kind

    public init(row: borrowing Row) throws {
        index = try row[0]
        name = try row[1]
        type = try row[2]
        isNotNull = try row[3]
        defaultValue = try row[4]
        primaryKeyPosition = try row[5]
        kind = try row[6]
    }
}

/// Pragmas that answer with a table.
extension Connection {
    /// The rows that break a foreign key (<https://sqlite.org/pragma.html#pragma_foreign_key_check>).
    /// - Parameters:
    ///   - table: the table to check; nil for all.
    ///   - schema: the database; nil for all.
    /// - Throws: ``DatabaseError`` for a table that is not there.
    public func foreignKeyViolations(in table: String? = nil, of schema: String? = nil) throws(DatabaseError) -> [ForeignKeyViolation] {
        try rows("foreign_key_check", schema, table?.quotedSQLLiteral)
    }

    /// The foreign keys that a table declares, a row for each column (<https://sqlite.org/pragma.html#pragma_foreign_key_list>).
    /// Empty for a table that is not there.
    public func foreignKeys(of table: String, in schema: String? = nil) throws(DatabaseError) -> [ForeignKeyColumn] {
        try rows("foreign_key_list", schema, table.quotedSQLLiteral)
    }

    /// The columns of a table or view, hidden and generated ones among them (<https://sqlite.org/pragma.html#pragma_table_xinfo>).
    /// Empty for a table that is not there.
    public func columns(of table: String, in schema: String? = nil) throws(DatabaseError) -> [TableColumn] {
        try rows("table_xinfo", schema, table.quotedSQLLiteral)
    }

    /// What is wrong with a database's structure, its indexes and its constraints; empty if nothing is
    /// (<https://sqlite.org/pragma.html#pragma_integrity_check>). Foreign keys are not looked at.
    /// - Parameters:
    ///   - limit: the number of messages after which it stops. Default: 100.
    ///   - schema: the database; nil for all.
    ///   - quick: whether to leave out the comparison of indexes with their tables, which takes the most time. Default: no.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a limit less than 1, and what the damage itself makes SQLite report.
    public func integrityCheck(
        limit: Int = 100, of schema: String? = nil, quick: Bool = false
    ) throws(DatabaseError) -> [String] {
        guard limit >= 1 else { throw .invalidArgument("an integrity check of \(limit) messages") }
        let name = schema.map { $0.quotedSQLIdentifier + "." } ?? ""
        let sql = "PRAGMA \(name)\(quick ? "quick_check" : "integrity_check")(\(min(limit, Int(Int32.max))))"
        let messages = try prepare(SQL(raw: sql)).fetchAll(String.self)
        return messages == ["ok"] ? [] : messages
    }

    private func rows<T: SQLRow>(_ name: String, _ schema: String?, _ argument: String?) throws(DatabaseError) -> [T] {
        if let argument, argument.utf8.contains(0) { throw .invalidArgument("a name with a NUL character") }
        let schema = schema.map { $0.quotedSQLIdentifier + "." } ?? ""
        let statement = try prepare(SQL(raw: "PRAGMA \(schema)\(name)" + (argument.map { "(\($0))" } ?? "")))
        do { return try statement.fetchAll(T.self) } catch let error as DatabaseError { throw error } catch {
            throw DatabaseError(thrownBy: "reading PRAGMA \(name)", error)
        }
    }
}
