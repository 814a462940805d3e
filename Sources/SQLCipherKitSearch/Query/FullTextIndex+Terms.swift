import SQLCipherKitCore

/// The words of an index (<https://sqlite.org/fts5.html#the_fts5vocab_virtual_table_module>).
extension FullTextIndex {
    /// Returns the words of the index.
    /// ```swift
    /// let frequent = try notes.terms(byFrequency: true, limit: 50)
    /// ```
    /// - Parameters:
    ///   - prefix: the beginning of the words, in the form that the index stores. Default: empty, for all words.
    ///   - byColumn: true to count each column separately. Default: false.
    ///   - byFrequency: true for the words of the most rows first. Default: false, for the order of the words' bytes.
    ///   - limit: the maximum number of words. Default: all.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table is gone.
    public func terms(
        prefix: String = "", byColumn: Bool = false, byFrequency: Bool = false, limit: Int? = nil
    ) throws -> [Term] {
        let vocabulary = try vocabularyTable(byColumn ? "col" : "row")
        let column = byColumn ? "col" : "NULL"
        let sorting = byFrequency ? "doc DESC, term" : "term"
        let rows: [(String, String?, Int, Int?)] = try connection.fetchAll(
            """
            SELECT term, \(raw: column), doc, cnt FROM \(raw: vocabulary) WHERE \(prefixCondition(prefix))
            ORDER BY \(raw: sorting) LIMIT \(limit ?? -1)
            """)
        return rows.map { Term(term: $0.0, column: $0.1, documents: $0.2, occurrences: $0.3) }
    }

    /// Returns the occurrences of a word in the index, each with its row, column and position.
    /// - Parameters:
    ///   - term: the word, in the form that the index stores.
    ///   - limit: the maximum number of occurrences. Default: all.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table is gone.
    package func instances(of term: String, limit: Int? = nil) throws -> [Instance] {
        let vocabulary = try vocabularyTable("instance")
        let rows: [(String, Int64, String?, Int?)] = try connection.fetchAll(
            "SELECT term, doc, col, \"offset\" FROM \(raw: vocabulary) WHERE term = \(term) LIMIT \(limit ?? -1)")
        return rows.map { Instance(term: $0.0, rowID: $0.1, column: $0.2, position: $0.3) }
    }

    /// Returns words that begin with the last word of the input, the most frequent first.
    ///
    /// The words have the form that the index stores; in an index of stems, they are words of its texts. Only the part of the index
    /// with these words is read. For one or two letters in a large index, the result has only the words with the most rows.
    /// - Parameters:
    ///   - text: the user's input so far.
    ///   - limit: the maximum number of words. Default: 8.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table is gone.
    public func suggestions(for text: String, limit: Int = 8) throws -> [Term] {
        try SearchIndex.with(self) { index in try SearchCorrection(index).suggestions(for: text, limit: max(0, limit)) }
    }

    /// Returns words of the index that differ from a word by a few typing errors: a letter too many, missing, wrong, or swapped
    /// with its neighbor. The nearest come first and, of these, the most frequent.
    ///
    /// Only the parts of the index that may have such words are read. A word with a different first letter of the same script is
    /// included only if it has just one error, or fewer errors than `distance` allows.
    /// - Parameters:
    ///   - word: the word as typed.
    ///   - distance: the maximum number of errors, from 1 to 3. Nil, the default, allows one error. If no word of the index has
    ///     just one error, and the typed word has more than four letters, nil allows two errors.
    ///   - limit: the maximum number of words. Default: 5.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table is gone.
    public func corrections(of word: String, distance: Int? = nil, limit: Int = 5) throws -> [Term] {
        try SearchIndex.with(self) { index in
            try SearchCorrection(index).corrections(of: word, distance: distance, limit: max(0, limit))
        }
    }

