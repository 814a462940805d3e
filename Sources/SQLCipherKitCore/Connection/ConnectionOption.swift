import CSQLCipher

/// Options of a connection that SQL cannot change (<https://sqlite.org/c3ref/c_dbconfig_defensive.html>).
public struct ConnectionOption: Hashable, Sendable, CaseIterable, CustomStringConvertible {
    /// The option's name, the same as in Swift.
    public let description: String
    let number: Int32
    private init(_ name: String, _ number: Int32) { (description, self.number) = (name, number) }

    public static let allCases: [ConnectionOption] = [
        .defensive, .trustedSchema, .triggers, .views, .foreignKeys, .attachCreates, .attachWrites, .comments,
    ]

    /// Refuses SQL that could deliberately damage the file: writing to SQLite's own tables or the tables of virtual tables, and
    /// `journal_mode = OFF`. Turn it on before running untrusted SQL. Default: off.
    public static let defensive = ConnectionOption("defensive", SQLITE_DBCONFIG_DEFENSIVE)
    /// Lets views, triggers, defaults and indexes of the schema call functions that are not marked
    /// ``FunctionOptions/innocuous``. Turn it off for an untrusted file. Default: on.
    public static let trustedSchema = ConnectionOption("trustedSchema", SQLITE_DBCONFIG_TRUSTED_SCHEMA)
    /// Lets triggers run. Default: on.
    public static let triggers = ConnectionOption("triggers", SQLITE_DBCONFIG_ENABLE_TRIGGER)
    /// Lets statements use views. Default: on.
    public static let views = ConnectionOption("views", SQLITE_DBCONFIG_ENABLE_VIEW)
    /// Enforces foreign keys; see ``DatabaseConfiguration/enforcesForeignKeys``. Cannot change inside a transaction.
    public static let foreignKeys = ConnectionOption("foreignKeys", SQLITE_DBCONFIG_ENABLE_FKEY)
    /// Lets ATTACH create a new file. Default: on.
    public static let attachCreates = ConnectionOption("attachCreates", SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE)
    /// Lets ATTACH open a file for writing. Default: on.
    public static let attachWrites = ConnectionOption("attachWrites", SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE)
    /// Lets SQL contain comments. Default: on.
    public static let comments = ConnectionOption("comments", SQLITE_DBCONFIG_ENABLE_COMMENTS)
}
