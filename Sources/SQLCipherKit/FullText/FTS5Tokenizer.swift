/// How FTS5 cuts text into words (<https://sqlite.org/fts5.html#tokenizers>).
/// ```swift
/// FTS5Tokenizer.porter(.unicode61(diacritics: .removeAll, tokenCharacters: "_"))
/// ```
public indirect enum FTS5Tokenizer: Hashable, Sendable {
    /// What happens to accents and other marks on letters.
    public enum Diacritics: Int, Hashable, Sendable {
        /// `é` and `e` are different letters.
        case keep = 0
        /// Removed from most letters; FTS5's own default, kept for tables that were made with it.
        case removeSimple = 1
        /// Removed from all letters.
        case removeAll = 2
    }

    /// Words in any language, without regard to case: the one to take unless you know why another is better.
    ///
    /// | text | is found by |
    /// |---|---|
    /// | Chinese, Japanese, Thai, Lao, Khmer, Burmese, and Korean within a word | every part of it, one character or many |
    /// | Hindi, Tamil, Bengali and other Indic text | words with their vowel signs: `काम` and `कीमा` differ |
    /// | `café`, `Łódź`, `straße`, `ά`, `ё` | `cafe`, `lodz`, `strasse`, `α`, `е`, unless `removesDiacritics` is false |
    /// | `مُحَمَّد`, `أحمد`, `שָׁלוֹם` | `محمد`, `احمد`, `שלום`, unless `removesVowelSigns` is false |
    /// | composed and decomposed letters, Hangul and kana | each other |
    /// | full-width letters, half-width kana, digits of any script, `ﬁ` | `A`, `ア`, `2`, `fi` |
    /// | emoji | the same emoji, of any skin tone |
    ///
    /// Other Cyrillic letters keep their marks (`й` is not `и`). Of Arabic letters, `أ إ آ ٱ` become `ا`, `ى` and `ی` become `ي`,
    /// `ة` becomes `ه`, `ک` becomes `ك`, and a hamza on `و` or `ي` goes. Soft hyphens, joiners and variation selectors count as
    /// nothing. Words are those of `unicode61` otherwise, with the categories of Unicode 6.1; what is newer counts as letters. Of
    /// a word the first 1,024 bytes are indexed.
    ///
    /// In scripts without blanks each character and each pair of neighbours is indexed, so that such text takes about twice the
    /// room, and some hits run across two words. The tokenizer is part of this package's engine: another program needs that to read
    /// the table.
    /// - Parameters:
    ///   - removesDiacritics: whether accents and other marks on Latin and Greek letters are removed. Default: yes.
    ///   - removesVowelSigns: whether vowel signs of Arabic and Hebrew are removed, and forms of an Arabic letter are one.
    ///     Default: yes.
    case multilingual(removesDiacritics: Bool = true, removesVowelSigns: Bool = true)
    /// Words of letters and digits by Unicode 6.1, without regard to case. Indic and Arabic text is cut at its vowel signs, and
    /// text without blanks is one word: see ``multilingual(removesDiacritics:removesVowelSigns:)``.
    /// - Parameters:
    ///   - diacritics: what happens to accents. Default: all are removed, so that `cafe` finds `café`.
    ///   - categories: the Unicode categories whose characters make words, as in `L* N* Co`; nil for that default.
    ///   - separators: characters that separate words though their category would make them part of one.
    ///   - tokenCharacters: characters that are part of words though their category would make them separators.
    case unicode61(
        diacritics: Diacritics = .removeAll, categories: String? = nil, separators: String = "", tokenCharacters: String = "")
    /// Words of ASCII letters, digits and all characters beyond ASCII; only ASCII letters match without regard to case.
    case ascii(separators: String = "", tokenCharacters: String = "")
    /// English word stems by Porter's algorithm over the words of another tokenizer: `running` finds `runs`.
    case porter(FTS5Tokenizer)
    /// Every run of three characters, for finding parts of words, and for `LIKE` and `GLOB` with an index. Queries of fewer than
    /// three characters find nothing.
    /// - Parameters:
    ///   - caseSensitive: whether case matters. Default: no.
    ///   - removesDiacritics: whether accents are removed; not together with `caseSensitive`. Default: no.
    case trigram(caseSensitive: Bool = false, removesDiacritics: Bool = false)
    /// A tokenizer registered under a name with ``SQLExtension/tokenizer(_:as:)``, or ``SQLExtension/tokenizer(as:_:)``, which is
    /// given the arguments.
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
