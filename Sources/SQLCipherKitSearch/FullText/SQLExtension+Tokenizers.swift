import SQLCipherKitCore

/// The package's own tokenizers and filters, each under a name for ``FTS5Tokenizer/custom(_:arguments:)``. Every connection that
/// reads or writes the table needs it: register it in ``DatabaseConfiguration/prepare``.
extension SQLExtension {
    /// Leaves words without a meaning of their own, such as `the` and `of`, out of the index and out of queries.
    /// ```swift
    /// try db.register(.stopWords(["the", "a", "of"], base: .porter(.unicode61()), as: "english"))
    /// try db.create(FTS5Table("note_fts", columns: ["body"], tokenizer: .custom("english")))
    /// ```
    /// A query of stop words alone finds nothing. A last word that is a prefix is kept in the query: it may begin another word.
    /// - Parameters:
    ///   - words: the stop words. Words that the base turns into the same token are left out as well.
    ///   - base: the tokenizer whose tokens are filtered. Default: `unicode61`.
    ///   - name: the name of the result.
    public static func stopWords(
        _ words: some Sequence<String>, base: FTS5Tokenizer = .unicode61(), as name: String
    ) -> SQLExtension { tokenFilter(FTS5StopWords(words, base: base), as: name) }

    /// Lets a search for a word also find its synonyms. A prefix has none.
    /// - Parameters:
    ///   - groups: groups of words with the same meaning. Each must be a single token of the base; otherwise a statement that opens
    ///     the table throws ``DatabaseError/Reason/invalidArgument``.
    ///   - inDocuments: whether each word is indexed together with its synonyms: the index is larger, and queries are as fast as
    ///     before. Default: no; each word of a query is searched for together with its synonyms, and the list can change without a
    ///     rebuild.
    ///   - base: the tokenizer to whose tokens they are added. Default: `unicode61`.
    ///   - name: the name of the result.
    public static func synonyms(
        _ groups: [[String]], inDocuments: Bool = false, base: FTS5Tokenizer = .unicode61(), as name: String
    ) -> SQLExtension { tokenFilter(FTS5Synonyms(groups, side: inDocuments ? .document : .query, base: base), as: name) }

    /// Folds characters that Unicode treats as compatible, so that words with them match: full-width letters, ligatures,
    /// superscripts, `ß` and `ss`, Arabic and other digits. Such words also lose their accents and case. ASCII words pass through
    /// unchanged.
    /// - Parameters:
    ///   - base: the tokenizer whose tokens are folded. Default: `unicode61`.
    ///   - name: the name of the result.
    public static func compatibilityFolding(base: FTS5Tokenizer = .unicode61(), as name: String) -> SQLExtension {
        tokenFilter(FTS5CompatibilityFolding(base: base), as: name)
    }

    /// Finds words in text that is written without spaces: Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese. It is
    /// ``FTS5Tokenizer/multilingual(removesDiacritics:removesVowelSigns:)``, which needs no registration, under a name of yours.
    public static func cjkTokenizer(as name: String) -> SQLExtension { tokenizer(FTS5CJKTokenizer(), as: name) }

    /// Splits identifiers into their parts: `parseHTTPResponse2` is found by `parse`, `http`, `response`, `httpResponse` and by the
    /// whole name; so is `parse_http_response_2`.
    ///
    /// Each part is a token, one after the other. A run of parts without digits is also indexed as one token, at the positions of
    /// its first and last part, so that a name typed in lower case is found. Words are those of
    /// ``FTS5Tokenizer/multilingual(removesDiacritics:removesVowelSigns:)``: in any language, without case and diacritics.
    public static func codeTokenizer(as name: String) -> SQLExtension { tokenizer(FTS5CodeTokenizer(), as: name) }
}
