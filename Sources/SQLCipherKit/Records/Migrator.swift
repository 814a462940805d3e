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
/// with them (<https://sqlite.org/lang_altertable.html#otheralter>); before the commit all of them are checked.
///
/// The names of those that were done are kept in the table `sqlcipherkit_migration` of the database.
public struct Migrator: Sendable {
    /// What happens to foreign keys while a migration runs.
    public enum ForeignKeys: Hashable, Sendable {
        /// They are not enforced, and checked before the commit.
        case checkedAtEnd
        /// They are enforced, if the connection does so, with all their actions, and checked before the commit.
        case enforced
    }

    struct Migration: Sendable {
        let name: String
        let foreignKeys: ForeignKeys
        let body: @Sendable (Connection) throws -> Void
    }

    static let table = "sqlcipherkit_migration"
    private(set) var migrations: [Migration] = []

    /// No migration yet.
    public init() {}

    /// Adds a migration behind those before it. Once it is released, its name and what it does should stay as they are.
    /// - Parameters:
    ///   - name: a name that no other one has.
    ///   - foreignKeys: what happens to foreign keys meanwhile. Default: they are checked at the end.
    ///   - body: what it does. It cannot begin, commit or roll back the transaction; savepoints are free.
    public mutating func add(
        _ name: String, foreignKeys: ForeignKeys = .checkedAtEnd, _ body: @escaping @Sendable (Connection) throws -> Void
    ) {
        migrations.append(Migration(name: name, foreignKeys: foreignKeys, body: body))
    }

    /// The names of all migrations, in order.
    public var names: [String] { migrations.map(\.name) }

    /// The names of the migrations that a database has had, in order.
    /// - Throws: ``DatabaseError``.
    public func applied(in db: Connection) throws(DatabaseError) -> [String] {
        // Without the table there was none.
        guard try db.main.hasTable(Self.table) else { return [] }
        return try db.fetchAll(String.self, "SELECT name FROM main.sqlcipherkit_migration ORDER BY position")
    }

    /// The names of the migrations that are still to be done, in order.
    /// - Throws: ``DatabaseError/Reason/migration`` if the database has one that this program does not know, which a newer one has
    ///   done, or if a migration was put before one that is done already; ``DatabaseError/Reason/invalidArgument`` for two
    ///   migrations of the same name.
    public func pending(in db: Connection) throws(DatabaseError) -> [String] {
        var seen: Set<ExactText> = []
        for name in names where !seen.insert(ExactText(name)).inserted || name.isEmpty {
            throw .invalidArgument(name.isEmpty ? "a migration without a name" : "two migrations are named \(name)")
        }
        let applied = try applied(in: db)
        if let unknown = applied.first(where: { !seen.contains(ExactText($0)) }) {
            throw .migration("the database is newer than this program, which does not know its migration \(unknown)")
        }
        for (done, name) in zip(applied, names) where !done.isSameText(as: name) {
            throw .migration("the migration \(name) comes before \(done), which is done already: add new ones at the end")
        }
        return Array(names.dropFirst(applied.count))
    }
}

extension DatabaseError {
    static func migration(_ message: String) -> DatabaseError { DatabaseError(code: .schema, reason: .migration, message: message) }
}
