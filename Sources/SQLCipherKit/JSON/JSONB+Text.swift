import Foundation

extension JSONB {
    /// The text of an element that is text.
    @inline(__always)
    static func string(_ base: UnsafeRawPointer, _ element: Element) throws(JSONBError) -> String {
        let payload = UnsafeRawBufferPointer(start: base + element.start, count: element.count)
        let text: String? =
            switch element.kind {
            case .text, .rawText: String(validating: payload.assumingMemoryBound(to: UInt8.self), as: UTF8.self)
            default: JSONEscape.unescaped(payload)
            }
        guard let text else { throw JSONBError(.notUTF8, at: element.offset) }
        return text
    }

    /// JSONB, well-formed and of this package's own making, as JSON text without blanks.
    static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count + bytes.count / 4)
        if let base = bytes.baseAddress, let root = element(base, at: 0, limit: bytes.count) { write(base, root, &output) }
        return String(decoding: output, as: UTF8.self)
    }

    private static func write(_ base: UnsafeRawPointer, _ element: Element, _ output: inout [UInt8]) {
        let payload = UnsafeRawBufferPointer(start: base + element.start, count: element.count)
        switch element.kind {
        case .null: output += "null".utf8
        case .true: output += "true".utf8
        case .false: output += "false".utf8
        case .integer, .hexInteger, .real, .real5: output += payload
        case .text, .escapedText, .escapedText5:
            output.append(UInt8(ascii: "\""))
            output += payload
            output.append(UInt8(ascii: "\""))
        case .rawText:
            output.append(UInt8(ascii: "\""))
            JSONEscape.append(payload, to: &output)
            output.append(UInt8(ascii: "\""))
        case .array, .object:
            output.append(UInt8(ascii: element.kind == .array ? "[" : "{"))
            var position = element.start
            var isValue = true
            while let next = Self.element(base, at: position, limit: element.end) {
                if position > element.start { output.append(UInt8(ascii: isValue ? "," : ":")) }
                write(base, next, &output)
                if element.kind == .object { isValue.toggle() }
                position = next.end
            }
            output.append(UInt8(ascii: element.kind == .array ? "]" : "}"))
        }
    }
}

extension JSONBWriter {
    /// A finite decimal number with all its digits.
    func append(_ value: Decimal) {
        append(value.isWhole ? .integer : .real, ascii: value.description)
    }
}
