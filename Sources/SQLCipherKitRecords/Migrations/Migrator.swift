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
/// nothing. Foreign keys are not enforced meanwhile, so that a table can be dropped and created again without deleting rows that
/// refer to it (<https://sqlite.org/lang_altertable.html#otheralter>). They are all checked before the commit: a migration that
/// violates one is undone. Rows that already violated one before do not stop it, but are reported to ``onForeignKeyViolations``.
///
/// The names of finished migrations are kept in the database's table `sqlcipherkit_migration`.
public struct Migrator: Sendable {
    /// How foreign keys are treated while a migration runs.
    public enum ForeignKeys: Hashable, Sendable {
        /// They are not enforced, but checked before the commit.
        case checkedAtEnd
        /// They are enforced with all their actions, if the connection enforces them, and checked before the commit.
        case enforced
        /// They are neither enforced nor checked, since a check reads every row that has one. Violations that the migration causes
        /// remain.
        case unchecked
    }

    struct Migration: Sendable {
        let name: String
        /// The names of the migrations that this one replaces.
        let merged: [String]
        let foreignKeys: ForeignKeys
        let body: @Sendable (Connection, [String]) throws -> Void
    }

    static let table = "sqlcipherkit_migration"
    private(set) var migrations: [Migration] = []
    /// What finds the migrations whose effect a database has without them: see ``adopt(through:when:)``.
    var adoptions: [Adoption] = []

    /// Whether to erase a database with all its rows before migrating it, if its schema differs from the one that its migrations
    /// create. Default: false.
    ///
    /// For development, while the migrations still change: never set it in a program that keeps data. The migrations that the
    /// database has had are run again in a new in-memory database, opened with the connection's configuration, and the schemas are
    /// compared. A database without any migration is left alone, and so is one with only some of the migrations merged into one.
    public var erasesOnSchemaChange = false

    /// Called after each migration that leaves rows that violate a foreign key, once it is committed. Default: nil.
    ///
    /// If the connection does not enforce foreign keys, violations caused by a migration do not stop it, but are reported as well.
    /// A dry run reports the violations that the migrations would leave. The closure gets the migration's name, the violations that
    /// existed before it, and those that it caused.
    public var onForeignKeyViolations:
        (@Sendable (_ migration: String, _ former: [Schema.ForeignKeyViolation], _ new: [Schema.ForeignKeyViolation]) -> Void)?

    /// Creates a migrator without migrations.
    public init() {}

    /// Adds a migration at the end. Once you have released it, do not change its name or its effect.
    /// - Parameters:
    ///   - name: a unique name.
    ///   - foreignKeys: how foreign keys are treated meanwhile. Default: they are checked at the end.
    ///   - body: the migration's changes. It cannot begin, commit or roll back a transaction, but may use savepoints.
    public mutating func add(
        _ name: String, foreignKeys: ForeignKeys = .checkedAtEnd, _ body: @escaping @Sendable (Connection) throws -> Void
    ) {
        migrations.append(Migration(name: name, merged: [], foreignKeys: foreignKeys) { db, _ in try body(db) })
    }

    /// Adds a migration that replaces several former ones: a new database gets this one instead of them.
    /// ```swift
    /// migrator.add("2026", merging: ["notes", "stars", "tags"]) { db, done in
    ///     if done.isEmpty {
    ///         try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT NOT NULL, stars INTEGER NOT NULL DEFAULT 0)")
    ///     }
    ///     …
    /// }
    /// ```
    /// If a database has had the last of the former ones, and so all of them, this one counts as done: `body` is not called, and
    /// nothing is written. If it has had only some of them, this one runs, and `body` must do what is missing.
    /// - Parameters:
    ///   - name: a unique name.
    ///   - former: the names of the former migrations, in order. Do not add these any more. They may include a migration that was
    ///     itself a merge, after those that it replaced. Keep the names for as long as databases with them may exist.
    ///   - foreignKeys: how foreign keys are treated meanwhile. Default: they are checked at the end.
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

    /// The names of the migrations that a database has had, in order, including former ones that were merged since. Those that it
    /// is to adopt count.
    /// - Throws: ``DatabaseError``, and what the conditions of ``adopt(through:when:)`` throw.
    public func applied(in db: Connection) throws -> [String] {
        let recorded = try recorded(in: db)
        return try recorded.isEmpty ? adopted(in: db) : recorded
    }

    /// The names of the migrations that the database has a record of.
    func recorded(in db: Connection) throws(DatabaseError) -> [String] {
        // Without the table, there were no migrations.
        guard try db.main.hasTable(Self.table) else { return [] }
        return try db.fetchAll(String.self, "SELECT name FROM main.sqlcipherkit_migration ORDER BY position")
    }

    /// The names of the pending migrations, in order.
    /// - Throws: ``DatabaseError/Reason/migration`` if the database has one that this program does not know, from a newer version
    ///   of it, or if a migration was added before one that is already done; ``DatabaseError/Reason/invalidArgument`` for two
    ///   migrations of the same name, including merged ones, and for an empty name. Also what the conditions of
    ///   ``adopt(through:when:)`` throw.
    public func pending(in db: Connection) throws -> [String] {
        Array(names.dropFirst(try position(in: db).done))
    }
}
