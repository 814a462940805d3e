/// Finds words inside of text that is written without blanks: Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese.
///
/// It needs no dictionary. In such text every pair of neighbouring characters is indexed, and each character as well; what is searched
/// for is the same sequence of pairs. So whatever stands in the text is found, be it one character or a phrase; the price is a
/// larger index, and hits in which the sequence runs across two words. Everything else is cut and folded as `unicode61` does,
/// and full-width letters are found by plain ones.
/// ```swift
/// try db.register(.tokenizer(CJKTokenizer(), as: "cjk"))
/// try db.create(FTS5Table("doc", columns: ["text"], tokenizer: .custom("cjk")))
/// ```
public struct CJKTokenizer: FTS5TextTokenizer {
    public init() {}

    public func tokenize(
        _ text: UnsafeBufferPointer<UInt8>, for purpose: FTS5TokenizePurpose, into tokens: inout FTS5TokenSink
    ) {
        var position = 0
        var run: [Range<Int>] = []
        var word: Range<Int>?
        while position < text.count, tokens.result == 0 {
            let (scalar, length) = UTF8Scalar.decode(text, at: position)
            let next = position + length
            if scalar.value < 0x80 {
                // The fast path: ASCII letters and digits make words, all else separates.
                if scalar.isASCIIWordCharacter {
                    flush(&run, text, purpose, &tokens)
                    word = (word?.lowerBound ?? position)..<next
                } else {
                    flush(&run, text, purpose, &tokens)
                    emit(&word, text, &tokens)
                }
            } else if scalar.isUnspacedScript {
                emit(&word, text, &tokens)
                // A vowel sign or tone mark belongs to the letter before it.
                if scalar.isCombiningMark, let last = run.last {
                    run[run.count - 1] = last.lowerBound..<next
                } else {
                    run.append(position..<next)
                }
            } else if scalar.isPartOfWord {
                flush(&run, text, purpose, &tokens)
                word = (word?.lowerBound ?? position)..<next
            } else {
                flush(&run, text, purpose, &tokens)
                emit(&word, text, &tokens)
            }
            position = next
        }
        flush(&run, text, purpose, &tokens)
        emit(&word, text, &tokens)
    }

    private func emit(_ word: inout Range<Int>?, _ text: UnsafeBufferPointer<UInt8>, _ tokens: inout FTS5TokenSink) {
        guard let range = word else { return }
        word = nil
        let bytes = UnsafeBufferPointer(rebasing: text[range])
        if bytes.allSatisfy({ $0 < 0x80 }) {
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: bytes.count) { lowered in
                for index in bytes.indices { lowered.initializeElement(at: index, to: bytes[index].lowercasedASCII) }
                tokens.add(UnsafeBufferPointer(lowered), range: range)
            }
        } else {
            tokens.add(CompatibilityFolding.fold(String(decoding: bytes, as: UTF8.self)), range: range)
        }
    }

    private func flush(
        _ run: inout [Range<Int>], _ text: UnsafeBufferPointer<UInt8>, _ purpose: FTS5TokenizePurpose, _ tokens: inout FTS5TokenSink
    ) {
        guard !run.isEmpty else { return }
        let isQuery = purpose.contains(.query)
        for index in run.indices {
            let first = run[index]
            guard index + 1 < run.count else {
                // The last character has no pair. In a query it is part of the pair before, unless it is all there is.
                if !isQuery || run.count == 1 { tokens.add(UnsafeBufferPointer(rebasing: text[first]), range: first) }
                break
            }
            let pair = first.lowerBound..<run[index + 1].upperBound
            tokens.add(UnsafeBufferPointer(rebasing: text[pair]), range: pair)
            if !isQuery { tokens.add(UnsafeBufferPointer(rebasing: text[first]), range: first, isColocated: true) }
        }
        run.removeAll(keepingCapacity: true)
    }
}

/// Decoding of UTF-8 that FTS5 hands over, well-formed or not.
enum UTF8Scalar {
    /// The scalar at a position and its length in bytes; U+FFFD and 1 where the bytes are none.
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

    var isCombiningMark: Bool {
        switch properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: true
        default: false
        }
    }

    /// Whether the scalar is a letter or mark of a script that sets no blanks between words (Korean sets them, but around
    /// compounds with their particles).
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
