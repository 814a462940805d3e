/// Decodes UTF-8 from FTS5, which need not be well-formed.
enum UTF8Scalar {
    /// The scalar at a position and its length in bytes; U+FFFD and 1 if the bytes are invalid.
    static func decode(_ bytes: UnsafeBufferPointer<UInt8>, at position: Int) -> (Unicode.Scalar, Int) {
        let first = bytes[position]
        if first < 0x80 { return (Unicode.Scalar(first), 1) }
        let length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2
        guard first >= 0xc2, first <= 0xf4, position + length <= bytes.count else { return ("\u{FFFD}", 1) }
        var value = UInt32(first) & (0x7f >> UInt32(length))
        for offset in 1..<length {
            let byte = bytes[position + offset]
            guard byte & 0xc0 == 0x80 else { return ("\u{FFFD}", 1) }
            value = value << 6 | UInt32(byte & 0x3f)
        }
        return Unicode.Scalar(value).map { ($0, length) } ?? ("\u{FFFD}", 1)
    }
}

extension Unicode.Scalar {
    var isASCIIWordCharacter: Bool {
        (value >= 0x30 && value <= 0x39) || (value >= 0x41 && value <= 0x5a) || (value >= 0x61 && value <= 0x7a)
    }

    /// Whether the scalar can be part of a word for `unicode61`.
    var isPartOfWord: Bool {
        switch properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber, .letterNumber,
            .otherNumber, .privateUse, .nonspacingMark, .spacingMark, .enclosingMark:
            true
        default: false
        }
    }

    /// Whether the scalar is a letter or mark of a script without spaces between words. Korean has spaces, but around compounds
    /// with their particles.
    var isUnspacedScript: Bool {
        switch value {
        case 0x0e01...0x0e3a, 0x0e40...0x0e4e: true  // Thai
        case 0x0e81...0x0ecd, 0x0edc...0x0edf: true  // Lao
        case 0x1000...0x103f, 0x1050...0x108f: true  // Burmese
        case 0x1780...0x17d3: properties.generalCategory != .otherPunctuation  // Khmer
        case 0x1100...0x11ff, 0x3005...0x3007, 0x3021...0x3029: true  // Hangul letters, iteration mark, numerals
        case 0x3041...0x3096, 0x3099...0x309a, 0x309d...0x309f: true  // Hiragana
        case 0x30a1...0x30fa, 0x30fc...0x30ff, 0x31f0...0x31ff: true  // Katakana
        case 0x3100...0x312f, 0x3130...0x318f, 0x31a0...0x31bf: true  // Bopomofo, Hangul letters
        case 0x3400...0x4dbf, 0x4e00...0x9fff, 0xac00...0xd7a3, 0xf900...0xfaff: true  // Han, Hangul syllables
        case 0xff66...0xff9f: true  // half-width Katakana
        case 0x20000...0x3ffff: true  // Han, later blocks
        default: false
        }
    }
}
