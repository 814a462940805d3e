import SQLCipherKitCore

/// Splits identifiers into their parts: `parseHTTPResponse2` is found by `parse`, `http`, `response`, `httpResponse` and by the
/// whole name; so is `parse_http_response_2`.
///
/// Each part is a token, one after the other. A run of parts without digits is also indexed as one token, at the positions of its
/// first and last part, so that a name typed in lower case is found. Letters beyond ASCII are part of words, and case is ignored.
public struct FTS5CodeTokenizer: FTS5TextTokenizer {
    /// Creates a tokenizer.
    public init() {}

    public func tokenize(
        _ text: UnsafeBufferPointer<UInt8>, for purpose: FTS5TokenizePurpose, into tokens: inout FTS5TokenSink
    ) {
        var position = 0
        while position < text.count, tokens.result == 0 {
            let start = position
            while position < text.count, Kind(text[position]) != .separator { position += 1 }
            if start < position { name(start..<position, text, purpose, &tokens) }
            position += 1
        }
    }

    private enum Kind {
        case separator, underscore, lower, upper, digit

        init(_ byte: UInt8) {
            switch byte {
            case 0x61...0x7a, 0x80...: self = .lower
            case 0x41...0x5a: self = .upper
            case 0x30...0x39: self = .digit
            case 0x5f: self = .underscore
            default: self = .separator
            }
        }
    }

    private func name(
        _ range: Range<Int>, _ text: UnsafeBufferPointer<UInt8>, _ purpose: FTS5TokenizePurpose, _ tokens: inout FTS5TokenSink
    ) {
        var parts: [Range<Int>] = []
        var start = range.lowerBound
        func close(_ end: Int) {
            if start < end { parts.append(start..<end) }
            start = end
        }
        for index in range {
            let kind = Kind(text[index])
            guard index > range.lowerBound else {
                if kind == .underscore { start = index + 1 }
                continue
            }
            let before = Kind(text[index - 1])
            let after = index + 1 < range.upperBound ? Kind(text[index + 1]) : .separator
            if kind == .underscore {
                close(index)
                start = index + 1
            } else if before == .underscore {
                start = index
            } else if (kind == .digit) != (before == .digit) {
                close(index)
            } else if kind == .upper, before == .lower || (before == .upper && after == .lower) {
                // A capital after a small letter, or the last of several capitals, such as the R of HTTPResponse.
                close(index)
            }
        }
        close(range.upperBound)
        var index = 0
        while index < parts.count {
            // Parts up to the next digits, or the digits alone.
            var end = index + 1
            if Kind(text[parts[index].lowerBound]) != .digit {
                while end < parts.count, Kind(text[parts[end].lowerBound]) != .digit { end += 1 }
            }
            let whole = parts[index].lowerBound..<parts[end - 1].upperBound
            for place in index..<end {
                add(parts[place], text, false, &tokens)
                // A query has the parts only, which find a name however it is spelt.
                guard end - index > 1, !purpose.contains(.query), place == index || place == end - 1 else { continue }
                add(whole, text, true, &tokens)
            }
            index = end
        }
    }

    private func add(
        _ range: Range<Int>, _ text: UnsafeBufferPointer<UInt8>, _ isColocated: Bool, _ tokens: inout FTS5TokenSink
    ) {
        let part = UnsafeBufferPointer(rebasing: text[range])
        guard part.allSatisfy({ $0 < 0x80 }) else {
            tokens.add(String(decoding: part, as: UTF8.self).lowercased(), range: range, isColocated: isColocated)
            return
        }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: part.count) { lowered in
            var count = 0
            // Underscores within a name are left out: `parse_http` is also `parsehttp`.
            for byte in part where byte != 0x5f {
                lowered.initializeElement(at: count, to: byte.lowercasedASCII)
                count += 1
            }
            tokens.add(UnsafeBufferPointer(rebasing: lowered[..<count]), range: range, isColocated: isColocated)
        }
    }
}
