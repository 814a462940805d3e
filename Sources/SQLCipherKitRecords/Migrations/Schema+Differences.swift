import SQLCipherKitCore

extension Schema {
    /// A difference between the description of a table and the table in a database; see ``differences(from:)``.
    ///
    /// Its ``description`` is a sentence that says what differs, and often what to change.
    public struct Difference: Hashable, Sendable, CustomStringConvertible {
        /// The table.
        public let table: String
        /// The column; nil for a difference that does not concern a single column.
        public let column: String?
        /// The difference in English.
        public let description: String
    }
}

extension Schema {
    /// Compares the descriptions of records with the tables of this database, to test that migrations and records agree.
    /// ```swift
    /// let db = try Connection(.memory)
    /// try migrator.migrate(db)
    /// #expect(try db.main.differences(from: [Note.self, Tag.self]) == [])
    /// ```
    /// It compares columns with their affinities and defaults, whether they may be NULL, the options `WITHOUT ROWID` and `STRICT`,
    /// primary keys, unique constraints, foreign keys and indexes. It does not compare the order of columns, the names of indexes
    /// on the same terms, the expressions of generated columns, and checks. For a record without a description, it only looks for a
    /// column for each property, as far as decoding the record from zeros and empty texts reveals its properties.
    ///
    /// Nothing is changed. The described tables are created in a new in-memory database with this connection's configuration.
    /// - Returns: the differences, table by table; empty if there are none.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a description that cannot be made into a table, and other
    ///   ``DatabaseError``s that SQLite reports.
    public func differences(from records: [any SQLRecord.Type]) throws(DatabaseError) -> [Difference] {
        try DatabaseError.only("a comparison of tables") { try found(from: records) }
    }

    private func found(from records: [any SQLRecord.Type]) throws -> [Difference] {
        var differences: [Schema.Difference] = []
        for record in records {
            let table = record.table
            if !table.columns.isEmpty {
                differences += try self.differences(from: [table])
                continue
            }
            let columns = try columns(of: table.name)
            if columns.isEmpty {
                differences.append(.missingTable(table.name))
                continue
            }
            let names = columns.map(\.name).nameSet
            let properties = PropertyProbe.names(of: record).map { record.columnNaming($0) }
            for name in properties where !names.contains(SQLName(name)) {
                differences.append(
                    Schema.Difference(
                        table: table.name, column: name,
                        description: "\(table.name) has no column \(name), and \(record) has a property of this name"))
            }
        }
        return differences
    }

    private func differences(from tables: [SQLTable]) throws -> [Schema.Difference] {
        var configuration = connection.configuration
        (configuration.onCreate, configuration.journalMode, configuration.access) = (nil, nil, .readWriteCreate)
        let model = try Connection(.memory, configuration: configuration)
        defer { model.close() }
        var differences: [Schema.Difference] = []
        for table in tables {
            var described = table
            described.schema = nil
            for statement in try described.creation(on: connection) { try model.execute(statement) }
            guard let wanted = try model.main.table(table.name) else { continue }
            guard let found = try self.table(table.name) else {
                differences.append(.missingTable(table.name))
                continue
            }
            var comparison = TableComparison(wanted, found)
            comparison.compareColumns()
            comparison.compareKeys { (try? self.primaryKey(of: $0)) ?? [] }
            comparison.compareIndexes()
            differences += comparison.differences
        }
        return differences
    }
}

extension Schema.Difference {
    fileprivate static func missingTable(_ name: String) -> Schema.Difference {
        Schema.Difference(table: name, column: nil, description: "there is no table \(name): create it in a migration")
    }
}
