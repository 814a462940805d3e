import SQLCipherKit

extension JSONValue {
    /// The value on one line, safe for a terminal: characters that JSON allows unescaped and a terminal acts on are escaped too.
    func line() throws -> String {
        if case .real(let value) = self, value.isInfinite { return value < 0 ? "-9e999" : "9e999" }
        let text = try text()
        guard text.unicodeScalars.contains(where: \.actsOnTerminal) else { return text }
        return text.unicodeScalars.reduce(into: "") { line, scalar in
            if scalar.actsOnTerminal {
                let digits = String(scalar.value, radix: 16)
                line += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
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
