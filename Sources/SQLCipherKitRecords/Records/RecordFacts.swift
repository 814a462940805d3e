import SQLCipherKitCore

/// The facts about a type of records, determined once from its name and its stored properties.
final class RecordFacts: Sendable {
    /// The name of the table, unless the type says another.
    let tableName: String
    private let type: any SQLRecord.Type
    private let properties: [String]
    private let coded: CodedNames
    private let plain = Lock<PlainColumns?>(nil)

    private static let known = Lock<[ObjectIdentifier: RecordFacts]>([:])

    static func of<Record: SQLRecord>(_ type: Record.Type) -> RecordFacts {
        let id = ObjectIdentifier(type)
        if let facts = known.withLock({ $0[id] }) { return facts }
        let facts = RecordFacts(type)
        return known.withLock { known in
            let first = known[id] ?? facts
            known[id] = first
            return first
        }
    }

    private init(_ type: any SQLRecord.Type) {
        self.type = type
        tableName = "\(type)".withSmallInitials
        properties = StoredProperty.all(of: type).map(\.name)
        coded = CodedNames.of(type)
    }

    /// The columns of the type in a table that is not described: others once its coding keys are learned.
    func columns(ofTable table: String) -> PlainColumns {
        let coded = coded.texts
        return plain.withLock { plain in
            if let plain, plain.coded == coded, plain.names.table.isSameText(as: table) { return plain }
            let columns = properties.map { PropertyName.column(of: $0, in: type) ?? "" }
            let made = PlainColumns(RecordNames(table, columns), coded)
            plain = made
            return made
        }
    }
}

/// The columns of a record that is neither positional nor described, for queries: the columns that queries have used so far.
final class PlainColumns: Sendable {
    let names: RecordNames
    /// True if there is a property for the row id.
    let hasRowID: Bool
    /// The statement that reads all records.
    let select: String
    /// The coding keys that the names are made from; see ``CodedNames/texts``.
    let coded: [String: String?]
    private let known = Lock<[RecordPositions.Column]>([])

    init(_ names: RecordNames, _ coded: [String: String?]) {
        self.names = names
        self.coded = coded
        // `*` does not read it.
        hasRowID = names.columns.contains { $0.isSameName(as: "rowid") }
        let table = names.table.quotedSQLIdentifier
        select = "SELECT \(hasRowID ? "\(table).rowid, " : "")\(table).* FROM \(table)"
    }

    /// The column of a stored property; nil for any other, whose name is looked up elsewhere.
    func column<Root, Value>(_ keyPath: KeyPath<Root, Value> & Sendable) -> RecordPositions.Column? {
        // A property without a size lies where another property does.
        guard MemoryLayout<Value>.size > 0, let offset = MemoryLayout<Root>.offset(of: keyPath) else { return nil }
        let type = ObjectIdentifier(Value.self)
        let found = known.withLock { known in known.first { $0.isProperty(keyPath, offset, type) } }
        return found ?? learn(keyPath, offset, Value.self)
    }

    private func learn<Root>(
        _ keyPath: PartialKeyPath<Root> & Sendable, _ offset: Int, _ type: any Any.Type
    ) -> RecordPositions.Column? {
        guard let name = PropertyName.of(keyPath), let index = names.columns.firstIndex(ofText: name) else { return nil }
        let column = RecordPositions.Column(names, index, keyPath, offset, type)
        known.withLock { $0.append(column) }
        return column
    }
}
