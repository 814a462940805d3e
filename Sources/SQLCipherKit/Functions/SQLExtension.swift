import CSQLCipher

/// Something that a program adds to a connection's SQL: a function, a collation, a tokenizer.
///
/// It is made by one of the static functions and registered with ``Connection/register(_:)``:
/// ```swift
/// try db.register(.function("half") { (x: Double) in x / 2 })
/// try db.register(.collation(.unicodeIgnoringCase))
/// try db.unregister(.function("half", arguments: 1))
/// ```
/// It belongs to one connection. For a queue or a pool, register it in ``DatabaseConfiguration/prepare``, or with the call of the
/// same name of the queue or the pool, so that every connection has it.
public struct SQLExtension {
    let install: (Connection) throws(DatabaseError) -> Void

    init(install: @escaping (Connection) throws(DatabaseError) -> Void) { self.install = install }

    /// What an extension is removed by.
    public enum Name: Hashable, Sendable {
        /// A function, scalar or aggregate, by its name and the number of arguments it was registered with; nil for any number.
        case function(String, arguments: Int?)
        /// A collation by its name.
        case collation(String)
    }
}

extension Connection {
    /// Adds an extension to the connection's SQL, or replaces the one of the same name.
    /// - Throws: ``DatabaseError`` if the name is not valid, or while a statement is running that uses one of that name;
    ///   ``DatabaseError/Reason/misuse`` inside of a hook.
    public func register(_ item: SQLExtension) throws(DatabaseError) {
        try refuseIfOneOfMany("register(_:)", "register(_:) of the pool")
        try item.install(self)
        // Whether a schema may call a function is decided when the schema is read, and not for a function that is unknown then.
        if try !settings.isEnabled(.trustedSchema) { try execute("PRAGMA writable_schema = RESET") }
    }

    /// Removes a function or a collation; one of SQLite's own comes back if it was replaced. A name that is not registered is
    /// ignored.
    /// - Throws: ``DatabaseError`` while a statement is running that uses it, ``DatabaseError/Reason/invalidArgument`` for a
    ///   negative number of arguments or a name with a NUL character, or ``DatabaseError/Reason/misuse`` inside of a hook.
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

    /// Registers or removes a function with `create`, so that one of SQLite's own is hidden only as long as another one is there.
    func defineFunction(
        _ name: String, _ count: Int32, _ create: (OpaquePointer, Int32) throws(DatabaseError) -> Int32
    ) throws(DatabaseError) {
        let name = try name.cName("the name of a function")
        let handle = try liveOutsideHooks()
        sqlcipherkit_hide_removed_function(handle, name, count, 0)
        defer { sqlcipherkit_hide_removed_function(handle, name, count, 1) }
        try check(create(handle, count))
    }
}

extension SQLExtension {
    /// -1 stands for any number.
    static func argumentCount(_ count: Int?) throws(DatabaseError) -> Int32 {
        guard let count else { return -1 }
        guard count >= 0, let number = Int32(exactly: count) else { throw .invalidArgument("a function of \(count) arguments") }
        return number
    }
}
