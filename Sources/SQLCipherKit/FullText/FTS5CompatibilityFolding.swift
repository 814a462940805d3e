import Foundation

/// Makes words alike that Unicode holds for compatible: full-width letters, ligatures, superscripts, `ß` and `ss`, Arabic and other
/// digits. Words of ASCII pass through untouched.
public struct FTS5CompatibilityFolding: FTS5TokenFilter {
    public let base: FTS5Tokenizer

    public init(base: FTS5Tokenizer = .unicode61()) { self.base = base }

    public func filter(_ token: FTS5Token, for purpose: FTS5TokenizePurpose, _ state: Void, into tokens: inout FTS5TokenSink) {
        if token.bytes.allSatisfy({ $0 < 0x80 }) {
            tokens.add(token.bytes, range: token.range, isColocated: token.isColocated)
        } else {
            tokens.add(Self.fold(token.string), range: token.range, isColocated: token.isColocated)
        }
    }

    /// The folded form of a word: compatibility decomposition, without marks, in lower case, digits as ASCII.
    public static func fold(_ word: String) -> String {
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
