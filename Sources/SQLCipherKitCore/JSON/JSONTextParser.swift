/// Turns JSON text (RFC 8259) into JSONB, in one pass.
///
/// SQLite also reads JSON5, which is not an interchange standard; `jsonb(text)` in SQL converts it.
struct JSONTextParser {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let writer: JSONBWriter
    private let maximumDepth: Int
    private var position = 0

    static func parse(
        _ text: UnsafeRawBufferPointer, into writer: JSONBWriter, maximumDepth: Int = JSONB.maximumDepth
    ) throws(JSONBError) {
        var parser = JSONTextParser(
            bytes: text.bindMemory(to: UInt8.self), writer: writer, maximumDepth: min(maximumDepth, JSONB.maximumDepth))
        try parser.document()
    }

    private struct Container {
        let isObject: Bool
        let offset: Int
    }

    private mutating func document() throws(JSONBError) {
        // A loop with its own stack, so that depth does not use the thread's stack.
        var open: [Container] = []
        var expectsValue = true
        repeat {
            skipBlanks()
            if expectsValue {
                expectsValue = false
                guard let byte = peek else { throw malformed }
                if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
                    if open.count >= maximumDepth { throw JSONBError(.tooDeep, at: position) }
                    position += 1
                    open.append(Container(isObject: byte == UInt8(ascii: "{"), offset: writer.open()))
                    skipBlanks()
                    if skip(open[open.count - 1].isObject ? "}" : "]") {
                        close(&open)
                    } else {
                        if open[open.count - 1].isObject { try key() }
                        expectsValue = true
                    }
                } else {
                    try scalar(byte)
                }
            } else if skip(",") {
                skipBlanks()
                if open[open.count - 1].isObject { try key() }
                expectsValue = true
            } else if skip(open[open.count - 1].isObject ? "}" : "]") {
                close(&open)
            } else {
                throw malformed
            }
        } while expectsValue || !open.isEmpty
        skipBlanks()
        guard position == bytes.count else { throw malformed }
    }

    private func close(_ open: inout [Container]) {
        let container = open.removeLast()
        writer.close(container.isObject ? .object : .array, at: container.offset)
    }

    private mutating func key() throws(JSONBError) {
        guard peek == UInt8(ascii: "\"") else { throw malformed }
        try string(isKey: true)
        skipBlanks()
        guard skip(":") else { throw malformed }
    }

    private mutating func scalar(_ byte: UInt8) throws(JSONBError) {
        switch byte {
        case UInt8(ascii: "\""): try string()
        case UInt8(ascii: "t"): try word("true", .true)
        case UInt8(ascii: "f"): try word("false", .false)
        case UInt8(ascii: "n"): try word("null", .null)
        default: try number()
        }
    }

    private mutating func word(_ word: StaticString, _ kind: JSONB.Kind) throws(JSONBError) {
        for index in 0..<word.utf8CodeUnitCount {
            guard position < bytes.count, bytes[position] == word.utf8Start[index] else { throw malformed }
            position += 1
        }
        writer.appendEmpty(kind)
    }

    private mutating func string(isKey: Bool = false) throws(JSONBError) {
        position += 1
        let start = position
        var isEscaped = false
        var isASCII = true
        while true {
            guard position < bytes.count else { throw malformed }
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") { break }
            if byte < 0x20 { throw malformed }
            if byte == UInt8(ascii: "\\") {
                isEscaped = true
                position += 1
                guard position < bytes.count else { throw malformed }
                try checkEscape()
            }
            if byte >= 0x80 { isASCII = false }
            position += 1
        }
        let text = UnsafeBufferPointer(rebasing: bytes[start..<position])
        position += 1
        if !isASCII, String(validating: text, as: UTF8.self) == nil { throw JSONBError(.notUTF8, at: start) }
        // The two halves of a surrogate pair are checked with the whole text, because only that shows whether they form a pair.
        if isEscaped {
            guard let meant = JSONEscape.unescaped(UnsafeRawBufferPointer(text)) else { throw JSONBError(.notUTF8, at: start) }
            if isKey, meant.utf8.contains(0) { throw JSONBError(.nullInKey, at: start) }
        }
        writer.append(isEscaped ? .escapedText : .text, text)
    }

    /// Checks the letter of an escape; JSON5's escapes are not allowed in JSON.
    private mutating func checkEscape() throws(JSONBError) {
        switch bytes[position] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"), UInt8(ascii: "n"),
            UInt8(ascii: "r"), UInt8(ascii: "t"):
            break
        case UInt8(ascii: "u"):
            for _ in 0..<4 {
                position += 1
                guard position < bytes.count, bytes[position].hexDigit != nil else { throw malformed }
            }
        default: throw malformed
        }
    }

    private mutating func number() throws(JSONBError) {
        let start = position
        var kind = JSONB.Kind.integer
        _ = skip("-")
        if !skip("0") { try digits() }
        if skip(".") {
            kind = .real
            try digits()
        }
        if skip("e") || skip("E") {
            kind = .real
            if !skip("-") { _ = skip("+") }
            try digits()
        }
        writer.append(kind, UnsafeBufferPointer(rebasing: bytes[start..<position]))
    }

    private mutating func digits() throws(JSONBError) {
        let start = position
        while let byte = peek, byte.isDigitASCII { position += 1 }
        if position == start { throw malformed }
    }

    private mutating func skipBlanks() {
        while position < bytes.count {
            let byte = bytes[position]
            guard byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 else { return }
            position += 1
        }
    }

    @inline(__always)
    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    @inline(__always)
    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard peek == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private var malformed: JSONBError { JSONBError(.malformed, at: position) }
}
