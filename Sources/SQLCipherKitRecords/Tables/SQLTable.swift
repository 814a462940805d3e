import SQLCipherKitCore

/// The description of a record's table or any other table (<https://sqlite.org/lang_createtable.html>).
/// ```swift
/// struct Enrolment: SQLRecord {
///     var student: Int64
///     var course: String
///     var grade: Int?
///
///     static let table = SQLTable(of: Enrolment.self, options: [.withoutRowID, .strict]) {
///         $0.student.references(Student.self, onDelete: .cascade)
///         $0.course
///         $0.grade.check("grade BETWEEN 1 AND 6")
///         SQLConstraint.primaryKey($0.student, $0.course)
///         SQLIndex("enrolment_course", on: [$0.course])
///     }
/// }
/// try db.create(Enrolment.table)
///
/// let tag = SQLTable("tag") {
///     SQLColumn("name", .text).notNull().primaryKey()
///     SQLColumn("added", .text).default(sql: "CURRENT_TIMESTAMP")
/// }
/// ```
/// In migrations, prefer the second way: the result of a migration must not change when a type does.
public struct SQLTable: Sendable {
    /// Table options.
    public struct Options: OptionSet, Hashable, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Rows are stored in the order of the primary key (<https://sqlite.org/withoutrowid.html>).
        public static let withoutRowID = Options(rawValue: 1)
        /// Columns only accept values of their type (<https://sqlite.org/stricttables.html>).
        public static let strict = Options(rawValue: 2)
    }

    // Queries copy tables: one reference costs less than seven.
    private final class Description: Sendable {
        let name: String
        let columns: [SQLColumn]
        let indexes: [SQLIndex]
        let options: Options
        let profiles: [String: ValueProfile]
        let constraints: [SQLConstraint]
        let columnNames: [AnyProperty: String]

        init(
            _ name: String, _ options: Options, _ columns: [SQLColumn], _ indexes: [SQLIndex], _ constraints: [SQLConstraint],
            _ profiles: [String: ValueProfile]
        ) {
            let names = Dictionary(
                columns.compactMap { column in column.property.map { ($0, column.name) } }, uniquingKeysWith: { first, _ in first })
            self.name = name
            self.options = options
            self.columns = columns
            self.profiles = profiles
            columnNames = names
            self.indexes = indexes.map { $0.resolved(names) }
            self.constraints = constraints.map { $0.resolved(names) }
        }
    }

    private let description: Description
    /// The table's database. Nil for the first database that has the table, or `main` for a new table.
    package var schema: String?
    /// The record that it is the table of.
    var record: (any SQLRecord.Type)?
    /// The columns of the positional record that it is the table of.
    var positions: RecordPositions?
    /// The columns of the record of a table that is not described.
    var plain: PlainColumns?
    /// True if the table's record has a property for the row id.
    var readsRowID: Bool { plain?.hasRowID ?? false }

    /// The names of a record's columns, as far as they are known without reading the database.
    var knownNames: [String] { positions?.names ?? plain?.names.columns ?? columns.map(\.name) }

    /// The table's name.
    public var name: String { description.name }
    /// The columns, in order; empty if the table is not described.
    package var columns: [SQLColumn] { description.columns }
    /// The indexes that are created with the table.
    package var indexes: [SQLIndex] { description.indexes }
    /// The table's options.
    package var options: Options { description.options }
    /// The profiles of columns with their own profile.
    var profiles: [String: ValueProfile] { description.profiles }
    private var constraints: [SQLConstraint] { description.constraints }
    private var columnNames: [AnyProperty: String] { description.columnNames }

    /// Creates a description with only a name.
    public init(_ name: String) { self.init(name, [], [], [:]) }

    /// A table.
    /// - Parameters:
    ///   - name: the table's name.
    ///   - options: options such as `STRICT`. Default: none.
    ///   - parts: the columns, constraints and indexes, one per line.
    public init(_ name: String, options: Options = [], @SQLTableBuilder _ parts: () -> [SQLTableBuilder.Part]) {
        self.init(name, options, parts(), [:])
    }

    /// Describes the table of a record. The closure receives the record's properties as columns.
    /// - Parameters:
    ///   - type: the type of the record.
    ///   - options: options such as `STRICT`. Default: none.
    ///   - parts: the columns, constraints and indexes, one per line.
    public init<Record: SQLRecord>(
        of type: Record.Type, options: Options = [], @SQLTableBuilder _ parts: (SQLProperties<Record>) -> [SQLTableBuilder.Part]
    ) {
        self.init(Record.tableName, options, parts(SQLProperties()), Record.columnProfiles)
    }

