import SQLCipherKitCore

/// A full-text table (FTS5) of a database.
///
/// ```swift
/// let notes = try db.fullText("note_fts")
/// for hit in try notes.search(field.text, limit: 20).hits {
///     print(hit.rowID, hit.score, hit.snippet ?? "")
/// }
/// ```
/// A `FullTextIndex` is only a handle: a connection's database and the table's name. Use it on the connection's thread. If the
/// table has been dropped or its database detached, each call throws.
public struct FullTextIndex {
    /// The database that the table is in.
    public let schema: Schema
    /// The table's name.
    public let name: String
    /// True if the table's declaration has the option `detail`, so that it may have no positions. Each search then reads the
    /// declaration again.
    let declaresDetail: Bool

    /// The connection that the index belongs to.
    public var connection: Connection { schema.connection }

    /// Returns the names of the table's columns, in order.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table is gone.
    public func columns() throws -> [String] {
        // The hidden columns are the one named like the table, and `rank`.
        let columns = try connection.fetchAll(
            String.self, "SELECT name FROM pragma_table_xinfo(\(name), \(schema.name)) WHERE hidden = 0 ORDER BY cid")
        guard !columns.isEmpty else { throw schema.noFullText(name) }
        return columns
    }

    package var qualifiedName: String { schema.qualified(name) }

    /// The name of a table or view that belongs to the index, qualified and quoted for SQL.
    func companion(_ suffix: String) -> String { schema.qualified(name + suffix) }
}

extension Schema {
    /// Returns the full-text table with a name, ignoring case.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if there is no full-text table of that name;
    ///   ``DatabaseError/Reason/schemaName`` if the database is detached.
    public func fullText(_ table: String) throws -> FullTextIndex {
        guard let index = try fullTextIndexes(where: "name = \(table) COLLATE NOCASE").first else { throw noFullText(table) }
        return index
    }

    /// Returns the full-text tables (FTS5) of the database, sorted by name.
    /// - Throws: ``DatabaseError/Reason/schemaName`` if the database is detached.
    public func fullTextIndexes() throws -> [FullTextIndex] { try fullTextIndexes(where: "1") }

    func hasFullText(_ table: String) throws -> Bool {
        try !fullTextIndexes(where: "name = \(table) COLLATE NOCASE").isEmpty
    }

    func noFullText(_ table: String) -> DatabaseError { .invalidArgument("there is no full-text table \(name).\(table)") }

    private func fullTextIndexes(where condition: SQL) throws -> [FullTextIndex] {
        try live()
        let objects = qualified("sqlite_schema")
        let tables: [(String, Bool)] = try connection.fetchAll(
            """
            SELECT name, sql LIKE '%detail%' FROM \(raw: objects) AS t
            WHERE type = 'table' AND \(condition) AND sql LIKE 'CREATE VIRTUAL TABLE%USING%fts5%' AND sql NOT LIKE '%fts5vocab%'
            AND EXISTS (SELECT 1 FROM \(raw: objects) AS d WHERE d.name = t.name || '_data') ORDER BY name
            """)
        return tables.map { FullTextIndex(schema: self, name: $0.0, declaresDetail: $0.1) }
    }
}

extension Connection {
    /// Returns the full-text table with a name in the main database, ignoring case.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if there is no full-text table of that name.
    public func fullText(_ table: String) throws -> FullTextIndex { try main.fullText(table) }
}

extension FullTextIndex {
    /// A setting of a full-text index, which the database stores (<https://sqlite.org/fts5.html#special_insert_commands>).
    public struct Setting: Hashable, Sendable {
        let name: String
        let value: SQLValue

        /// The size of the index's blobs in bytes, from 32 to 65,536. FTS5's default: 4,050.
        public static func pageSize(_ bytes: Int) -> Setting { other("pgsz", bytes) }

        /// Removes the words of a deleted row from the index at once. Otherwise they are marked as deleted and stay in the file
        /// until segments are merged. SQLite before 3.42 cannot read an index written with this setting. FTS5's default: off.
        public static func secureDelete(_ isOn: Bool) -> Setting { other("secure-delete", isOn ? 1 : 0) }

        /// The function that ranks hits if a search names no function, with its arguments, such as `bm25(5.0, 1.0)`. FTS5's
        /// default: `bm25()`.
        public static func rank(_ function: String) -> Setting { Setting(name: "rank", value: .text(function)) }

