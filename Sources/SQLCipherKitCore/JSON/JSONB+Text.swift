import Foundation

extension JSONB {
    @inline(__always)
    static func string(_ base: UnsafeRawPointer, _ element: Element) throws(JSONBError) -> String {
        let payload = UnsafeRawBufferPointer(start: base + element.start, count: element.count)
        let text: String? =
            switch element.kind {
            case .text, .rawText: string(payload)
            default: JSONEscape.unescaped(payload)
            }
        guard let text else { throw JSONBError(.notUTF8, at: element.offset) }
        return text
    }

    /// Decodes text from UTF-8; returns nil if it is malformed. ASCII, which is most text, needs no validation.
    @inline(__always)
    static func string(_ utf8: UnsafeRawBufferPointer) -> String? {
        let bytes = utf8.assumingMemoryBound(to: UInt8.self)
        return isASCII(utf8) ? String(decoding: bytes, as: UTF8.self) : String(validating: bytes, as: UTF8.self)
    }

    @inline(__always)
    private static func isASCII(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var position = 0
        var bits: UInt64 = 0
        while position &+ 8 <= bytes.count {
            bits |= bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            position &+= 8
        }
        while position < bytes.count {
            bits |= UInt64(bytes[position])
            position &+= 1
        }
        return bits & 0x8080_8080_8080_8080 == 0
    }

    /// Converts well-formed JSONB that this package has made to JSON text without whitespace.
    static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count + bytes.count / 4)
        if let base = bytes.baseAddress, let root = element(base, at: 0, limit: bytes.count) { write(base, root, &output) }
        return String(decoding: output, as: UTF8.self)
    }

    private struct OpenContainer {
        let kind: Kind
        let end: Int
        var isAtKey: Bool
        var isEmpty = true
    }

    private static func write(_ base: UnsafeRawPointer, _ root: Element, _ output: inout [UInt8]) {
        // A loop with its own stack, so that depth does not use the thread's stack.
        var open: [OpenContainer] = []
        var element = root
        while true {
            if element.kind.isContainer {
                output.append(UInt8(ascii: element.kind == .array ? "[" : "{"))
                open.append(OpenContainer(kind: element.kind, end: element.end, isAtKey: element.kind == .object))
            } else {
                write(scalar: element, UnsafeRawBufferPointer(start: base + element.start, count: element.count), &output)
            }
            var position = element.kind.isContainer ? element.start : element.end
            while let container = open.last, position >= container.end {
                output.append(UInt8(ascii: container.kind == .array ? "]" : "}"))
                open.removeLast()
                position = container.end
            }
            guard let container = open.last, let next = Self.element(base, at: position, limit: container.end) else { return }
            let last = open.count - 1
            if !container.isEmpty { output.append(UInt8(ascii: container.kind == .array || container.isAtKey ? "," : ":")) }
            open[last].isEmpty = false
            if container.kind == .object { open[last].isAtKey.toggle() }
            element = next
        }
    }

    private static func write(scalar element: Element, _ payload: UnsafeRawBufferPointer, _ output: inout [UInt8]) {
        switch element.kind {
        case .null: output += "null".utf8
        case .true: output += "true".utf8
        case .false: output += "false".utf8
        case .text, .escapedText, .escapedText5:
            output.append(UInt8(ascii: "\""))
            output += payload
            output.append(UInt8(ascii: "\""))
        case .rawText:
            output.append(UInt8(ascii: "\""))
            JSONEscape.append(payload, to: &output)
            output.append(UInt8(ascii: "\""))
        case .integer, .hexInteger, .real, .real5, .array, .object: output += payload
        }
    }
}

extension JSONBWriter {
    /// Appends a finite decimal number with all its digits.
    func append(_ value: Decimal) {
        append(value.isWhole ? .integer : .real, ascii: value.description)
    }
}
