import SQLCipherKit

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
