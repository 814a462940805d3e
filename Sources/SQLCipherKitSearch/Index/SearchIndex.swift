import CSQLCipher
import SQLCipherKitCore

/// A full-text index, opened for a search within one read transaction.
final class SearchIndex {
    /// A word of the index: its UTF-8, its distance from the typed word, and about how many rows have it.
    struct Term {
        var bytes: [UInt8]
        var distance: Int
        var documents: Int
    }

    /// A token of a text: its bytes, and the range of the text that it comes from, in bytes.
    struct Token {
        var bytes: [UInt8]
        var range: Range<Int>
        var isColocated: Bool
    }

    let table: FullTextIndex
    let handle: OpaquePointer
    private let memory: SearchMemory
    let rows: Int
    /// A file has up to 2^48 bytes, and so no more rows. Sums and products of such numbers do not overflow.
    private static let mostRows: Int64 = 1 << 48
    let columns: [String]
    let detail: Int32
    /// True if the index has stems in place of English words, because of `porter` or a filter over it. If the tokenizer fails, so
    /// does the next call of it.
    private(set) lazy var isStemmed = (try? tokens(of: "relational", .document))?.first?.bytes == Array("relat".utf8)
    /// True if the index has all runs of three characters in place of words, because of `trigram`. A typed word is then the text of
    /// its trigrams, and the words that it may mean are those of texts.
    private(set) lazy var hasTrigrams = (try? tokens(of: "abcd", .document))?.map(\.bytes) == ["abc", "bcd"].map { Array($0.utf8) }

    private init(_ table: FullTextIndex, _ handle: OpaquePointer, _ columns: [String]) throws {
        self.table = table
        self.handle = handle
        memory = table.connection.searchMemory(of: table.qualifiedName)
        memory.update(handle)
        var rows: Int64 = 0
        var count: Int32 = 0
        var detail: Int32 = 0
        let rc = sqlcipherkit_words_facts(handle, &rows, &count, &detail)
        (self.rows, self.detail, self.columns) = (Int(rows), detail, columns)
        try table.connection.check(rc)
        guard (0...Self.mostRows).contains(rows) else {
            throw DatabaseError(code: .corrupt, message: "full-text search: the index has an impossible number of rows")
        }
    }

    deinit { sqlcipherkit_words_close(handle) }

    /// Calls `body` with the table's index.
    static func with<R>(_ table: FullTextIndex, _ body: (SearchIndex) throws -> R) throws -> R {
        try with([table]) { try body($0[0]) }
    }

    /// Calls `body` with the indexes of tables. Meanwhile a statement for each stays on its row, which keeps the read transaction
    /// open.
    static func with<R>(_ tables: [FullTextIndex], _ body: ([SearchIndex]) throws -> R) throws -> R {
        var uses: [(Statement, OpaquePointer)] = []
        defer { for (statement, use) in uses.reversed() { statement.endUse(use) } }
        var opened: [SearchIndex] = []
        do {
            for table in tables {
                let columns = try table.columns(), connection = table.connection
                let column = "f.\(table.name.quotedSQLIdentifier)"
                let statement = try connection.cached(
                    SQL(raw: "SELECT \(column) FROM \(table.qualifiedName) AS f WHERE \(column) MATCH '*id'"))
                let use = try statement.beginUse()
                uses.append((statement, use))
                guard try statement.advance(use) else { throw table.schema.noFullText(table.name) }
                let cursor = try Row._Column(use, 0).read(as: Int64.self)
                var handle: OpaquePointer?
                try connection.check(sqlcipherkit_words_open(connection.fts5Interface(), cursor, &handle))
                guard let handle else { throw DatabaseError(code: .outOfMemory, message: "out of memory") }
                opened.append(try SearchIndex(table, handle, columns))
            }
            defer { opened = [] }
            return try body(opened)
        } catch {
            opened = []
            throw DatabaseError(thrownBy: "a search", error)
        }
    }

