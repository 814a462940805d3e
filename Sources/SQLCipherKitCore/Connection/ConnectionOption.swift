import CSQLCipher

/// Options of a connection that SQL cannot change (<https://sqlite.org/c3ref/c_dbconfig_defensive.html>).
public enum ConnectionOption: Hashable, Sendable, CaseIterable {
    /// Refuses what could deliberately damage the file: writing to SQLite's own tables or those of virtual tables, and
    /// `journal_mode = OFF`. Turn it on before running untrusted SQL. Default: off.
    case defensive
    /// Whether views, triggers, defaults and indexes of the schema may call functions that are not marked
    /// ``FunctionOptions/innocuous``. Turn it off for an untrusted file. Default: on.
    case trustedSchema
    /// Whether triggers run. Default: on.
    case triggers
    /// Whether views can be used. Default: on.
    case views
    /// Whether foreign keys are enforced; see ``DatabaseConfiguration/enforcesForeignKeys``. Cannot change inside a transaction.
    case foreignKeys
    /// Whether ATTACH may create a new file. Default: on.
    case attachCreates
    /// Whether ATTACH may open a file for writing. Default: on.
    case attachWrites
    /// Whether SQL may contain comments. Default: on.
    case comments

    var number: Int32 {
        switch self {
        case .defensive: SQLITE_DBCONFIG_DEFENSIVE
        case .trustedSchema: SQLITE_DBCONFIG_TRUSTED_SCHEMA
        case .triggers: SQLITE_DBCONFIG_ENABLE_TRIGGER
        case .views: SQLITE_DBCONFIG_ENABLE_VIEW
        case .foreignKeys: SQLITE_DBCONFIG_ENABLE_FKEY
        case .attachCreates: SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE
        case .attachWrites: SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE
        case .comments: SQLITE_DBCONFIG_ENABLE_COMMENTS
        }
    }
}
