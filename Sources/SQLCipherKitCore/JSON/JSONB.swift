import Foundation

/// The JSONB format (<https://sqlite.org/jsonb.html>): elements with a header that holds their type and size.
///
/// The low four bits of a header's first byte are the type. The high four bits are the payload's size if they are at most 11; from
/// 12 on they mean that the size follows, big-endian, in 1, 2, 4 or 8 bytes. A size may take more bytes than it needs.
enum JSONB {
    /// An element's type. The numbers are those of the format.
    enum Kind: UInt8 {
        case null, `true`, `false`
        /// An integer in decimal digits.
        case integer
        /// An integer in JSON5's hexadecimal digits.
        case hexInteger
        /// A number with a fraction or an exponent.
        case real
        /// A number with a fraction or an exponent in a form of JSON5: without digits before or after the point.
        case real5
        /// Text without characters that JSON would have to escape.
        case text
        /// Text with JSON's escapes.
        case escapedText
        /// Text with JSON5's escapes.
        case escapedText5
        /// Text with no escapes, whatever its characters.
        case rawText
        case array, object

        @inline(__always) var isText: Bool { rawValue >= Kind.text.rawValue && rawValue <= Kind.rawText.rawValue }
        @inline(__always) var isContainer: Bool { rawValue >= Kind.array.rawValue }
    }

    struct Element {
        var kind: Kind
        /// The offset of the header.
        var offset: Int
        /// The offset of the payload.
        var start: Int
        /// The offset after the payload.
        var end: Int
        @inline(__always) var count: Int { end - start }
    }

    /// The deepest nesting that SQLite accepts (`SQLITE_JSON_MAX_DEPTH`).
    static let maximumDepth = 1000

    /// Reads the header at an offset. Returns nil if no element ends at or before `limit`, which must not be beyond the end of the
    /// bytes.
    @inline(__always)
    static func element(_ bytes: UnsafeRawPointer, at offset: Int, limit: Int) -> Element? {
        guard offset >= 0, offset < limit else { return nil }
        let first = bytes.load(fromByteOffset: offset, as: UInt8.self)
        guard let kind = Kind(rawValue: first & 15) else { return nil }
        var start = offset + 1
        var size = Int(first >> 4)
        if size > 11 {
            let length = 1 << (size - 12)
            guard length <= limit - start else { return nil }
            var value: UInt64 = 0
            for index in start..<start + length {
                value = value << 8 | UInt64(bytes.load(fromByteOffset: index, as: UInt8.self))
            }
            start += length
            guard value <= UInt64(limit - start) else { return nil }
            size = Int(value)
        }
        guard size <= limit - start else { return nil }
        return Element(kind: kind, offset: offset, start: start, end: start + size)
    }

    /// Reads the header of an element that ``check(_:maximumDepth:)`` has accepted.
    @inline(__always)
    static func checkedElement(_ bytes: UnsafeRawPointer, at offset: Int) -> Element {
        let first = bytes.load(fromByteOffset: offset, as: UInt8.self)
        let size = Int(first >> 4)
        if size <= 11 {
            let start = offset &+ 1
            return Element(kind: Kind(rawValue: first & 15) ?? .null, offset: offset, start: start, end: start &+ size)
        }
        return longCheckedElement(bytes, at: offset)
    }

    private static func longCheckedElement(_ bytes: UnsafeRawPointer, at offset: Int) -> Element {
        element(bytes, at: offset, limit: Int.max) ?? Element(kind: .null, offset: offset, start: offset + 1, end: offset + 1)
    }

