import CSQLCipher

/// A database of a connection: `main`, `temp` or an attached database.
///
/// ```swift
/// let archive = try db.attach(.file("archive.db"), as: "archive", key: .passphrase("correct horse"))
/// print(try archive.tables().map(\.name))
/// try archive.verify()
/// try archive.detach()
/// ```
/// A schema is a handle that consists of a connection and a name. Creating one costs nothing. It must be used on the connection's
/// thread. After the database was detached, each call throws ``DatabaseError/Reason/schemaName``.
public struct Schema {
    /// The connection that the database belongs to.
    public let connection: Connection
    /// The name of the database in SQL.
    public let name: String

    package init(_ connection: Connection, _ name: String) {
        self.connection = connection
        self.name = name
    }
}

extension Connection {
    /// The database that the connection was opened with.
    public var main: Schema { Schema(self, "main") }

    /// The database of temporary tables, which only this connection sees.
    public var temp: Schema { Schema(self, "temp") }

    /// A database of the connection by its name in SQL, ignoring case: `main`, `temp` or the name it was attached under.
    /// - Throws: ``DatabaseError/Reason/schemaName`` if no database has that name.
    public func schema(_ name: String) throws -> Schema {
        let handle = try live()
        var index: Int32 = 0
        // Use SQLite's own spelling of the name, as hooks and regions do.
        while let known = sqlite3_db_name(handle, index) {
            if sqlite3_stricmp(known, name) == 0, !name.utf8.contains(0) { return Schema(self, String(cString: known)) }
            index += 1
        }
        throw DatabaseError.noSchema(name)
    }

    /// All databases of the connection, `main` first (<https://sqlite.org/pragma.html#pragma_database_list>). `temp` is included
    /// once it has been used.
    /// - Throws: ``DatabaseError/Reason/closed``, or SQLite's error.
    public func schemas() throws -> [Schema] {
        // Not the table-valued function: compiling it reads the database, and in WAL mode the connection then keeps its lock.
        let rows: [(Int, String)] = try fetchAll("PRAGMA database_list")
        return rows.map { Schema(self, $0.1) }
    }

    /// The name of the database for a call, which must belong to this connection; nil if none was given.
    package func name(of schema: Schema?) throws -> String? {
        guard let schema else { return nil }
        guard schema.connection === self else {
            throw DatabaseError.misuse("the database \(schema.name) belongs to another connection")
        }
        try schema.live()
        return schema.name
    }
}

extension Schema {
    /// The absolute path of the database's file; nil for an in-memory or temporary database.
    /// - Throws: ``DatabaseError/Reason/schemaName`` if it is no longer attached.
    public var path: String? {
        get throws {
            guard let path = sqlite3_db_filename(try live(), name).map({ String(cString: $0) }), !path.isEmpty else { return nil }
            return path
        }
    }

    /// Returns whether this is the same database of the same connection as another. Like SQLite, this ignores ASCII case in names.
    package func isSame(as other: Schema) -> Bool { connection === other.connection && sqlite3_stricmp(name, other.name) == 0 }

    package var isMain: Bool { sqlite3_stricmp(name, "main") == 0 }

    /// The connection's handle. Throws if the database is no longer attached.
    @discardableResult
    package func live() throws -> OpaquePointer {
        let handle = try connection.live()
        // SQLite knows `temp` from the start, but lists it only once it has been used.
        guard !name.utf8.contains(0), sqlite3_db_filename(handle, name) != nil || sqlite3_stricmp(name, "temp") == 0 else {
            throw DatabaseError.noSchema(name)
        }
        return handle
    }

    package var quotedName: String { name.quotedSQLIdentifier }

    /// The qualified, quoted name of a table, index, trigger or view of this database.
    package func qualified(_ object: String) -> String { "\(quotedName).\(object.quotedSQLIdentifier)" }
}
