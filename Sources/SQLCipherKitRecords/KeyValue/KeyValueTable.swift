import SQLCipherKitCore

/// A store's table and the SQL statements that use it.
///
/// Each store has its own table, without row ids: a look-up descends one tree, `removeAll` is cheap, and an observer of one store
/// is not notified of changes to the others.
@usableFromInline
final class KeyValueTable: Sendable {
    let name: String
    let tableName: String
    let schemaName: String
    /// The qualified, quoted name of the table.
    let table: String
    @usableFromInline let select: SQL
    @usableFromInline let upsert: SQL

    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a name that is empty or has a NUL character.
    init(_ name: String, schemaName: String) throws {
        guard !name.isEmpty, !name.utf8.contains(0) else {
            throw DatabaseError.invalidArgument("a key-value store needs a name, without NUL characters")
        }
        self.name = name
        self.schemaName = schemaName
        tableName = TablesMadeLater.storePrefix + name
        table = "\(schemaName.quotedSQLIdentifier).\(tableName.quotedSQLIdentifier)"
        select = SQL(raw: "SELECT value, json, expires FROM \(table) WHERE key = ?1")
        upsert = SQL(raw: """
            INSERT INTO \(table)(key, value, json, expires) VALUES (?1, ?2, ?3, ?4) ON CONFLICT(key) DO UPDATE \
            SET value = excluded.value, json = excluded.json, expires = excluded.expires
            """)
    }

    /// `value` holds values that SQL can represent, `json` holds values coded as JSONB; at most one of the two is set. Both are
    /// NULL for a stored nil.
    var creation: SQL {
        SQL(raw: """
            CREATE TABLE IF NOT EXISTS \(table)\
            (key TEXT PRIMARY KEY NOT NULL, value, json BLOB, expires INTEGER) WITHOUT ROWID
            """)
    }

    /// For purging, created with the first row that expires. Tables and indexes share one space of names, and no store's table has
    /// a name that begins like this index's.
    var expiryIndex: SQL {
        let index = "\(schemaName.quotedSQLIdentifier).\("expires_\(tableName)".quotedSQLIdentifier)"
        return SQL(raw: """
            CREATE INDEX IF NOT EXISTS \(index) ON \(tableName.quotedSQLIdentifier)(expires) WHERE expires IS NOT NULL
            """)
    }

    /// Rows that have not expired by the time `?1`.
    static let isAlive = "(expires IS NULL OR expires > ?1)"
}
