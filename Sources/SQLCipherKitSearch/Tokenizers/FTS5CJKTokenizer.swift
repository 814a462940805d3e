import CSQLCipher
import SQLCipherKitCore

/// Finds words in text that is written without spaces: Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese.
/// The same as ``FTS5Tokenizer/multilingual(removesDiacritics:removesVowelSigns:)``, which needs no registration, as a type: to
/// register it under a name of your own, or to call it from a tokenizer of your own. It needs no dictionary: it indexes each
/// character and each pair of neighboring characters. A query becomes the same sequence of pairs, so it finds any part of a text,
/// from a single character to a phrase. The price is a larger index, and some hits in which the sequence runs across two words.
/// ```swift
/// try db.register(.cjkTokenizer(as: "cjk"))
/// try db.create(FTS5Table("doc", columns: ["text"], tokenizer: .custom("cjk")))
/// ```
package struct FTS5CJKTokenizer: FTS5CustomTokenizer {
    /// Creates a tokenizer that removes diacritics and vowel signs.
    package init() {}

    package func tokenize(
        _ text: UnsafeBufferPointer<UInt8>, for purpose: FTS5Tokenizer.Purpose, into tokens: inout FTS5Token.Sink
    ) {
        let options = Int32(SQLCIPHERKIT_WORDS_FOLD_DIACRITICS | SQLCIPHERKIT_WORDS_FOLD_VOWELS)
        text.withMemoryRebound(to: CChar.self) { text in
            tokens.add { context, callback in
                sqlcipherkit_find_words(options, purpose.rawValue, text.baseAddress, Int32(clamping: text.count), context, callback)
            }
        }
    }
}

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
