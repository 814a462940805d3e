import SQLCipherKit

/// How the tables of an import are made and filled.
struct RowPlan {
    enum Mode { case insert, upsert, replace, mirror }

    var mode = Mode.insert
    /// The columns of the primary key of a table to be made, and what tells rows apart.
    var key: [String] = []
    /// What the user says of columns' types, by name.
    var types: [[UInt8]: ColumnType] = [:]
}

/// The table that records go into.
///
/// A column's type is decided by the records that are there when it is made. A value that the type would change makes it a wider
/// one: numbers that are in the column by then have the form of text that they came in, so nothing is lost by that.
final class RowTable {
    struct Column {
        let name: String
        var type: ColumnType
        /// Whether the user has said the type, or the table is not of an import's making.
        var isFixed: Bool
        /// Whether no value was seen yet.
        var isEmpty: Bool
        /// The line whose value made text of what might be numbers.
        var textLine: Int?
    }

    let name: String
    /// Whether the table was made by an import, so that a member that has no column yet may get one.
    let isMade: Bool
    let plan: RowPlan
    private let db: Connection
    private let keepsNumbersApart: Bool
    private(set) var columns: [Column] = []
    private var places: [[UInt8]: Int] = [:]
    private var layout: (list: ColumnList, places: [Int], insert: Statement)?
    /// The name of a key that the import adds, if the table has none of the input's columns as its key.
    private var ownKey: String?
    private var keyPlaces: [Int] = []
    private var mirror: MirrorRows?

