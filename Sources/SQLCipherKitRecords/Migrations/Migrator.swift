import SQLCipherKitConcurrency
import SQLCipherKitCore

/// The versions of a database's schema, as an ordered list of named migrations, each of which runs once.
/// ```swift
/// var migrator = Migrator()
/// migrator.add("notes") { db in
///     try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT NOT NULL)")
/// }
/// migrator.add("stars") { db in
///     try db.main.addColumn(SQLColumn("stars", .integer).notNull().default(0), to: "note")
/// }
/// try migrator.migrate(db)
/// ```
/// Each migration runs in one transaction, which also records that it was done: whatever happens, a database has all of it or
/// nothing. Foreign keys are not enforced during a migration, so that a table can be dropped and created again without deleting
/// rows that refer to it (<https://sqlite.org/lang_altertable.html#otheralter>). They are all checked before the commit: a
/// migration that causes a violation is undone. Rows that violated a foreign key before the migration do not stop it, but are
/// reported to ``onForeignKeyViolations``.
///
/// The names of finished migrations are kept in the database's table `sqlcipherkit_migration`.
public struct Migrator: Sendable {
    /// The treatment of foreign keys while a migration runs.
    public enum ForeignKeys: Hashable, Sendable {
        /// Foreign keys are not enforced, but checked before the commit.
        case checkedAtEnd
        /// Foreign keys are enforced with all their actions, if the connection enforces them, and checked before the commit.
        case enforced
        /// Foreign keys are neither enforced nor checked, because a check reads every row with a foreign key. Violations that the
        /// migration causes remain.
        case unchecked
    }

    struct Migration: Sendable {
        let name: String
        /// The names of the migrations that this migration replaces.
        let merged: [String]
        let foreignKeys: ForeignKeys
        let body: @Sendable (Connection, [String]) throws -> Void
    }

    static let table = "sqlcipherkit_migration"
    private(set) var migrations: [Migration] = []
    /// The tests for migrations whose effect a database has without them: see ``adopt(through:when:)``.
    var adoptions: [Adoption] = []

    /// True to erase a database with all its rows before migrating it, if its schema differs from the schema that its migrations
    /// create. Default: false.
    ///
    /// For development, while the migrations still change: never set it in a program that keeps data. The migrations that the
    /// database has had are run again in a new in-memory database, opened with the connection's configuration, and the schemas are
    /// compared. A database without any migration is left alone, and so is a database that has only some of the migrations that
    /// were merged.
    public var erasesOnSchemaChange = false

    /// Called after the commit of each migration that leaves violations of foreign keys. Default: nil.
    ///
    /// If the connection does not enforce foreign keys, violations caused by a migration do not stop it, but are reported as well.
    /// A dry run reports the violations that the migrations would leave. The closure gets the migration's name, the violations that
    /// existed before the migration, and the violations that the migration caused.
    public var onForeignKeyViolations:
        (@Sendable (_ migration: String, _ former: [Schema.ForeignKeyViolation], _ new: [Schema.ForeignKeyViolation]) -> Void)?

    /// Creates a migrator without migrations.
    public init() {}

    /// Adds a migration at the end. Once you have released it, do not change its name or its effect.
    /// - Parameters:
    ///   - name: a unique name.
    ///   - foreignKeys: how foreign keys are treated during the migration. Default: they are checked at the end.
    ///   - body: the migration's changes. It cannot begin, commit or roll back a transaction, but may use savepoints.
    public mutating func add(
        _ name: String, foreignKeys: ForeignKeys = .checkedAtEnd, _ body: @escaping @Sendable (Connection) throws -> Void
    ) {
        migrations.append(Migration(name: name, merged: [], foreignKeys: foreignKeys) { db, _ in try body(db) })
    }