    private init(
        _ name: String, _ options: Options, _ parts: [SQLTableBuilder.Part], _ profiles: [String: ValueProfile]
    ) {
        var columns: [SQLColumn] = [], indexes: [SQLIndex] = [], constraints: [SQLConstraint] = []
        for part in parts {
            switch part.kind {
            case .column(let column): columns.append(column)
            case .index(let index): indexes.append(index)
            case .constraint(let constraint): constraints.append(constraint)
            }
        }
        description = Description(name, options, columns, indexes, constraints, profiles)
    }

    var qualifiedName: String { (schema.map { $0.quotedSQLIdentifier + "." } ?? "") + name.quotedSQLIdentifier }

    /// The column of a property; nil if the property has no name and is not described.
    func columnName<Root, Value>(_ keyPath: KeyPath<Root, Value> & Sendable) -> String? {
        if let column = column(keyPath) { return column.name }
        if !columnNames.isEmpty, let name = columnNames[AnyProperty(keyPath)] { return name }
        return PropertyName.of(keyPath)
    }

    /// The column of a property, if it is found by where the property lies in its record.
    func column<Root, Value>(_ keyPath: KeyPath<Root, Value> & Sendable) -> RecordPositions.Column? {
        positions?.column(keyPath) ?? plain?.column(keyPath)
    }

    /// The name of the column of a property of unknown type.
    func columnName<Root>(partial keyPath: PartialKeyPath<Root> & Sendable) -> String? {
        if let column = positions?.column(partial: keyPath) { return column.name }
        if !columnNames.isEmpty, let name = columnNames[AnyProperty(keyPath)] { return name }
        return PropertyName.of(keyPath)
    }

    /// Returns the form in which a column stores the property of the table's record; nil for a column without a property.
    func form(of column: String) -> SQLValueList.Form? {
        guard let record else { return nil }
        var found: (name: String, type: any Any.Type)?
        if let positions {
            found = positions.columns.first { $0.name.isSameName(as: column) }.map { ($0.name, $0.valueType) }
        } else {
            let described = columns.first { $0.name.isSameName(as: column) }
            for property in StoredProperty.all(of: record) where found == nil {
                let name = described.map { $0.propertyName.isSameText(as: property.name) ? $0.name : nil }
                    ?? PropertyName.column(of: property.name, in: record)
                if let name, name.isSameName(as: column) { found = (name, property.type) }
            }
        }
        return found.map { SQLValueList.Form(type: $0.type, profile: record.columnProfiles[$0.name]) }
    }

    /// SQL for values as one of its columns stores them, in the form in which a column of another table stores them.
    func converted(_ sql: SQL, _ column: String, to other: SQLTable, _ otherColumn: String) -> SQL {
        guard let own = form(of: column), let wanted = other.form(of: otherColumn), SQLForm.hasProfiles(wanted.type),
            !SQLForm.isSame(own.profile, wanted.profile, own.type)
        else { return sql }
        return SQLForm.convert(sql, own.type, from: own.profile, to: wanted.profile)
    }

    /// - Throws: ``DatabaseError/Reason/misuse`` for a description that gives a property another column than its coding key.
    func checkNames<Record: SQLRecord>(_ type: Record.Type) throws {
        let coded = CodedNames.of(type).texts
        if coded.isEmpty { return }
        for column in columns {
            guard let name = column.propertyName, let text = coded[name].flatMap({ $0 }),
                !Record.columnNaming(text).isSameName(as: column.name)
            else { continue }
            throw DatabaseError.misuse(
                """
                \(type) codes its property \(name) as \(text), and its table describes the column \(column.name): \
                describe it as $0.\(name).named("\(Record.columnNaming(text))")
                """)
        }
    }

    /// The columns of the primary key, in the key's order.
    package var primaryKeyColumns: [String] {
        for case .primaryKey(let columns) in constraints.map(\.kind) { return columns.map(\.name) }
        return columns.filter(\.isPrimaryKey).map(\.name)
    }

    /// All foreign keys.
    package var allForeignKeys: [SQLForeignKey] {
        columns.compactMap { column in
            column.reference.map { key in
                var key = key
                key.columns = [column.name]
                return key
            }
        } + constraints.compactMap { if case .foreignKey(let key) = $0.kind { key } else { nil } }
    }