    /// Returns the input with each likely typing error replaced by the word that was probably meant, for "did you mean"; nil if
    /// there is nothing to correct, or if the corrected text would find no more.
    ///
    /// A word counts as an error if the index does not have it, or if very few rows have it while many times as many rows have a
    /// similar word. Words in quotes, excluded words and numbers stay unchanged.
    /// - Parameters:
    ///   - text: the user's input.
    ///   - languages: the languages in which another form of an indexed word is not an error. Default: English.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table is gone.
    public func correctedText(_ text: String, languages: Set<FullTextSearch.Language> = [.english]) throws -> String? {
        try SearchIndex.with(self) { index in try SearchCorrection(index).correctedText(text, languages) }
    }

    /// Returns the languages that certainly occur in the texts, for ``FullTextSearch/languages``.
    ///
    /// For each language, eight very frequent words are looked up, such as `und` and `nicht`. The result has each language of which
    /// at least six words occur, each in at least one row in fifty. Very short texts have too few of these words.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table is gone.
    public func languages() throws -> Set<FullTextSearch.Language> {
        try SearchIndex.with(self) { index in
            Set(try FullTextSearch.Language.allCases.filter { language in
                try index.tokens(typed: language.frequentWords, isPrefix: false).count { word in
                    try index.term(index.stored(word.bytes)).map { $0.documents * 50 >= index.rows } ?? false
                } >= 6
            })
        }
    }

    /// Returns the tokens that the table's tokenizer finds in a text.
    /// - Parameters:
    ///   - text: the text.
    ///   - purpose: the purpose of the tokens. Default: a query.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table is gone, and the errors of
    ///   ``FTS5Tokenizer/tokens(of:for:on:)``.
    public func tokens(
        of text: String, for purpose: FTS5Tokenizer.Purpose = .query
    ) throws -> [(token: String, range: Range<String.Index>, isColocated: Bool)] {
        try connection.tokens(of: text, arguments: tokenizerArguments(), for: purpose)
    }

    /// The condition for a prefix: a range of words, which FTS5 finds without reading the others.
    private func prefixCondition(_ prefix: String) -> SQL {
        guard !prefix.isEmpty else { return "1" }
        // Words that are not UTF-8 may lie in the range, too.
        let bytes = Array(prefix.utf8)
        let begins: SQL = "substr(CAST(term AS BLOB), 1, \(bytes.count)) = \(bytes)"
        // UTF-8 sorts by code points: the range ends where the last one that can be is raised by one.
        var end = prefix.unicodeScalars
        while let last = end.popLast() {
            guard let next = Unicode.Scalar(last.value == 0xd7ff ? 0xe000 : last.value + 1) else { continue }
            end.append(next)
            return "term >= \(prefix) AND term < \(String(end)) AND \(begins)"
        }
        return "term >= \(prefix) AND \(begins)"
    }

    /// Returns the vocabulary's virtual table, which is created in the temporary database on first use.
    private func vocabularyTable(_ kind: String) throws -> String {
        _ = try columns()
        // The name contains those of the schema and the table, both quoted, so that no two indexes share a vocabulary.
        let table = connection.temp.qualified("sqlcipherkit_\(kind)_\(qualifiedName)")
        let arguments = [schema.name.quotedSQLLiteral, name.quotedSQLLiteral, kind].joined(separator: ", ")
        let sql = SQL(raw: "CREATE VIRTUAL TABLE IF NOT EXISTS \(table) USING fts5vocab(\(arguments))")
        try connection.changingThisOneOnly { () throws in try make(sql) }
        return table
    }

    private func make(_ sql: SQL) throws {
        do { try connection.execute(sql) } catch let error as DatabaseError where .readOnly ~= error.code {
            // `query_only` forbids temporary tables too, so turn it off for this statement.
            guard try connection.fetchOne(Bool.self, "PRAGMA query_only") == true else { throw error }
            try connection.execute("PRAGMA query_only = OFF")
            defer { try? connection.restoring { try connection.execute("PRAGMA query_only = ON") } }
            try connection.execute(sql)
        }
    }
}
