import CSQLCipher

extension SQLExtension {
    /// The C function that adds an extension to a connection, by convention named `sqlite3_NAME_init`
    /// (<https://sqlite.org/loadext.html>).
    public typealias EntryPoint =
        @convention(c) (OpaquePointer?, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, OpaquePointer?) -> Int32

    /// Creates an extension from an SQLite extension that is written in C: functions, collations and virtual tables.
    ///
    /// Compile its source in a target of your own that depends on the product `SQLiteExtensionHeaders`, whose `sqlite3.h` and
    /// `sqlite3ext.h` are this engine's: <doc:Functions> shows how. With SQLite's own `sqlite3ext.h`, the extension would call
    /// another engine, or none, and the program would end.
    ///
    /// No file is loaded: `load_extension` does not exist. The extension may add functions, collations and modules of virtual
    /// tables. It must not set hooks, an authorizer or a busy handler, which the connection uses, nor close the connection.
    /// Functions and collations are removed with ``Connection/unregister(_:)``, virtual tables when the connection closes.
    ///
    /// Registering throws ``DatabaseError`` with the extension's own code and message if its function fails.
    /// - Parameter function: the entry point. Its third argument is NULL. A queue or a pool calls it on each connection, and twice
    ///   on the connection that writes: a second call must be harmless, as for any extension that SQLite loads.
    public static func entryPoint(_ function: @escaping EntryPoint) -> SQLExtension {
        SQLExtension { connection in
            var text: UnsafeMutablePointer<CChar>?
            let code = function(try connection.liveOutsideHooks(), &text, nil)
            defer { sqlite3_free(text) }
            // SQLITE_OK_LOAD_PERMANENTLY is an extended code of SQLITE_OK.
            guard code & 0xff != SQLITE_OK else { return }
            throw DatabaseError(
                code: ResultCode(rawValue: code), message: text.map { String(cString: $0) } ?? "the extension could not be added")
        }
    }
}
