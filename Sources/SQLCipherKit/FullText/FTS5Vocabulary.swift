/// A word of a full-text index, as the tokenizer made it.
public struct FTS5Term: Hashable, Sendable {
    /// The word.
    public let term: String
    /// The column; nil where all columns are counted together.
    public let column: String?
    /// The number of rows with the word.
    public let documents: Int
    /// How often the word stands in all rows; nil for an index without positions (``FTS5Table/Detail/none``).
    public let occurrences: Int?
}

/// A place of a word of a full-text index.
public struct FTS5TermInstance: Hashable, Sendable {
    /// The word.
    public let term: String
    /// The row.
    public let rowID: Int64
    /// The column; nil for an index that does not know it.
    public let column: String?
    /// The place in the column, in words counted from 0; nil for an index that does not know it.
    public let position: Int?
}

/// How words of an index are sorted.
public enum FTS5TermOrder: Hashable, Sendable {
    /// By the word.
    case alphabetical
    /// By the number of rows with the word, the highest first.
    case frequency
}

/// What words an index has (<https://sqlite.org/fts5.html#the_fts5vocab_virtual_table_module>).
extension Connection {
    /// The words of an index.
    /// ```swift
    /// let frequent = try db.fullTextTerms("note_fts", orderedBy: .frequency, limit: 50)
    /// ```
    /// - Parameters:
    ///   - table: the full-text table.
    ///   - schema: the attached database that the table is in. Default: the main one.
    ///   - prefix: what the words begin with, in the form of the index. Default: all words.
    ///   - byColumn: whether each column is counted on its own. Default: no.
    ///   - order: how they are sorted. Default: by the word.
    ///   - limit: how many are wanted. Default: all.
    public func fullTextTerms(
        _ table: String, schema: String = "main", prefix: String = "", byColumn: Bool = false,
        orderedBy order: FTS5TermOrder = .alphabetical, limit: Int? = nil
    ) throws -> [FTS5Term] {
        let vocabulary = try vocabularyTable(table, schema, byColumn ? "col" : "row")
        let column = byColumn ? "col" : "NULL"
        let sorting = order == .frequency ? "doc DESC, term" : "term"
        let terms = prefixCondition(prefix)
        let rows: [(String, String?, Int, Int?)] = try fetchAll(
            "SELECT term, \(raw: column), doc, cnt FROM \(raw: vocabulary) WHERE \(terms) ORDER BY \(raw: sorting) LIMIT \(limit ?? -1)")
        return rows.map { FTS5Term(term: $0.0, column: $0.1, documents: $0.2, occurrences: $0.3) }
    }

    /// Where a word of an index stands, by row, column and place.
    public func fullTextInstances(
        of term: String, in table: String, schema: String = "main", limit: Int? = nil
    ) throws -> [FTS5TermInstance] {
        let vocabulary = try vocabularyTable(table, schema, "instance")
        let rows: [(String, Int64, String?, Int?)] = try fetchAll(
            "SELECT term, doc, col, \"offset\" FROM \(raw: vocabulary) WHERE term = \(term) LIMIT \(limit ?? -1)")
        return rows.map { FTS5TermInstance(term: $0.0, rowID: $0.1, column: $0.2, position: $0.3) }
    }

    /// Words that begin as the last word of what was typed, the most frequent first.
    ///
    /// Words come in the form of the index: folded, and stems where it has stems.
    /// - Parameters:
    ///   - text: what was typed so far.
    ///   - table: the full-text table.
    ///   - schema: the attached database that the table is in. Default: the main one.
    ///   - limit: how many are wanted. Default: 8.
    public func suggestions(for text: String, in table: String, schema: String = "main", limit: Int = 8) throws -> [FTS5Term] {
        guard let last = try plainTokens(of: text, table, schema).last, last.range.upperBound == text.endIndex else { return [] }
        return try fullTextTerms(table, schema: schema, prefix: last.token, orderedBy: .frequency, limit: limit)
    }

    /// Words of the index that differ from a word by one or two typing errors: a letter too many, missing, wrong, or exchanged with its
    /// neighbour. The nearest first, of these the most frequent.
    ///
    /// It reads all words of the index: with many words, keep a ``FTS5Vocabulary`` and ask that.
    /// - Parameters:
    ///   - word: what was typed.
    ///   - table: the full-text table.
    ///   - schema: the attached database that the table is in. Default: the main one.
    ///   - distance: how many errors are allowed, at most. Default: 2; 1 for words of up to four letters.
    ///   - limit: how many are wanted. Default: 5.
    public func corrections(
        of word: String, in table: String, schema: String = "main", distance: Int? = nil, limit: Int = 5
    ) throws -> [FTS5Term] {
        let token = try plainTokens(of: word, table, schema).first?.token ?? word
        return try fullTextVocabulary(table, schema: schema).corrections(of: token, distance: distance, limit: limit)
    }

