import Foundation
import SQLCipherKitCore

/// The description of a table's column (<https://sqlite.org/lang_createtable.html#coldef>).
///
/// In a record's description, a property provides its name, its type and whether it may be NULL. Elsewhere, give it a name:
/// ```swift
/// SQLTable(of: Note.self) { $0.title.unique().collate("NOCASE") }
/// SQLTable("note") { SQLColumn("title", .text).notNull().unique().collate("NOCASE") }
/// // "title" TEXT NOT NULL UNIQUE COLLATE "NOCASE"
/// ```
/// SQL in a description, such as a check, cannot have bound values, because SQLite stores it as text.
public struct SQLColumn: Sendable, ExpressibleByStringLiteral {
    /// The declared types, which give a column its affinity (<https://sqlite.org/datatype3.html>).
    public enum DeclaredType: String, Hashable, Sendable {
        case integer = "INTEGER", real = "REAL", text = "TEXT", blob = "BLOB"
        /// Any values, stored unchanged. In a table that is not strict, the type is omitted.
        case any = "ANY"
    }

    /// The time at which a generated column is computed.
    public enum Generation: String, Hashable, Sendable {
        /// Computed when the column is read.
        case virtual = "VIRTUAL"
        /// Computed when the row is written.
        case stored = "STORED"
    }

    /// The column's name.
    package private(set) var name: String
    /// The declared type.
    package let type: DeclaredType
    let property: AnyProperty?
    /// The name of that property, if it is a stored one.
    let propertyName: String?
    /// True if it is the column of a property that is a date.
    let holdsDates: Bool
    private(set) var isNotNull = false
    private(set) var isPrimaryKey = false
    private(set) var isGenerated = false
    private var defaultValue: Default?
    private(set) var reference: SQLForeignKey?
    /// The constraints other than those above, in order.
    private var constraints: [SQL] = []
    private(set) var isAutoincrement = false

    private enum Default: _HidesValues {
        case value(any SQLValueConvertible), expression(SQL)
    }

    /// A column.
    /// - Parameters:
    ///   - name: its name.
    ///   - type: its declared type. Default: any.
    public init(_ name: String, _ type: DeclaredType = .any) {
        self.name = name
        self.type = type
        (property, propertyName) = (nil, nil)
        holdsDates = false
    }

    public init(stringLiteral name: String) { self.init(name) }

    init(
        property: AnyProperty, name: String, propertyName: String?, type: DeclaredType, isNotNull: Bool, holdsDates: Bool
    ) {
        self.property = property
        self.propertyName = propertyName
        self.holdsDates = holdsDates
        self.name = name
        self.type = type
        self.isNotNull = isNotNull
    }

    private func changed(_ body: (inout SQLColumn) -> Void) -> SQLColumn {
        var copy = self
        body(&copy)
        return copy
    }

    /// Gives the column a name other than the property's. Indexes and constraints in the same description use this name too.
    public func named(_ name: String) -> SQLColumn { changed { $0.name = name } }

    /// The column with the name that its table gives the property.
    func resolved(_ names: [AnyProperty: String]) -> SQLColumn { property.flatMap { names[$0] }.map { named($0) } ?? self }

    /// `NOT NULL`.
    public func notNull() -> SQLColumn { changed { $0.isNotNull = true } }

    /// Makes the column the whole primary key. For a key of several columns, see ``SQLConstraint/primaryKey(_:)``. An integer key
    /// is the row id. If the key is NULL, SQLite chooses the row id.
    /// - Parameter autoincrement: whether the number of a deleted row is never reused (<https://sqlite.org/autoinc.html>). The
    ///   numbers begin with 1: a record whose key is 0 counts as new when it is written, like a record whose key is nil. Default:
    ///   false.
    public func primaryKey(autoincrement: Bool = false) -> SQLColumn {
        changed {
            $0.isPrimaryKey = true
            $0.isAutoincrement = autoincrement
        }
    }

