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
