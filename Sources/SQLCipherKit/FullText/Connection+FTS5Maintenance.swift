/// A setting of a full-text index, kept in the database (<https://sqlite.org/fts5.html#special_insert_commands>).
public enum FTS5Setting: Hashable, Sendable {
    /// How many segments of a level are merged while writing, from 2 to 16; 0 for never. FTS5's default: 4.
    case automerge(Int)
    /// How many segments of a level force a merge of all of them at once, from 2 on. FTS5's default: 16.
    case crisismerge(Int)
    /// How many segments of a level ``Connection/mergeFullText(_:schema:pages:everything:)`` merges at least, from 2 to 16.
    /// FTS5's default: 4.
    case usermerge(Int)
    /// The size of the index's blobs in bytes, from 32 to 65,536. FTS5's default: 4,050.
    case pageSize(Int)
    /// How many bytes of new entries are kept in memory before they are written. FTS5's default: 1,048,576.
    case hashSize(Int)
    /// Whether the words of a deleted row leave the index at once. Otherwise they are marked as gone and stay in the file until
    /// segments are merged. SQLite before 3.42 cannot read an index that was written so. FTS5's default: no.
    case secureDelete(Bool)
    /// The percentage of deleted entries at which a contentless-delete segment is merged, from 0 to 100. FTS5's default: 10.
    case deleteMerge(Int)
    /// The function and its arguments that rank hits where a search names none, such as `bm25(5.0, 1.0)`.
    case rank(String)

    fileprivate var command: (name: String, value: SQLValue) {
        switch self {
        case .automerge(let count): ("automerge", .integer(Int64(count)))
        case .crisismerge(let count): ("crisismerge", .integer(Int64(count)))
        case .usermerge(let count): ("usermerge", .integer(Int64(count)))
        case .pageSize(let bytes): ("pgsz", .integer(Int64(bytes)))
        case .hashSize(let bytes): ("hashsize", .integer(Int64(bytes)))
        case .secureDelete(let isOn): ("secure-delete", .integer(isOn ? 1 : 0))
        case .deleteMerge(let percentage): ("deletemerge", .integer(Int64(percentage)))
        case .rank(let function): ("rank", .text(function))
        }
    }

    fileprivate var isInRange: Bool {
        switch self {
        case .automerge(let count): count == 0 || (2...16).contains(count)
        case .crisismerge(let count): (2...1_000_000).contains(count)
        case .usermerge(let count): (2...16).contains(count)
        case .pageSize(let bytes): (32...65_536).contains(bytes)
        case .hashSize(let bytes): (1...1_000_000_000).contains(bytes)
        case .deleteMerge(let percentage): (0...100).contains(percentage)
        case .secureDelete: true
        case .rank(let function): !function.isEmpty
        }
    }
}

/// The bytes that a full-text table takes in the file, in whole pages.
public struct FTS5IndexSize: Hashable, Sendable {
    /// The index itself.
    public var index: Int
    /// Stored text, for a table with its own content.
    public var content: Int
    /// Sizes of texts, settings, and what synchronisation keeps.
    public var other: Int
    /// All together.
    public var total: Int { index + content + other }
}

/// Looking after full-text indexes.
extension Connection {
    /// Sets something about an index, for good.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` out of the documented range, which FTS5 would ignore.
    public func configureFullText(_ table: String, schema: String = "main", _ setting: FTS5Setting) throws(DatabaseError) {
        guard setting.isInRange else { throw .invalidArgument("\(setting) is out of its range") }
        let command = setting.command
        try fullTextCommand(table, schema, command.name, command.value)
    }

    /// The settings that an index has been given, by FTS5's names.
    public func fullTextSettings(_ table: String, schema: String = "main") throws(DatabaseError) -> [String: SQLValue] {
        let rows: [(String, SQLValue)] = try fetchAll("SELECT k, v FROM \(identifier: schema).\(identifier: table + "_config")")
        return Dictionary(rows.map { ($0.0, $0.1) }, uniquingKeysWith: { first, _ in first })
    }

    /// Builds the index anew from its content: after a change of a tokenizer, or of content whose triggers did not run.
    /// - Throws: what SQLite reports, for contentless tables among others.
    public func rebuildFullText(_ table: String, schema: String = "main") throws {
        try transaction { db in
            try db.forgetReplaced(table, schema)
            try db.registerMissingKeys(table, schema)
            try db.fullTextCommand(table, schema, "rebuild")
        }
    }

    /// Merges all segments of the index into one: the smallest and fastest form, at the cost of writing it whole.
    public func optimizeFullText(_ table: String, schema: String = "main") throws(DatabaseError) {
        try fullTextCommand(table, schema, "optimize")
    }

