/// The versions of a database's schema: migrations that have names and an order, each of which is done once.
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
/// Each migration is one transaction together with the note that it was done: whatever happens, a database has all of it or
/// nothing. Foreign keys are not enforced meanwhile, so that a table can be dropped and made again without its rows taking others
/// with them (<https://sqlite.org/lang_altertable.html#otheralter>). Before the commit all of them are checked: a migration that
/// has broken one is undone. Rows that broke one before it do not stop it: ``onForeignKeyViolations`` is told of them.
///
/// The names of those that were done are kept in the table `sqlcipherkit_migration` of the database.
public struct Migrator: Sendable {
    /// What happens to foreign keys while a migration runs.
    public enum ForeignKeys: Hashable, Sendable {
        /// They are not enforced, and checked before the commit.
        case checkedAtEnd
        /// They are enforced, if the connection does so, with all their actions, and checked before the commit.
        case enforced
        /// They are neither enforced nor checked, which would read every row that has one. What the migration breaks stays broken.
        case unchecked
    }

    struct Migration: Sendable {
        let name: String
        /// The names of the migrations that this one stands for.
        let merged: [String]
        let foreignKeys: ForeignKeys
        let body: @Sendable (Connection, [String]) throws -> Void
    }

    static let table = "sqlcipherkit_migration"
    private(set) var migrations: [Migration] = []

    /// Whether a database whose schema is not what its migrations make is emptied before it is migrated, with all rows that it has.
    /// Default: no.
    ///
    /// For development, while the migrations still change: never set it in a program that keeps data. The migrations that the
    /// database has had are done again in a new database in memory, opened with the connection's configuration, whose schema is
    /// compared. A database without any migration is left alone, and so is one with a part of a merged one.
    public var erasesOnSchemaChange = false

    /// Called after each migration that leaves rows which break a foreign key, once it is committed. Default: nil.
    ///
    /// Where the connection does not enforce foreign keys, what a migration has broken does not stop it, and is reported as well.
    /// A dry run reports what the migrations would leave.
    public var onForeignKeyViolations: (@Sendable (MigrationViolations) -> Void)?

    /// No migration yet.
    public init() {}

    /// Adds a migration after those before it. Once it is released, its name and what it does should stay as they are.
    /// - Parameters:
    ///   - name: a name that no other one has.
    ///   - foreignKeys: what happens to foreign keys meanwhile. Default: they are checked at the end.
    ///   - body: what it does. It cannot begin, commit or roll back the transaction; savepoints are free.
    public mutating func add(
        _ name: String, foreignKeys: ForeignKeys = .checkedAtEnd, _ body: @escaping @Sendable (Connection) throws -> Void
    ) {
        migrations.append(Migration(name: name, merged: [], foreignKeys: foreignKeys) { db, _ in try body(db) })
    }

    /// Adds a migration that stands for several former ones: a new database has this one in their place.
    /// ```swift
    /// migrator.add("2026", merging: ["notes", "stars", "tags"]) { db, done in
    ///     if done.isEmpty {
    ///         try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT NOT NULL, stars INTEGER NOT NULL DEFAULT 0)")
    ///     }
    ///     …
    /// }
    /// ```
    /// For a database that has had the last of the former ones, and so all of them, this one counts as done: `body` is not called,
    /// and nothing is written. A database that has had some of them gets this one; `body` must then do what is missing.
    /// - Parameters:
    ///   - name: a name that no other one has.
    ///   - former: the names of the former migrations, in their order, which are no longer added. A migration that was itself
    ///     merged can be among them, after those that it stands for. Keep the names for as long as there may be databases that
    ///     have them.
    ///   - foreignKeys: what happens to foreign keys meanwhile. Default: they are checked at the end.
    ///   - body: what it does. It gets the names of the former migrations that the database has had, in order; empty for a new one.
    public mutating func add(
        _ name: String, merging former: [String], foreignKeys: ForeignKeys = .checkedAtEnd,
        _ body: @escaping @Sendable (_ db: Connection, _ done: [String]) throws -> Void
    ) {
        migrations.append(Migration(name: name, merged: former, foreignKeys: foreignKeys, body: body))
    }

    /// The names of all migrations, in order.
    public var names: [String] { migrations.map(\.name) }

    /// The names of the migrations that a database has had, in order; former ones among them that were merged since.
    /// - Throws: ``DatabaseError``.
    public func applied(in db: Connection) throws(DatabaseError) -> [String] {
        // Without the table there was none.
        guard try db.main.hasTable(Self.table) else { return [] }
        return try db.fetchAll(String.self, "SELECT name FROM main.sqlcipherkit_migration ORDER BY position")
    }

    /// The names of the migrations that are still to be done, in order.
    /// - Throws: ``DatabaseError/Reason/migration`` if the database has one that this program does not know, which a newer one has
    ///   done, or if a migration was put before one that is done already; ``DatabaseError/Reason/invalidArgument`` for two
    ///   migrations of the same name, merged ones among them.
    public func pending(in db: Connection) throws(DatabaseError) -> [String] {
        Array(names.dropFirst(try position(in: db).done))
    }
}
