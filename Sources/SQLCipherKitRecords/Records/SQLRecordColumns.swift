import SQLCipherKitCore

/// The columns of an ``SQLPositionalRecord``: their names, in order, with the properties that they belong to.
/// ```swift
/// static let recordColumns = SQLRecordColumns(of: Album.self, ["id": \.id, "title": \.title, "artist_id": \.artist])
/// ```
public struct SQLRecordColumns: Sendable {
    let positions: RecordPositions

    /// The columns of a record.
    /// - Parameters:
    ///   - type: the record's type.
    ///   - columns: the names of the columns, in order, each with its property. ``ColumnCodingCustomizable/columnNaming`` applies
    ///     to them.
    public init<Record: SQLRecord>(of type: Record.Type, _ columns: KeyValuePairs<String, PartialKeyPath<Record> & Sendable>) {
        let names = RecordNames(Record.tableName, columns.map { Record.columnNaming($0.key) })
        positions = RecordPositions(
            names,
            columns.enumerated().map { index, column in
                RecordPositions.Column(
                    names, index, column.value, MemoryLayout<Record>.offset(of: column.value),
                    Swift.type(of: column.value).valueType)
            })
    }

    /// The names, in order.
    public var names: [String] { positions.names }
}

/// The names of a positional record's table and columns.
final class RecordNames: Sendable {
    let table: String
    let columns: [String]
    /// The columns with the table's name, all quoted.
    let qualified: [String]

    init(_ table: String, _ columns: [String]) {
        self.table = table
        self.columns = columns
        qualified = columns.map { "\(table.quotedSQLIdentifier).\($0.quotedSQLIdentifier)" }
    }
}

/// The facts about a positional record's columns, made once for its type.
final class RecordPositions: Sendable {
    final class Column: Sendable {
        let names: RecordNames
        /// The column's place among the record's columns.
        let index: Int
        private let keyPath: AnyKeyPath & Sendable
        private let offset: Int?
        private let type: ObjectIdentifier

        init(_ names: RecordNames, _ index: Int, _ keyPath: AnyKeyPath & Sendable, _ offset: Int?, _ type: any Any.Type) {
            self.names = names
            self.index = index
            self.keyPath = keyPath
            self.offset = offset
            self.type = ObjectIdentifier(type)
        }

        var name: String { names.columns[index] }
        var valueType: any Any.Type { Swift.type(of: keyPath).valueType }
        /// With the table's name, both quoted.
        var qualified: String { names.qualified[index] }

        /// The property's value; nil if it cannot be bound.
        func value(of record: Any) -> (any SQLValueConvertible)? {
            let keyPath: AnyKeyPath = keyPath
            return record[keyPath: keyPath] as? any SQLValueConvertible
        }

        /// The offset and the type of a stored property distinguish it from all others: a part of it at the same offset has another
        /// type. Comparing two key paths takes ten times as long.
        func isProperty(_ keyPath: AnyKeyPath, _ offset: Int?, _ type: ObjectIdentifier) -> Bool {
            if let offset, let own = self.offset { return offset == own && type == self.type }
            return offset == nil && self.offset == nil && keyPath == self.keyPath
        }
    }

    /// The same object for all columns.
    let identity: RecordNames
    let columns: [Column]
    /// All columns with the table's name, as a query reads them.
    let selection: String
    /// The statement that reads all records.
    let select: String

    init(_ names: RecordNames, _ columns: [Column]) {
        identity = names
        self.columns = columns
        selection = names.qualified.joined(separator: ", ")
        select = "SELECT \(selection) FROM \(names.table.quotedSQLIdentifier)"
    }

    var table: String { identity.table }
    var names: [String] { identity.columns }

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
