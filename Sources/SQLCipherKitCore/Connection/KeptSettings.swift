import CSQLCipher

/// What pragmas can set, as it is now, to be put back without a statement: reading the schema, a handler or an authorizer could
/// stop that.
package final class KeptSettings {
    private let connection: Connection
    private let settings: OpaquePointer

    package init(of connection: Connection) throws(DatabaseError) {
        guard let settings = sqlcipherkit_new_settings() else { throw DatabaseError(rc: SQLITE_NOMEM, database: nil) }
        (self.connection, self.settings) = (connection, settings)
        sqlcipherkit_read_settings(try connection.live(), settings)
    }

    package func putBack() { if let handle = connection.handle { sqlcipherkit_restore_settings(handle, settings) } }

    deinit { sqlcipherkit_free_settings(settings) }
}
