import SQLCipherKitCore

/// Databases that other code has created, before there was a migrator.
extension Migrator {
    struct Adoption: Sendable {
        /// The name of the last migration whose effect the database has; nil if it has none's.
        let last: @Sendable (Connection) throws -> String?
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
        adoptions.append(Adoption { db in try isDone(db) ? name : nil })
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
        adoptions.append(Adoption { db in
            let version = try Int(db.main.userVersion)
            if let name = names[version] { return name }
            if version == 0 { return nil }
            throw DatabaseError.migration("the database has the user_version \(version), which no migration of this program has")
        })
    }

    /// The names of the migrations whose effect a database has that has no record of any.
    func adopted(in db: Connection) throws -> [String] {
        var count = 0
        for adoption in adoptions {
            guard let name = try adoption.last(db) else { continue }
            guard let index = names.firstIndex(ofText: name) else {
                throw DatabaseError.invalidArgument("there is no migration \(name) to adopt a database through")
            }
            count = max(count, index + 1)
        }
        return Array(names.prefix(count))
    }

    /// The migrations to record as adopted.
    func adopting(_ db: Connection) throws -> [String] { try recorded(in: db).isEmpty ? adopted(in: db) : [] }

    /// Records adopted migrations.
    func adopt(_ db: Connection) throws {
        if try adoptions.isEmpty || adopting(db).isEmpty { return }
        _ = try run(db, .unchecked) { db, _ -> TransactionEnd<Void> in
            // Another process may have done so meanwhile.
            .commit(try record(adopting(db), in: db))
        }
    }
}
