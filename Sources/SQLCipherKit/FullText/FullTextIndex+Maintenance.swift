/// Looking after an index.
extension FullTextIndex {
    /// The bytes that a full-text table takes in the file, in whole pages.
    public struct Size: Hashable, Sendable {
        /// The index itself.
        public var index: Int
        /// Stored text, for a table with its own content.
        public var content: Int
        /// Sizes of texts, settings, and what synchronisation keeps.
        public var other: Int
        /// All together.
        public var total: Int { index + content + other }
    }

    /// Builds the index again from its content: after a change of a tokenizer, or of content whose triggers did not run.
    /// - Throws: what SQLite reports, for contentless tables among others.
    public func rebuild() throws {
        try connection.transaction { _ in
            try forgetReplaced()
            try registerMissingKeys()
            try command("rebuild")
        }
    }

    /// Merges all segments of the index into one: the smallest and fastest form, at the cost of writing it whole.
    public func optimize() throws(DatabaseError) { try command("optimize") }

    /// Merges segments of the index for a while.
    /// ```swift
    /// var isFirst = true
    /// while try notes.merge(pages: 500, everything: isFirst) { isFirst = false }   // optimize, in portions
    /// ```
    /// - Parameters:
    ///   - pages: about how many pages of the index are written. Default: 500.
    ///   - everything: whether all segments are put into one level first, so that calls until false come to what ``optimize()``
    ///     does. Default: no.
    /// - Returns: whether there was something to merge.
    @discardableResult
    public func merge(pages: Int = 500, everything: Bool = false) throws(DatabaseError) -> Bool {
        guard (1...1_000_000).contains(pages) else { throw .invalidArgument("a merge of \(pages) pages") }
        let before = connection.totalChanges
        try command("merge", .integer(Int64(everything ? -pages : pages)))
        // One change is the command itself (https://sqlite.org/fts5.html#the_merge_command).
        return connection.totalChanges - before >= 2
    }

    /// Whether the index is sound, and with content, whether it holds exactly what the content does.
    /// - Parameter comparingContent: whether external content is read and compared. Default: yes.
    /// - Throws: what SQLite reports, other than that the index is damaged.
    public func isIntact(comparingContent: Bool = true) throws(DatabaseError) -> Bool {
        do throws(DatabaseError) {
            try command("integrity-check", .integer(comparingContent ? 1 : 0))
            return true
        } catch {
            if .corrupt ~= error.code { return false }
            throw error
        }
    }

    /// Empties the index of a table with external content or contentless; content stays.
    public func deleteAll() throws {
        try connection.transaction { _ in
            try forgetReplaced()
            try command("delete-all")
        }
    }

    /// The bytes that the table takes in the file.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table is gone.
    public func size() throws(DatabaseError) -> Size {
        guard try schema.hasFullText(name) else { throw schema.noFullText(name) }
        func bytes(_ suffixes: [String]) throws(DatabaseError) -> Int {
            let (objects, tables) = (schema.qualified("sqlite_schema"), suffixes.map { name + $0 })
            return try connection.fetchOne(
                Int?.self,
                """
                SELECT sum(s.pgsize) FROM dbstat(\(schema.name), 1) AS s
                WHERE s.name IN (SELECT name FROM \(raw: objects) WHERE tbl_name IN \(tables))
                """).flatMap { $0 } ?? 0
        }
        return Size(
            index: try bytes(["_data", "_idx"]), content: try bytes(["_content"]),
            other: try bytes(["_docsize", "_config", ContentSync.Suffix.replaced, ContentSync.Suffix.keys]))
    }

    /// One of FTS5's special inserts (<https://sqlite.org/fts5.html#special_insert_commands>).
    func command(_ command: String, _ value: SQLValue? = nil) throws(DatabaseError) {
        let (columns, values): (SQL, SQL) = value.map { (", rank", ", \($0)") } ?? ("", "")
        try connection.execute("INSERT INTO \(raw: qualifiedName)(\(identifier: name)\(columns)) VALUES (\(command)\(values))")
    }

    /// Empties the table of what is set aside: it describes the index as it was.
    private func forgetReplaced() throws(DatabaseError) {
        if try hasCompanion(ContentSync.Suffix.replaced) {
            try connection.execute("DELETE FROM \(raw: companion(ContentSync.Suffix.replaced))")
        }
    }

    private func registerMissingKeys() throws(DatabaseError) {
        guard try hasCompanion(ContentSync.Suffix.keys), let content = try content() else { return }
        let keys = companion(ContentSync.Suffix.keys)
        let list = try keyTableColumns().map(\.quotedSQLIdentifier)
        // In the same order as the table's columns, which may have been renamed since.
        let columns = content.key.map { "t.\($0.quotedSQLIdentifier)" }
        let match = zip(list, columns).map { "k.\($0) = \($1)" }.joined(separator: " AND ")
        let known = columns.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
        try connection.execute(
            SQL(raw: "DELETE FROM \(keys) AS k WHERE NOT EXISTS (SELECT 1 FROM \(content.rows) AS t WHERE \(match))"))
        try connection.execute(
            SQL(
                raw: """
                    INSERT INTO \(keys)(\(list.joined(separator: ", ")))
                    SELECT \(columns.joined(separator: ", ")) FROM \(content.rows) AS t
                    WHERE \(known) AND NOT EXISTS (SELECT 1 FROM \(keys) AS k WHERE \(match))
                    """))
    }

    private func hasCompanion(_ suffix: String) throws(DatabaseError) -> Bool {
        let tables: SQL = "SELECT 1 FROM \(raw: schema.qualified("sqlite_schema")) WHERE type = 'table'"
        return try connection.fetchOne(Int.self, "\(tables) AND name = \(name + suffix) COLLATE NOCASE") != nil
    }
}
