import CSQLCipher

/// Finds words in text that is written without blanks: Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese.
///
/// It is ``FTS5Tokenizer/multilingual(removesDiacritics:removesVowelSigns:)``, which needs no registration, under a name of your
/// own and as a base of tokenizers in Swift. It needs no dictionary: each character is indexed, and each pair of neighbours. A
/// query is the same sequence of pairs, so that whatever is in the text is found, be it one character or a phrase; the price is a
/// larger index, and hits in which the sequence runs across two words.
/// ```swift
/// try db.register(.tokenizer(FTS5CJKTokenizer(), as: "cjk"))
/// try db.create(FTS5Table("doc", columns: ["text"], tokenizer: .custom("cjk")))
/// ```
public struct FTS5CJKTokenizer: FTS5TextTokenizer {
    public init() {}

    public func tokenize(
        _ text: UnsafeBufferPointer<UInt8>, for purpose: FTS5TokenizePurpose, into tokens: inout FTS5TokenSink
    ) {
        let options = Int32(SQLCIPHERKIT_WORDS_FOLD_DIACRITICS | SQLCIPHERKIT_WORDS_FOLD_VOWELS)
        text.withMemoryRebound(to: CChar.self) { text in
            tokens.add { context, callback in
                sqlcipherkit_find_words(options, purpose.rawValue, text.baseAddress, Int32(clamping: text.count), context, callback)
            }
        }
    }
}
