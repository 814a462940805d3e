/// A full-text table (FTS5) of a database.
///
/// ```swift
/// let notes = try db.fullText("note_fts")
/// for hit in try notes.search(FTS5Query(userInput: field.text), snippet: .column("body"), limit: 20) {
///     print(hit.rowID, hit.rank, hit.snippet)
/// }
/// ```
/// An index is a handle: a database of a connection and a name. It belongs to the connection's thread. After the table was dropped
/// or its database detached, each call throws.
public struct FullTextIndex {
    /// The database that the table is in.
    public let schema: Schema
    /// The table's name.
    public let name: String

    init(_ schema: Schema, _ name: String) {
        self.schema = schema
        self.name = name
    }

    /// The connection that the index belongs to.
    public var connection: Connection { schema.connection }
}

extension Schema {
    /// The full-text table of a name.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if there is none of that name.
    public func fullText(_ table: String) throws(DatabaseError) -> FullTextIndex {
        guard try connection.isFullTextTable(table, schema: name) else {
            throw .invalidArgument("there is no full-text table \(name).\(table)")
        }
        return FullTextIndex(self, table)
    }
}

extension Connection {
    /// The full-text table of a name in the main database.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if there is none of that name.
    public func fullText(_ table: String) throws(DatabaseError) -> FullTextIndex { try main.fullText(table) }
}
