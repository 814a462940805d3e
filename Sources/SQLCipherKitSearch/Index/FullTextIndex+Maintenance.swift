import CSQLCipher
import SQLCipherKitCore

/// Maintenance of an index.
extension FullTextIndex {
    /// The space that a full-text table takes in the file: whole pages, in bytes.
    public struct Size: Hashable, Sendable {
        /// The index itself.
        public var index: Int
        /// The stored text of a table with its own content.
        public var content: Int
        /// The sizes of texts, the settings, and the tables for synchronization.
        public var other: Int
        /// The sum of these three sizes.
        public var total: Int { index + content + other }
    }

    /// Rebuilds the index from its content. You need it after a change to a tokenizer, or if content changed without firing the
    /// triggers.
    /// - Throws: an error from SQLite, for example for a contentless table, and ``DatabaseError/Reason/invalidArgument`` if another
    ///   library's triggers write to an index whose content is synchronized. The index is then as before.
    public func rebuild() throws {
        try connection.transaction { _ in
            if try hasCompanion(ContentSync.Suffix.replaced) { try schema.refuseForeignTriggers(of: name) }
            try forgetReplaced()
            try registerMissingKeys()
            try command("rebuild")
            try command("optimize")
        }
    }

    /// Merges all segments of the index into one: the smallest and fastest form. This rewrites the whole index.
    /// - Throws: an error from SQLite, for example if the table is gone or the connection is read-only.
    public func optimize() throws { try command("optimize") }

    /// Merges segments of the index, a limited number of pages at a time.
    /// ```swift
    /// var isFirst = true
    /// while try notes.merge(pages: 500, everything: isFirst) { isFirst = false }   // optimize, in portions
    /// ```
    /// - Parameters:
    ///   - pages: about how many pages of the index to write, from 1 to 1,000,000. Default: 500.
    ///   - everything: whether to put all segments on one level first. If you then repeat the call until it returns false, the
    ///     index is as after ``optimize()``. Default: no.
    /// - Returns: true if there was something to merge.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a number of pages out of range, and errors from SQLite.
    @discardableResult
    public func merge(pages: Int = 500, everything: Bool = false) throws -> Bool {
        guard (1...1_000_000).contains(pages) else {
            throw DatabaseError.invalidArgument("a merge writes 1 to 1,000,000 pages, not \(pages)")
        }
        let before = connection.totalChanges
        try command("merge", .integer(Int64(everything ? -pages : pages)))
        // The command itself counts as one change (https://sqlite.org/fts5.html#the_merge_command).
        return connection.totalChanges - before >= 2
    }

    /// Returns true if the index is undamaged and, if there is content, matches it exactly.
    /// - Parameter comparingContent: true to read external content and compare it. Default: true.
    /// - Throws: errors from SQLite, for example if the table is gone. Damage is not an error: the result is false.
    public func passesIntegrityCheck(comparingContent: Bool = true) throws -> Bool {
        do {
            // FTS5's own command for it is an INSERT, which a read cannot do.
            try SearchIndex.with(self) { index in
                try index.check(sqlcipherkit_words_check(index.handle, comparingContent ? 1 : 0))
            }
            return try !comparingContent || !lacksKeys()
        } catch {
            let error = DatabaseError(thrownBy: "the check of a full-text index", error)
            if .corrupt ~= error.code { return false }
            throw error
        }
    }

    /// Empties the index of a contentless table, or of a table with external content. The content stays.
    /// - Throws: an error from SQLite, for example for a table with its own content. The index is then as before.
    public func deleteAll() throws {
        try connection.transaction { _ in
            try forgetReplaced()
            try command("delete-all")
        }
    }

    /// Returns the space that the table takes in the file.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table is gone.
    public func size() throws -> Size {
        guard try schema.hasFullText(name) else { throw schema.noFullText(name) }
        func bytes(_ suffixes: [String]) throws -> Int {
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

    /// Runs one of FTS5's special inserts (<https://sqlite.org/fts5.html#special_insert_commands>).
    func command(_ command: String, _ value: SQLValue? = nil) throws {
        let (columns, values): (SQL, SQL) = value.map { (", rank", ", \($0)") } ?? ("", "")
        try connection.execute("INSERT INTO \(raw: qualifiedName)(\(identifier: name)\(columns)) VALUES (\(command)\(values))")
    }

    /// Deletes the text that triggers have saved: it describes the old index.
    private func forgetReplaced() throws {
        if try hasCompanion(ContentSync.Suffix.replaced) {
            try connection.execute("DELETE FROM \(raw: companion(ContentSync.Suffix.replaced))")
        }
    }

    /// Returns whether the content has rows without an id in the table of keys. FTS5 compares the index with rows that have one.
    package func lacksKeys() throws -> Bool {
        guard let (rows, _, _, match, known) = try keys() else { return false }
        let keys = companion(ContentSync.Suffix.keys)
        let missing = "NOT EXISTS (SELECT 1 FROM \(keys) AS k WHERE \(match))"
        let sql = "SELECT 1 FROM \(rows) AS t WHERE \(known) AND \(missing) LIMIT 1"
        return try connection.fetchOne(Int.self, SQL(raw: sql)) != nil
    }

    /// Returns the SQL about the table of keys: the content table, the columns of both, the condition that a key is that of a row,
    /// and the condition that a row has a key; nil if there is no such table.
    private func keys() throws -> (rows: String, list: [String], columns: [String], match: String, known: String)? {
        guard try hasCompanion(ContentSync.Suffix.keys), let content = try content(), !content.key.isEmpty else { return nil }
        let list = try keyTableColumns().map(\.quotedSQLIdentifier)
        // Matched by order, because the content table's columns may have been renamed since.
        let columns = content.key.map { "t.\($0.quotedSQLIdentifier)" }
        let match = zip(list, columns).map { "k.\($0) = \($1)" }.joined(separator: " AND ")
        return (content.rows, list, columns, match, columns.map { "\($0) IS NOT NULL" }.joined(separator: " AND "))
    }

    private func registerMissingKeys() throws {
        guard let (rows, list, columns, match, known) = try keys() else { return }
        let keys = companion(ContentSync.Suffix.keys)
        try connection.execute(
            SQL(raw: "DELETE FROM \(keys) AS k WHERE NOT EXISTS (SELECT 1 FROM \(rows) AS t WHERE \(match))"))
        try connection.execute(
            SQL(
                raw: """
                    INSERT INTO \(keys)(\(list.joined(separator: ", ")))
                    SELECT \(columns.joined(separator: ", ")) FROM \(rows) AS t
                    WHERE \(known) AND NOT EXISTS (SELECT 1 FROM \(keys) AS k WHERE \(match))
                    """))
    }

    private func hasCompanion(_ suffix: String) throws -> Bool {
        let tables: SQL = "SELECT 1 FROM \(raw: schema.qualified("sqlite_schema")) WHERE type = 'table'"
        return try connection.fetchOne(Int.self, "\(tables) AND name = \(name + suffix) COLLATE NOCASE") != nil
    }
}
