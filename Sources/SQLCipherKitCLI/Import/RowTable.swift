import SQLCipherKit

/// How the tables of an import are created and filled.
struct RowPlan {
    enum Mode { case insert, upsert, replace, mirror }

    var mode = Mode.insert
    /// The columns that identify a row, and that are the primary key of a new table.
    var key: [String] = []
    /// The column types that the user gives, by name.
    var types: [[UInt8]: ColumnType] = [:]
    /// Whether a field is a number only if the number, written as text, is the field again.
    var isStrict = false
    /// Whether a table that an import has made is dropped, and made again.
    var isFresh = false
    /// The names of these columns, as the user has written them.
    var typedNames: [String] = []
}

/// The table that records go into.
///
/// The records that are known when a column is created decide its type. A value that the type would change makes the type wider.
/// Nothing is lost by that: numbers already in the column become the same text that they were imported from, or stay numbers where
/// that text is not known.
final class RowTable {
    struct Column {
        let name: String
        var type: ColumnType
        /// Whether the user gave the type, or the table was not created by an import.
        var isFixed: Bool
        /// Whether no value has been seen yet.
        var isEmpty: Bool
        /// The line whose value made the column text that could have been numbers.
        var textLine: Int?
    }

    let name: String
    /// Whether an import created the table, so that it may get further columns.
    let isMade: Bool
    let plan: RowPlan
    let db: Connection
    let keepsNumbersApart: Bool
    /// Whether numbers with the same value are the same, however they are written.
    var isByValue: Bool { !keepsNumbersApart && !plan.isStrict }
    var columns: [Column] = []
    var places: [[UInt8]: Int] = [:]
    var layout: (list: ColumnList, places: [Int], insert: Statement)?
    /// The name of a key that the import adds, if the table has none of the input's columns as its key.
    var ownKey: String?
    var keyPlaces: [Int] = []
    /// The forms of a record's values, once they are looked at.
    var forms: [ValueForms] = []
    private var mirror: MirrorRows?

    /// - Parameters:
    ///   - wasMade: whether an earlier import created the table, if it exists.
    ///   - columns: the columns of a new table, if they are known.
    ///   - sample: the first records.
    init(
        _ db: Connection, _ name: String, wasMade: Bool, plan: RowPlan, keepsNumbersApart: Bool, columns names: [String],
        sample: [(record: ImportRecord, line: Int)]
    ) throws {
        (self.db, self.name, self.plan, self.keepsNumbersApart) = (db, name, plan, keepsNumbersApart)
        let present = try db.main.columns(of: name).filter { $0.kind == .normal }
        isMade = wasMade || present.isEmpty
        if present.isEmpty {
            try make(names, sample)
        } else {
            try adopt(present)
        }
        if plan.mode == .mirror { mirror = try MirrorRows(db, name) }
    }

    func insert(_ record: ImportRecord, line: Int) throws {
        if layout?.list.isSame(as: record.list) != true { try prepare(record, line) }
        guard var current = layout else { return }
        for index in record.values.indices where try !fits(record.values[index], index, current.places[index], line) {
            layout = nil
            try widen(current.places[index], by: record.values[index])
        }
        if layout == nil {
            try prepare(record, line)
            guard let again = layout else { return }
            current = again
        }
        for index in record.values.indices {
            try current.insert.bind(stored(record.values[index], index, columns[current.places[index]].type), at: index + 1)
        }
        guard try current.insert.step() else { return }
        if let mirror { try mirror.keep(current.insert[0]) }
        _ = try current.insert.step()
    }

    /// Removes the rows that were not in the input.
    /// - Returns: the number of rows removed.
    func removeOthers() throws -> Int { try mirror?.removeOthers() ?? 0 }

    /// Finds or adds the columns of a record, and compiles the statement that inserts it.
    func prepare(_ record: ImportRecord, _ line: Int) throws {
        try Self.requireDistinct(record.list.names)
        for (name, value) in zip(record.list.names, record.values) where places[name.sqlName] == nil {
            guard isMade else {
                throw Failure("the table \(self.name) has no column \(name): add it with ALTER TABLE, or use another --table")
            }
            var column = newColumn(name)
            note(value, in: &column)
            try db.execute(SQL(raw: "ALTER TABLE \(self.name.quotedSQLIdentifier) ADD COLUMN \(Self.definition(column))"))
            places[name.sqlName] = columns.count
            columns.append(column)
        }
        let found = record.list.names.compactMap { places[$0.sqlName] }
        if let missing = keyPlaces.first(where: { !found.contains($0) }) {
            throw Failure("it has no \(columns[missing].name), which is part of the key")
        }
        layout = (record.list, found, try db.prepare(SQL(raw: statement(found))))
        if forms.count != found.count { forms = Array(repeating: [], count: found.count) }
    }

    func statement(_ found: [Int]) -> String {
        let names = found.map { columns[$0].name.quotedSQLIdentifier }
        let verb = plan.mode == .replace ? "INSERT OR REPLACE" : "INSERT"
        var sql = "\(verb) INTO \(name.quotedSQLIdentifier)"
        let marks = names.map { _ in "?" }.joined(separator: ", ")
        sql += names.isEmpty ? " DEFAULT VALUES" : "(\(names.joined(separator: ", "))) VALUES (\(marks))"
        if plan.mode == .upsert || plan.mode == .mirror {
            let keys = keyPlaces.map { columns[$0].name.quotedSQLIdentifier }
            // If there are only key columns, the row is rewritten unchanged, so that RETURNING tells a mirror its rowid.
            let others = names.filter { !keys.contains($0) }
            let changed = (others.isEmpty ? keys : others).map { "\($0) = excluded.\($0)" }
            sql += " ON CONFLICT (\(keys.joined(separator: ", "))) DO UPDATE SET \(changed.joined(separator: ", "))"
        }
        return plan.mode == .mirror ? sql + " RETURNING rowid" : sql
    }

    func newColumn(_ name: String) -> Column {
        let type = plan.types[name.sqlName]
        return Column(name: name, type: type ?? .text, isFixed: type != nil, isEmpty: true)
    }

    /// Takes a value into account for the type of a new column.
    func note(_ value: ImportValue, in column: inout Column) {
        guard !column.isFixed else { return }
        var forms: ValueForms = column.isEmpty ? [] : column.type == .real ? .real : column.type.forms
        switch value {
        case .null: return
        case .field(let text): forms.formUnion(.of(field: text, strict: plan.isStrict))
        case .value(let value): forms.formUnion(.of(value))
        }
        column.isEmpty = false
        column.type = ColumnType(forms, keepsNumbersApart: keepsNumbersApart, isByValue: isByValue)
    }

    static func definition(_ column: Column) -> String { column.name.quotedSQLIdentifier + column.type.declaration }

    static func requireDistinct(_ columns: [String]) throws {
        var seen: Set<[UInt8]> = []
        for column in columns where !seen.insert(column.sqlName).inserted {
            throw Failure(
                "two values are named \(column), and a table cannot have two columns of one name: --rename changes one in CSV")
        }
    }
}
