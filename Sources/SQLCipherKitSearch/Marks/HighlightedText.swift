/// Text with marked parts, such as the words that a search has found.
/// ```swift
/// let snippet = hit.snippet ?? ""
/// print(snippet)                                   // The [quick] brown [fox] …
/// print(snippet.marked(from: "<b>", to: "</b>"))   // The <b>quick</b> brown <b>fox</b> …
/// for range in snippet.ranges { print(snippet.text[range]) }
/// ```
public struct HighlightedText: Hashable, Sendable {
    /// The text without marks.
    public let text: String
    /// The marked parts, in order and without overlaps. They begin and end between characters: if FTS5 ends a part between a letter
    /// and its combining mark, the part is widened to include both.
    public let ranges: [Range<String.Index>]

    /// Creates text with marked parts. Overlapping parts are joined, empty parts are left out, and parts are widened to whole
    /// characters. Default: no parts.
    public init(_ text: String, ranges: [Range<String.Index>] = []) {
        self.text = text
        self.ranges = HighlightedText.normalized(ranges, in: text)
    }

    /// True if a part of the text is marked.
    public var hasHighlights: Bool { !ranges.isEmpty }

    /// Returns the text with a string before and after each marked part.
    /// - Parameters:
    ///   - opening: the string before a marked part. Default: `[`.
    ///   - closing: the string after a marked part. Default: `]`.
    ///   - escape: applied to each part of the text itself, for example to escape it for HTML. Default: no change.
    public func marked(
        from opening: String = "[", to closing: String = "]", escape: (Substring) -> String = { String($0) }
    ) -> String {
        parts.map { $0.isHighlighted ? opening + escape($0.text) + closing : escape($0.text) }.joined()
    }

    /// The text split into parts, each marked or not, in order.
    public var parts: [(text: Substring, isHighlighted: Bool)] {
        var parts: [(text: Substring, isHighlighted: Bool)] = []
        var position = text.startIndex
        for range in ranges {
            if position < range.lowerBound { parts.append((text[position..<range.lowerBound], false)) }
            parts.append((text[range], true))
            position = range.upperBound
        }
        if position < text.endIndex { parts.append((text[position...], false)) }
        return parts
    }

    private static func normalized(_ ranges: [Range<String.Index>], in text: String) -> [Range<String.Index>] {
        var result: [Range<String.Index>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            let range = range.clamped(to: text.startIndex..<text.endIndex)
            guard !range.isEmpty else { continue }
            let lower = text.characterStart(range.lowerBound)
            let before = text.characterStart(range.upperBound)
            let upper = before == range.upperBound ? before : text.index(after: before)
            if let last = result.last, lower < last.upperBound {
                // The parts overlap, or are inside the same character.
                if upper > last.upperBound { result[result.count - 1] = last.lowerBound..<upper }
            } else {
                result.append(lower..<upper)
            }
        }
        return result
    }
}

extension HighlightedText: CustomStringConvertible {
    /// The text with marked parts in brackets.
    public var description: String { marked() }
}

extension String {
    /// The start of the character that contains an index. From within a character, `index(after:)` gives the end of that character.
    fileprivate func characterStart(_ index: Index) -> Index {
        index < endIndex ? self.index(before: self.index(after: index)) : endIndex
    }
}