    /// Returns the statements that create the table and its indexes.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a description without columns, with two columns of the same name, or
    ///   with two primary keys.
    /// - Parameters:
    ///   - ifNotExists: whether to leave an existing table or index unchanged. Default: false, so that running the statements
    ///     fails.
    ///   - values: how dates, UUIDs and decimals are stored in default values.
    public func createStatements(ifNotExists: Bool = false, valueProfile values: ValueProfile = .standard)
        throws -> [SQL]
    {
        guard !columns.isEmpty else { throw DatabaseError.invalidArgument("the table \(name) has no columns") }
        if columns.contains(where: \.name.isEmpty) { throw SQLColumn.nameless }
        var seen: Set<SQLName> = []
        for column in columns where !seen.insert(SQLName(column.name)).inserted {
            throw DatabaseError.invalidArgument("the table \(name) has two columns named \(column.name)")
        }
        let ownKeys = constraints.filter { if case .primaryKey = $0.kind { true } else { false } }
        let keys = columns.filter(\.isPrimaryKey).count + ownKeys.count
        if keys > 1 {
            throw DatabaseError.invalidArgument(
                "the table \(name) has \(keys) primary keys: use SQLConstraint.primaryKey for one of several columns")
        }
        var list: [SQL] = []
        for column in columns {
            list.append(try column.definition(isStrict: options.contains(.strict), profiles[column.name] ?? values))
        }
        list += constraints.map(\.sql)
        var kinds: [String] = []
        if options.contains(.withoutRowID) { kinds.append("WITHOUT ROWID") }
        if options.contains(.strict) { kinds.append("STRICT") }
        let suffix = kinds.isEmpty ? "" : " " + kinds.joined(separator: ", ")
        let table: SQL =
            "CREATE TABLE \(raw: ifNotExists ? "IF NOT EXISTS " : "")\(raw: qualifiedName)(\(list: list))\(raw: suffix)"
        return [table] + indexes.map { $0.sql(table: name, schema: schema, ifNotExists: ifNotExists) }
    }
}

/// A table constraint, which can apply to several columns.
public struct SQLConstraint: Sendable {
    enum Kind: Sendable {
        case primaryKey([SQLColumn]), unique([SQLColumn]), check(SQL), foreignKey(SQLForeignKey)
    }

    let kind: Kind

    /// The constraint with the names that the table gives its properties.
    func resolved(_ names: [AnyProperty: String]) -> SQLConstraint {
        switch kind {
        case .primaryKey(let columns): SQLConstraint(kind: .primaryKey(columns.map { $0.resolved(names) }))
        case .unique(let columns): SQLConstraint(kind: .unique(columns.map { $0.resolved(names) }))
        case .check, .foreignKey: self
        }
    }

    /// The primary key.
    public static func primaryKey(_ columns: SQLColumn...) -> SQLConstraint {
        SQLConstraint(kind: .primaryKey(columns))
    }

    /// `UNIQUE`: no two rows may be equal in all of these columns.
    public static func unique(_ columns: SQLColumn...) -> SQLConstraint { SQLConstraint(kind: .unique(columns)) }

    /// A condition that each row must satisfy.
    public static func check(_ condition: SQL) -> SQLConstraint { SQLConstraint(kind: .check(condition)) }

    /// A foreign key of several columns.
    public static func foreignKey(_ key: SQLForeignKey) -> SQLConstraint { SQLConstraint(kind: .foreignKey(key)) }

    var sql: SQL {
        switch kind {
        case .primaryKey(let columns): "PRIMARY KEY (\(names: columns.map(\.name)))"
        case .unique(let columns): "UNIQUE (\(names: columns.map(\.name)))"
        case .check(let condition): "CHECK (\(condition))"
        case .foreignKey(let key): "FOREIGN KEY (\(names: key.columns)) \(key.clause)"
        }
    }
}

/// Collects the parts of a table's description, one per line.
@resultBuilder
public enum SQLTableBuilder: _SQLListBuilder {
    public typealias _Element = Part

    /// A column, an index or a constraint.
    public struct Part: Sendable {
        enum Kind: Sendable {
            case column(SQLColumn), index(SQLIndex), constraint(SQLConstraint)
        }

        let kind: Kind
    }

    public static func buildExpression(_ column: SQLColumn) -> [Part] { [Part(kind: .column(column))] }
    public static func buildExpression(_ index: SQLIndex) -> [Part] { [Part(kind: .index(index))] }
    public static func buildExpression(_ constraint: SQLConstraint) -> [Part] { [Part(kind: .constraint(constraint))] }
}

extension Connection {
    /// The database of a table: the database in its description, or the first that has the table, in SQLite's order: `temp`, `main`
    /// and the attached databases. `main` if none has it.
    func schema(of table: SQLTable) throws -> Schema {
        if let name = table.schema { return Schema(self, name) }
        for schema in [temp] + (try schemas()) {
            if try schema.form(of: table.name) != nil { return schema }
        }
        return main
    }
}
