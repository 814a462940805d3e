import CSQLCipher

extension SearchIndex.Token {
    /// Returns the tokens of a text that the engine's multilingual tokenizer finds.
    static func words(of text: UnsafeBufferPointer<UInt8>, _ purpose: FTS5Tokenizer.Purpose) -> [Self] {
        let options = Int32(SQLCIPHERKIT_WORDS_FOLD_DIACRITICS | SQLCIPHERKIT_WORDS_FOLD_VOWELS)
        var found: [Self] = []
        func take(_ token: UnsafeBufferPointer<UInt8>, _ range: Range<Int>, _ isColocated: Bool) -> Int32 {
            found.append(Self(bytes: Array(token), range: range, isColocated: isColocated))
            return SQLITE_OK
        }
        _ = TokenCallback.with(text, take) { text, count, context, callback in
            sqlcipherkit_find_words(options, purpose.rawValue, text, count, context, callback)
        }
        return found
    }
}
