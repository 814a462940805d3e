import SQLCipherKitCore

/// See ``SQLExtension/codeTokenizer(as:)``.
package struct FTS5CodeTokenizer: FTS5CustomTokenizer {
    /// Creates a tokenizer.
    package init() {}

    package func tokenize(
        _ text: UnsafeBufferPointer<UInt8>, for purpose: FTS5Tokenizer.Purpose, into tokens: inout FTS5Token.Sink
    ) {
        var name: [Part] = []
        for word in SearchIndex.Token.words(of: text, purpose) {
            let parts = Part.parts(of: word, text)
            // Underscores join the parts of a name.
            let isJoined = name.last.map { last in
                last.range.upperBound < word.range.lowerBound && !parts.isEmpty
                    && text[last.range.upperBound..<word.range.lowerBound].allSatisfy { $0 == UInt8(ascii: "_") }
            }
            if isJoined != true {
                add(name, purpose, &tokens)
                name = []
            }
            name += parts
            guard parts.isEmpty else { continue }
            word.bytes.withUnsafeBufferPointer { tokens.add($0, range: word.range, isColocated: word.isColocated) }
        }
        add(name, purpose, &tokens)
    }

    private func add(_ parts: [Part], _ purpose: FTS5Tokenizer.Purpose, _ tokens: inout FTS5Token.Sink) {
        var index = 0
        while index < parts.count, tokens.result == 0 {
            // Parts up to the next digits, or the digits alone.
            var end = index + 1
            if !parts[index].isDigits {
                while end < parts.count, !parts[end].isDigits { end += 1 }
            }
            let range = parts[index].range.lowerBound..<parts[end - 1].range.upperBound
            let whole = parts[index..<end].flatMap(\.bytes)
            for place in index..<end {
                parts[place].bytes.withUnsafeBufferPointer { tokens.add($0, range: parts[place].range) }
                // A query has the parts only, which find a name however it is spelled.
                guard end - index > 1, !purpose.contains(.query), place == index || place == end - 1 else { continue }
                whole.withUnsafeBufferPointer { tokens.add($0, range: range, isColocated: true) }
            }
            index = end
        }
    }
}

/// A part of a name.
private struct Part {
    var bytes: [UInt8]
    var range: Range<Int>
    var isDigits: Bool

    private enum Kind { case lower, upper, digit }

    /// Returns the parts of a word of letters and digits; none for a character of a script without spaces, or another symbol.
    static func parts(of word: SearchIndex.Token, _ text: UnsafeBufferPointer<UInt8>) -> [Part] {
        var scalars: [(kind: Kind, start: Int)] = []
        var position = word.range.lowerBound
        for scalar in String(decoding: text[word.range], as: UTF8.self).unicodeScalars {
            if let kind = kind(scalar) {
                scalars.append((kind, position))
            } else if scalars.isEmpty {
                return []
            }
            position += UTF8.width(scalar)
        }
        guard !word.isColocated, position == word.range.upperBound else { return [] }
        var starts: [Int] = [0]
        for place in scalars.indices.dropFirst() {
            let (before, kind) = (scalars[place - 1].kind, scalars[place].kind)
            let isBeforeLower = place + 1 < scalars.count && scalars[place + 1].kind == .lower
            // A capital after a small letter, or the last of several capitals, such as the R of HTTPResponse.
            let isCapital = kind == .upper && (before == .lower || (before == .upper && isBeforeLower))
            if (kind == .digit) != (before == .digit) || isCapital { starts.append(place) }
        }
        let isOne = starts.count == 1
        return zip(starts, starts.dropFirst().map { scalars[$0].start } + [word.range.upperBound]).compactMap { start, end in
            let range = scalars[start].start..<end
            let bytes = isOne ? word.bytes : folded(text, range)
            return bytes.isEmpty ? nil : Part(bytes: bytes, range: range, isDigits: scalars[start].kind == .digit)
        }
    }

    /// nil for what belongs to the letter before it, and for characters that are not split.
    private static func kind(_ scalar: Unicode.Scalar) -> Kind? {
        if scalar.isUnspacedScript { return nil }
        switch scalar.properties.generalCategory {
        case .decimalNumber: return .digit
        case .uppercaseLetter, .titlecaseLetter: return .upper
        case .lowercaseLetter, .modifierLetter, .otherLetter, .letterNumber, .otherNumber: return .lower
        default: return nil
        }
    }

    private static func folded(_ text: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> [UInt8] {
        let part = text[range]
        if part.allSatisfy({ $0 < 0x80 }) { return part.map(\.lowercasedASCII) }
        return SearchIndex.Token.words(of: UnsafeBufferPointer(rebasing: part), .document)
            .filter { !$0.isColocated }.flatMap(\.bytes)
    }
}
