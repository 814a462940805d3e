import SQLCipherKit

/// The plan by which the tables of an import are created and filled.
struct RowPlan {
    /// True if a row updates the one with the same key.
    var isUpsert = false
    /// The columns that identify a row, and that are the primary key of a new table.
    var key: [String] = []
    /// The column types that the user gives, by name.
    var types: [[UInt8]: ColumnType] = [:]
    /// The rules by which values decide the types of the other columns.
    var rules = ImportColumns.Rules(keepsNumbersApart: false)
    /// True if a table that an import has made is dropped, and made again.
    var isFresh = false
    /// True if a table gets a key of its own if none of its columns is one, as a full-text index needs one.
    var needsKey = false
    /// The names of these columns, as the user has written them.
    var typedNames: [String] = []
}

/// The table that records go into.
///
/// The records that are known when a column is created decide its type. A later value that the column would change makes it wider
/// in place if the values in it return as they were written; ``TooNarrow`` is thrown if they do not.
final class RowTable {
    /// A value needs a wider column than what the column holds already can be taken to.
    struct TooNarrow: Error { let failure: Failure }

    let name: String
    /// True if an import created the table, so that it may get further columns.
    let isMade: Bool
    let plan: RowPlan
    let db: Connection
    private(set) var columns: ImportColumns
    private var layout: (list: ColumnList, places: [Int], insert: RowStatement)?
    /// The name of a key that an import has added, if the table has none of the input's columns as its key.
    private var ownKey: String?
    private var keyPlaces: [Int] = []

    /// A table that exists, or nil.
    /// - Parameters:
    ///   - wasMade: whether an earlier import created the table.
    ///   - noted: the table's columns, if this command has filled it.
    init?(_ db: Connection, existing name: String, wasMade: Bool, plan: RowPlan, noted: ImportColumns?) throws {
        let present = try db.main.columns(of: name).filter { $0.kind == .normal }
        if present.isEmpty { return nil }
        (self.db, self.name, self.plan, isMade) = (db, name, plan, wasMade)
        columns = ImportColumns(plan)
        try adopt(present, noted)
    }

    /// Creates a table with these columns.
    init(_ db: Connection, creating name: String, plan: RowPlan, _ columns: ImportColumns) throws {
        (self.db, self.name, self.plan, self.columns, isMade) = (db, name, plan, columns, true)
        self.columns.decide()
        try make()
    }

    /// The columns that a file without names fills, in order.
    var namesByPosition: [String] { columns.list.map(\.name).filter { $0 != ownKey } }

    func insert(_ record: ImportRecord, line: Int) throws {
        if layout?.list.isSame(as: record.list) != true { layout = nil }
        while try !run(record, line) { try prepare(record, line) }
    }

    /// Binds the values of a record and runs the statement.
    /// - Returns: false if there is no statement for the record, as a column has become wider, for example.
    private func run(_ record: borrowing ImportRecord, _ line: Int) throws -> Bool {
        guard let (_, places, insert) = layout else { return false }
        return try record.bytes.withUnsafeBytes { bytes in
            // Copies of texts that the record does not have as bytes.
            var texts: [UnsafeMutableRawBufferPointer] = []
            defer { for text in texts { text.deallocate() } }
            for index in record.values.indices {
                let forms = try take(record, index, places[index], line)
                if layout == nil { return false }
                let lent: LentValue = switch record.values[index] {
                case .null, .value(.null): .null
                case .text(let place): .text(UnsafeRawBufferPointer(rebasing: bytes[place]))
                case .field(let place):
                    Self.stored(UnsafeRawBufferPointer(rebasing: bytes[place]), forms, columns.list[places[index]].type)
                case .value(.integer(let value)): .integer(value)
                case .value(.real(let value)): .real(value)
                case .value(.text(let text)): .text(Self.copy(text.utf8, &texts))
                case .value(.blob(let blob)): .blob(Self.copy(blob, &texts))
                }
                try insert.bind(lent, at: index + 1)
            }
            try insert.run()
            return true
        }
    }

