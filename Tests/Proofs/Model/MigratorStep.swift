import SQLCipherKit

/// Runs migrations. Each happens in one transaction or not at all, and foreign keys are checked at its end.
struct MigratorStep: Step {
    /// The statements of each migration. In all steps of a program, the migrations at one place have the same name.
    var migrations: [[SQLStep]]
    var foreignKeys: Migrator.ForeignKeys
    var isDry: Bool

    func run(in world: World) throws {
        // The number of migrations that the package has finished, for cases in which the model does not judge foreign keys.
        var finished = 0
        try world.both { db in
            var migrator = Migrator()
            for (number, statements) in migrations.enumerated() {
                migrator.add("m\(number)", foreignKeys: foreignKeys) { db in
                    for statement in statements {
                        try db.execute(SQL(raw: statement.sql), StatementArguments(statement.values.map { $0 }))
                    }
                }
            }
            defer { finished = (try? migrator.applied(in: db).count) ?? 0 }
            return .text("\(isDry ? try migrator.dryRun(db) : try migrator.migrate(db))")
        } _: { reference in
            try model(reference, finished)
        }
    }

    private func model(_ reference: Reference, _ finished: Int) throws -> Outcome {
        let table = "CREATE TABLE IF NOT EXISTS main.sqlcipherkit_migration(name)"
        let isThere = try !reference.must("SELECT 1 FROM main.sqlite_schema WHERE name = 'sqlcipherkit_migration'").isEmpty
        let done = isThere ? try reference.must("SELECT 1 FROM main.sqlcipherkit_migration").count : 0
        if done > migrations.count { return .refused(.migration) }
        let names = migrations.indices.dropFirst(done).map { "m\($0)" }
        if reference.isInTransaction, !names.isEmpty || isDry { return .refused(.misuse) }
        if names.isEmpty, !isDry { return .text("[]") }
        let enforces = foreignKeys == .enforced
        if !enforces { _ = try reference.must("PRAGMA foreign_keys = OFF") }
        defer { _ = reference.run("PRAGMA foreign_keys = ON") }
        if isDry { _ = try reference.must("BEGIN IMMEDIATE") }
        defer { if reference.isInTransaction { _ = reference.run("ROLLBACK") } }
        for (number, statements) in migrations.enumerated().dropFirst(done) {
            if !isDry { _ = try reference.must("BEGIN IMMEDIATE") }
            let before = try violations(reference)
            for statement in statements {
                let outcome = reference.run(statement.sql, statement.values, controls: false)
                if outcome.isError { return outcome }
            }
            if foreignKeys != .unchecked {
                let after = try violations(reference)
                if before.isEmpty, !after.isEmpty { return .refused(.migration) }
                // Which of them are new is the package's to say.
                if !after.isEmpty, isDry { return .either }
                if !after.isEmpty, finished <= number { return .refused(.migration) }
            }
            if isDry { continue }
            _ = try reference.must(table)
            _ = try reference.must("INSERT INTO main.sqlcipherkit_migration VALUES (?)", [.text("m\(number)")])
            let commit = reference.run("COMMIT")
            if commit.isError { return commit }
        }
        return .text("\(names)")
    }

    /// The rows that violate a foreign key, and the tables whose keys cannot be checked.
    private func violations(_ reference: Reference) throws -> [String] {
        try reference.must("SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage > 0").flatMap { row -> [String] in
            guard case .text(let name) = row[0] else { return [] }
            switch reference.run("PRAGMA main.foreign_key_check(\(name.quotedSQLIdentifier))") {
            case .rows(let rows): return rows.map { "\($0)" }
            default: return [name]
            }
        }
    }

    var simpler: [any Step] {
        var found: [any Step] = []
        for (number, statements) in migrations.enumerated() {
            for index in statements.indices {
                var step = self
                step.migrations[number].remove(at: index)
                found.append(step)
            }
        }
        if migrations.count > 1 {
            var step = self
            step.migrations.removeLast()
            found.append(step)
        }
        return found
    }

    var description: String {
        let lines = migrations.enumerated().flatMap { number, statements in statements.map { "    m\(number): \($0)\n" } }
        return "try migrator.\(isDry ? "dryRun" : "migrate")(db)  // m0…m\(migrations.count - 1), foreign keys \(foreignKeys)\n"
            + lines.joined()
    }
}

extension Sketch {
    mutating func migratorStep() -> (any Step)? {
        // A later step has more of them, or fewer.
        let count = max(1, (counts["migrations"] ?? 0) + dice.below(4) - 1)
        counts["migrations"] = count
        return MigratorStep(
            migrations: (0..<count).map { _ in
                (0..<1 + dice.below(3)).compactMap { _ in (dice.oneIn(2) ? schemaStep() : dataStep()) as? SQLStep }.filter { $0.call != .named }
            }, foreignKeys: dice.pick([.checkedAtEnd, .checkedAtEnd, .enforced, .unchecked]), isDry: dice.oneIn(4))
    }
}
