import CSQLCipher
import SQLCipherKitCore

/// A word as the engine's tokenizer finds it.
struct FoundWord {
    var bytes: [UInt8]
    var range: Range<Int>
    var isColocated: Bool

    static func words(of text: UnsafeBufferPointer<UInt8>, _ purpose: FTS5Tokenizer.Purpose) -> [FoundWord] {
        let options = Int32(SQLCIPHERKIT_WORDS_FOLD_DIACRITICS | SQLCIPHERKIT_WORDS_FOLD_VOWELS)
        var found: [FoundWord] = []
        func take(_ token: UnsafeBufferPointer<UInt8>, _ range: Range<Int>, _ isColocated: Bool) -> Int32 {
            found.append(FoundWord(bytes: Array(token), range: range, isColocated: isColocated))
            return SQLITE_OK
        }
        _ = TokenCallback.with(text, take) { text, count, context, callback in
            sqlcipherkit_find_words(options, purpose.rawValue, text, count, context, callback)
        }
        return found
    }
}
