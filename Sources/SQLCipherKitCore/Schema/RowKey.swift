import CSQLCipher

/// The identity of a table's rows: the columns of its declared primary key, and their comparison. Changesets, diffs, change logs
/// and moves use this type to tell whether two rows are the same.
///
/// Equal keys need not have equal bytes: `a` and `A` under NOCASE, `a` and `a ` under RTRIM, 1 and 1.0 in a column without a type.
/// ``canonical(_:)`` returns the same bytes for both (<https://sqlite.org/datatype3.html#collating_sequences>).
package struct RowKey {
    package struct Column {
        package let name: String
        /// The column's position among the columns that are not generated.
        package let place: Int
        package let collation: String
        /// `text`, `number`, or `any`, for a column whose affinity changes no value.
        package let affinity: String
        package let isRowID: Bool
        /// True if the key compares the column by the column's own collation, as every condition on it does.
        package let isOne: Bool
    }

    package let table: String
    /// In the order of the table.
    package let columns: [Column]

    package var places: [Int] { columns.map(\.place) }

    /// True if keys with other bytes can be equal.
    package var hasSpellings: Bool {
        columns.contains { !$0.isRowID && ($0.affinity == "any" || !$0.collation.isSameName(as: "BINARY")) }
    }

    /// Reads the key from the schema in memory; nil for a table without one.
    package init?(of table: String, in schema: Schema) throws {
        // Reads the schema, if need be, and finds the table's own spelling.
        guard let form = try schema.form(of: table), form.kind == .table else { return nil }
        let handle = try schema.connection.live()
        var columns: [Column] = [], column = sqlcipherkit_key_form()
        while sqlcipherkit_key_column(handle, schema.name, form.name, Int32(columns.count), &column) != 0 {
            guard let name = column.name, let collation = column.collation else { break }
            columns.append(
                Column(
                    name: String(cString: name), place: Int(column.place), collation: String(cString: collation),
                    affinity: column.affinity <= 0x41 ? "any" : column.affinity == 0x42 ? "text" : "number",
                    isRowID: column.is_row_id != 0, isOne: column.is_one != 0))
        }
        if columns.isEmpty { return nil }
        (self.table, self.columns) = (form.name, columns)
    }

    /// Throws if the keys have no canonical form.
    /// - Parameters:
    ///   - what: what needs it.
    ///   - isCompared: whether SQLite alone compares the keys, which can use collations of the caller.
    package func requireCanonical(for what: String, isCompared: Bool = false) throws {
        for column in columns {
            guard column.isOne, isCompared || ["BINARY", "NOCASE", "RTRIM"].contains(name: column.collation) else {
                let how = column.isOne ? "by the collation \(column.collation)" : "by another collation than the column has"
                throw DatabaseError.invalidArgument(
                    "\(what) cannot have the table \(table), whose key compares the column \(column.name) \(how)")
            }
        }
    }

    /// Throws if a row has NULL in its key, which makes it a row without a key.
    package func requireValues(in schema: Schema, for what: String) throws {
        for column in columns where !column.isRowID {
            let sql = "SELECT 1 FROM \(schema.qualified(table)) WHERE \(column.name.quotedSQLIdentifier) IS NULL LIMIT 1"
            if try schema.connection.fetchOne(Int.self, SQL(raw: sql)) != nil {
                throw DatabaseError.invalidArgument(
                    "\(what) cannot have a row of the table \(table) with NULL in the key's column \(column.name)")
            }
        }
    }

    /// The condition for the row with a key, whose values are the parameters from `?1` on, in the order of ``columns``. It holds
    /// for every spelling, can use the key's index, and names no database.
    package var condition: String {
        columns.enumerated().map { "\($1.name.quotedSQLIdentifier) = ?\($0 + 1)" }.joined(separator: " AND ")
    }

    /// Keys are equal for the table if their canonical forms have the same bytes.
    package func canonical(_ key: [SQLValue]) -> [SQLValue] { zip(columns, key).map { Self.canonical($1, $0.collation) } }

    package static func canonical(_ value: SQLValue, _ collation: String) -> SQLValue {
        switch value {
        case .real(let number): return Int64(exactly: number).map { .integer($0) } ?? value
        case .text(let text):
            if collation.isSameName(as: "NOCASE") { return .text(String(decoding: folded(text.utf8), as: UTF8.self)) }
            guard collation.isSameName(as: "RTRIM") else { return value }
            var rest = Substring(text).utf8
            while rest.last == UInt8(ascii: " ") { rest.removeLast() }
            return .text(String(decoding: rest, as: UTF8.self))
        default: return value
        }
    }

    /// NOCASE folds ASCII letters. After a NUL it compares nothing but the lengths.
    private static func folded(_ text: String.UTF8View) -> [UInt8] {
        var isOver = false
        return text.map { byte in
            isOver = isOver || byte == 0
            return isOver ? 0 : (0x41...0x5a).contains(byte) ? byte | 0x20 : byte
        }
    }

    /// The comparison of the columns, the same text for all tables that compare alike.
    package var description: [String] {
        columns.map { column in
            let name = String(decoding: Self.folded(column.name.utf8), as: UTF8.self)
            return "\(name) \(column.collation.uppercased()) \(column.affinity)"
        }.sorted()
    }
}
