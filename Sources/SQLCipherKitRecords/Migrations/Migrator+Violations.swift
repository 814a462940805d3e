import SQLCipherKitCore

extension Migrator {
    /// The rows that violate a foreign key after a migration that was committed nevertheless; see ``onForeignKeyViolations``.
    public struct Violations: Hashable, Sendable {
        /// The migration's name.
        public let migration: String
        /// The violations that existed before the migration.
        public let former: [Schema.ForeignKeyViolation]
        /// The violations that the migration caused, on a connection that does not enforce foreign keys.
        public let new: [Schema.ForeignKeyViolation]
    }
}
