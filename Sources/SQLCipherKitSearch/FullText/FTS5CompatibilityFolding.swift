import Foundation

/// See ``SQLExtension/compatibilityFolding(base:as:)``.
package struct FTS5CompatibilityFolding: FTS5TokenFilter {
    package let base: FTS5Tokenizer

    /// Creates a filter.
    /// - Parameter base: the tokenizer whose tokens are folded. Default: `unicode61`.
    package init(base: FTS5Tokenizer = .unicode61()) { self.base = base }

    package func filter(_ token: FTS5Token, for purpose: FTS5Tokenizer.Purpose, _ state: Void, into tokens: inout FTS5Token.Sink) {
        if token.bytes.allSatisfy({ $0 < 0x80 }) {
            tokens.add(token.bytes, range: token.range, isColocated: token.isColocated)
        } else {
            tokens.add(Self.fold(token.string), range: token.range, isColocated: token.isColocated)
        }
    }

    /// Returns the folded form of a word: its compatibility decomposition in lower case, without nonspacing marks, and with ASCII
    /// digits.
    package static func fold(_ word: String) -> String {
        var folded = ""
        for scalar in word.decomposedStringWithCompatibilityMapping.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .nonspacingMark: break
            case .decimalNumber:
                if let value = scalar.properties.numericType == .decimal ? scalar.properties.numericValue : nil {
                    folded += String(Int(value))
                }
            default: folded += scalar == "ß" || scalar == "ẞ" ? "ss" : scalar.properties.lowercaseMapping
            }
        }
        return folded
    }
}