    /// - Parameters:
    ///   - wasMade: whether an earlier import has made the table, if it is there.
    ///   - columns: the columns of a table to be made, if they are known.
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
        for (value, place) in zip(record.values, current.places) where try !fits(value, place, line) {
            layout = nil
            try widen(place, by: value)
        }
        if layout == nil {
            try prepare(record, line)
            guard let again = layout else { return }
            current = again
        }
        let values = zip(record.values, current.places).map { stored($0, columns[$1]) }
        if let mirror {
            guard let row = try current.insert.fetchOne(Int64.self, StatementArguments(values.map { $0 })) else { return }
            try mirror.keep(row)
        } else {
            try current.insert.execute(StatementArguments(values.map { $0 }))
        }
    }

    /// Removes the rows that were not in the input.
    /// - Returns: how many.
    func removeOthers() throws -> Int { try mirror?.removeOthers() ?? 0 }

    // MARK: Values

    /// Whether the column holds the value as it is.
    private func fits(_ value: ImportValue, _ place: Int, _ line: Int) throws -> Bool {
        let column = columns[place]
        let forms: ValueForms
        switch value {
        case .null:
            if keyPlaces.contains(place) { throw Failure("\(column.name) is empty, and is part of the key") }
            return true
        case .field(let text):
            if column.type == .text && !column.isEmpty { return true }
            forms = .of(field: text)
            if forms == .text { noteText(text, place, line) }
            if column.isFixed { try requireDigits(text, column) }
        case .value(let value): forms = .of(value)
        }
        if column.isFixed || !isMade { return true }
        defer { columns[place].isEmpty = false }
        if column.isEmpty { return ColumnType(forms, keepsNumbersApart: keepsNumbersApart) == column.type }
        if column.type == .text { return forms == .text || !keepsNumbersApart }
        return column.type.forms.isSuperset(of: forms) || keepsNumbersApart && column.type == .numeric && forms == .wholeReal
    }

    private func noteText(_ text: String, _ place: Int, _ line: Int) {
        if columns[place].textLine == nil, Double(text) != nil { columns[place].textLine = line }
    }

    /// A column of numbers that the user wants may drop zeros, but no digit.
    private func requireDigits(_ text: String, _ column: Column) throws {
        guard isMade, column.type != .text, column.type != .any, Int64(text) == nil, Double(text) != nil else { return }
        let digits = text.prefix { $0 != "e" && $0 != "E" }.filter(\.isNumber).drop { $0 == "0" }
        let significant = text.contains(".") ? String(digits.reversed().drop { $0 == "0" }) : String(digits)
        if significant.count > 15 { throw Failure("\(column.name) has more digits than a number holds: --types \(column.name)=text") }
    }

    /// What is bound.
    private func stored(_ value: ImportValue, _ column: Column) -> SQLValue {
        switch value {
        case .null: return .null
        case .value(let value): return value
        case .field(let text):
            // A column of one's own without a type, or of numbers, gets a number where one is; SQLite converts the rest.
            if column.type == .text { return .text(text) }
            switch ValueForms.of(field: text) {
            case .integer: return Int64(text).map { .integer($0) } ?? .text(text)
            case .real, .wholeReal: return Double(text).map { .real($0) } ?? .text(text)
            default: return .text(text)
            }
        }
    }

    // MARK: Columns

    /// Finds or makes the columns of a record, and compiles the statement that adds it.
    private func prepare(_ record: ImportRecord, _ line: Int) throws {
        try Self.requireDistinct(record.list.names)
        for (name, value) in zip(record.list.names, record.values) where places[name.sqlName] == nil {
            guard isMade else {
                throw Failure("the table \(self.name) has no column \(name): ALTER TABLE adds one, and --table names another table")
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
    }

    private func statement(_ found: [Int]) -> String {
        let names = found.map { columns[$0].name.quotedSQLIdentifier }
        let verb = plan.mode == .replace ? "INSERT OR REPLACE" : "INSERT"
        var sql = "\(verb) INTO \(name.quotedSQLIdentifier)"
        sql += names.isEmpty ? " DEFAULT VALUES" : "(\(names.joined(separator: ", "))) VALUES (\(names.map { _ in "?" }.joined(separator: ", ")))"
        if plan.mode == .upsert || plan.mode == .mirror {
            let keys = keyPlaces.map { columns[$0].name.quotedSQLIdentifier }
            // Where there is nothing but the key, the row is written as it is, so that a mirror learns of it.
            let others = names.filter { !keys.contains($0) }
            let changed = (others.isEmpty ? keys : others).map { "\($0) = excluded.\($0)" }
            sql += " ON CONFLICT (\(keys.joined(separator: ", "))) DO UPDATE SET \(changed.joined(separator: ", "))"
        }
        return plan.mode == .mirror ? sql + " RETURNING rowid" : sql
    }

    private func newColumn(_ name: String) -> Column {
        let type = plan.types[name.sqlName]
        return Column(name: name, type: type ?? .text, isFixed: type != nil, isEmpty: true)
    }

    /// Takes a value into account for a column that is to be made.
    private func note(_ value: ImportValue, in column: inout Column) {
        guard !column.isFixed else { return }
        var forms: ValueForms = column.isEmpty ? [] : column.type == .real ? .real : column.type.forms
        switch value {
        case .null: return
        case .field(let text): forms.formUnion(.of(field: text))
        case .value(let value): forms.formUnion(.of(value))
        }
        column.isEmpty = false
        column.type = ColumnType(forms, keepsNumbersApart: keepsNumbersApart)
    }

    private static func definition(_ column: Column) -> String { column.name.quotedSQLIdentifier + column.type.declaration }

    // MARK: Making and widening

    private func make(_ names: [String], _ sample: [(record: ImportRecord, line: Int)]) throws {
        try Self.requireDistinct(names)
        var forms: [ValueForms] = []
        func place(_ name: String) -> Int {
            if let place = places[name.sqlName] { return place }
            places[name.sqlName] = columns.count
            columns.append(newColumn(name))
            forms.append([])
            return columns.count - 1
        }
        for name in names { _ = place(name) }
        for (record, line) in sample {
            for (name, value) in zip(record.list.names, record.values) {
                let place = place(name)
                switch value {
                case .null: continue
                case .value(let value): forms[place].formUnion(.of(value))
                case .field(let text):
                    let form = ValueForms.of(field: text)
                    if form == .text { noteText(text, place, line) }
                    forms[place].formUnion(form)
                }
            }
        }
        for place in columns.indices where !columns[place].isFixed {
            columns[place].type = ColumnType(forms[place], keepsNumbersApart: keepsNumbersApart)
            columns[place].isEmpty = forms[place].isEmpty
        }
        try takeKey(plan.key)
        if keyPlaces.isEmpty {
            guard plan.mode == .insert else {
                throw Failure("--upsert, --replace and --mirror need --pk, which names the columns that tell rows apart", status: .usage)
            }
            let key = ["id", "row_id", "import_row_id"].first { places[$0.sqlName] == nil }
            ownKey = key ?? "sqlcipherkit_row_id"
        }
        try db.execute(SQL(raw: definition(of: name)))
    }

    private func adopt(_ present: [TableColumn]) throws {
        for column in present {
            places[column.name.sqlName] = columns.count
            let type = ColumnType(declared: column.type)
            columns.append(Column(name: column.name, type: type, isFixed: !isMade || plan.types[column.name.sqlName] != nil, isEmpty: false))
            if let wanted = plan.types[column.name.sqlName], wanted != type {
                throw Failure("the column \(column.name) is there already, and is \(column.type.isEmpty ? "any" : column.type)", status: .usage)
            }
        }
        let key = try db.main.primaryKey(of: name)
        if plan.mode == .insert, plan.key.isEmpty {
            if isMade, key.count == 1, present.first?.name == key.first, key == [columns[0].name] { ownKey = key.first }
            return
        }
        try takeKey(plan.key.isEmpty ? key : plan.key)
        if keyPlaces.isEmpty {
            throw Failure("the table \(name) has no primary key: --pk names the columns that tell rows apart", status: .usage)
        }
    }

    private func takeKey(_ names: [String]) throws {
        keyPlaces = try names.map { name in
            guard let place = places[name.sqlName] else { throw Failure("there is no column \(name) for the key", status: .usage) }
            return place
        }
    }

    /// The statement that makes the table.
    private func definition(of name: String) -> String {
        var parts = ownKey.map { ["\($0) INTEGER PRIMARY KEY"] } ?? []
        let made = ownKey.map { key in columns.filter { $0.name != key } } ?? columns
        let single = keyPlaces.count == 1 && ownKey == nil ? columns[keyPlaces[0]].name : nil
        parts += made.map { column in
            Self.definition(column) + (column.name == single ? " PRIMARY KEY NOT NULL" : "")
        }
        if keyPlaces.count > 1, ownKey == nil {
            parts.append("PRIMARY KEY (\(keyPlaces.map { columns[$0].name.quotedSQLIdentifier }.joined(separator: ", ")))")
        }
        return "CREATE TABLE \(name.quotedSQLIdentifier)(\(parts.joined(separator: ", ")))"
    }

    /// Gives a column the type that holds what it has and one more value. SQLite cannot change a column's type, so the table is
    /// made again around its rows, with its indexes and triggers.
    private func widen(_ place: Int, by value: ImportValue) throws {
        let former = columns[place]
        let old = try db.fetchOne(String.self, "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = \(name) COLLATE NOCASE")
        let adopted = try db.main.primaryKey(of: name)
        if keyPlaces.isEmpty, ownKey == nil { try takeKey(adopted) }
        let isKey = adopted.contains { $0.sqlName == former.name.sqlName }
        let dependents = try db.fetchAll(
            String.self, "SELECT sql FROM sqlite_schema WHERE tbl_name = \(name) COLLATE NOCASE AND type <> 'table' AND sql IS NOT NULL")
        // A full-text index refers to rows by an integer key.
        let isReferredTo = isKey && former.type == .integer && !dependents.isEmpty
        guard let old, old.bytes == definition(of: name).bytes, !isReferredTo else {
            throw Failure(
                "its value would change in the column \(former.name), which is \(former.type.rawValue): import it into another table, "
                    + "or make the column text")
        }
        let column = former.name.quotedSQLIdentifier
        var forms = try present(former)
        switch value {
        case .null: break
        case .field(let text): forms.formUnion(.of(field: text))
        case .value(let value): forms.formUnion(.of(value))
        }
        columns[place].type = ColumnType(forms, keepsNumbersApart: keepsNumbersApart)
        let names = try db.main.columns(of: name).map { $0.name.quotedSQLIdentifier }
        let values = names.map { $0 == column && columns[place].type == .text ? "CAST(\($0) AS TEXT)" : $0 }
        let other = "sqlcipherkit_import_wider"
        let quoted = name.quotedSQLIdentifier
        layout = nil
        // The row's number stays; and what refers to the table goes on doing so, which a renaming would follow.
        let wasLegacy = try db.fetchOne(Int.self, "PRAGMA legacy_alter_table") ?? 0
        try db.execute("PRAGMA legacy_alter_table = ON")
        defer { try? db.execute(SQL(raw: "PRAGMA legacy_alter_table = \(wasLegacy)")) }
        try db.execute(SQL(raw: definition(of: other)))
        try db.execute(
            SQL(raw: "INSERT INTO \(other)(rowid, \(names.joined(separator: ", "))) SELECT rowid, \(values.joined(separator: ", ")) FROM \(quoted)"))
        try db.execute(SQL(raw: "DROP TABLE \(quoted)"))
        try db.execute(SQL(raw: "ALTER TABLE \(other) RENAME TO \(quoted)"))
        for sql in dependents { try db.execute(SQL(raw: sql)) }
    }

    /// The forms of what is in a column.
    private func present(_ column: Column) throws -> ValueForms {
        let name = column.name.quotedSQLIdentifier
        func has(_ condition: String) throws -> Bool {
            try db.fetchOne(Bool.self, SQL(raw: "SELECT EXISTS (SELECT 1 FROM \(self.name.quotedSQLIdentifier) WHERE \(condition))")) ?? false
        }
        guard try has("\(name) IS NOT NULL") else { return [] }
        switch column.type {
        case .text: return .text
        case .any, .numeric: return column.type.forms
        case .integer: return .integer
        case .real: return try has("\(name) = CAST(\(name) AS INTEGER)") ? [.real, .wholeReal] : .real
        }
    }

    private static func requireDistinct(_ columns: [String]) throws {
        var seen: Set<[UInt8]> = []
        for column in columns where !seen.insert(column.sqlName).inserted {
            throw Failure("two values are named \(column), which as columns would be one")
        }
    }
}
