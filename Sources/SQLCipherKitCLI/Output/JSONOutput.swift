import SQLCipherKit

extension JSONValue {
    /// A database's value. JSON has no form for a blob, which is written as SQL writes it.
    init(shown value: SQLValue) {
        switch value {
        case .null: self = .null
        case .integer(let value): self = .integer(value)
        case .real(let value): self = .real(value)
        case .text(let value): self = .string(value)
        case .blob(let value): self = .string(value.sqlLiteral)
        }
    }

    /// The value on one line, safe for a terminal: DEL and the C1 control characters are escaped as well. JSON allows them
    /// unescaped, and a terminal obeys them.
    func line() throws -> String {
        let text = try text()
        guard text.unicodeScalars.contains(where: { (0x7f..<0xa0).contains($0.value) }) else { return text }
        return text.unicodeScalars.reduce(into: "") { line, scalar in
            if (0x7f..<0xa0).contains(scalar.value) {
                line += "\\u00" + String(scalar.value, radix: 16)
            } else {
                line.unicodeScalars.append(scalar)
            }
        }
    }
}

extension JSONValue {
    /// An array of texts.
    static func strings(_ texts: [String]) -> JSONValue { .array(texts.map { .string($0) }) }
}

extension JSONObject {
    /// An object with members in this order.
    init(members: [(name: String, value: JSONValue)]) {
        self.init()
        for member in members { self[member.name] = member.value }
    }
}