    /// Throws the error of a call of the index. One of a tokenizer that is not registered has its name.
    func check(_ rc: Int32) throws {
        if rc == SQLITE_OK { return }
        let connection = table.connection
        if let error = connection.takeCallbackError(rc) { throw error }
        if rc == SQLITE_ERROR { _ = try EngineTokenizer(connection.fts5Interface(), table.tokenizerArguments()) }
        throw DatabaseError(code: ResultCode(rawValue: rc), message: "full-text search: \(String(cString: sqlite3_errstr(rc)))")
    }

    /// Calls `body` with the beginning of each column of a row, until it returns false.
    func eachText(of row: Int64, bytes: Int, _ body: (String) throws -> Bool) throws {
        for column in columns.indices {
            guard try body(text(of: row, column: column, bytes: bytes)) else { return }
        }
    }

    /// Returns the beginning of a column of a row. The text may have been invalid UTF-8.
    func text(of row: Int64, column: Int, bytes: Int) throws -> String {
        let text: SQL = "CAST(f.\(identifier: columns[column]) AS TEXT)"
        var part = ""
        try table.connection.forEach("SELECT \(text) FROM \(raw: table.qualifiedName) AS f WHERE f.rowid = \(row)") { row in
            if try Row._Column(row.handle, 0).isNull() { return }
            part = try row.withUnsafeBytes(at: 0) { String(decoding: $0.prefix(bytes), as: UTF8.self) }
        }
        return part
    }

    // MARK: Words

    private func terms(
        _ question: SearchMemory.Question?, _ search: (UnsafeMutablePointer<sqlcipherkit_terms>) -> Int32
    ) throws -> SearchMemory.Answer {
        try remembered(question) {
            var found = sqlcipherkit_terms()
            defer { sqlcipherkit_terms_free(&found) }
            try check(search(&found))
            let terms = (0..<Int(found.count)).map { index in
                let term = found.terms[index]
                return Term(
                    bytes: Array(UnsafeBufferPointer(start: term.bytes, count: Int(term.count))), distance: Int(term.distance),
                    documents: Int(min(term.documents, Self.mostRows)))
            }
            return SearchMemory.Answer(terms: terms, isComplete: found.is_complete != 0)
        }
    }

    private func remembered(
        _ question: SearchMemory.Question?, _ search: () throws -> SearchMemory.Answer
    ) rethrows -> SearchMemory.Answer {
        if let question, let answer = memory[question] { return answer }
        let answer = try search()
        if let question { memory[question] = answer }
        return answer
    }

    /// Returns the word itself; nil if the index does not have it.
    func term(_ bytes: [UInt8]) throws -> Term? {
        if try entries(of: bytes).count > 1 { return try remembered(.word(bytes)) { try TextWords(self).term(bytes) }.terms.first }
        return try bytes.withCBytes { word, count in
            try terms(.word(bytes)) { sqlcipherkit_words_beginning(handle, word, count, 1, 1, $0) }.terms.first
        }
    }

    /// Returns the words that begin with these bytes. If there are very many, these are the ones in the most rows.
    func terms(beginning bytes: [UInt8], pages: Int) throws -> SearchMemory.Answer {
        if hasTrigrams { return try remembered(.beginning(bytes, pages: pages)) { try TextWords(self).beginning(bytes) } }
        return try bytes.withCBytes { word, count in
            try terms(.beginning(bytes, pages: pages)) {
                sqlcipherkit_words_beginning(handle, word, count, 0, Int32(clamping: pages), $0)
            }
        }
    }

    /// Returns the words within a number of edits. `first` is the number of edits allowed in a word with a different first letter,
    /// or -1 to leave out such words. `isKept` is whether to remember the answer, because the question will probably be asked
    /// again.
    func terms(
        near bytes: [UInt8], edits: Int, first: Int, isPrefix: Bool, pages: Int, isKept: Bool = true
    ) throws -> SearchMemory.Answer {
        let question = SearchMemory.Question.near(bytes, edits: edits, first: first, isPrefix: isPrefix, pages: pages)
        if hasTrigrams {
            return try remembered(question) { try TextWords(self).near(bytes, edits: edits, first: first, isPrefix: isPrefix) }
        }
        return try bytes.withCBytes { word, count in
            try terms(isKept ? question : nil) {
                sqlcipherkit_words_near(
                    handle, word, count, Int32(clamping: edits), Int32(clamping: first), isPrefix ? 1 : 0,
                    Int32(clamping: pages), $0)
            }
        }
    }

