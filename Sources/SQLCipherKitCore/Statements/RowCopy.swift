import CSQLCipher

/// A row's values, copied out of the statement, for rows of unknown shape.
///
/// It creates a ``SQLValue`` for each column, which a ``SQLRow`` type, a tuple or a single value avoids.
public struct RowCopy: SQLRow, Hashable, Sendable {
    /// The columns' names, in order.
    public let columnNames: [String]
    /// The columns' values, in order.
    public let values: [SQLValue]

    private let profile: ValueProfile

    package init(columnNames: [String], values: [SQLValue], profile: ValueProfile) {
        self.columnNames = columnNames
        self.values = values
        self.profile = profile
    }

    /// Copies a row.
    public init(row: borrowing Row) throws(DatabaseError) {
        var values: [SQLValue] = []
        values.reserveCapacity(row.count)
        for index in 0..<row.count { values.append(try row[index]) }
        self.values = values
        columnNames = row.columnNames
        profile = .of(row.handle)
    }

    /// The values by their columns' names. Of several columns of one name, the first counts.
    public var dictionary: [String: SQLValue] { Dictionary(zip(columnNames, values), uniquingKeysWith: { first, _ in first }) }

    /// Whether column names and values are the same. Names and texts are compared byte for byte.
    public static func == (a: RowCopy, b: RowCopy) -> Bool {
        a.values == b.values && a.columnNames.elementsEqual(b.columnNames) { $0.isSameText(as: $1) }
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(values) }

    /// The value of a column by its index, converted.
    /// - Throws: ``DatabaseError/Reason/noSuchColumn``, ``DatabaseError/Reason/unexpectedNull`` or
    ///   ``DatabaseError/Reason/typeMismatch``.
    public subscript<T: SQLValueConvertible>(index: Int) -> T {
        get throws(DatabaseError) {
            guard values.indices.contains(index) else {
                throw DatabaseError(
                    code: .range, reason: .noSuchColumn,
                    message: "no column with index \(index): the row has \(values.count) columns")
            }
            guard let value = T(sqlValue: values[index], in: profile) else {
                throw DatabaseError(
                    code: .mismatch, reason: values[index].isNull ? .unexpectedNull : .typeMismatch,
                    message:
                        "column \(columnNames[index]) holds \(values[index].storageClass.rawValue), "
                        + "which cannot be read as \(T.self)"
                )
            }
            return value
        }
    }

    /// The value of a column by its name, converted; the first one of that name.
    public subscript<T: SQLValueConvertible>(name: String) -> T {
        get throws(DatabaseError) {
            guard
                let index = columnNames.firstIndex(ofText: name) ?? columnNames.firstIndex(named: name)
            else {
                throw DatabaseError(
                    code: .range, reason: .noSuchColumn,
                    message: "no column named \(name); there is \(columnNames.joined(separator: ", "))")
            }
            return try self[index]
        }
    }
}
