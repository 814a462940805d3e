/// The description of a column of a table (<https://sqlite.org/lang_createtable.html#coldef>).
///
/// In a record's description it comes from a property, with its name, its type and whether it may be NULL; elsewhere it is named:
/// ```swift
/// SQLTable(of: Note.self) { $0.title.unique().collate("NOCASE") }
/// SQLTable("note") { SQLColumn("title", .text).notNull().unique().collate("NOCASE") }
/// // "title" TEXT NOT NULL UNIQUE COLLATE "NOCASE"
/// ```
/// SQL that is given to a description, such as a check, cannot have bound values: SQLite keeps it as text.
public struct SQLColumn: Sendable, ExpressibleByStringLiteral {
    /// The declared types, which give a column its affinity (<https://sqlite.org/datatype3.html>).
    public enum DeclaredType: String, Hashable, Sendable {
        case integer = "INTEGER", real = "REAL", text = "TEXT", blob = "BLOB"
        /// Values as they are. In a table that is not strict it is written as no type at all.
        case any = "ANY"
    }

    /// When a generated column is computed.
    public enum Generation: String, Hashable, Sendable {
        /// When it is read.
        case virtual = "VIRTUAL"
        /// When the row is written.
        case stored = "STORED"
    }

    /// The column's name.
    public private(set) var name: String
    /// Its declared type.
    public let type: DeclaredType
    let property: AnyProperty?
    private(set) var isNotNull = false
    private(set) var isPrimaryKey = false
    private(set) var isGenerated = false
    private var defaultValue: Default?
    private(set) var reference: SQLForeignKey?
    /// The constraints other than those above, in order.
    private var constraints: [SQL] = []
    private var primaryKeyOptions = ""

    private enum Default {
        case value(any SQLValueConvertible), expression(SQL)
    }

    /// A column.
    /// - Parameters:
    ///   - name: its name.
    ///   - type: its declared type. Default: any.
    public init(_ name: String, _ type: DeclaredType = .any) {
        self.name = name
        self.type = type
        property = nil
    }

    public init(stringLiteral name: String) { self.init(name) }

    init(property: AnyProperty, name: String, type: DeclaredType, isNotNull: Bool) {
        self.property = property
        self.name = name
        self.type = type
        self.isNotNull = isNotNull
    }

    private func changed(_ body: (inout SQLColumn) -> Void) -> SQLColumn {
        var copy = self
        body(&copy)
        return copy
    }

    /// Another name than the property's. Indexes and constraints of the same description follow it.
    public func named(_ name: String) -> SQLColumn { changed { $0.name = name } }

    /// The column under the name that its table gives the property.
    func resolved(_ names: [AnyProperty: String]) -> SQLColumn { property.flatMap { names[$0] }.map { named($0) } ?? self }

    /// `NOT NULL`.
    public func notNull() -> SQLColumn { changed { $0.isNotNull = true } }

    /// The whole primary key; for one of several columns see ``SQLConstraint/primaryKey(_:)``. An integer key is the row id, and is
    /// chosen by SQLite where it is NULL.
    /// - Parameter autoincrement: whether the number of a deleted row is never given again
    ///   (<https://sqlite.org/autoinc.html>). Default: no.
    public func primaryKey(autoincrement: Bool = false) -> SQLColumn {
        changed {
            $0.isPrimaryKey = true
            $0.primaryKeyOptions = autoincrement ? " AUTOINCREMENT" : ""
        }
    }

    /// No two rows may have the same value; NULLs are all different.
    public func unique(onConflict conflict: ConflictResolution? = nil) -> SQLColumn {
        constrained("UNIQUE\(raw: conflict.map { " ON CONFLICT \($0.rawValue)" } ?? "")")
    }

    /// The value of a row that is inserted without one.
    public func `default`(_ value: some SQLValueConvertible) -> SQLColumn {
        changed { $0.defaultValue = .value(value) }
    }

    /// The value of a row that is inserted without one, as an expression such as `"CURRENT_TIMESTAMP"`.
    public func `default`(sql: SQL) -> SQLColumn { changed { $0.defaultValue = .expression("(\(sql))") } }