    private static func copy(
        _ bytes: some Collection<UInt8>, _ texts: inout [UnsafeMutableRawBufferPointer]
    ) -> UnsafeRawBufferPointer {
        let text = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        text.copyBytes(from: bytes)
        texts.append(text)
        return UnsafeRawBufferPointer(text)
    }

    /// Finds or adds the columns of a record, and compiles the statement that inserts it.
    func prepare(_ record: ImportRecord, _ line: Int) throws {
        try Self.requireDistinct(record.list.names)
        for (index, name) in record.list.names.enumerated() where columns.place(of: name) == nil {
            guard isMade else {
                throw Failure("the table \(self.name) has no column \(name): add it with ALTER TABLE, or use another --table")
            }
            let place = columns.add(name)
            if index < record.values.count { _ = columns.list[place].note(record, index, line) }
            columns.list[place].type = plan.rules.type(of: columns.list[place])
            let definition = Self.definition(columns.list[place])
            try db.execute(SQL(raw: "ALTER TABLE \(self.name.quotedSQLIdentifier) ADD COLUMN \(definition)"))
        }
        let found = record.list.names.compactMap(columns.place)
        if let missing = keyPlaces.first(where: { !found.contains($0) }) {
            throw Failure("it has no \(columns.list[missing].name), which is part of the key")
        }
        layout = (record.list, found, try RowStatement(db, statement(found)))
    }

    func statement(_ found: [Int]) -> String {
        let names = found.map { columns.list[$0].name.quotedSQLIdentifier }
        var sql = "INSERT INTO \(name.quotedSQLIdentifier)"
        let marks = names.map { _ in "?" }.joined(separator: ", ")
        sql += names.isEmpty ? " DEFAULT VALUES" : "(\(names.joined(separator: ", "))) VALUES (\(marks))"
        if plan.isUpsert {
            let keys = keyPlaces.map { columns.list[$0].name.quotedSQLIdentifier }
            let changed = names.filter { !keys.contains($0) }.map { "\($0) = excluded.\($0)" }
            sql += " ON CONFLICT (\(keys.joined(separator: ", "))) DO "
                + (changed.isEmpty ? "NOTHING" : "UPDATE SET \(changed.joined(separator: ", "))")
        }
        return sql
    }

    private static func definition(_ column: ImportColumns.Column) -> String {
        column.name.quotedSQLIdentifier + column.type.declaration
    }

    static func requireDistinct(_ columns: [String]) throws {
        var seen: Set<[UInt8]> = []
        for column in columns where !seen.insert(column.sqlName).inserted {
            throw Failure(
                "two values are named \(column), and a table cannot have two columns of one name: for CSV, --no-header --skip 1 "
                    + "names the columns column1, column2 and so on")
        }
    }
}

extension RowTable {
    private func make() throws {
        try Self.requireDistinct(columns.list.map(\.name))
        if columns.list.isEmpty { throw Failure("it is empty") }
        try takeKey(plan.key)
        if keyPlaces.isEmpty {
            if plan.isUpsert { throw Failure("--upsert needs --pk: the columns that identify a row", status: .usage) }
            if plan.needsKey { ownKey = nameOfKey }
        }
        try db.execute(SQL(raw: definition(of: name)))
    }

    private func adopt(_ present: [Schema.Column], _ noted: ImportColumns?) throws {
        for column in present {
            let type = ColumnType(declared: column.type)
            let wanted = plan.types[column.name.sqlName]
            if let wanted, wanted != type {
                throw Failure("the column \(column.name) already exists, and is \(type.rawValue)", status: .usage)
            }
            let former = noted.flatMap { noted in noted.place(of: column.name).map { noted.list[$0] } }
            columns.add(former ?? .init(column.name, stored: type, isFixed: !isMade || wanted != nil, plan.rules))
        }
        let key = try db.main.primaryKey(of: name)
        if isMade, key.count == 1, key == [columns.list[0].name] {
            ownKey = key[0]
            if try !isAsMade() { ownKey = nil }
        }
        if !plan.isUpsert, plan.key.isEmpty {
            if plan.needsKey, key.isEmpty, try isAsMade() { try rebuild { ownKey = nameOfKey } }
            return
        }
        try takeKey(plan.key.isEmpty ? key : plan.key)
        if keyPlaces.isEmpty {
            throw Failure("the table \(name) has no primary key: use --pk to name the columns that identify a row", status: .usage)
        }
    }