    /// Adds a migration that replaces several former migrations: a new database gets this migration instead of them.
    /// ```swift
    /// migrator.add("2026", merging: ["notes", "stars", "tags"]) { db, done in
    ///     if done.isEmpty {
    ///         try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT NOT NULL, stars INTEGER NOT NULL DEFAULT 0)")
    ///     }
    ///     …
    /// }
    /// ```
    /// If a database has had the last of the former migrations, and so all of them, the new migration counts as done: `body` is not
    /// called, and nothing is written. If it has had only some of them, the new migration runs, and `body` must make the missing
    /// changes.
    /// - Parameters:
    ///   - name: a unique name.
    ///   - former: the names of the former migrations, in order. Do not add the former migrations any more. They may include a
    ///     merged migration, after the migrations that it replaced. Keep the names for as long as databases with these migrations
    ///     may exist.
    ///   - foreignKeys: how foreign keys are treated during the migration. Default: they are checked at the end.
    ///   - body: the migration's changes. It receives the names of the former migrations that the database has had, in order; none
    ///     for a new database.
    public mutating func add(
        _ name: String, merging former: [String], foreignKeys: ForeignKeys = .checkedAtEnd,
        _ body: @escaping @Sendable (_ db: Connection, _ done: [String]) throws -> Void
    ) {
        migrations.append(Migration(name: name, merged: former, foreignKeys: foreignKeys, body: body))
    }

    /// The names of all migrations, in order.
    public var names: [String] { migrations.map(\.name) }

    /// The names of the migrations that a database has had, in order, including former migrations that were merged since.
    /// Migrations that the database will adopt are included.
    /// - Throws: any error that a condition of ``adopt(through:when:)`` throws; ``DatabaseError/Reason/closed``; or SQLite's error
    ///   if the table of migrations cannot be read.
    public func applied(in db: Connection) throws -> [String] {
        let recorded = try recorded(in: db)
        return try recorded.isEmpty ? adopted(in: db) : recorded
    }

    /// The names of the migrations that the database has a record of.
    func recorded(in db: Connection) throws -> [String] {
        // Without the table, there were no migrations.
        guard try db.main.hasTable(Self.table) else { return [] }
        return try db.fetchAll(String.self, "SELECT name FROM main.sqlcipherkit_migration ORDER BY position")
    }

    /// The names of the pending migrations, in order.
    /// - Throws: ``DatabaseError/Reason/migration`` if the database has a migration that this program does not know, because a
    ///   newer version of the program added it, or if a migration was added before a migration that is already done;
    ///   ``DatabaseError/Reason/invalidArgument`` for two migrations of the same name, including merged migrations, and for an
    ///   empty name. Also any error that a condition of ``adopt(through:when:)`` throws.
    public func pending(in db: Connection) throws -> [String] {
        Array(names.dropFirst(try position(in: db).done))
    }
}

extension Migrator {
    /// Runs all pending migrations, each in its own transaction. If no migration is pending, nothing is written except the names of
    /// migrations that the database adopts (``adopt(through:when:)``).
    ///
    /// Several processes may migrate at the same time: each migration still runs only once.
    /// - Parameters:
    ///   - db: the connection, outside a transaction.
    ///   - last: the name of the last migration to run. Default: nil, for all.
    /// - Returns: the names of the migrations that ran.
    /// - Throws: any error that ``pending(in:)`` or the migration itself throws, or ``DatabaseError/Reason/migration`` for a row
    ///   that violates a foreign key, but did not do so before the migration. Migrations before the failed migration stay applied.
    @discardableResult
    public func migrate(_ db: Connection, through last: String? = nil) throws -> [String] {
        if erasesOnSchemaChange { try eraseIfChanged(db) }
        try adopt(db)
        let end = last ?? names.last
        var finished: [String] = []
        while let migration = try next(in: db, through: last) {
            var violations: Migrator.Violations?
            let isDone: Bool = try run(db, migration.foreignKeys) { db, isEnforcing in
                // Another process may have run it meanwhile.
                guard try pending(in: db).first.isSameText(as: migration.name) else { return .rollback(false) }
                violations = try perform(migration, db, isEnforcing)
                return .commit(true)
            }
            if isDone { finished.append(migration.name) }
            if isDone, let violations { report(violations) }
            // A step that could fail after the last migration would hide that it is done.
            if isDone, end.isSameText(as: migration.name) { break }
        }
        return finished
    }

