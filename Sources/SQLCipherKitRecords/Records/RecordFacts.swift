import SQLCipherKitCore

/// What is found out once for a type of records: what its name and its coding keys say.
final class RecordFacts: Sendable {
    /// The name of the table, unless the type says another.
    let tableName: String
    private let names: [String]
    private let plain = Lock<PlainColumns?>(nil)

    private static let known = Lock<[ObjectIdentifier: RecordFacts]>([:])

    static func of<Record: SQLRecord>(_ type: Record.Type) -> RecordFacts {
        let id = ObjectIdentifier(type)
        if let facts = known.withLock({ $0[id] }) { return facts }
        let facts = RecordFacts("\(type)".withSmallInitials, PropertyProbe.names(of: type).map { Record.columnNaming($0) })
        return known.withLock { known in
            let first = known[id] ?? facts
            known[id] = first
            return first
        }
    }

    private init(_ tableName: String, _ names: [String]) {
        self.tableName = tableName
        self.names = names
    }

    /// The columns of the type in a table that is not described.
    func columns(ofTable table: String) -> PlainColumns {
        plain.withLock { plain in
            if let plain, plain.names.table.isSameText(as: table) { return plain }
            let made = PlainColumns(RecordNames(table, names))
            plain = made
            return made
        }
    }
}

/// The columns of a record that is neither positional nor described, for queries: those that one has asked for so far.
final class PlainColumns: Sendable {
    let names: RecordNames
    /// Whether there is one for the row id.
    let hasRowID: Bool
    /// The statement that reads all records.
    let select: String
    private let known = Lock<[RecordPositions.Column]>([])

    init(_ names: RecordNames) {
        self.names = names
        // `*` does not read it.
        hasRowID = names.columns.contains { $0.isSameName(as: "rowid") }
        let table = names.table.quotedSQLIdentifier
        select = "SELECT \(hasRowID ? "\(table).rowid, " : "")\(table).* FROM \(table)"
    }

    /// The column of a stored property; nil for any other, whose name is looked up elsewhere.
    func column<Root, Value>(_ keyPath: KeyPath<Root, Value> & Sendable) -> RecordPositions.Column? {
        // Properties without a size lie where another one does.
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