    func takeKey(_ names: [String]) throws {
        keyPlaces = try names.map { name in
            if let place = columns.place(of: name) { return place }
            throw Failure("there is no column \(name) for the key", status: .usage)
        }
    }

    /// A name for a key that the import adds.
    private var nameOfKey: String {
        ["id", "row_id", "import_row_id"].first { columns.place(of: $0) == nil } ?? "sqlcipherkit_row_id"
    }

    /// Returns whether the table is still the one that an import has made.
    func isAsMade() throws -> Bool { try db.main.table(name)?.sql.bytes == definition(of: name).bytes }

    /// The statement that creates the table.
    func definition(of name: String) -> String {
        var parts = ownKey.map { ["\($0) INTEGER PRIMARY KEY"] } ?? []
        let made = columns.list.filter { $0.name != ownKey }
        let single = keyPlaces.count == 1 && ownKey == nil ? columns.list[keyPlaces[0]].name : nil
        parts += made.map { column in
            Self.definition(column) + (column.name == single ? " PRIMARY KEY NOT NULL" : "")
        }
        if keyPlaces.count > 1, ownKey == nil {
            parts.append("PRIMARY KEY (\(keyPlaces.map { columns.list[$0].name.quotedSQLIdentifier }.joined(separator: ", ")))")
        }
        return "CREATE TABLE \(name.quotedSQLIdentifier)(\(parts.joined(separator: ", ")))"
    }
}

extension RowTable {
    /// Takes a value into account, and makes its column wider if it would change there.
    /// - Returns: the value's forms.
    @inline(__always)
    private func take(_ record: borrowing ImportRecord, _ index: Int, _ place: Int, _ line: Int) throws -> ValueForms {
        let (forms, before) = columns.list[place].note(record, index, line)
        if forms.isEmpty {
            if keyPlaces.contains(place) { throw Failure("\(columns.list[place].name) is empty, and is part of the key") }
        } else if columns.list[place].isFixed {
            try requireDigits(record, index, columns.list[place])
        } else if !forms.isSubset(of: before) {
            let wider = plan.rules.type(of: columns.list[place])
            if wider != columns.list[place].type { try widen(place, to: wider, hadValues: !before.isEmpty) }
        }
        return forms
    }

    /// In a column that is declared as numbers, a number may lose zeros at its ends, but no other digit.
    private func requireDigits(_ record: borrowing ImportRecord, _ index: Int, _ column: ImportColumns.Column) throws {
        guard column.type != .text, column.type != .any else { return }
        let text: String
        switch record.values[index] {
        case .field(let place): text = record.text(place)
        case .text(let place): text = record.text(place)
        case .value(.text(let value)): text = value
        case .value(.integer(let value)): text = String(value)
        default: return
        }
        // SQLite leaves a text that is no number as it is.
        guard let number = Double(text) else { return }
        let digits = ValueForms.significantDigits(text).count
        let holds = if let integer = Int64(text) {
            column.type != .real || Int64(exactly: Double(integer)) == integer
        } else {
            // All of its digits may be those of the number nearest to it.
            ValueForms.of(field: text) != .text || digits == 0 || number.isNormal && digits <= 15
        }
        guard !holds else { return }
        let advice = isMade ? "use --types \(column.name)=text" : "make the column text"
        throw Failure("\(column.name) has more digits than its type, \(column.type.rawValue), can hold: \(advice)")
    }

