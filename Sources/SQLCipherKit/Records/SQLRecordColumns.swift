/// The columns of an ``SQLPositionalRecord``: their names, in order, with the properties that they belong to.
/// ```swift
/// static let recordColumns = SQLRecordColumns(of: Album.self, ["id": \.id, "title": \.title, "artist_id": \.artist])
/// ```
public struct SQLRecordColumns: Sendable {
    let positions: RecordPositions

    /// The columns of a record.
    /// - Parameters:
    ///   - type: the record's type.
    ///   - columns: the names of the columns, in order, each with its property.
    public init<Record: SQLRecord>(of type: Record.Type, _ columns: KeyValuePairs<String, PartialKeyPath<Record> & Sendable>) {
        positions = RecordPositions(
            Record.tableName,
            columns.map { name, keyPath in
                RecordPositions.Column(
                    name, keyPath, MemoryLayout<Record>.offset(of: keyPath), Swift.type(of: keyPath).valueType, Record.tableName)
            })
    }

    /// The names, in order.
    public var names: [String] { positions.names }
}

/// What is known of a positional record's columns, made once for its type.
final class RecordPositions: Sendable {
    struct Column: Sendable {
        let name: String
        /// With the table's name, both quoted.
        let qualified: String
        private let keyPath: AnyKeyPath & Sendable
        private let offset: Int?
        private let type: ObjectIdentifier

        init(_ name: String, _ keyPath: AnyKeyPath & Sendable, _ offset: Int?, _ type: any Any.Type, _ table: String) {
            self.name = name
            self.keyPath = keyPath
            self.offset = offset
            self.type = ObjectIdentifier(type)
            qualified = "\(table.quotedSQLIdentifier).\(name.quotedSQLIdentifier)"
        }

        /// The property's value; nil if it cannot be bound.
        func value(of record: Any) -> (any SQLValueConvertible)? {
            let keyPath: AnyKeyPath = keyPath
            return record[keyPath: keyPath] as? any SQLValueConvertible
        }

        /// Where a stored property lies and what it is tell it from all others: a part of it that begins where it does is of
        /// another type. To compare two key paths takes ten times as long.
        func isProperty(_ keyPath: AnyKeyPath, _ offset: Int?, _ type: ObjectIdentifier) -> Bool {
            if let offset, let own = self.offset { return offset == own && type == self.type }
            return offset == nil && self.offset == nil && keyPath == self.keyPath
        }
    }

    let table: String
    let columns: [Column]
    let names: [String]
    /// All columns with the table's name, as a query reads them.
    let selection: String
    /// The statement that reads all records.
    let select: String

    init(_ table: String, _ columns: [Column]) {
        self.table = table
        self.columns = columns
        names = columns.map(\.name)
        selection = columns.map(\.qualified).joined(separator: ", ")
        select = "SELECT \(selection) FROM \(table.quotedSQLIdentifier)"
    }

    /// The column of a property; nil if it has none.
    func column<Root, Value>(_ keyPath: KeyPath<Root, Value>) -> Column? {
        column(keyPath, ObjectIdentifier(Value.self))
    }

    /// The column of a property of unknown type.
    func column<Root>(partial keyPath: PartialKeyPath<Root>) -> Column? {
        column(keyPath, ObjectIdentifier(type(of: keyPath).valueType))
    }

    @inline(__always)
    private func column<Root>(_ keyPath: PartialKeyPath<Root>, _ type: ObjectIdentifier) -> Column? {
        let offset = MemoryLayout<Root>.offset(of: keyPath)
        for index in columns.indices where columns[index].isProperty(keyPath, offset, type) { return columns[index] }
        return nil
    }
}
