/// A difference between the description of a table and the table that a database has; see
/// ``Schema/differences(from:)``.
///
/// Its ``description`` is a sentence that says what to change.
public struct SchemaDifference: Hashable, Sendable, CustomStringConvertible {
    /// The table.
    public let table: String
    /// The column, for a difference that concerns a single one.
    public let column: String?
    /// What is different, in English.
    public let description: String
}

extension Schema {
    /// Compares the descriptions of records with the tables of this database, for a test that migrations and records agree.
    /// ```swift
    /// let db = try Connection(.memory)
    /// try migrator.migrate(db)
    /// #expect(try db.main.differences(from: [Note.self, Tag.self]) == [])
    /// ```
    /// Compared are columns with their types, defaults and whether they may be NULL, the options `WITHOUT ROWID` and `STRICT`,
    /// keys, unique constraints, foreign keys and indexes. Not compared are the order of columns, the names of indexes on the same
    /// terms, the expressions of generated columns, and checks. A record without a description must have a table with columns for
    /// its properties, as far as decoding a row of zeros and empty texts reveals these.
    ///
    /// Nothing is changed. The described tables are created in a new in-memory database with this connection's configuration.
    /// - Returns: the differences, table by table; empty if there are none.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a description from which no table can be created, and what SQLite
    ///   reports.
    public func differences(from records: [any SQLRecord.Type]) throws -> [SchemaDifference] {
        var differences: [SchemaDifference] = []
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
            for name in PropertyProbe.names(of: record) where !names.contains(SQLName(name)) {
                differences.append(
                    SchemaDifference(
                        table: table.name, column: name,
                        description: "\(table.name) has no column \(name), and \(record) has a property of this name"))
            }
        }
        return differences
    }

    private func differences(from tables: [SQLTable]) throws -> [SchemaDifference] {
        var configuration = connection.configuration
        (configuration.onCreate, configuration.journalMode, configuration.access) = (nil, nil, .readWriteCreate)
        let model = try Connection(.memory, configuration: configuration)
        defer { model.close() }
        var differences: [SchemaDifference] = []
        for table in tables {
            var described = table
            described.schema = nil
            for statement in try described.creation(values: connection.profile) { try model.execute(statement) }
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

extension SchemaDifference {
    fileprivate static func missingTable(_ name: String) -> SchemaDifference {
        SchemaDifference(table: name, column: nil, description: "there is no table \(name): create it in a migration")
    }
}