    /// Tries all pending migrations and undoes them: nothing is changed.
    /// - Returns: the names of the migrations that would run.
    /// - Throws: the errors that ``migrate(_:through:)-(Connection,_)`` would throw.
    @discardableResult
    public func dryRun(_ db: Connection) throws -> [String] {
        let pending = try pending(in: db)
        let last = migrations.suffix(pending.count)
        var reports: [Migrator.Violations] = []
        // Foreign key enforcement cannot be switched inside the transaction that all migrations share.
        let foreignKeys: ForeignKeys = last.allSatisfy { $0.foreignKeys == .enforced } ? .enforced : .checkedAtEnd
        _ = try run(db, foreignKeys) { db, isEnforcing -> TransactionEnd<Void> in
            try record(adopting(db), in: db)
            for migration in last {
                if let report = try perform(migration, db, isEnforcing) { reports.append(report) }
            }
            return .rollback(())
        }
        reports.forEach(report)
        return pending
    }

    private func next(in db: Connection, through last: String?) throws -> Migration? {
        let pending = try pending(in: db)
        guard let last else { return migrations.suffix(pending.count).first }
        guard let end = names.firstIndex(ofText: last) else { throw DatabaseError.invalidArgument("there is no migration \(last)") }
        let index = migrations.count - pending.count
        return index <= end ? migrations[index] : nil
    }

    /// Runs `body` in a transaction, and tells it whether the connection normally enforces foreign keys, as enforcement may be off
    /// meanwhile.
    func run<R>(
        _ db: Connection, _ foreignKeys: ForeignKeys, _ body: (Connection, _ isEnforcing: Bool) throws -> TransactionEnd<R>
    ) throws -> R {
        // Inside a transaction, foreign keys could not be switched off, and no migration would be committed before its end.
        if db.isInTransaction { throw DatabaseError.misuse("migrations cannot run inside a transaction") }
        let isEnforcing = try db.settings.isEnabled(.foreignKeys)
        guard foreignKeys != .enforced, isEnforcing else {
            return try db.transaction(.immediate) { db in try body(db, isEnforcing) }
        }
        return try db.withoutForeignKeys { try db.transaction(.immediate) { db in try body(db, isEnforcing) } }
    }

    /// Runs one migration and records it, inside a transaction.
    /// - Returns: the remaining violations; nil if there are none.
    private func perform(_ migration: Migration, _ db: Connection, _ isEnforcing: Bool) throws -> Migrator.Violations? {
        // Reading all rows with a foreign key takes time, so check only if needed.
        let isChecked = migration.foreignKeys != .unchecked && (isEnforcing || onForeignKeyViolations != nil)
        let before = isChecked ? try ForeignKeyState(of: db.main) : nil
        let former = try position(in: db).former
        try migration.body(db, former)
        let report = try before.flatMap { try compare(migration, $0, ForeignKeyState(of: db.main), isEnforcing) }
        for name in former { try db.execute("DELETE FROM main.sqlcipherkit_migration WHERE name = \(name)") }
        try record([migration.name], in: db)
        return report
    }

    /// Records that migrations are done.
    func record(_ names: [String], in db: Connection) throws {
        if names.isEmpty { return }
        try db.execute(
            """
            CREATE TABLE IF NOT EXISTS main.sqlcipherkit_migration(
                position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, done TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP)
            """)
        for name in names { try db.execute("INSERT INTO main.sqlcipherkit_migration(name) VALUES (\(name))") }
    }

    private func compare(
        _ migration: Migration, _ before: ForeignKeyState, _ after: ForeignKeyState, _ isEnforcing: Bool
    ) throws -> Migrator.Violations? {
        let (new, former) = after.compared(with: before)
        if isEnforcing {
            if let violation = new.first {
                throw DatabaseError.migration("after the migration \(migration.name) \(violation.inWords)")
            }
            if let (table, error) = after.unchecked(since: before) {
                throw DatabaseError.migration(
                    "after the migration \(migration.name) the foreign keys of \(table) cannot be checked: \(error.message)")
            }
        }
        return new.isEmpty && former.isEmpty ? nil : Migrator.Violations(migration: migration.name, former: former, new: new)
    }
}

