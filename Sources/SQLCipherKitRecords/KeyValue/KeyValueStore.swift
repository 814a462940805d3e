import CSQLCipher
import Foundation
import SQLCipherKitCore

/// Stores values by key in a table of a database, for settings, caches and other small state.
///
/// ```swift
/// let settings = try KeyValueStore("settings", in: db)
/// try settings.set("launches", to: 3)
/// try settings.set("window", to: Frame(x: 0, y: 0, width: 800, height: 600))   // any Codable type
/// let launches = try settings.get("launches", default: 0)
/// let frame = try settings.get("window", as: Frame.self)
/// ```
/// Values that SQL can represent (``SQLValueConvertible``) are stored as they are, and any other `Codable` value as JSONB. A value
/// can be read as any type that holds it without loss, such as an integer type of any width that fits; reading it as another type
/// throws.
///
/// A stored nil is not the same as a missing key. Where nil may be stored, ask for an optional type:
/// `try settings.get("name", as: String?.self)` then returns `.some(nil)`.
///
/// Keys are text, compared byte for byte. A database can have any number of stores, each in its own table, which the first write
/// creates. A store must be used on its connection's thread; to share one between threads and tasks, use ``SharedKeyValueStore``.
/// To commit several writes together, wrap them in ``Connection/transaction(_:_:)-(_,(Connection)->R)``.
public final class KeyValueStore {
    /// The database that contains the store.
    public let schema: Schema
    @usableFromInline let table: KeyValueTable
    /// Whether the table was seen.
    @usableFromInline var isThere = false
    /// Whether the index for purging is known to exist.
    var hasExpiryIndex = false

    /// Creates a store in a database of a connection, without reading or writing anything yet.
    /// ```swift
    /// let archived = try KeyValueStore("settings", in: archive)
    /// ```
    /// - Parameters:
    ///   - name: the store's name, any text. Its table is named `kv_` followed by this name.
    ///   - schema: the database.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a name that is empty or has a NUL character.
    public convenience init(_ name: String, in schema: Schema) throws(DatabaseError) {
        self.init(try KeyValueTable(name, schemaName: schema.name), schema)
    }

    /// Creates a store in the main database of a connection, without reading or writing anything yet.
    /// - Throws: the same errors as ``init(_:in:)-(_,Schema)``.
    public convenience init(_ name: String, in connection: Connection) throws(DatabaseError) {
        try self.init(name, in: connection.main)
    }

    init(_ table: KeyValueTable, _ schema: Schema) {
        self.table = table
        self.schema = schema
    }

    /// The store's connection, for transactions for instance.
    @inlinable public var connection: Connection { schema.connection }

    /// The store's name.
    public var name: String { table.name }

    /// The names of the stores in a database, sorted: `KeyValueStore.names(in: db.main)`.
    public static func names(in schema: Schema) throws(DatabaseError) -> [String] {
        let prefix = TablesMadeLater.storePrefix
        let names = try schema.connection.fetchAll(
            String.self,
            SQL(raw: """
                SELECT name FROM \(schema.qualified("sqlite_schema")) \
                WHERE type = 'table' AND substr(name, 1, ?) = ? ORDER BY name
                """),
            [prefix.count, prefix])
        return names.map { String($0.dropFirst(prefix.count)) }
    }

    // MARK: The table

    /// Whether the table exists. Two stores with names that differ only in case would share a table in SQLite: the second one is
    /// refused.
    @usableFromInline
    func exists() throws(DatabaseError) -> Bool {
        let found = try connection.fetchOne(
            String.self,
            SQL(raw: "SELECT name FROM \(schema.qualified("sqlite_schema")) WHERE type = 'table' AND lower(name) = lower(?)"),
            [table.tableName])
        guard let found, found != table.tableName else { return found != nil }
        let name = found.dropFirst(TablesMadeLater.storePrefix.count)
        throw .invalidArgument("there is a key-value store with the name \(name) already")
    }

    @usableFromInline
    func create() throws(DatabaseError) {
        if try exists() { return }
        guard try connection.fetchOne(String.self, "PRAGMA encoding") == "UTF-8" else {
            throw .misuse("a key-value store needs a database that stores text as UTF-8: the order of its keys depends on it")
        }
        try connection.execute(table.creation)
    }

    /// The statement that reads a key, or nil while there is no table.
    @inlinable
    func reading() throws(DatabaseError) -> Statement? {
        if !isThere {
            guard try exists() else { return nil }
            isThere = true
        }
        return try connection.cached(table.select)
    }

    @inlinable
    func writing() throws(DatabaseError) -> Statement {
        if !isThere {
            try create()
            isThere = true
        }
        return try connection.cached(table.upsert)
    }

    /// Whether an error occurred because the table is missing: the transaction that created it may have been rolled back, or the
    /// table was dropped. If so, the next write creates it.
    @usableFromInline
    @inline(never)
    func isGone(_ error: DatabaseError) -> Bool {
        guard error.code == .error, connection.isOpen, (try? exists()) == false else { return false }
        isThere = false
        hasExpiryIndex = false
        return true
    }
}