        /// A setting by FTS5's name:
        /// - `automerge`: the number of segments on a level at which writes begin to merge them, from 2 to 16; 0 for never. FTS5's
        ///   default: 4.
        /// - `crisismerge`: the number of segments on a level at which each write merges more segments, about 256 blobs, from 2 to
        ///   1,000,000. FTS5's default: 16.
        /// - `usermerge`: the minimum number of segments on a level that ``FullTextIndex/merge(pages:everything:)`` merges, from 2
        ///   to 16. FTS5's default: 4.
        /// - `hashsize`: the bytes of new entries that are kept in memory before they are written, from 1 to 1,000,000,000. FTS5's
        ///   default: 1,048,576.
        /// - `deletemerge`: the percentage of deleted entries at which a segment of a contentless table with `contentless_delete`
        ///   is merged, from 0 to 100. FTS5's default: 10.
        public static func other(_ name: String, _ value: Int) -> Setting { Setting(name: name, value: .integer(Int64(value))) }

        /// True if FTS5 would accept the value: it ignores what it does not.
        fileprivate var isInRange: Bool {
            guard case .integer(let number) = value else { return value != .text("") }
            return switch name {
            case "automerge": number == 0 || (2...16).contains(number)
            case "crisismerge": (2...1_000_000).contains(number)
            case "usermerge": (2...16).contains(number)
            case "pgsz": (32...65_536).contains(number)
            case "hashsize": (1...1_000_000_000).contains(number)
            case "deletemerge": (0...100).contains(number)
            default: true
            }
        }
    }

    /// Changes a setting of the index, for all connections and permanently.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a value outside the documented range, which FTS5 would ignore, and
    ///   errors from SQLite.
    public func configure(_ setting: Setting) throws {
        guard setting.isInRange else {
            throw DatabaseError.invalidArgument("the setting \(setting.name) cannot be \(setting.value)")
        }
        try command(setting.name, setting.value)
    }

    /// The settings that were changed, by FTS5's names, and `version`, the format of the index.
    /// - Throws: errors from SQLite, for example if the table is gone.
    public var settings: [String: SQLValue] {
        get throws {
            let rows: [(String, SQLValue)] = try connection.fetchAll("SELECT k, v FROM \(raw: companion("_config"))")
            return Dictionary(rows.map { ($0.0, $0.1) }, uniquingKeysWith: { first, _ in first })
        }
    }
}

/// The records of a search.
extension FullTextIndex {
    /// Searches, and reads the record of each hit from the content table.
    /// ```swift
    /// for match in try notes.records(Note.self, FullTextSearch("quikc bro")) {
    ///     print(match.record.title, match.hit.score)
    /// }
    /// ```
    /// The record is read from all columns of the content table, or of a full-text table with its own text.
    /// - Parameters:
    ///   - type: the type of the records.
    ///   - search: the search.
    /// - Returns: the records with their hits, in the order of the hits.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a contentless table; the errors of ``search(_:)``; and errors of
    ///   reading a record, such as ``DatabaseError/Reason/typeMismatch``.
    public func records<Record: SQLRowConvertible>(
        _ type: Record.Type, _ search: FullTextSearch
    ) throws -> [FullTextSearch.RecordHit<Record>] {
        try records(type, of: self.search(search).hits)
    }

    /// Returns the hits with their records, read from the content table. Hits whose rows have been deleted are left out.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a contentless table, and errors of reading a record, such as
    ///   ``DatabaseError/Reason/typeMismatch``.
    public func records<Record: SQLRowConvertible>(
        _ type: Record.Type, of hits: [FullTextSearch.Hit]
    ) throws -> [FullTextSearch.RecordHit<Record>] {
        let sql = try recordSQL()
        return try hits.compactMap { hit in
            try connection.fetchOne(type, sql, [hit.rowID]).map { FullTextSearch.RecordHit(record: $0, hit: hit) }
        }
    }

    /// Returns the hits with their records, read as a `Decodable` type whose coding keys are the columns' names; see
    /// ``Row/decode(_:)``.
    /// - Throws: the errors of the form for records.
    @_disfavoredOverload
    public func records<Record: Decodable>(
        _ type: Record.Type, of hits: [FullTextSearch.Hit]
    ) throws -> [FullTextSearch.RecordHit<Record>] {
        let sql = try recordSQL()
        return try hits.compactMap { hit in
            try connection.fetchOne(type, sql, [hit.rowID]).map { FullTextSearch.RecordHit(record: $0, hit: hit) }
        }
    }

    private func recordSQL() throws -> SQL {
        if let content = try content() {
            return SQL(raw: "SELECT t.* FROM \(content.rows) AS t\(content.join) WHERE \(content.rowID) = ?")
        }
        guard try options()["content"] == nil else {
            throw DatabaseError.invalidArgument("\(name) is contentless: there is no record to read")
        }
        return SQL(raw: "SELECT * FROM \(qualifiedName) WHERE rowid = ?")
    }
}