    /// Merges segments of the index for a while.
    /// ```swift
    /// var isFirst = true
    /// while try db.mergeFullText("note_fts", pages: 500, everything: isFirst) { isFirst = false }   // optimize, in portions
    /// ```
    /// - Parameters:
    ///   - table: the full-text table.
    ///   - schema: the attached database that the table is in. Default: the main one.
    ///   - pages: about how many pages of the index are written. Default: 500.
    ///   - everything: whether all segments are put into one level first, so that calls until false come to what
    ///     ``optimizeFullText(_:schema:)`` does. Default: no.
    /// - Returns: whether there was something to merge.
    @discardableResult
    public func mergeFullText(
        _ table: String, schema: String = "main", pages: Int = 500, everything: Bool = false
    ) throws(DatabaseError) -> Bool {
        guard (1...1_000_000).contains(pages) else { throw .invalidArgument("a merge of \(pages) pages") }
        let before = totalChanges
        try fullTextCommand(table, schema, "merge", .integer(Int64(everything ? -pages : pages)))
        // One change is the command itself (https://sqlite.org/fts5.html#the_merge_command).
        return totalChanges - before >= 2
    }

    /// Whether the index is sound, and with content, whether it holds exactly what the content does.
    /// - Parameters:
    ///   - table: the full-text table.
    ///   - schema: the attached database that the table is in. Default: the main one.
    ///   - comparingContent: whether external content is read and compared. Default: yes.
    /// - Throws: what SQLite reports, other than that the index is damaged.
    public func isFullTextIntact(
        _ table: String, schema: String = "main", comparingContent: Bool = true
    ) throws(DatabaseError) -> Bool {
        do throws(DatabaseError) {
            try fullTextCommand(table, schema, "integrity-check", .integer(comparingContent ? 1 : 0))
            return true
        } catch {
            if .corrupt ~= error.code { return false }
            throw error
        }
    }

    /// Empties the index of a table with external content or contentless; content stays.
    public func deleteAllFullText(_ table: String, schema: String = "main") throws {
        try transaction { db in
            try db.forgetReplaced(table, schema)
            try db.fullTextCommand(table, schema, "delete-all")
        }
    }

    /// The bytes that a full-text table takes in the file.
    public func fullTextSize(_ table: String, schema: String = "main") throws(DatabaseError) -> FTS5IndexSize {
        func bytes(_ suffixes: [String]) throws(DatabaseError) -> Int {
            let names = suffixes.map { table + $0 }
            return try fetchOne(
                Int?.self,
                """
                SELECT sum(s.pgsize) FROM dbstat(\(schema), 1) AS s
                WHERE s.name IN (SELECT name FROM \(identifier: schema).sqlite_schema WHERE tbl_name IN \(names))
                """).flatMap { $0 } ?? 0
        }
        return FTS5IndexSize(
            index: try bytes(["_data", "_idx"]), content: try bytes(["_content"]),
            other: try bytes(["_docsize", "_config", ContentSync.Suffix.replaced, ContentSync.Suffix.keys]))
    }

    func fullTextCommand(_ table: String, _ schema: String, _ command: String, _ value: SQLValue? = nil) throws(DatabaseError) {
        if let value {
            try execute(
                "INSERT INTO \(identifier: schema).\(identifier: table)(\(identifier: table), rank) VALUES (\(command), \(value))")
        } else {
            try execute("INSERT INTO \(identifier: schema).\(identifier: table)(\(identifier: table)) VALUES (\(command))")
        }
    }

    /// What is set aside describes the index as it was.
    private func forgetReplaced(_ table: String, _ schema: String) throws(DatabaseError) {
        if try hasTable(table + ContentSync.Suffix.replaced, schema) {
            try execute("DELETE FROM \(identifier: schema).\(identifier: table + ContentSync.Suffix.replaced)")
        }
    }

    private func registerMissingKeys(_ table: String, _ schema: String) throws(DatabaseError) {
        guard try hasTable(table + ContentSync.Suffix.keys, schema), let content = try fullTextSchema(table, schema: schema).content else {
            return
        }
        let keys = "\(schema.quotedSQLIdentifier).\((table + ContentSync.Suffix.keys).quotedSQLIdentifier)"
        let rows = "\(schema.quotedSQLIdentifier).\(content.table.quotedSQLIdentifier)"
        let columns = try fetchAll(
            String.self, "SELECT name FROM pragma_table_info(\(table + ContentSync.Suffix.keys), \(schema)) WHERE pk = 0")
        let list = columns.map(\.quotedSQLIdentifier).joined(separator: ", ")
        let match = columns.map { "k.\($0.quotedSQLIdentifier) = t.\($0.quotedSQLIdentifier)" }.joined(separator: " AND ")
        let known = columns.map { "t.\($0.quotedSQLIdentifier) IS NOT NULL" }.joined(separator: " AND ")
        try execute(SQL(raw: "DELETE FROM \(keys) AS k WHERE NOT EXISTS (SELECT 1 FROM \(rows) AS t WHERE \(match))"))
        try execute(
            SQL(
                raw: """
                    INSERT INTO \(keys)(\(list)) SELECT \(list) FROM \(rows) AS t
                    WHERE \(known) AND NOT EXISTS (SELECT 1 FROM \(keys) AS k WHERE \(match))
                    """))
    }

    private func hasTable(_ name: String, _ schema: String) throws(DatabaseError) -> Bool {
        let tables: SQL = "SELECT 1 FROM \(identifier: schema).sqlite_schema WHERE type = 'table'"
        return try fetchOne(Int.self, "\(tables) AND name = \(name) COLLATE NOCASE") != nil
    }
}
