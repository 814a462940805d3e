import SQLCipherKitCore

/// The way in which FTS5 splits text into words (<https://sqlite.org/fts5.html#tokenizers>).
/// ```swift
/// FTS5Tokenizer.porter(.unicode61(diacritics: .removeAll, tokenCharacters: "_"))
/// ```
public indirect enum FTS5Tokenizer: Hashable, Sendable {
    /// The treatment of accents and other marks on letters.
    public enum Diacritics: Int, Hashable, Sendable {
        /// Marks are kept: `é` and `e` are different letters.
        case keep = 0
        /// Marks are removed from most letters. This is FTS5's own default, for tables that were created with it.
        case removeSimple = 1
        /// Marks are removed from all letters.
        case removeAll = 2
    }

    /// Words in any language, ignoring case. Use this tokenizer unless you know why another is better.
    ///
    /// | text | is found by |
    /// |---|---|
    /// | Chinese, Japanese, Thai, Lao, Khmer, Burmese, and Korean within a word | any part of it, one character or many |
    /// | Hindi, Tamil, Bengali and other Indic text | words with their vowel signs: `काम` and `कीमा` differ |
    /// | `café`, `Łódź`, `straße`, `ά`, `ё` | `cafe`, `lodz`, `strasse`, `α`, `е`, unless `removesDiacritics` is false |
    /// | `مُحَمَّد`, `أحمد`, `שָׁלוֹם` | `محمد`, `احمد`, `שלום`, unless `removesVowelSigns` is false |
    /// | composed and decomposed letters, Hangul and kana | each other |
    /// | full-width letters, half-width kana, digits of any script, `ﬁ` | `A`, `ア`, `2`, `fi` |
    /// | emoji | the same emoji, of any skin tone |
    ///
    /// Other Cyrillic letters keep their marks (`й` is not `и`). Of Arabic letters, `أ إ آ ٱ` become `ا`, `ى` and `ی` become `ي`,
    /// `ة` becomes `ه`, `ک` becomes `ك`, and a hamza on `و` or `ي` is removed. Soft hyphens, joiners and variation selectors are
    /// ignored. Mathematical letters count as ordinary letters, and `½` is `1/2`. In Devanagari, a nasal before a consonant becomes
    /// an anusvara, and the dot below a letter is removed. Otherwise the tokenizer forms the same words as `unicode61`. It uses the
    /// categories of Unicode 6.1, and counts newer characters as letters. Only the first 1,024 bytes of a word are indexed.
    ///
    /// In scripts without spaces, each character and each pair of neighbors is indexed, so such text takes about twice the space,
    /// and some hits run across two words. The tokenizer is part of this package's engine. Without this engine, other programs
    /// cannot use the table.
    /// - Parameters:
    ///   - removesDiacritics: whether accents and other marks on Latin, Greek and Devanagari letters are removed. Default: yes.
    ///   - removesVowelSigns: whether Arabic and Hebrew vowel signs are removed, and whether the forms of an Arabic letter are
    ///     treated as one letter. Default: yes.
    case multilingual(removesDiacritics: Bool = true, removesVowelSigns: Bool = true)
    /// Words of letters and digits, as Unicode 6.1 defines them, ignoring case. Indic and Arabic text is split at its vowel signs,
    /// and text without spaces is one word: see ``multilingual(removesDiacritics:removesVowelSigns:)``.
    /// - Parameters:
    ///   - diacritics: how accents are treated. Default: all are removed, so that `cafe` finds `café`.
    ///   - categories: the Unicode categories of the characters that form words. Default: nil, for `L* N* Co`.
    ///   - separators: characters of any category that separate words. Default: none.
    ///   - tokenCharacters: characters of any category that are part of words. Default: none.
    case unicode61(
        diacritics: Diacritics = .removeAll, categories: String? = nil, separators: String = "", tokenCharacters: String = "")
    /// Words of ASCII letters, digits and all characters beyond ASCII. Case is ignored for ASCII letters only.
    /// - Parameters:
    ///   - separators: ASCII characters that separate words although they are letters or digits. Default: none.
    ///   - tokenCharacters: ASCII characters that are part of words although they are neither letters nor digits. Default: none.
    case ascii(separators: String = "", tokenCharacters: String = "")
    /// The stems of another tokenizer's words, by Porter's algorithm for English: `running` finds `runs`.
    case porter(FTS5Tokenizer)
    /// Every sequence of three characters: finds parts of words, and lets `LIKE` and `GLOB` use the index. Queries of fewer than
    /// three characters find nothing.
    /// - Parameters:
    ///   - caseSensitive: whether case matters. Default: no.
    ///   - removesDiacritics: whether accents are removed; cannot be combined with `caseSensitive`. Default: no.
    case trigram(caseSensitive: Bool = false, removesDiacritics: Bool = false)
    /// A tokenizer or filter that is registered under a name, for example with ``SQLExtension/tokenizer(_:as:)``. The arguments
    /// (default: none) are passed to a tokenizer or filter that was registered with ``SQLExtension/tokenizer(as:_:)`` or
    /// ``SQLExtension/tokenFilter(as:_:)``.
    case custom(String, arguments: [String] = [])

    /// The words of FTS5's `tokenize` option.
    var arguments: [String] {
        switch self {
        case .multilingual(let removesDiacritics, let removesVowelSigns):
            var words = ["multilingual"]
            if !removesDiacritics { words += ["remove_diacritics", "0"] }
            if !removesVowelSigns { words += ["remove_vowel_signs", "0"] }
            return words
        case .unicode61(let diacritics, let categories, let separators, let tokenCharacters):
            var words = ["unicode61", "remove_diacritics", String(diacritics.rawValue)]
            if let categories { words += ["categories", categories] }
            if !separators.isEmpty { words += ["separators", separators] }
            if !tokenCharacters.isEmpty { words += ["tokenchars", tokenCharacters] }
            return words
        case .ascii(let separators, let tokenCharacters):
            var words = ["ascii"]
            if !separators.isEmpty { words += ["separators", separators] }
            if !tokenCharacters.isEmpty { words += ["tokenchars", tokenCharacters] }
            return words
        case .porter(let inner): return ["porter"] + inner.arguments
        case .trigram(let caseSensitive, let removesDiacritics):
            var words = ["trigram", "case_sensitive", caseSensitive ? "1" : "0"]
            if removesDiacritics { words += ["remove_diacritics", "1"] }
            return words
        case .custom(let name, let arguments): return [name] + arguments
        }
    }
}