/// Migrations in a queue or a pool, while no other task uses it.
extension Migrator {
    /// Runs all pending migrations, as for a connection.
    /// - Parameters:
    ///   - database: a queue or a pool, whose other calls wait during the migration.
    ///   - last: the last migration to run; nil, the default, for all.
    /// - Returns: the names of the migrations that have run.
    /// - Throws: the same errors as for a connection.
    @discardableResult
    public func migrate(_ database: DatabaseWriter, through last: String? = nil) throws -> [String] {
        try database.barrierWriteWithoutTransaction { db in try migrate(db, through: last) }
    }

    /// Runs all pending migrations, as for a connection, and suspends the task instead of blocking a thread.
    /// - Parameters:
    ///   - database: a queue or a pool, whose other calls wait during the migration.
    ///   - last: the last migration to run; nil, the default, for all.
    /// - Returns: the names of the migrations that have run.
    /// - Throws: the same errors as for a connection; `CancellationError` when the task is cancelled.
    @discardableResult
    public func migrate(_ database: DatabaseWriter, through last: String? = nil) async throws -> [String] {
        try await database.barrierWriteWithoutTransaction { db in try migrate(db, through: last) }
    }
}

/// For development: emptying a database that earlier versions of the migrations created.
extension Migrator {
    private func eraseIfChanged(_ db: Connection) throws {
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
    private static func objects(of db: Connection) throws -> [SchemaEntry] {
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

extension Migrator {
    /// The rows that violate a foreign key after a migration that was committed nevertheless; see ``onForeignKeyViolations``.
    struct Violations {
        let migration: String
        let former: [Schema.ForeignKeyViolation]
        let new: [Schema.ForeignKeyViolation]
    }

    func report(_ violations: Violations) {
        onForeignKeyViolations?(violations.migration, violations.former, violations.new)
    }
}

extension Migrator {
    /// The migrations that a database has.
    struct Position {
        /// The number of migrations that are done, counted from the first.
        var done = 0
        /// The former migrations that are merged into the next migration, and that the database has already had.
        var former: [String] = []
    }

    /// - Throws: the same errors as ``pending(in:)``.
    func position(in db: Connection) throws -> Position {
        let known = try knownNames()
        let applied = try applied(in: db)
        if let unknown = applied.first(where: { !known.contains(ExactText($0)) }) {
            throw DatabaseError.migration("the database is newer than this program, which does not know its migration \(unknown)")
        }
        var position = Position()
        var rest = applied[...]
        for migration in migrations {
            var former: [String] = []
            for name in migration.merged where rest.first.isSameText(as: name) { former.append(rest.removeFirst()) }
            if rest.first.isSameText(as: migration.name) {
                rest.removeFirst()
            } else if former.isEmpty || !former.last.isSameText(as: migration.merged.last ?? "") {
                if let next = rest.first {
                    throw DatabaseError.migration(
                        "the migration \(migration.name) comes before \(next), which is done already: add new ones at the end")
                }
                position.former = former
                return position
            }
            position.done += 1
        }
        // A former migration is out of order.
        if let next = rest.first { throw DatabaseError.migration("the migration \(next) of the database is out of order") }
        return position
    }

    /// The names of all migrations, including merged migrations.
    private func knownNames() throws -> Set<ExactText> {
        var known: Set<ExactText> = []
        for name in migrations.flatMap({ $0.merged + [$0.name] }) {
            if name.isEmpty { throw DatabaseError.invalidArgument("a migration has no name") }
            if !known.insert(ExactText(name)).inserted { throw DatabaseError.invalidArgument("two migrations are named \(name)") }
        }
        return known
    }
}
