/// The rows that break a foreign key after a migration, which went on all the same: see ``Migrator/onForeignKeyViolations``.
public struct MigrationViolations: Hashable, Sendable {
    /// The migration's name.
    public let migration: String
    /// Those that were broken before the migration.
    public let former: [ForeignKeyViolation]
    /// Those that the migration has broken, on a connection that does not enforce foreign keys.
    public let new: [ForeignKeyViolation]
}