    /// A condition that each row must meet.
    public func check(_ condition: SQL) -> SQLColumn { constrained("CHECK (\(condition))") }

    /// The collation that text is compared by, such as `NOCASE` or one of your own.
    public func collate(_ name: String) -> SQLColumn { constrained("COLLATE \(identifier: name)") }

    /// A column whose value is computed from others (<https://sqlite.org/gencol.html>). Records read it and never write it.
    public func generated(as expression: SQL, _ generation: Generation = .virtual) -> SQLColumn {
        constrained("GENERATED ALWAYS AS (\(expression)) \(raw: generation.rawValue)").changed { $0.isGenerated = true }
    }

    /// A reference to another table (<https://sqlite.org/foreignkeys.html>).
    /// - Parameters:
    ///   - table: the other table's name.
    ///   - column: the column that is referred to; nil for the primary key.
    ///   - onDelete: what happens when the row that is referred to is deleted. Default: an error at the statement's end.
    ///   - onUpdate: what happens when its key changes. Default: an error at the statement's end.
    ///   - isDeferred: whether it is looked at when the transaction commits. Default: no.
    public func references(
        _ table: String, _ column: String? = nil, onDelete: SQLForeignKey.Action = .noAction,
        onUpdate: SQLForeignKey.Action = .noAction, isDeferred: Bool = false
    ) -> SQLColumn {
        changed {
            $0.reference = SQLForeignKey(
                [name], references: table, column.map { [$0] } ?? [], onDelete: onDelete, onUpdate: onUpdate,
                isDeferred: isDeferred)
        }
    }

    /// A reference to the primary key of another record's table.
    public func references<Record: SQLRecord>(
        _ type: Record.Type, onDelete: SQLForeignKey.Action = .noAction, onUpdate: SQLForeignKey.Action = .noAction,
        isDeferred: Bool = false
    ) -> SQLColumn {
        // The table's name, and not its description, which may itself refer back here.
        references(Record.tableName, onDelete: onDelete, onUpdate: onUpdate, isDeferred: isDeferred)
    }

    private func constrained(_ constraint: SQL) -> SQLColumn { changed { $0.constraints.append(constraint) } }

    /// The default as SQL, whose literals are what the profile would bind.
    func defaultSQL(in profile: ValueProfile) throws(DatabaseError) -> SQL? {
        switch defaultValue {
        case nil: nil
        case .expression(let sql): sql
        case .value(let value): SQL(raw: try value.sqlValue(in: profile).literal)
        }
    }

    func definition(isStrict: Bool, _ profile: ValueProfile) throws(DatabaseError) -> SQL {
        if name.isEmpty {
            throw .invalidArgument("a column without a name: a property that is computed or observed needs one by named(_:)")
        }
        var sql: SQL = "\(identifier: name)"
        if type != .any || isStrict { sql = "\(sql) \(raw: type.rawValue)" }
        if isPrimaryKey { sql = "\(sql) PRIMARY KEY\(raw: primaryKeyOptions)" }
        if isNotNull { sql = "\(sql) NOT NULL" }
        if let value = try defaultSQL(in: profile) { sql = "\(sql) DEFAULT \(value)" }
        for constraint in constraints { sql = "\(sql) \(constraint)" }
        if let reference { sql = "\(sql) \(reference.clause)" }
        return sql
    }
}

extension SQLValue {
    /// The value as an SQL literal, for the places where nothing can be bound.
    var literal: String {
        get throws(DatabaseError) {
            switch self {
            case .null: return "NULL"
            case .integer(let value): return "\(value)"
            case .real(let value):
                guard value.isFinite else { throw .invalidArgument("a number that is not finite has no literal") }
                return "\(value)"
            case .text(let value):
                guard !value.utf8.contains(0) else { throw .invalidArgument("text with a NUL character has no literal") }
                return value.quotedSQLLiteral
            case .blob(let value):
                let digits = Array("0123456789ABCDEF")
                return "x'" + String(value.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }) + "'"
            }
        }
    }
}
