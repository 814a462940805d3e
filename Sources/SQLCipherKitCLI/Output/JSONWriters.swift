import SQLCipherKit

/// A row as a JSON object (RFC 8259) on one line, safe for a terminal. A blob is text as SQL writes it, and infinity `9e999`, as
/// SQLite writes it.
private struct ObjectText {
    /// The quoted names with their punctuation, and the end of each.
    private var names: [UInt8] = [], ends = [0]

    init(_ columns: [String]) {
        // Most readers of an object with two members of one name lose a value.
        var seen: Set<[UInt8]> = []
        for name in columns {
            var unique = name, number = 1
            while !seen.insert(unique.bytes).inserted { (number, unique) = (number + 1, "\(name):\(number + 1)") }
            names.append(UInt8(ascii: names.isEmpty ? "{" : ","))
            unique.withUTF8 { Self.append(text: UnsafeRawBufferPointer($0), to: &names) }
            names.append(UInt8(ascii: ":"))
            ends.append(names.count)
        }
    }

    func append(_ row: RowValues, to json: inout [UInt8]) throws {
        for index in 0..<ends.count - 1 {
            names.withUnsafeBytes { json += UnsafeRawBufferPointer(rebasing: $0[ends[index]..<ends[index + 1]]) }
            try row.lend(index) { value in
                switch value {
                case .null: json.append(ascii: "null")
                case .integer(let value): SQLLiterals.append(value, to: &json)
                case .real(let value): SQLLiterals.append(shortest: value, to: &json)
                // Text that is not UTF-8 is shown as a blob.
                case .text(let bytes) where bytes.isUTF8: Self.append(text: bytes, to: &json)
                case .text(let bytes), .blob(let bytes):
                    json.append(0x22)
                    SQLLiterals.append(blob: bytes, to: &json)
                    json.append(0x22)
                }
            }
        }
        json.append(ascii: ends.count == 1 ? "{}" : "}")
    }

    /// - Parameter text: UTF-8.
    static func append(text: UnsafeRawBufferPointer, to json: inout [UInt8]) {
        json.append(0x22)
        var start = 0, position = 0
        func copy(_ json: inout [UInt8]) { json += UnsafeRawBufferPointer(rebasing: text[start..<position]) }
        while position < text.count {
            let byte = text[position]
            if byte >= 0x20, byte < 0x7f, byte != 0x22, byte != 0x5c {
                position = text.firstUnprintable(from: position + 1, or: 0x22, 0x5c)
                continue
            }
            var escape: Unicode.Scalar?
            var length = 1
            switch byte {
            case 0x22, 0x5c, ..<0x20, 0x7f: escape = Unicode.Scalar(byte)
            // The characters outside of ASCII that a terminal acts on begin with these bytes.
            case 0xc2 where text[position + 1] < 0xa0:
                (escape, length) = (Unicode.Scalar(text[position + 1]), 2)
            case 0xe2 where text[position + 1] <= 0x81:
                let scalar = Unicode.Scalar(0x2000 | UInt16(text[position + 1] & 1) << 6 | UInt16(text[position + 2] & 0x3f))
                if let scalar, scalar.actsOnTerminal { (escape, length) = (scalar, 3) }
            default: break
            }
            guard let escape else {
                position += 1
                continue
            }
            copy(&json)
            switch escape {
            case "\"": json += "\\\"".utf8
            case "\\": json += "\\\\".utf8
            case "\n": json += "\\n".utf8
            case "\r": json += "\\r".utf8
            case "\t": json += "\\t".utf8
            case "\u{8}": json += "\\b".utf8
            case "\u{c}": json += "\\f".utf8
            default:
                let digits = String(escape.value, radix: 16)
                json += ("\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits).utf8
            }
            position += length
            start = position
        }
        copy(&json)
        json.append(0x22)
    }
}

extension UnsafeRawBufferPointer {
    var isASCII: Bool { isPrintableASCII || allSatisfy { $0 < 0x80 } }

    /// True if the bytes are well-formed UTF-8.
    var isUTF8: Bool { isASCII || String(validating: self, as: UTF8.self) != nil }
}

/// Writes a JSON object for each row, on its own line.
final class JSONLinesWriter: RowWriter {
    private let object: ObjectText
    private let output = Output.current

    init(_ columns: [String]) { object = ObjectText(columns) }

    func write(_ row: RowValues) throws {
        try output.bytes { json in
            try object.append(row, to: &json)
            json.append(0x0a)
        }
    }

    func finish() {}
}

/// A JSON array with one object per row, each on its own line.
final class JSONWriter: RowWriter {
    private let object: ObjectText
    private let output = Output.current
    private var isFirst = true

    init(_ columns: [String]) { object = ObjectText(columns) }

    func write(_ row: RowValues) throws {
        try output.bytes { json in
            // Only the last row has no comma after it.
            json.append(ascii: isFirst ? "[" : ",\n ")
            isFirst = false
            try object.append(row, to: &json)
        }
    }

    func finish() { output.bytes { $0 += (isFirst ? "[]\n" : "]\n").utf8 } }
}
