import SQLCipherKitCore

/// A table of vectors of a database.
///
/// ```swift
/// let vectors = try db.vectors("note_vectors")
/// try await vectors.update(with: model)
/// for hit in try vectors.search(question, limit: 10) { print(hit.rowID, hit.distance) }
/// ```
/// A `VectorIndex` is only a handle: a connection's database and the table's name. Use it on the connection's thread. If the table
/// has been dropped or its database detached, each call throws.
public struct VectorIndex {
    /// The database that the table is in.
    public let schema: Schema
    /// The table's name.
    public let name: String

    /// The connection that the index belongs to.
    public var connection: Connection { schema.connection }

    /// The number of dimensions of each vector.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table is gone.
    public var dimensions: Int { get throws { try format().dimensions } }

    /// The form in which the numbers of the vectors are stored.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table is gone.
    public var element: VectorTable.Element { get throws { try format().element } }

    /// The measure of distances.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table is gone.
    public var metric: VectorTable.Metric { get throws { try format().metric } }

    /// The number of vectors.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table is gone.
    public var count: Int {
        get throws {
            _ = try format()
            return try connection.fetchOne(Int.self, "SELECT count(*) FROM \(raw: qualifiedName)") ?? 0
        }
    }

    /// The names of the table and of the tables that belong to it.
    package var tableNames: [String] { [name] + VectorNames.tables.map { name + $0 } }

    var qualifiedName: String { schema.qualified(name) }

    /// The name of a table or view that belongs to the index, qualified and quoted for SQL.
    func companion(_ suffix: String) -> String { schema.qualified(name + suffix) }

    /// Reads the description that the table stores of itself.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table is gone.
    func format() throws -> VectorFormat {
        guard try schema.hasVectors(name) else { throw schema.noVectors(name) }
        return try VectorFormat(of: self)
    }

    /// The error for a table whose bytes contradict each other.
    func damage(_ what: String) -> DatabaseError {
        DatabaseError(code: .corrupt, message: "the table of vectors \(name) is damaged: \(what)")
    }
}

extension Schema {
    /// Returns the table of vectors with a name, ignoring case.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if there is no table of vectors of that name;
    ///   ``DatabaseError/Reason/schemaName`` if the database is detached.
    public func vectors(_ table: String) throws -> VectorIndex {
        guard let index = try vectorIndexes(where: "t.name = \(table) COLLATE NOCASE").first else { throw noVectors(table) }
        return index
    }

    /// Returns the tables of vectors of the database, sorted by name.
    /// - Throws: ``DatabaseError/Reason/schemaName`` if the database is detached.
    public func vectorIndexes() throws -> [VectorIndex] { try vectorIndexes(where: "1") }

    func hasVectors(_ table: String) throws -> Bool { try !vectorIndexes(where: "t.name = \(table) COLLATE NOCASE").isEmpty }

    func noVectors(_ table: String) -> DatabaseError { .invalidArgument("there is no table of vectors \(name).\(table)") }

    private func vectorIndexes(where condition: SQL) throws -> [VectorIndex] {
        try live()
        let objects: SQL = "\(raw: qualified("sqlite_schema"))"
        let suffixes = VectorNames.required
        let names = try connection.fetchAll(
            String.self,
            """
            SELECT t.name FROM \(objects) AS t WHERE t.type = 'table' AND \(condition) AND \(suffixes.count) = (
            SELECT count(*) FROM \(objects) AS p WHERE p.type = 'table' AND substr(p.name, 1, length(t.name)) = t.name
            AND substr(p.name, length(t.name) + 1) IN \(suffixes)) ORDER BY t.name
            """)
        return names.map { VectorIndex(schema: self, name: $0) }
    }
}

extension Connection {
    /// Returns the table of vectors with a name in the main database, ignoring case.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if there is no table of vectors of that name.
    public func vectors(_ table: String) throws -> VectorIndex { try main.vectors(table) }
}
