import SQLCipherKitCore

/// Databases that other code has created, before there was a migrator.
extension Migrator {
    struct Adoption: Sendable {
        /// The names of the migrations whose effects the database has.
        let names: @Sendable (Migrator, Connection) throws -> [String]
    }

    /// Lets a database that already has the effect of the first migrations skip these migrations.
    /// ```swift
    /// migrator.adopt(through: "notes") { db in try db.main.table("note") != nil }
    /// ```
    /// The condition is called only for a database that records no migration, such as a database that another library has made.
    /// ``migrate(_:through:)-(Connection,_)`` then records these migrations without running them, once. If several conditions hold,
    /// the condition of the latest migration counts. A new database meets none of them, and gets all migrations.
    /// - Parameters:
    ///   - name: the name of the last migration whose effect the database has. It must have the effects of all earlier migrations
    ///     too.
    ///   - isDone: returns whether the database has that effect. It may only read.
    public mutating func adopt(through name: String, when isDone: @escaping @Sendable (Connection) throws -> Bool) {
        adoptions.append(Adoption { migrator, db in try isDone(db) ? migrator.names(through: name) : [] })
    }

    /// Lets a database that counts the versions of its schema in `PRAGMA user_version` skip the migrations up to its version.
    /// ```swift
    /// migrator.adopt(userVersions: [1: "notes", 2: "stars"])
    /// ```
    /// The number itself does not change. See ``adopt(through:when:)``.
    /// - Parameter names: for each `user_version`, the name of the last migration whose effect a database with that version has. If
    ///   `names` does not contain 0, a database with version 0 is new. For any other missing version, migrating throws
    ///   ``DatabaseError/Reason/migration``.
    public mutating func adopt(userVersions names: [Int: String]) {
        adoptions.append(Adoption { migrator, db in
            let version = try Int(db.main.userVersion)
            if let name = names[version] { return try migrator.names(through: name) }
            if version == 0 { return [] }
            throw DatabaseError.migration("the database has the user_version \(version), which no migration of this program has")
        })
    }

    /// Lets a database that GRDB has migrated skip the migrations that GRDB's `DatabaseMigrator` has run.
    /// ```swift
    /// migrator.add("v1") { db in try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)") }
    /// migrator.adoptGRDBMigrations()
    /// ```
    /// Add your migrations under the names that GRDB knows, in the same order. The table `grdb_migrations` is read, and does not
    /// change. If it has a migration that the migrator does not have, or lacks one before another that it has, migrating throws
    /// ``DatabaseError/Reason/migration``. See ``adopt(through:when:)``.
    public mutating func adoptGRDBMigrations() {
        adoptions.append(Adoption { migrator, db in
            guard try db.main.hasTable("grdb_migrations") else { return [] }
            let done = try db.fetchAll(String.self, "SELECT identifier FROM main.grdb_migrations")
            let known = migrator.migrations.flatMap { $0.merged + [$0.name] }
            // GRDB may have run a migration that was added between others, so that its order is another.
            return known.filter { done.contains(text: $0) } + done.filter { !known.contains(text: $0) }
        })
    }

    /// The names of the migrations whose effect a database has that has no record of any.
    func adopted(in db: Connection) throws -> [String] {
        try adoptions.reduce([]) { longest, adoption in
            let names = try adoption.names(self, db)
            return names.count > longest.count ? names : longest
        }
    }

    private func names(through last: String) throws -> [String] {
        guard let index = names.firstIndex(ofText: last) else {
            throw DatabaseError.invalidArgument("there is no migration \(last) to adopt a database through")
        }
        return Array(names[...index])
    }

    /// The migrations to record as adopted.
    func adopting(_ db: Connection) throws -> [String] { try recorded(in: db).isEmpty ? adopted(in: db) : [] }

    /// Records adopted migrations.
    func adopt(_ db: Connection) throws {
        if try adoptions.isEmpty || adopting(db).isEmpty { return }
        // Names in the database may be unknown here, or out of order.
        _ = try position(in: db)
        _ = try run(db, .unchecked) { db, _ -> TransactionEnd<Void> in
            // Another process may have done so meanwhile.
            .commit(try record(adopting(db), in: db))
        }
    }
}