    /// The value to bind for a field with these forms.
    static func stored(_ field: UnsafeRawBufferPointer, _ forms: ValueForms, _ type: ColumnType) -> LentValue {
        // A column of numbers gets a number if the field is one, and SQLite converts the rest. One without a type gets it if the
        // number is written like the field.
        if type == .text || forms.contains(.text) || type == .any && forms.contains(.reshaped) { return .text(field) }
        if forms.contains(.integer) { return integer(field).map { .integer($0) } ?? .text(field) }
        return Double(String(decoding: field, as: UTF8.self)).map { .real($0) } ?? .text(field)
    }

    private static func integer(_ field: UnsafeRawBufferPointer) -> Int64? {
        guard field.count < 19 else { return Int64(String(decoding: field, as: UTF8.self)) }
        let isNegative = field.first == UInt8(ascii: "-")
        var value: Int64 = 0
        for byte in field[(isNegative ? 1 : 0)...] { value = value &* 10 &+ Int64(byte &- 0x30) }
        return isNegative ? -value : value
    }
}

extension RowTable {
    /// Gives a column a wider type. SQLite cannot change a column's type, so the table is rebuilt with its rows, indexes and
    /// triggers.
    private func widen(_ place: Int, to type: ColumnType, hadValues: Bool) throws {
        let column = columns.list[place], former = column.type
        let adopted = try db.main.primaryKey(of: name), asked = keyPlaces
        // The table keeps its key, of which an import may leave out values unless it has asked for the key.
        defer { keyPlaces = asked }
        if keyPlaces.isEmpty, ownKey == nil { try takeKey(adopted) }
        // A full-text index refers to rows by an integer key.
        let isReferredTo = try former == .integer && adopted.contains { $0.sqlName == column.name.sqlName }
            && !dependents().isEmpty
        // Integers are the same text again, and texts stay texts. Other numbers are the same number, but not the same text.
        let returnsAll = switch (former, type) {
        case _ where !hadValues, (.integer, _), (.text, .any), (.real, .numeric): true
        case (.real, .any), (.numeric, .any): !column.forms.contains(.reshaped)
        default: false
        }
        guard returnsAll, try isAsMade(), !isReferredTo else {
            let what = "the column \(column.name) is \(former.rawValue), which would change this value, and its type cannot follow"
            throw TooNarrow(failure: Failure(
                "\(what): --fresh imports all of it from the beginning; or use --types \(column.name)=text, or another --table"))
        }
        layout = nil
        try rebuild { columns.list[place].type = type }
    }

    /// Makes the table again after a change of its columns or its key, with its rows.
    private func rebuild(after change: () -> Void) throws {
        let dependents = try dependents()
        let rowID = try [db.main.rowIDName(of: name) ?? ownKey].compactMap(\.self)
        change()
        let other = "sqlcipherkit_import_wider"
        let quoted = name.quotedSQLIdentifier
        layout = nil
        // Rowids stay. References to the table stay as well: without the legacy setting, they would follow the renaming.
        let wasLegacy = try db.fetchOne(Int.self, "PRAGMA legacy_alter_table") ?? 0
        try db.execute("PRAGMA legacy_alter_table = ON")
        defer { try? db.execute(SQL(raw: "PRAGMA legacy_alter_table = \(wasLegacy)")) }
        try db.execute(SQL(raw: definition(of: other)))
        // The types of the new columns convert the values.
        let list = (rowID + columns.list.map { $0.name.quotedSQLIdentifier }).joined(separator: ", ")
        try db.execute(SQL(raw: "INSERT INTO \(other)(\(list)) SELECT \(list) FROM \(quoted)"))
        try db.execute(SQL(raw: "DROP TABLE \(quoted)"))
        try db.execute(SQL(raw: "ALTER TABLE \(other) RENAME TO \(quoted)"))
        for sql in dependents { try db.execute(SQL(raw: sql)) }
    }

    /// The statements that make the table's indexes and triggers.
    private func dependents() throws -> [String] {
        try db.fetchAll(
            String.self,
            """
            SELECT sql FROM sqlite_schema WHERE tbl_name = \(name) COLLATE NOCASE AND type <> 'table' AND sql IS NOT NULL
            """)
    }
}
