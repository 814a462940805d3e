import SQLCipherKitCore

/// A logged table, as it is defined in the database now.
final class LoggedTable {
    /// A foreign key that refers to a logged table.
    struct Reference {
        /// The table that has the foreign key. It need not be logged.
        let child: String
        let columns: [String]
        let parent: String
        let parentColumns: [String]
        let setsNull: Bool
    }

    let name: String
    let rule: ChangeLog.MergePolicy
    /// The columns that are stored, in order.
    let columns: [String]
    /// The table's comparison of keys.
    let identity: RowKey
    /// The positions of the key's columns, and of the others.
    let keyPlaces: [Int], otherPlaces: [Int]
    /// Their names.
    let key: [String], others: [String]
    /// The condition for the row with a key, which is bound as `?1`, `?2` and so on.
    let keyCondition: String
    /// A name for the row id, if the table has a row id that is not its key.
    let rowID: String?
    /// The table's own foreign keys.
    var references: [Reference] = []
    /// The foreign keys that refer to the table.
    var referrers: [Reference] = []

    var quotedName: String { name.quotedSQLIdentifier }

    init(_ name: String, _ rule: ChangeLog.MergePolicy, _ columns: [String], _ identity: RowKey, rowID: String?) {
        (self.name, self.rule, self.columns, self.identity, self.rowID) = (name, rule, columns, identity, rowID)
        let places = identity.places
        keyPlaces = places
        otherPlaces = columns.indices.filter { !places.contains($0) }
        key = places.map { columns[$0] }
        others = otherPlaces.map { columns[$0] }
        keyCondition = identity.condition
    }

    /// The key as bytes, the same for all its spellings.
    func bytes(_ key: [SQLValue]) -> [UInt8] {
        var writer = [UInt8]()
        write(key, &writer)
        return writer
    }

    func write(_ key: [SQLValue], _ writer: inout [UInt8]) {
        for (column, value) in zip(identity.columns, key) { writer.put(keyValue: RowKey.canonical(value, column.collation)) }
    }
}

/// The tables of a change log.
struct LoggedTables {
    private(set) var all: [LoggedTable] = []
    private var places: [SQLName: Int] = [:]

    subscript(name: String) -> LoggedTable? { places[SQLName(name)].map { all[$0] } }

    init(_ schema: Schema, _ names: [String], _ rules: [SQLName: ChangeLog.MergePolicy]) throws {
        let others = try schema.objects(.table).nameSet
        for name in names {
            guard let form = try schema.form(of: name), form.kind == .table, !form.name.isKeptFromSQL,
                !form.name.hasNamePrefix("sqlite_"), !form.name.hasNamePrefix(ChangeLogStore.prefix)
            else { throw DatabaseError.invalidArgument("there is no table \(name) that can be logged") }
            // Merged row by row, the chunks of two copies would fit neither.
            if let index = VectorNames.index(of: form.name, endingIn: [""] + VectorNames.tables, among: others) {
                throw DatabaseError.invalidArgument("the vectors of \(index) cannot be logged: each copy creates its own")
            }
            guard let identity = try RowKey(of: form.name, in: schema) else {
                throw DatabaseError.invalidArgument("the table \(name) has no primary key: its rows cannot be logged")
            }
            try identity.requireCanonical(for: "a change log")
            if places[SQLName(name)] != nil { throw DatabaseError.invalidArgument("the table \(name) is named twice") }
            places[SQLName(name)] = all.count
            let columns = try schema.storedColumns(of: form.name)
            all.append(
                LoggedTable(
                    form.name, rules[SQLName(name)] ?? .column, columns, identity,
                    rowID: identity.columns[0].isRowID ? nil : try schema.rowIDName(of: form.name)))
        }
        for child in try schema.objects(.table) {
            for key in try schema.foreignKeys(of: child) {
                let place = places[SQLName(child)], parent = places[SQLName(key.parent)]
                if let place, parent == nil {
                    throw DatabaseError.invalidArgument(
                        "the table \(all[place].name) refers to \(key.parent), which is not among the logged tables")
                }
                guard let parent else { continue }
                let reference = LoggedTable.Reference(
                    child: child, columns: key.columns, parent: all[parent].name,
                    parentColumns: key.parentColumns.isEmpty ? try schema.primaryKey(of: key.parent) : key.parentColumns,
                    setsNull: key.onDelete == .setNull)
                // SQLite itself refuses to change rows under such a foreign key.
                guard reference.columns.count == reference.parentColumns.count else { continue }
                all[parent].referrers.append(reference)
                if let place { all[place].references.append(reference) }
            }
        }
    }
}
