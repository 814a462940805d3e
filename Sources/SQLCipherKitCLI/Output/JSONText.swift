import SQLCipherKit

/// A JSON text (RFC 8259) whose objects keep the order of their members, as a reader of columns expects it.
indirect enum JSONText {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONText])
    case object([(name: String, value: JSONText)])

    static func integer(_ value: some BinaryInteger) -> JSONText { .number(String(value)) }

    static func real(_ value: Double) -> JSONText {
        if value.isNaN { return .null }
        // JSON has no infinity; this number is read back as one.
        if value.isInfinite { return .number(value < 0 ? "-9e999" : "9e999") }
        return .number("\(value)")
    }

    /// A database's value. A blob, which JSON has no form for, is written as SQL writes it.
    init(_ value: SQLValue) {
        switch value {
        case .null: self = .null
        case .integer(let value): self = .integer(value)
        case .real(let value): self = .real(value)
        case .text(let value): self = .string(value)
        case .blob(let value): self = .string(value.sqlLiteral)
        }
    }

    /// The text, on one line.
    var text: String {
        var text = ""
        append(to: &text)
        return text
    }

    private func append(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .number(let value): text += value
        case .string(let value): Self.quote(value, &text)
        case .array(let elements):
            text += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { text += "," }
                element.append(to: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { text += "," }
                Self.quote(member.name, &text)
                text += ":"
                member.value.append(to: &text)
            }
            text += "}"
        }
    }

    /// Escapes what JSON demands, and DEL and the C1 controls as well, which a terminal would obey.
    private static func quote(_ value: String, _ text: inout String) {
        text += "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "\0"..<" ", "\u{7f}"..<"\u{a0}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}