    /// Returns the words with one of these stems, those in the most rows first, up to a limit.
    func forms(of stems: Set<[UInt8]>, _ rules: WordStems, pages: Int, limit: Int) throws -> [Term] {
        // The answer for many stems is not remembered: the question itself takes much memory.
        let question = stems.count == 1 ? stems.first.map { SearchMemory.Question.forms($0, rules.language) } : nil
        return try remembered(question) {
            var found: [Term] = []
            for beginning in Set(stems.flatMap(rules.beginnings)).sorted(by: { $0.lexicographicallyPrecedes($1) }) {
                found += try terms(beginning: beginning, pages: pages).terms.filter { term in
                    try rules.isForm(term.bytes, of: stems) && !found.contains { $0.bytes == term.bytes }
                }
            }
            return SearchMemory.Answer(terms: Array(found.sorted { $0.documents > $1.documents }.prefix(limit)), isComplete: true)
        }.terms
    }

    /// Returns the compounds whose last part is a form of the word with this stem.
    func compounds(ending stem: [UInt8], _ rules: WordStems, pages: Int) throws -> SearchMemory.Answer {
        try remembered(.compounds(stem, rules.language)) {
            let (words, isComplete) = try vocabulary(pages: pages)
            var found: [[UInt8]: Int] = [:]
            for beginning in rules.beginnings(of: stem) {
                try words.eachCompound(with: beginning, where: { try rules.isForm($0, of: [stem]) }) { found[$0] = $1 }
            }
            let terms = found.map { Term(bytes: $0.key, distance: 0, documents: min($0.value, Int(Self.mostRows))) }
            return SearchMemory.Answer(
                terms: terms.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }, isComplete: isComplete)
        }
    }

    private func vocabulary(pages: Int) throws -> (words: Vocabulary, isComplete: Bool) {
        if let known = memory.vocabulary { return known }
        var found = sqlcipherkit_terms()
        defer { sqlcipherkit_terms_free(&found) }
        try check(sqlcipherkit_words_beginning(handle, "", 0, 0, Int32(clamping: pages), &found))
        let made = (Vocabulary(found), found.is_complete != 0)
        memory.vocabulary = made
        return made
    }

    /// Returns the Porter stem of a word of lower-case ASCII letters; nil for any other word.
    static func stem(_ word: [UInt8]) -> [UInt8]? {
        word.withUnsafeBufferPointer { withStem(of: $0) { $0.map(Array.init) } }
    }

    /// Calls `body` with the Porter stem of a word of lower-case ASCII letters; with nil for any other word.
    static func withStem<R>(
        of word: UnsafeBufferPointer<UInt8>, _ body: (UnsafeBufferPointer<UInt8>?) throws -> R
    ) rethrows -> R {
        guard (3...60).contains(word.count), word.allSatisfy({ (0x61...0x7a).contains($0) }) else { return try body(nil) }
        return try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 128) { buffer in
            let count = word.withMemoryRebound(to: CChar.self) { word in
                buffer.withMemoryRebound(to: CChar.self) {
                    sqlcipherkit_words_stem(word.baseAddress, Int32(clamping: word.count), $0.baseAddress)
                }
            }
            return try body(count > 0 ? UnsafeBufferPointer(rebasing: buffer[..<Int(count)]) : nil)
        }
    }

    // MARK: Tokens

    /// Calls `pass` with each token of a text.
    func tokenize(
        _ text: UnsafeBufferPointer<UInt8>, _ purpose: FTS5Tokenizer.Purpose,
        _ pass: (UnsafeBufferPointer<UInt8>, Range<Int>, Bool) -> Void
    ) throws {
        func take(_ token: UnsafeBufferPointer<UInt8>, _ range: Range<Int>, _ isColocated: Bool) -> Int32 {
            pass(token, range, isColocated)
            return SQLITE_OK
        }
        try check(
            TokenCallback.with(text, take) { text, count, context, callback in
                sqlcipherkit_words_tokenize(handle, purpose.rawValue, text, count, context, callback)
            })
    }

    /// Returns the tokens of user input: those of the index, but not stemmed.
    func tokens(typed text: String, isPrefix: Bool) throws -> [Token] {
        let purpose: FTS5Tokenizer.Purpose = isPrefix ? [.query, .prefix] : .query
        let utf8 = Array(text.utf8)
        let tokens = try tokens(of: text, purpose)
        if hasTrigrams, let first = tokens.first, let last = tokens.last, tokens.count <= Self.limit {
            let range = first.range.lowerBound..<last.range.upperBound
            return [Token(bytes: Self.text(of: tokens.map(\.bytes)), range: range, isColocated: false)]
        }
        return tokens.map { token in
            Token(bytes: unstemmed(token, of: utf8), range: token.range, isColocated: token.isColocated)
        }
    }

    /// The maximum number of tokens of a typed word.
    private static let limit = 32

    /// Returns the text that has these trigrams: after the first one, each adds a character.
    private static func text(of trigrams: [[UInt8]]) -> [UInt8] {
        trigrams.dropFirst().reduce(into: trigrams.first ?? []) { text, trigram in
            text += trigram[(trigram.lastIndex { $0 & 0xc0 != 0x80 } ?? 0)...]
        }
    }

    /// Returns what the index has for a word: the word, or its trigrams.
    func entries(of word: [UInt8]) throws -> [[UInt8]] {
        guard hasTrigrams, word.count > 3 else { return [word] }
        let trigrams = try tokens(of: String(decoding: word, as: UTF8.self), .query).map(\.bytes)
        return trigrams.isEmpty ? [word] : trigrams
    }

    /// Returns the ways in which the index may have words that stand side by side.
    func sequences(of words: [[UInt8]]) -> [[[UInt8]]] {
        hasTrigrams ? [" ", "-", ".", "'"].map { [Array(words.joined(separator: $0.utf8))] } : [words.map(stored)]
    }

    /// Returns the word that a token is the stem of, or else the token itself.
    func unstemmed(_ token: Token, of text: [UInt8]) -> [UInt8] {
        guard isStemmed else { return token.bytes }
        let word = text[token.range].withUnsafeBufferPointer { Token.words(of: $0, .document) }.flatMap(\.bytes)
        return Self.stem(word) == token.bytes ? word : token.bytes
    }

    /// Returns a word as the index has it.
    func stored(_ word: [UInt8]) -> [UInt8] { isStemmed ? Self.stem(word) ?? word : word }

    /// Returns the tokens of a text, as the index has them.
    func tokens(of text: String, _ purpose: FTS5Tokenizer.Purpose) throws -> [Token] {
        var tokens: [Token] = []
        // The NUL at the end gives even an empty text an address.
        let utf8 = Array(text.utf8) + [0]
        try utf8.withUnsafeBufferPointer { bytes in
            try tokenize(UnsafeBufferPointer(rebasing: bytes.dropLast()), purpose) { token, range, isColocated in
                let end = min(range.upperBound, utf8.count - 1)
                tokens.append(Token(bytes: Array(token), range: min(range.lowerBound, end)..<end, isColocated: isColocated))
            }
        }
        return tokens.filter { !$0.bytes.isEmpty && $0.bytes.count < 512 }
    }
}

extension [UInt8] {
    /// Calls `body` with the bytes as C characters and their number.
    fileprivate func withCBytes<R, E: Error>(_ body: (UnsafePointer<CChar>?, Int32) throws(E) -> R) throws(E) -> R {
        try withUnsafeBufferPointer { bytes throws(E) in
            let text = UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self)
            return try body(text, Int32(clamping: bytes.count))
        }
    }
}