    /// Checks that the bytes are one element, well-formed down to the innermost: sizes that fit, known types, keys that are text,
    /// as many keys as values, and no payload where none is allowed. The contents of text and numbers are not checked.
    ///
    /// Reads each header once and stores only one number for each level. What passes this check can be read without further bounds
    /// checks.
    /// - Returns: the maximum nesting depth of the containers.
    @discardableResult
    static func check(_ bytes: UnsafeRawBufferPointer, maximumDepth: Int) throws(JSONBError) -> Int {
        guard let base = bytes.baseAddress, let root = element(base, at: 0, limit: bytes.count), root.end == bytes.count else {
            throw JSONBError(.malformed, at: 0)
        }
        guard root.kind.isContainer else {
            guard root.kind.rawValue > Kind.false.rawValue || root.count == 0 else { throw JSONBError(.malformed, at: 0) }
            return 0
        }
        let depth = min(maximumDepth, Self.maximumDepth)
        guard depth > 0 else { throw JSONBError(.tooDeep, at: 0) }
        // Few documents are deep: for most of them the levels fit on the stack.
        var deepest = 0
        var failure = withUnsafeTemporaryAllocation(of: Int.self, capacity: min(depth, 64)) {
            checkContents(base, root, $0, &deepest)
        }
        if failure?.problem == .tooDeep, depth > 64 {
            failure = withUnsafeTemporaryAllocation(of: Int.self, capacity: depth) { checkContents(base, root, $0, &deepest) }
        }
        if let failure { throw failure }
        return deepest + 1
    }

    private static func checkContents(
        _ base: UnsafeRawPointer, _ root: Element, _ ends: UnsafeMutableBufferPointer<Int>, _ deepest: inout Int
    ) -> JSONBError? {
        // The end of each open container, negated for an object.
        var level = 0
        ends[0] = root.kind == .object ? -root.end : root.end
        var position = root.start
        var expectsKey = root.kind == .object
        while true {
            let end = abs(ends[level])
            if position == end {
                // The last element of an object must be a value.
                if ends[level] < 0, !expectsKey { return JSONBError(.malformed, at: position) }
                if level == 0 { return nil }
                level -= 1
                // What has ended was an element of an array, or the value of a key.
                expectsKey = ends[level] < 0
                continue
            }
            guard let element = element(base, at: position, limit: end) else { return JSONBError(.malformed, at: position) }
            if expectsKey {
                guard element.kind.isText else { return JSONBError(.malformed, at: position) }
                if element.kind != .text, hasNull(base, element) { return JSONBError(.nullInKey, at: position) }
                expectsKey = false
                position = element.end
            } else if element.kind.isContainer {
                level += 1
                if level > deepest { deepest = level }
                guard level < ends.count else { return JSONBError(.tooDeep, at: position) }
                ends[level] = element.kind == .object ? -element.end : element.end
                expectsKey = element.kind == .object
                position = element.start
            } else {
                if element.kind.rawValue <= Kind.false.rawValue, element.count != 0 { return JSONBError(.malformed, at: position) }
                expectsKey = ends[level] < 0
                position = element.end
            }
        }
    }
}

extension JSONB {
    /// Returns whether a key contains the character U+0000, where SQLite ends a key that is not plain text.
    @inline(never)
    private static func hasNull(_ base: UnsafeRawPointer, _ key: Element) -> Bool {
        let bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(start: base, count: key.end)[key.start..<key.end])
        if bytes.contains(0) { return true }
        return key.kind != .rawText && JSONEscape.unescaped(bytes)?.utf8.contains(0) ?? false
    }
}

/// A problem in a JSON document, text or JSONB.
struct JSONBError: Error {
    enum Problem { case malformed, tooDeep, notUTF8, number, tooLarge, nullInKey }

    let problem: Problem
    /// In bytes.
    let offset: Int

    init(_ problem: Problem, at offset: Int) {
        self.problem = problem
        self.offset = offset
    }

    var message: String {
        switch problem {
        case .malformed: "the JSON is malformed at byte \(offset)"
        case .tooDeep: "the JSON is nested too deeply at byte \(offset)"
        case .notUTF8: "the JSON holds text at byte \(offset) that is not well-formed"
        case .number: "the JSON holds a number at byte \(offset) that cannot be read without loss"
        case .tooLarge: "the JSON is larger than SQLite can hold"
        case .nullInKey: "the JSON has a key at byte \(offset) with the character U+0000, at which SQLite would end it"
        }
    }

    var databaseError: DatabaseError { DatabaseError(code: .mismatch, reason: .typeMismatch, message: message) }
}

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
