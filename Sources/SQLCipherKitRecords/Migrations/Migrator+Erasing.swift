import SQLCipherKitCore

/// For development: emptying a database that earlier versions of the migrations created.
extension Migrator {
    func eraseIfChanged(_ db: Connection) throws {
        guard try hasChanged(db) else { return }
        // Migrations that fail in an empty database would also fail after the erasure.
        _ = try schema(after: migrations.count, db)
        _ = try run(db, .unchecked) { db, _ -> TransactionEnd<Void> in .commit(try erase(db)) }
    }

    private func hasChanged(_ db: Connection) throws -> Bool {
        if try recorded(in: db).isEmpty { return false }
        let position: Position
        do { position = try self.position(in: db) } catch let error as DatabaseError {
            guard error.reason == .migration else { throw error }
            return true
        }
        guard position.former.isEmpty else { return false }
        return try schema(after: position.done, db) != Self.schema(of: db)
    }

    /// The schema of a new database after the first `count` migrations.
    private func schema(after count: Int, _ db: Connection) throws -> Set<[ExactText]> {
        var configuration = db.configuration
        (configuration.onCreate, configuration.journalMode, configuration.access) = (nil, nil, .readWriteCreate)
        let empty = try Connection(.memory, configuration: configuration)
        defer { empty.close() }
        var migrator = self
        (migrator.erasesOnSchemaChange, migrator.onForeignKeyViolations, migrator.adoptions) = (false, nil, [])
        if count > 0 { try migrator.migrate(empty, through: names[count - 1]) }
        return try Self.schema(of: empty)
    }

    private static func schema(of db: Connection) throws -> Set<[ExactText]> {
        let objects = try objects(of: db).filter { !TablesMadeLater.contain($0.table) && !TablesMadeLater.contain($0.name) }
        return Set(objects.map { [$0.type, $0.name, $0.table, $0.sql ?? ""].map { ExactText($0) } })
    }

    /// The schema objects that migrations have created.
    private static func objects(of db: Connection) throws(DatabaseError) -> [SchemaEntry] {
        try db.main.entries().filter {
            !$0.name.hasNamePrefix("sqlite_") && !$0.name.isKeptFromSQL && !$0.table.isKeptFromSQL
                && !$0.table.isSameName(as: table)
        }
    }

    private func erase(_ db: Connection) throws {
        let shadows = try db.main.shadowTables()
        let objects = try Self.objects(of: db)
        for entry in objects where entry.type == "view" { try db.main.dropView(entry.name) }
        // Virtual tables first: dropping one also drops its own tables, and may need the content of others.
        for isVirtual in [true, false] {
            for entry in objects where entry.type == "table" && entry.isVirtual == isVirtual {
                if !shadows.contains(SQLName(entry.name)) { try db.main.dropTable(entry.name) }
            }
        }
        try db.main.dropTable(Self.table, ifExists: true)
    }
}
