import SQLCipherKitCore

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