extension FTS5Tokenizer {
    /// Returns the tokens that the tokenizer finds in a text, to see how a table would index it. For a table that exists, use
    /// ``FullTextIndex/tokens(of:for:)``.
    /// ```swift
    /// let tokens = try FTS5Tokenizer.porter(.unicode61()).tokens(of: "running", on: db)   // run
    /// ```
    /// - Parameters:
    ///   - text: the text.
    ///   - purpose: the purpose of the tokens. Default: the index.
    ///   - connection: the connection on which the tokenizer is registered.
    /// - Throws: ``DatabaseError`` for a tokenizer that is not registered, ``DatabaseError/Reason/invalidArgument`` if the
    ///   tokenizer rejects its arguments, and any error of a tokenizer in Swift.
    public func tokens(
        of text: String, for purpose: Purpose = .document, on connection: Connection
    ) throws -> [(token: String, range: Range<String.Index>, isColocated: Bool)] {
        try connection.tokens(of: text, arguments: arguments, for: purpose)
    }
}

extension Connection {
    func tokens(
        of text: String, arguments: [String], for purpose: FTS5Tokenizer.Purpose
    ) throws -> [(token: String, range: Range<String.Index>, isColocated: Bool)] {
        let tokenizer = try EngineTokenizer(fts5Interface(), arguments)
        let found: [EngineTokenizer.Found]
        do { found = try tokenizer.tokens(of: text, for: purpose) } catch let error as DatabaseError {
            throw takeCallbackError(error.code.rawValue) ?? error
        }
        return found.map { ($0.token, text.range(ofBytes: $0.range), $0.isColocated) }
    }
}

extension String {
    /// The part of the text with these bytes of its UTF-8.
    func range(ofBytes range: Range<Int>) -> Range<Index> {
        func index(_ offset: Int) -> Index { utf8.index(startIndex, offsetBy: offset, limitedBy: endIndex) ?? endIndex }
        return index(range.lowerBound)..<index(range.upperBound)
    }
}

/// The package's own tokenizers and filters, each under a name for ``FTS5Tokenizer/custom(_:arguments:)``. Every connection that
/// reads or writes the table needs it: register it in ``DatabaseConfiguration/prepareDatabase``.
extension SQLExtension {
    /// Creates a filter that leaves stop words, such as `the` and `of`, out of the index and out of queries.
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

    /// Creates a filter with which a search for a word also finds its synonyms. A prefix has no synonyms.
    /// - Parameters:
    ///   - groups: groups of words with the same meaning. Each word must be a single token of the base; otherwise a statement that
    ///     opens the table throws ``DatabaseError/Reason/invalidArgument``.
    ///   - inDocuments: whether each word is indexed together with its synonyms. The index is then larger, and queries are as fast
    ///     as without synonyms. If not, each word of a query is searched for together with its synonyms, and the list can change
    ///     without a rebuild. Default: no.
    ///   - base: the tokenizer to whose tokens the synonyms are added. Default: `unicode61`.
    ///   - name: the name of the result.
    public static func synonyms(
        _ groups: [[String]], inDocuments: Bool = false, base: FTS5Tokenizer = .unicode61(), as name: String
    ) -> SQLExtension { tokenFilter(FTS5Synonyms(groups, side: inDocuments ? .document : .query, base: base), as: name) }

    /// Creates a filter that folds characters that Unicode treats as compatible, so that words with them match: full-width letters,
    /// ligatures, superscripts, `ß` and `ss`, Arabic and other digits. Such words also lose their accents and case. ASCII words
    /// pass through unchanged.
    /// - Parameters:
    ///   - base: the tokenizer whose tokens are folded. Default: `unicode61`.
    ///   - name: the name of the result.
    public static func compatibilityFolding(base: FTS5Tokenizer = .unicode61(), as name: String) -> SQLExtension {
        tokenFilter(FTS5CompatibilityFolding(base: base), as: name)
    }

    /// Creates a tokenizer for text that is written without spaces: Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese. The
    /// tokenizer is ``FTS5Tokenizer/multilingual(removesDiacritics:removesVowelSigns:)`` under a name that you choose. Unless you
    /// need such a name, use that tokenizer directly: it needs no registration.
    public static func cjkTokenizer(as name: String) -> SQLExtension {
        SQLExtension { connection in try connection.installTokenizer(name, sameAs: "multilingual") }
    }

    /// Creates a tokenizer that splits identifiers into their parts: `parse`, `http`, `response`, `httpResponse` and the whole name
    /// find `parseHTTPResponse2` and `parse_http_response_2`.
    ///
    /// The parts are tokens, one after the other. A run of parts without digits is also indexed as one token, at the positions of
    /// its first and last part, so that a name typed in lower case is found. Words are the same as with
    /// ``FTS5Tokenizer/multilingual(removesDiacritics:removesVowelSigns:)``: in any language, without case and diacritics.
    public static func codeTokenizer(as name: String) -> SQLExtension { tokenizer(FTS5CodeTokenizer(), as: name) }
}
