/// How FTS5 splits text into words (<https://sqlite.org/fts5.html#tokenizers>).
/// ```swift
/// FTS5Tokenizer.porter(.unicode61(diacritics: .removeAll, tokenCharacters: "_"))
/// ```
public indirect enum FTS5Tokenizer: Hashable, Sendable {
    /// How accents and other marks on letters are treated.
    public enum Diacritics: Int, Hashable, Sendable {
        /// They are kept: `é` and `e` are different letters.
        case keep = 0
        /// They are removed from most letters. This is FTS5's own default, for tables that were created with it.
        case removeSimple = 1
        /// They are removed from all letters.
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
    /// ignored. Mathematical letters are ordinary ones, and `½` is `1/2`. In Devanagari, a nasal before a consonant is an anusvara,
    /// and the dot below a letter is left out. Otherwise words are those of `unicode61`, with the categories of Unicode 6.1; newer
    /// characters count as letters. Only the first 1,024 bytes of a word are indexed.
    ///
    /// In scripts without spaces, each character and each pair of neighbours is indexed, so such text takes about twice the space,
    /// and some hits run across two words. The tokenizer is part of this package's engine, which other programs need in order to
    /// use the table.
    /// - Parameters:
    ///   - removesDiacritics: whether accents and other marks on Latin, Greek and Devanagari letters are removed. Default: yes.
    ///   - removesVowelSigns: whether Arabic and Hebrew vowel signs are removed, and the forms of an Arabic letter treated as one.
    ///     Default: yes.
    case multilingual(removesDiacritics: Bool = true, removesVowelSigns: Bool = true)
    /// Words of letters and digits by Unicode 6.1, ignoring case. Indic and Arabic text is split at its vowel signs, and text
    /// without spaces is one word: see ``multilingual(removesDiacritics:removesVowelSigns:)``.
    /// - Parameters:
    ///   - diacritics: how accents are treated. Default: all are removed, so that `cafe` finds `café`.
    ///   - categories: the Unicode categories of the characters that form words. Default: nil, for `L* N* Co`.
    ///   - separators: characters that separate words, whatever their category. Default: none.
    ///   - tokenCharacters: characters that are part of words, whatever their category. Default: none.
    case unicode61(
        diacritics: Diacritics = .removeAll, categories: String? = nil, separators: String = "", tokenCharacters: String = "")
    /// Words of ASCII letters, digits and all characters beyond ASCII. Case is ignored for ASCII letters only.
    /// - Parameters:
    ///   - separators: ASCII characters that separate words although they are letters or digits. Default: none.
    ///   - tokenCharacters: ASCII characters that are part of words although they are neither. Default: none.
    case ascii(separators: String = "", tokenCharacters: String = "")
    /// English word stems, by Porter's algorithm, of the words of another tokenizer: `running` finds `runs`.
    case porter(FTS5Tokenizer)
    /// Every sequence of three characters: finds parts of words, and lets `LIKE` and `GLOB` use the index. Queries of fewer than
    /// three characters find nothing.
    /// - Parameters:
    ///   - caseSensitive: whether case matters. Default: no.
    ///   - removesDiacritics: whether accents are removed; cannot be combined with `caseSensitive`. Default: no.
    case trigram(caseSensitive: Bool = false, removesDiacritics: Bool = false)
    /// A tokenizer or filter that is registered under a name, for example with ``SQLExtension/tokenizer(_:as:)``. Those registered
    /// with ``SQLExtension/tokenizer(as:_:)`` or ``SQLExtension/tokenFilter(as:_:)`` receive the arguments, by default none.
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