    /// `UNIQUE`: no two rows may have the same value. NULLs are all distinct.
    /// - Parameter conflict: the behavior if the constraint is violated. Default: nil, for an error.
    public func unique(onConflict conflict: ConflictResolution? = nil) -> SQLColumn {
        constrained("UNIQUE\(raw: conflict.map { " ON CONFLICT \($0.rawValue)" } ?? "")")
    }

    /// The column's default value.
    public func `default`(_ value: some SQLValueConvertible) -> SQLColumn {
        changed { $0.defaultValue = .value(value) }
    }

    /// The column's default value, as an expression such as `"CURRENT_TIMESTAMP"`.
    ///
    /// For a property that is a `Date`, creating the table throws ``DatabaseError/Reason/invalidArgument`` if the expression gives
    /// values of another form than the property's: SQL would compare such values wrongly. `CURRENT_TIMESTAMP` and `datetime()` fit
    /// ``DateStrategy/timestamp``, the default; `unixepoch()` fits ``DateStrategy/integerSeconds``.
    public func `default`(sql: SQL) -> SQLColumn { changed { $0.defaultValue = .expression("(\(sql))") } }

    /// A condition that each row must satisfy.
    public func check(_ condition: SQL) -> SQLColumn { constrained("CHECK (\(condition))") }

    /// The collation that compares the column's text, such as `NOCASE` or your own.
    public func collate(_ name: String) -> SQLColumn { constrained("COLLATE \(identifier: name)") }

    /// Makes the column a generated column, computed from other columns (<https://sqlite.org/gencol.html>). Records read it but
    /// never write it.
    /// - Parameters:
    ///   - expression: the expression over other columns of the row.
    ///   - generation: the time at which the column is computed. Default: when it is read, so that it takes no space.
    public func generated(as expression: SQL, _ generation: Generation = .virtual) -> SQLColumn {
        constrained("GENERATED ALWAYS AS (\(expression)) \(raw: generation.rawValue)").changed { $0.isGenerated = true }
    }

    /// Makes the column a foreign key that references another table (<https://sqlite.org/foreignkeys.html>).
    /// - Parameters:
    ///   - table: the other table's name.
    ///   - column: the referenced column. Default: nil, for the primary key.
    ///   - onDelete: the action when the referenced row is deleted. Default: an error at the end of the statement.
    ///   - onUpdate: the action when the referenced row's key changes. Default: an error at the end of the statement.
    ///   - isDeferred: whether the reference is only checked when the transaction commits. Default: false.
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

    /// Makes the column a foreign key that references the primary key of another record's table.
    /// - Parameters:
    ///   - type: the type of the other record.
    ///   - onDelete: the action when the referenced row is deleted. Default: an error at the end of the statement.
    ///   - onUpdate: the action when its key changes. Default: an error at the end of the statement.
    ///   - isDeferred: whether the reference is only checked when the transaction commits. Default: false.
    public func references<Record: SQLRecord>(
        _ type: Record.Type, onDelete: SQLForeignKey.Action = .noAction, onUpdate: SQLForeignKey.Action = .noAction,
        isDeferred: Bool = false
    ) -> SQLColumn {
        // Use the table's name, not its description, which may refer back to this table.
        references(Record.tableName, onDelete: onDelete, onUpdate: onUpdate, isDeferred: isDeferred)
    }

    private func constrained(_ constraint: SQL) -> SQLColumn { changed { $0.constraints.append(constraint) } }

    /// The default that is given as SQL.
    private var defaultExpression: SQL? { if case .expression(let sql)? = defaultValue { sql } else { nil } }

    /// The default as SQL, with values as literals in the form that the profile would bind.
    func defaultSQL(in profile: ValueProfile) throws -> SQL? {
        switch defaultValue {
        case nil: nil
        case .expression(let sql): sql
        case .value(let value): SQL(raw: try value.sqlValue(in: profile).literal)
        }
    }

    static var nameless: DatabaseError {
        .invalidArgument(
            "a column has no name: name a property that is computed or observed, or has an unknown coding key, with named(_:)")
    }

