import SQLCipherKitCore

/// The rows that violate a foreign key after a migration that was committed nevertheless; see ``Migrator/onForeignKeyViolations``.
public struct MigrationViolations: Hashable, Sendable {
    /// The migration's name.
    public let migration: String
    /// The violations that existed before the migration.
    public let former: [ForeignKeyViolation]
    /// The violations that the migration caused, on a connection that does not enforce foreign keys.
    public let new: [ForeignKeyViolation]
}