    /// What was typed with each word that the index does not have replaced by the likeliest one that it has; nil if there is nothing to
    /// correct. For "did you mean".
    /// - Parameters:
    ///   - text: what was typed.
    ///   - table: the full-text table.
    ///   - schema: the attached database that the table is in. Default: the main one.
    ///   - vocabulary: the words of the index, read before. Default: they are read now.
    public func correctedText(
        _ text: String, in table: String, schema: String = "main", vocabulary: FTS5Vocabulary? = nil
    ) throws -> String? {
        let words = try vocabulary ?? fullTextVocabulary(table, schema: schema)
        var corrected = ""
        var position = text.startIndex
        for token in try fullTextTokens(of: text, in: table, schema: schema) where token.range.lowerBound >= position {
            guard !words.contains(token.token), let better = words.corrections(of: token.token, limit: 1).first else { continue }
            corrected += text[position..<token.range.lowerBound] + better.term
            position = token.range.upperBound
        }
        return position == text.startIndex ? nil : corrected + text[position...]
    }

    /// The words of an index, read at once to be asked often.
    public func fullTextVocabulary(_ table: String, schema: String = "main") throws -> FTS5Vocabulary {
        let vocabulary = try vocabularyTable(table, schema, "row")
        var builder = FTS5Vocabulary()
        try forEach("SELECT term, doc FROM \(raw: vocabulary)") { row in
            let documents: Int = try row[1]
            try row.withUnsafeBytes(at: 0) { builder.append($0, documents: documents) }
        }
        return builder
    }

    /// The tokens of a text as a table's tokenizer finds them.
    public func fullTextTokens(
        of text: String, in table: String, schema: String = "main", for purpose: FTS5TokenizePurpose = .query
    ) throws(DatabaseError) -> [FTS5FoundToken] {
        try tokens(of: text, words: tokenizerWords(table, schema), for: purpose)
    }

    /// Tokens without stemming, which would take a beginning for a word.
    private func plainTokens(of text: String, _ table: String, _ schema: String) throws(DatabaseError) -> [FTS5FoundToken] {
        var words = try tokenizerWords(table, schema)
        if words.first == "porter" { words = words.count > 1 ? Array(words.dropFirst()) : ["unicode61"] }
        return try tokens(of: text, words: words, for: [.query, .prefix])
    }

    private func tokenizerWords(_ table: String, _ schema: String) throws(DatabaseError) -> [String] {
        let words = FTS5Schema.words(try fullTextSchema(table, schema: schema).options["tokenize"] ?? "unicode61")
        return words.isEmpty ? ["unicode61"] : words
    }

    /// A range of words, which FTS5 finds without reading the others.
    private func prefixCondition(_ prefix: String) -> SQL {
        guard !prefix.isEmpty else { return "1" }
        // No word goes on with the highest character, which Unicode keeps free.
        return "term >= \(prefix) AND term < \(prefix + "\u{10FFFF}")"
    }

    /// The vocabulary's virtual table, made in the temporary database when it is asked for the first time.
    private func vocabularyTable(_ table: String, _ schema: String, _ kind: String) throws -> String {
        _ = try fullTextColumns(table, schema: schema)
        let name = "temp." + "sqlcipherkit_\(kind)_\(schema)_\(table)".quotedSQLIdentifier
        let arguments = [schema.quotedSQLLiteral, table.quotedSQLLiteral, kind].joined(separator: ", ")
        let sql = SQL(raw: "CREATE VIRTUAL TABLE IF NOT EXISTS \(name) USING fts5vocab(\(arguments))")
        do throws(DatabaseError) { try execute(sql) } catch {
            // A connection that may not write may still have temporary tables, once it is told so.
            guard .readOnly ~= error.code, try fetchOne(Bool.self, "PRAGMA query_only") == true else { throw error }
            try execute("PRAGMA query_only = OFF")
            defer { try? execute("PRAGMA query_only = ON") }
            try execute(sql)
        }
        return name
    }
}