    func definition(isStrict: Bool, _ profile: ValueProfile) throws -> SQL {
        if name.isEmpty { throw Self.nameless }
        var sql: SQL = "\(identifier: name)"
        if type != .any || isStrict { sql = "\(sql) \(raw: type.rawValue)" }
        if isPrimaryKey { sql = "\(sql) PRIMARY KEY\(raw: isAutoincrement ? " AUTOINCREMENT" : "")" }
        if isNotNull { sql = "\(sql) NOT NULL" }
        if let value = try defaultSQL(in: profile) { sql = "\(sql) DEFAULT \(value)" }
        for constraint in constraints { sql = "\(sql) \(constraint)" }
        if let reference { sql = "\(sql) \(reference.clause)" }
        return sql
    }
}

extension SQLValue {
    /// The value as an SQL literal, for places where values cannot be bound.
    var literal: String {
        get throws {
            switch self {
            case .null: return "NULL"
            case .integer(let value): return "\(value)"
            case .real(let value):
                guard value.isFinite else {
                    throw DatabaseError.invalidArgument("a number that is not finite cannot be written as SQL")
                }
                return "\(value)"
            case .text(let value):
                guard !value.utf8.contains(0) else {
                    throw DatabaseError.invalidArgument("text with a NUL character cannot be written as SQL")
                }
                return value.quotedSQLLiteral
            case .blob(let value):
                let digits = Array("0123456789ABCDEF")
                return "x'" + String(value.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }) + "'"
            }
        }
    }
}

/// A default in SQL for dates: its values have to compare with bound dates.
extension SQLColumn {
    /// Evaluates the default, and refuses one that does not compare with the form in which dates are stored.
    func checkDateDefault(in profile: ValueProfile, of table: String, _ db: Connection) throws {
        guard holdsDates, let sql = defaultExpression else { return }
        // An expression that cannot be evaluated is an error of the statement that creates the column.
        guard let value = try? db.fetchOne(SQLValue.self, "SELECT \(sql)"), !value.isNull else { return }
        if value.compares(withDatesIn: profile) { return }
        let example = (try? Date().sqlValue(in: profile)).flatMap { try? $0.literal } ?? "a custom form"
        throw DatabaseError.invalidArgument(
            "the default of \(table).\(name) has the form \((try? value.literal) ?? "of another profile"), and its dates the form "
                + "\(example): SQL would compare them wrongly; give the column another default or another ValueProfile")
    }
}

extension SQLValue {
    fileprivate func compares(withDatesIn profile: ValueProfile) -> Bool {
        guard let date = Date(sqlValue: self, in: profile), let stored = try? date.sqlValue(in: profile) else { return false }
        switch (self, stored) {
        case (.text(let text), .text(let stored)):
            // A text sorts before all that it begins: so a second compares with its milliseconds, and a day with its times.
            return text.hasPrefix(stored) || stored.hasPrefix(text)
        case (.integer, .integer), (.real, .real), (.integer, .real), (.real, .integer): return !isNow(otherThan: date)
        case (.blob, .blob): return true
        default: return false
        }
    }

    /// Returns whether a number is a date near the present by another strategy, and not by its own.
    private func isNow(otherThan date: Date) -> Bool {
        func isNear(_ date: Date) -> Bool { abs(date.timeIntervalSinceNow) < 20 * 366 * 86400 }
        if isNear(date) { return false }
        return [DateStrategy.realSeconds, .milliseconds, .secondsSince2001, .julianDays].contains { strategy in
            Date(sqlValue: self, in: ValueProfile(dates: strategy)).map(isNear) ?? false
        }
    }
}

extension SQLTable {
    /// The statements that create the table, whose defaults have been tried.
    func createStatements(ifNotExists: Bool = false, on db: Connection) throws -> [SQL] {
        let statements = try createStatements(ifNotExists: ifNotExists, valueProfile: db.profile)
        for column in columns { try column.checkDateDefault(in: profiles[column.name] ?? db.profile, of: name, db) }
        return statements
    }
}
