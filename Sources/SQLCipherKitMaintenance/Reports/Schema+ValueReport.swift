import SQLCipherKitCore

extension Schema {
    /// Examines the values of each table and reports how dates, UUIDs, booleans and numbers are stored, for a database that another
    /// program wrote.
    /// ```swift
    /// let report = try db.main.valueReport()
    /// print(report.profileNames)                          // ["grdb"]
    /// for column in report.mixedColumns { print(column.table, column.name, column.forms) }
    /// ```
    /// The meaning of a number can only be inferred from its magnitude, the other values in its column, and the column's name and
    /// type: the report is an educated guess.
    /// - Parameters:
    ///   - rows: the number of rows to examine in each table, half of them the first and half the last ones by the table's key; nil
    ///     for all. Default: 10,000.
    ///   - limits: how much the report may use. Default: nil, for those of ``DatabaseConfiguration/safeguards``, if the connection
    ///     was opened with any.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a number below 1, ``DatabaseError/Reason/timeout``,
    ///   ``DatabaseError/Reason/limitExceeded``, or any error from reading the tables.
    public func valueReport(sampling rows: Int? = 10_000, limits: WorkLimits? = nil) throws(DatabaseError) -> ValueReport {
        try DatabaseError.typed {
            try live()
            if let rows, rows < 1 { throw DatabaseError.invalidArgument("a sample must have at least 1 row, and not \(rows)") }
            return try connection.limited(to: limits ?? connection.configuration.safeguards?.work) { try valueReport(rows) }
        }
    }

    private func valueReport(_ rows: Int?) throws -> ValueReport {
        // One snapshot of the database for the whole report.
        try connection.savepoint { db in
            var columns: [ValueReport.Column] = []
            let all = try tables()
            let origin = ValueReport.Origin(all.map(\.name))
            for table in all where table.kind == .table && !table.isKeyValueStore {
                let stored = table.columns.filter { $0.kind == .normal }
                var tallies = stored.map { _ in ValueTally() }
                let statement = try db.prepare(SQL(raw: try sample(of: table, stored.map(\.name), rows)))
                try statement.forEach { row in
                    for index in tallies.indices { tallies[index].add(Row._Column(row.handle, Int32(index))) }
                }
                columns += zip(tallies, stored).map { $0.column($1, of: table, origin) }
            }
            return ValueReport(origin: origin, columns: columns)
        }
    }

    private func sample(of table: Schema.Table, _ columns: [String], _ rows: Int?) throws(DatabaseError) -> String {
        let names = columns.map(\.quotedSQLIdentifier).joined(separator: ", "), source = qualified(table.name)
        let key = try rowIDName(of: table.name).map { [$0] } ?? table.primaryKey
        let all = "SELECT \(names) FROM \(source)"
        guard let rows, !key.isEmpty else { return rows.map { "\(all) LIMIT \($0)" } ?? all }
        let isSmall = try connection.fetchOne(
            Bool.self, SQL(raw: "SELECT count(*) <= ?1 FROM (SELECT 1 FROM \(source) LIMIT ?1 + 1)", [rows]))
        if isSmall == true { return all }
        // In a database that several programs have written, the last rows may differ from the first.
        func half(_ order: String, _ count: Int) -> String {
            let terms = key.map { "\($0.quotedSQLIdentifier) \(order)" }.joined(separator: ", ")
            return "SELECT * FROM (\(all) ORDER BY \(terms) LIMIT \(count))"
        }
        return "\(half("ASC", rows - rows / 2)) UNION ALL \(half("DESC", rows / 2))"
    }
}

extension Schema.ValueReport.Origin {
    init?(_ tables: [String]) {
        if tables.contains(name: "Z_METADATA"), tables.contains(name: "Z_PRIMARYKEY") {
            self = .coreData
        } else if tables.contains(name: "room_master_table") {
            self = .room
        } else {
            return nil
        }
    }
}

extension Schema.Table {
    /// Whether it is a key-value store of this package, which intentionally holds values of any type.
    fileprivate var isKeyValueStore: Bool { name.hasPrefix("kv_") && columns.map(\.name) == ["key", "value", "json", "expires"] }
}
