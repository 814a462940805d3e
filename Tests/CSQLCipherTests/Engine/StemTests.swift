import CSQLCipher
import Testing

/// The function of FTS5 that makes a stem, called without a tokenizer.
@Suite struct StemTests {
    /// All short words of letters that endings are made of. The sanitizer sees what is read beside them
    /// (`scripts/workshop/check-memory`).
    @Test func stemFunctionMatchesPorterTokenizer() throws {
        let three = words(3, of: "abdegilnsty")
        let sorted = three + words(4, of: "adeginsy") + three.map { $0 + "ing" }
        let db = try RawConnection(":memory:")
        try db.query("CREATE VIRTUAL TABLE t USING fts5(a, tokenize = 'porter ascii')")
        try db.query("CREATE VIRTUAL TABLE terms USING fts5vocab(t, instance)")
        try db.query("INSERT INTO t VALUES ('\(sorted.joined(separator: " "))')")
        let stems = try db.query("SELECT term FROM terms ORDER BY \"offset\"")
        #expect(stems == sorted.map(stem))
        #expect(zip(stems, sorted).contains { $0.count == 1 && $1 == "eed" })
    }

    private func words(_ length: Int, of letters: String) -> [String] {
        (0..<length).reduce([""]) { words, _ in words.flatMap { word in letters.map { word + String($0) } } }
    }

    private func stem(_ word: String) -> String {
        var stem = [CChar](repeating: 0, count: 128)
        let count = sqlcipherkit_words_stem(word, Int32(word.utf8.count), &stem)
        return String(decoding: stem.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
