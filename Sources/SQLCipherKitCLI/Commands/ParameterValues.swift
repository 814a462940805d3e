import Foundation
import SQLCipherKit

/// The values of `--param`.
struct ParameterValues {
    private let texts: [String]
    /// True if several statements use them: each takes those that it names.
    var isShared = false

    init(_ texts: [String]) throws { self.texts = texts }

    func arguments(for statement: Statement) throws -> StatementArguments {
        // `?7` is a position, not a name.
        let names = statement.parameterNames.compactMap { $0 }.filter { !$0.hasPrefix("?") }
        if isShared, statement.parameterNames.isEmpty { return StatementArguments() }
        if isShared, names.isEmpty {
            throw Failure("several statements need named parameters, such as :name, for --param NAME=VALUE", status: .usage)
        }
        guard !names.isEmpty else { return StatementArguments(texts.map { Self.literal($0) }) }
        var values: [String: (any SQLValueConvertible)?] = [:]
        for text in texts {
            guard let equals = text.firstIndex(of: "="), equals > text.startIndex else {
                throw Failure("the statement has named parameters: --param needs NAME=VALUE and got \(text)", status: .usage)
            }
            let name = String(text[..<equals])
            guard values[name] == nil else { throw Failure("--param gives \(name) twice", status: .usage) }
            if isShared, !names.contains(where: { $0 == name || $0.dropFirst() == name }) { continue }
            values[name] = Self.literal(String(text[text.index(after: equals)...]))
        }
        return StatementArguments(values)
    }

    /// The value that a literal of SQL stands for (<https://sqlite.org/lang_expr.html#literal_values_constants_>), or the text.
    static func literal(_ text: String) -> SQLValue {
        if text.uppercased() == "NULL" { return .null }
        if let integer = Int64(text), !losesZero(text) { return .integer(integer) }
        // Swift reads `inf`, `nan` and `0x1p3` as numbers, and SQL does not.
        let isDecimal = text.utf8.allSatisfy { "0123456789+-.eE".utf8.contains($0) }
        if isDecimal, !losesZero(text), let real = Double(text) { return .real(real) }
        var tokens = SQLTokens(text)
        if let token = tokens.next(), token.kind == .quoted, token.range == 0..<tokens.count, text.utf8.first == 0x27 {
            return .text(text.utf8.unquoted)
        }
        if let bytes = blob(text) { return .blob(bytes) }
        return .text(text)
    }

    /// Returns whether the number would lose zeros of the text, which a column of text keeps.
    private static func losesZero(_ text: String) -> Bool {
        let digits = Array(text.utf8.drop { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "+") })
        guard digits.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }) else { return false }
        if digits.count > 1, digits[0] == 0x30, digits[1] != UInt8(ascii: ".") { return true }
        guard let point = digits.firstIndex(of: UInt8(ascii: ".")) else { return false }
        return digits.count > point + 2 && digits.last == 0x30
    }

    private static func blob(_ text: String) -> Data? {
        guard text.lowercased().hasPrefix("x'"), text.hasSuffix("'"), text.utf8.count >= 3 else { return nil }
        return [UInt8](hexadecimal: text.dropFirst(2).dropLast()).map { Data($0) }
    }
}
