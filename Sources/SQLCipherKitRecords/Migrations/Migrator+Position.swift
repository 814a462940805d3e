import SQLCipherKitCore

extension Migrator {
    /// How far a database has been migrated.
    struct Position {
        /// The number of migrations that are done, counted from the first.
        var done = 0
        /// The former migrations merged into the next one that the database has already had.
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

    /// The names of all migrations, including merged ones.
    private func knownNames() throws(DatabaseError) -> Set<ExactText> {
        var known: Set<ExactText> = []
        for name in migrations.flatMap({ $0.merged + [$0.name] }) {
            if name.isEmpty { throw .invalidArgument("a migration has no name") }
            if !known.insert(ExactText(name)).inserted { throw .invalidArgument("two migrations are named \(name)") }
        }
        return known
    }
}
