/// Finds words in text that is written without blanks: Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese.
///
/// It needs no dictionary. In such text every pair of neighbouring characters is indexed, and each character as well; a query is
/// the same sequence of pairs. So whatever is in the text is found, be it one character or a phrase; the price is a larger
/// index, and hits in which the sequence runs across two words. Everything else is cut and folded as `unicode61` does,
/// and full-width letters are found by plain ones.
/// ```swift
/// try db.register(.tokenizer(FTS5CJKTokenizer(), as: "cjk"))
/// try db.create(FTS5Table("doc", columns: ["text"], tokenizer: .custom("cjk")))
/// ```
public struct FTS5CJKTokenizer: FTS5TextTokenizer {
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
            // The fast path: ASCII letters and digits make words, all else separates.
            let isASCII = scalar.value < 0x80
            if !isASCII, scalar.isUnspacedScript {
                emit(&word, text, &tokens)
                // A vowel sign or tone mark belongs to the letter before it.
                if scalar.isCombiningMark, let last = run.last {
                    run[run.count - 1] = last.lowerBound..<next
                } else {
                    run.append(position..<next)
                }
            } else {
                flush(&run, text, purpose, &tokens)
                if isASCII ? scalar.isASCIIWordCharacter : scalar.isPartOfWord {
                    word = (word?.lowerBound ?? position)..<next
                } else {
                    emit(&word, text, &tokens)
                }
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
            tokens.add(FTS5CompatibilityFolding.fold(String(decoding: bytes, as: UTF8.self)), range: range)
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
