import CSQLCipher
import SQLCipherKitCore

/// Writes records into a table.
struct SalvagedRows {
    struct Column {
        let id: Int
        let name: String
        /// True if an INSERT may name it. A stored generated column is in the record, but is computed again.
        let isOrdinary: Bool
        /// True if its value is the row id, which is stored as NULL in the record.
        let isRowID: Bool
    }

    private let copy: Connection
    private let table: String
    private let encoding: StoredRecord.Encoding
    private let rowIDName: String?
    /// The columns in the order in which they are stored.
    private(set) var columns: [Column] = []
    /// The statements by the number of values in a record: a record from before a column was added gets that column's default.
    private var statements: [Int: RawStatement] = [:]
    /// The number of rows written, and the number of rows that the table has refused.
    private(set) var rows = 0, refused = 0

    init(_ copy: Connection, _ table: String, _ encoding: StoredRecord.Encoding) throws {
        self.copy = copy
        self.table = table
        self.encoding = encoding
        let isWithoutRowID = try copy.main.form(of: table)?.isWithoutRowID ?? false
        rowIDName = try copy.main.rowIDName(of: table)
        // Kinds: 0 ordinary, 2 generated and not stored, 3 generated and stored.
        var rows: [(Int, String, String, Int, Int)] = try copy.fetchAll(
            "SELECT cid, name, type, pk, hidden FROM pragma_table_xinfo(\(table), 'main') WHERE hidden <> 2 ORDER BY cid")
        let keys = rows.count { $0.3 > 0 }
        if isWithoutRowID { rows = rows.filter { $0.3 > 0 }.sorted { $0.3 < $1.3 } + rows.filter { $0.3 == 0 } }
        columns = rows.map { id, name, type, key, kind in
            Column(
                id: id, name: name, isOrdinary: kind == 0,
                isRowID: !isWithoutRowID && keys == 1 && key == 1 && type.uppercased() == "INTEGER")
        }
    }

    mutating func insert(_ rowID: Int64?, _ record: StoredRecord) throws {
        let count = min(record.count, columns.count)
        let statement = try statement(for: count, hasRowID: rowID != nil)
        var parameter: Int32 = 0
        if let rowID, rowIDName != nil {
            parameter += 1
            try copy.check(sqlite3_bind_int64(statement.handle, parameter, rowID))
        }
        for index in 0..<count where columns[index].isOrdinary {
            parameter += 1
            if let rowID, columns[index].isRowID, record.isNull(index) {
                try copy.check(sqlite3_bind_int64(statement.handle, parameter, rowID))
            } else {
                try copy.check(record.bind(index, to: statement.handle, at: parameter, encoding))
            }
        }
        defer { statement.reset() }
        do {
            _ = try statement.step()
            rows += 1
        } catch let error as DatabaseError where [.constraint, .mismatch].contains(error.code.primary) {
            refused += 1
        }
    }

    private mutating func statement(for count: Int, hasRowID: Bool) throws -> RawStatement {
        if let statement = statements[count] { return statement }
        var names = columns.prefix(count).filter(\.isOrdinary).map(\.name.quotedSQLIdentifier)
        if hasRowID, let rowIDName { names.insert(rowIDName, at: 0) }
        let marks = names.map { _ in "?" }.joined(separator: ", ")
        let into = copy.main.qualified(table)
        let values = names.isEmpty ? "DEFAULT VALUES" : "(\(names.joined(separator: ", "))) VALUES (\(marks))"
        let statement = try RawStatement(copy, "INSERT INTO \(into) \(values)")
        statements[count] = statement
        return statement
    }
}
