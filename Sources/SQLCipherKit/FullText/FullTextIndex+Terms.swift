/// What words an index has (<https://sqlite.org/fts5.html#the_fts5vocab_virtual_table_module>).
extension FullTextIndex {
    /// The words of an index.
    /// ```swift
    /// let frequent = try notes.terms(orderedBy: .frequency, limit: 50)
    /// ```
    /// - Parameters:
    ///   - prefix: what the words begin with, in the form of the index. Default: all words.
    ///   - byColumn: whether each column is counted on its own. Default: no.
    ///   - order: how they are sorted. Default: by the word.
    ///   - limit: how many are wanted. Default: all.
    public func terms(
        prefix: String = "", byColumn: Bool = false, orderedBy order: FTS5Vocabulary.Order = .alphabetical, limit: Int? = nil
    ) throws -> [FTS5Vocabulary.Term] {
        let vocabulary = try vocabularyTable(byColumn ? "col" : "row")
        let column = byColumn ? "col" : "NULL"
        let sorting = order == .frequency ? "doc DESC, term" : "term"
        let rows: [(String, String?, Int, Int?)] = try connection.fetchAll(
            """
            SELECT term, \(raw: column), doc, cnt FROM \(raw: vocabulary) WHERE \(prefixCondition(prefix))
            ORDER BY \(raw: sorting) LIMIT \(limit ?? -1)
            """)
        return rows.map { FTS5Vocabulary.Term(term: $0.0, column: $0.1, documents: $0.2, occurrences: $0.3) }
    }

    /// Where a word of an index stands, by row, column and place.
    public func instances(of term: String, limit: Int? = nil) throws -> [FTS5Vocabulary.Instance] {
        let vocabulary = try vocabularyTable("instance")
        let rows: [(String, Int64, String?, Int?)] = try connection.fetchAll(
            "SELECT term, doc, col, \"offset\" FROM \(raw: vocabulary) WHERE term = \(term) LIMIT \(limit ?? -1)")
        return rows.map { FTS5Vocabulary.Instance(term: $0.0, rowID: $0.1, column: $0.2, position: $0.3) }
    }

    /// Words that begin with the last word of what was typed, the most frequent first.
    ///
    /// Words come in the form of the index, folded; for an index of stems, in a form that stands in its texts. Only the part of
    /// the index is read that has them; for one or two letters in a large index, those in the most rows.
    /// - Parameters:
    ///   - text: what was typed so far.
    ///   - limit: how many are wanted. Default: 8.
    public func suggestions(for text: String, limit: Int = 8) throws -> [FTS5Vocabulary.Term] {
        try TypedIndex.with(self) { index in try TypedCorrection(index).suggestions(for: text, limit: max(0, limit)) }
    }

    /// Words of the index that differ from a word by one or two typing errors: a letter too many, missing, wrong, or exchanged with
    /// its neighbour. The nearest first, of these the most frequent.
    ///
    /// Only the parts of the index are read that may have them.
    /// - Parameters:
    ///   - word: what was typed.
    ///   - distance: how many errors are allowed, from 1 to 3. Default: 2; 1 for words of up to four letters.
    ///   - limit: how many are wanted. Default: 5.
    public func corrections(of word: String, distance: Int? = nil, limit: Int = 5) throws -> [FTS5Vocabulary.Term] {
        try TypedIndex.with(self) { index in
            try TypedCorrection(index).corrections(of: word, distance: distance, limit: max(0, limit))
        }
    }

    /// What was typed with each word that is likely a typing error replaced by what was likely meant; nil if there is nothing to
    /// correct, or if it would find no more. For "did you mean".
    ///
    /// A word is taken for an error if the index does not have it, or if very few rows have it and many times as many have one that
    /// is near. Words in quotes, excluded ones and numbers stay.
    /// - Parameter text: what was typed.
    public func correctedText(_ text: String) throws -> String? {
        try TypedIndex.with(self) { index in try TypedCorrection(index).correctedText(text) }
    }

    /// The words of an index, read at once to be asked often.
    public func vocabulary() throws -> FTS5Vocabulary {
        var vocabulary = FTS5Vocabulary()
        try connection.forEach("SELECT term, doc FROM \(raw: vocabularyTable("row"))") { row in
            let documents: Int = try row[1]
            try row.withUnsafeBytes(at: 0) { vocabulary.append($0, documents: documents) }
        }
        return vocabulary
    }

    /// The tokens of a text as the table's tokenizer finds them.
    public func tokens(of text: String, for purpose: FTS5TokenizePurpose = .query) throws(DatabaseError) -> [FTS5FoundToken] {
        try connection.tokens(of: text, arguments: tokenizerArguments(), for: purpose)
    }

    /// A range of words, which FTS5 finds without reading the others.
    private func prefixCondition(_ prefix: String) -> SQL {
        guard !prefix.isEmpty else { return "1" }
        // No word goes on with the highest character, which Unicode keeps free.
        return "term >= \(prefix) AND term < \(prefix + "\u{10FFFF}")"
    }

    /// The vocabulary's virtual table, made in the temporary database when it is asked for the first time.
    private func vocabularyTable(_ kind: String) throws -> String {
        _ = try columns()
        // With both names quoted, so that no two indexes share a vocabulary.
        let table = connection.temp.qualified("sqlcipherkit_\(kind)_\(qualifiedName)")
        let arguments = [schema.name.quotedSQLLiteral, name.quotedSQLLiteral, kind].joined(separator: ", ")
        let sql = SQL(raw: "CREATE VIRTUAL TABLE IF NOT EXISTS \(table) USING fts5vocab(\(arguments))")
        try connection.changingThisOneOnly { () throws(DatabaseError) in try make(sql) }
        return table
    }

    private func make(_ sql: SQL) throws(DatabaseError) {
        do throws(DatabaseError) { try connection.execute(sql) } catch {
            // A connection that may not write may still have temporary tables, once it is told so.
            guard .readOnly ~= error.code, try connection.fetchOne(Bool.self, "PRAGMA query_only") == true else { throw error }
            try connection.execute("PRAGMA query_only = OFF")
            defer { connection.restoring { try connection.execute("PRAGMA query_only = ON") } }
            try connection.execute(sql)
        }
    }
}
