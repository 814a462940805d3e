import CSQLCipher

/// An addition to a connection's SQL: a function, a collation or a tokenizer.
///
/// A static function creates it, and ``Connection/register(_:)`` registers it:
/// ```swift
/// try db.register(.function("half") { (x: Double) in x / 2 })
/// try db.register(.unicodeCollationIgnoringCase)
/// try db.unregister(.function("half", arguments: 1))
/// ```
/// An extension belongs to one connection. For a queue or a pool, register it in ``DatabaseConfiguration/prepare``, or with the
/// method of the same name of the queue or the pool, so that every connection has it.
public struct SQLExtension {
    let install: (Connection) throws(DatabaseError) -> Void

    package init(install: @escaping (Connection) throws(DatabaseError) -> Void) { self.install = install }

    /// The name by which an extension is removed.
    public enum Name: Hashable, Sendable {
        /// A function, scalar or aggregate, by its name and the number of arguments it was registered with; nil for any number.
        case function(String, arguments: Int?)
        /// A collation by its name.
        case collation(String)
    }
}

extension Connection {
    /// Adds an extension to the connection's SQL, or replaces the one with the same name.
    /// - Throws: ``DatabaseError`` if the name is not valid, or while a statement that uses an extension with that name is running;
    ///   ``DatabaseError/Reason/misuse`` inside a hook.
    public func register(_ item: SQLExtension) throws(DatabaseError) {
        try refuseIfOneOfMany("register(_:)", "register(_:) of the pool")
        try item.install(self)
        // SQLite decides whether a schema may call a function when it reads the schema, and cannot for a function that is unknown
        // then.
        if try !settings.isEnabled(.trustedSchema) { try execute("PRAGMA writable_schema = RESET") }
    }

    /// Removes a function or a collation. If it had replaced one of SQLite's, that one is restored. A name that is not registered
    /// is ignored.
    /// - Throws: ``DatabaseError`` while a statement that uses it is running, ``DatabaseError/Reason/invalidArgument`` for a
    ///   negative number of arguments or a name with a NUL character, or ``DatabaseError/Reason/misuse`` inside a hook.
    public func unregister(_ name: SQLExtension.Name) throws(DatabaseError) {
        try refuseIfOneOfMany("unregister(_:)", "unregister(_:) of the pool")
        switch name {
        case .function(let name, let arguments):
            try defineFunction(name, try SQLExtension.argumentCount(arguments)) { handle, count in
                sqlite3_create_function_v2(handle, name, count, SQLITE_UTF8, nil, nil, nil, nil, nil)
            }
        case .collation(let name):
            try check(sqlcipherkit_remove_collation(liveOutsideHooks(), name.cName("the name of a collation")))
        }
    }

    /// Registers or removes a function with `create`, so that a function of SQLite's is hidden only while a replacement exists.
    func defineFunction(
        _ name: String, _ count: Int32, _ create: (OpaquePointer, Int32) throws(DatabaseError) -> Int32
    ) throws(DatabaseError) {
        let name = try name.cName("the name of a function")
        if name.utf8.count > 255 { throw .invalidArgument("the name of a function has more than 255 bytes") }
        let handle = try liveOutsideHooks()
        sqlcipherkit_hide_removed_function(handle, name, count, 0)
        defer { sqlcipherkit_hide_removed_function(handle, name, count, 1) }
        try check(create(handle, count))
    }
}

extension SQLExtension {
    /// Returns -1 for any number.
    static func argumentCount(_ count: Int?) throws(DatabaseError) -> Int32 {
        guard let count else { return -1 }
        guard count >= 0, let number = Int32(exactly: count) else { throw .invalidArgument("a function of \(count) arguments") }
        return number
    }
}
