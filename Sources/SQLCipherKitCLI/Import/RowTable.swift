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
    /// Whether a table gets a key of its own if none of its columns is one, as a full-text index needs one.
    var needsKey = false
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
        /// The words for a missing value that made the column text, if all else in the first records are numbers.
        var missing: Set<String> = []
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
    var layout: (list: ColumnList, places: [Int], insert: RowStatement)?
    /// The name of a key that an import has added, if the table has none of the input's columns as its key.
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
        for index in record.values.indices where try !fits(record, index, current.places[index], line) {
            layout = nil
            try widen(current.places[index], by: record.forms(of: record.values[index], strict: plan.isStrict))
        }
        if layout == nil {
            try prepare(record, line)
            guard let again = layout else { return }
            current = again
        }
        try record.bytes.withUnsafeBytes { bytes in
            // Copies of texts that the record does not have as bytes.
            var texts: [UnsafeMutableRawBufferPointer] = []
            defer { for text in texts { text.deallocate() } }
            for (index, value) in record.values.enumerated() {
                let lent: LentValue = switch value {
                case .null: .null
                case .text(let place): .text(UnsafeRawBufferPointer(rebasing: bytes[place]))
                case .field(let place):
                    Self.stored(UnsafeRawBufferPointer(rebasing: bytes[place]), forms[index], columns[current.places[index]].type)
                case .value(.null): .null
                case .value(.integer(let value)): .integer(value)
                case .value(.real(let value)): .real(value)
                case .value(.text(let text)): .text(UnsafeRawBufferPointer(Self.copy(text.utf8, &texts)))
                case .value(.blob(let blob)): .blob(UnsafeRawBufferPointer(Self.copy(blob, &texts)))
                }
                try current.insert.bind(lent, at: index + 1)
            }
            if let row = try current.insert.run(), let mirror { try mirror.keep(row) }
        }
    }

    private static func copy(
        _ bytes: some Collection<UInt8>, _ texts: inout [UnsafeMutableRawBufferPointer]
    ) -> UnsafeMutableRawBufferPointer {
        let text = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        text.copyBytes(from: bytes)
        texts.append(text)
        return text
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
            note(record.forms(of: value, strict: plan.isStrict), in: &column)
            try db.execute(SQL(raw: "ALTER TABLE \(self.name.quotedSQLIdentifier) ADD COLUMN \(Self.definition(column))"))
            places[name.sqlName] = columns.count
            columns.append(column)
        }
        let found = record.list.names.compactMap { places[$0.sqlName] }
        if let missing = keyPlaces.first(where: { !found.contains($0) }) {
            throw Failure("it has no \(columns[missing].name), which is part of the key")
        }
        layout = (record.list, found, try RowStatement(db, try statement(found)))
        if forms.count != found.count { forms = Array(repeating: [], count: found.count) }
    }

    func statement(_ found: [Int]) throws -> String {
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
        return try sql + (mirror.map { " RETURNING \(try $0.rowID)" } ?? "")
    }

    func newColumn(_ name: String) -> Column {
        let type = plan.types[name.sqlName]
        return Column(name: name, type: type ?? .text, isFixed: type != nil, isEmpty: true)
    }

    /// Takes a value's forms into account for the type of a new column.
    func note(_ value: ValueForms, in column: inout Column) {
        guard !column.isFixed, !value.isEmpty else { return }
        let forms: ValueForms = column.isEmpty ? [] : column.type == .real ? .real : column.type.forms
        column.isEmpty = false
        column.type = ColumnType(forms.union(value), keepsNumbersApart: keepsNumbersApart, isByValue: isByValue)
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

extension RowTable {
    func make(_ names: [String], _ sample: [(record: ImportRecord, line: Int)]) throws {
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
                let place = place(name), form = record.forms(of: value, strict: plan.isStrict)
                if case .field(let bytes) = value, form == .text {
                    let text = record.text(bytes)
                    if Self.wordsForNothing.contains(text) {
                        columns[place].missing.insert(text)
                        continue
                    }
                    noteText(text, place, line)
                }
                forms[place].formUnion(form)
            }
        }
        // The names in JSON lines are known only at the end; those of CSV are all in its header.
        if !names.isEmpty, let missing = plan.typedNames.first(where: { places[$0.sqlName] == nil }) {
            throw Failure("--types names \(missing), but \(name) gets no such column", status: .usage)
        }
        for place in columns.indices where !columns[place].isFixed {
            let misses = !columns[place].missing.isEmpty
            if forms[place].isEmpty || forms[place].contains(.text) { columns[place].missing = [] }
            if misses { forms[place].insert(.text) }
            // No number is stored yet: beside texts, each field is stored as it is written.
            if forms[place].contains(.text) { forms[place].remove(.reshaped) }
            columns[place].type = ColumnType(forms[place], keepsNumbersApart: keepsNumbersApart, isByValue: isByValue)
            columns[place].isEmpty = forms[place].isEmpty
        }
        if columns.isEmpty { throw Failure("it is empty") }
        try takeKey(plan.key)
        if keyPlaces.isEmpty {
            guard plan.mode == .insert else {
                throw Failure("--upsert, --replace and --mirror need --pk: the columns that identify a row", status: .usage)
            }
            if plan.needsKey { ownKey = nameOfKey }
        }
        try db.execute(SQL(raw: definition(of: name)))
    }

    func adopt(_ present: [Schema.Column]) throws {
        for column in present {
            places[column.name.sqlName] = columns.count
            let type = ColumnType(declared: column.type)
            let wanted = plan.types[column.name.sqlName]
            columns.append(Column(name: column.name, type: type, isFixed: !isMade || wanted != nil, isEmpty: false))
            if let wanted, wanted != type {
                throw Failure("the column \(column.name) already exists, and is \(type.rawValue)", status: .usage)
            }
        }
        let key = try db.main.primaryKey(of: name)
        if isMade, key.count == 1, key == [columns[0].name] {
            ownKey = key[0]
            if try !isAsMade() { ownKey = nil }
        }
        if plan.mode == .insert, plan.key.isEmpty {
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
            guard let place = places[name.sqlName] else { throw Failure("there is no column \(name) for the key", status: .usage) }
            return place
        }
    }

    /// Words that programs write for a missing value.
    private static let wordsForNothing: Set = ["NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "\\N", "-", ".", "?"]

    /// A name for a key that the import adds.
    private var nameOfKey: String {
        ["id", "row_id", "import_row_id"].first { places[$0.sqlName] == nil } ?? "sqlcipherkit_row_id"
    }

    /// Whether the table is still the one that an import has made.
    func isAsMade() throws -> Bool { try db.main.table(name)?.sql.bytes == definition(of: name).bytes }

    /// The statement that creates the table.
    func definition(of name: String) -> String {
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
}

extension RowTable {
    /// Whether the column can hold the value unchanged.
    /// - Parameter index: the value's place in its record.
    func fits(_ record: ImportRecord, _ index: Int, _ place: Int, _ line: Int) throws -> Bool {
        let type = columns[place].type, isEmpty = columns[place].isEmpty
        let forms: ValueForms
        switch record.values[index] {
        case .null, .value(.null):
            if keyPlaces.contains(place) { throw Failure("\(columns[place].name) is empty, and is part of the key") }
            return true
        case .field(let bytes):
            if type == .text && !isEmpty { return true }
            forms = record.forms(of: record.values[index], strict: plan.isStrict)
            if forms == .text { noteText(record.text(bytes), place, line) }
            if columns[place].isFixed { try requireDigits(record.text(bytes), columns[place]) }
        case .text:
            if type == .text && !isEmpty { return true }
            forms = .text
        case .value(let value): forms = .of(value)
        }
        self.forms[index] = forms
        if columns[place].isFixed || !isMade { return true }
        if isEmpty {
            columns[place].isEmpty = false
            return ColumnType(forms, keepsNumbersApart: keepsNumbersApart, isByValue: isByValue) == type
        }
        if type == .text { return forms == .text || !keepsNumbersApart }
        if isByValue, type == .real, forms == .integer { return true }
        return type.forms.union(.reshaped).isSuperset(of: type == .real ? forms : forms.subtracting(.long))
            || keepsNumbersApart && type == .numeric && forms == .wholeReal
    }

    func noteText(_ text: String, _ place: Int, _ line: Int) {
        if columns[place].textLine == nil, Double(text) != nil { columns[place].textLine = line }
    }

    /// A column that the user declares as numbers may drop zeros, but no other digit.
    private func requireDigits(_ text: String, _ column: Column) throws {
        guard isMade, column.type != .text, column.type != .any, Int64(text) == nil, Double(text) != nil else { return }
        // All of its digits may be those of the number nearest to it.
        guard ValueForms.of(field: text) == .text else { return }
        let digits = text.prefix { $0 != "e" && $0 != "E" }.filter(\.isNumber).drop { $0 == "0" }
        let significant = text.contains(".") ? String(digits.reversed().drop { $0 == "0" }) : String(digits)
        if significant.count > 15 {
            throw Failure("\(column.name) has more digits than a number holds: use --types \(column.name)=text")
        }
    }

    /// The value to bind for a field with these forms.
    static func stored(_ field: UnsafeRawBufferPointer, _ forms: ValueForms, _ type: ColumnType) -> LentValue {
        // A column without a type, or of numbers, gets a number if the field is one; SQLite converts the rest.
        if type == .text || forms.contains(.text) { return .text(field) }
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
    /// Gives a column the type that holds its values and one more. SQLite cannot change a column's type, so the table is rebuilt
    /// with its rows, indexes and triggers.
    func widen(_ place: Int, by value: ValueForms) throws {
        let former = columns[place]
        let adopted = try db.main.primaryKey(of: name)
        if keyPlaces.isEmpty, ownKey == nil { try takeKey(adopted) }
        // A full-text index refers to rows by an integer key.
        let isReferredTo = try former.type == .integer && adopted.contains { $0.sqlName == former.name.sqlName }
            && !dependents().isEmpty
        guard try isAsMade(), !isReferredTo else {
            throw Failure(
                "its value would change in the column \(former.name), which is \(former.type.rawValue): "
                    + "import it into another table, or make the column text")
        }
        let forms = try present(former).union(value)
        try rebuild { columns[place].type = ColumnType(forms, keepsNumbersApart: keepsNumbersApart, isByValue: isByValue) }
    }

    /// Makes the table again after a change of its columns or its key, with its rows.
    func rebuild(after change: () -> Void) throws {
        let dependents = try dependents(), former = columns.map(\.type)
        let rowID = try [db.main.rowIDName(of: name) ?? ownKey].compactMap(\.self)
        change()
        let names = columns.map { $0.name.quotedSQLIdentifier }
        let values = columns.indices.map { index in
            let isTextNow = columns[index].type == .text && former[index] != .text
            return isTextNow ? "CAST(\(names[index]) AS TEXT)" : names[index]
        }
        let other = "sqlcipherkit_import_wider"
        let quoted = name.quotedSQLIdentifier
        layout = nil
        // Rowids stay. References to the table stay as well: without the legacy setting, they would follow the renaming.
        let wasLegacy = try db.fetchOne(Int.self, "PRAGMA legacy_alter_table") ?? 0
        try db.execute("PRAGMA legacy_alter_table = ON")
        defer { try? db.execute(SQL(raw: "PRAGMA legacy_alter_table = \(wasLegacy)")) }
        try db.execute(SQL(raw: definition(of: other)))
        let into = (rowID + names).joined(separator: ", "), from = (rowID + values).joined(separator: ", ")
        try db.execute(SQL(raw: "INSERT INTO \(other)(\(into)) SELECT \(from) FROM \(quoted)"))
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

    /// The forms of the values in a column.
    private func present(_ column: Column) throws -> ValueForms {
        let name = column.name.quotedSQLIdentifier
        func has(_ condition: String) throws -> Bool {
            let table = self.name.quotedSQLIdentifier
            return try db.fetchOne(Bool.self, SQL(raw: "SELECT EXISTS (SELECT 1 FROM \(table) WHERE \(condition))")) ?? false
        }
        guard try has("\(name) IS NOT NULL") else { return [] }
        switch column.type {
        case .text: return .text
        case .numeric where isByValue: return [.integer, .real, .reshaped, .long]
        case .any, .numeric: return column.type.forms
        case .integer: return .integer
        // How they were written is not known.
        case .real where isByValue: return [.real, .reshaped]
        case .real: return try has("\(name) = CAST(\(name) AS INTEGER)") ? [.real, .wholeReal] : .real
        }
    }
}
