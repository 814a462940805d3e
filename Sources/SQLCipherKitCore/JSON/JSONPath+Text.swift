/// The text form of a path.
extension JSONPath: CustomStringConvertible {
    /// The path in SQLite's syntax. The same path always has the same text, as an index on an expression requires.
    public var description: String {
        var text: [UInt8] = [UInt8(ascii: "$")]
        for component in components {
            switch component {
            case .key(let key): Self.append(key: key, to: &text)
            case .index(let index): text += index < 0 ? Array("[#-\(index.magnitude)]".utf8) : Array("[\(index)]".utf8)
            case .end: text += Array("[#]".utf8)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func append(key: String, to text: inout [UInt8]) {
        text.append(UInt8(ascii: "."))
        let bytes = key.utf8
        let isPlain =
            bytes.first.map { $0.isLetterASCII || $0 == UInt8(ascii: "_") } ?? false
            && bytes.allSatisfy { $0.isLetterASCII || $0.isDigitASCII || $0 == UInt8(ascii: "_") }
        if isPlain {
            text += bytes
        } else {
            text.append(UInt8(ascii: "\""))
            JSONEscape.append(bytes, to: &text)
            text.append(UInt8(ascii: "\""))
        }
    }

    /// Parses a path from its text, such as `$.tags[0]`, `$."a key"` or `$.list[#-1]`.
    ///
    /// The whole text is checked here. SQLite checks only the part that it reaches in a given document.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` with the position of the error, in bytes.
    public init(parsing text: String) throws(DatabaseError) {
        var parser = JSONPathParser(text)
        components = try parser.parse()
    }
}

extension UInt8 {
    var isLetterASCII: Bool { (0x61...0x7a).contains(self | 0x20) }
    var isDigitASCII: Bool { (0x30...0x39).contains(self) }
}

/// Parses SQLite's path syntax.
private struct JSONPathParser {
    private let text: String
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) {
        self.text = text
        bytes = Array(text.utf8)
    }

    mutating func parse() throws(DatabaseError) -> [JSONPath.Component] {
        guard skip("$") else { throw failure("a path must begin with $") }
        var components: [JSONPath.Component] = []
        while position < bytes.count {
            if skip(".") {
                components.append(.key(try key()))
            } else if skip("[") {
                components.append(try index())
            } else {
                throw failure("a step must begin with . or [")
            }
        }
        return components
    }

    private mutating func key() throws(DatabaseError) -> String {
        if skip("\"") { return try quotedKey() }
        let start = position
        while let byte = peek, byte != UInt8(ascii: "."), byte != UInt8(ascii: "[") {
            // SQLite takes the path as a C string, and would stop here.
            if byte == 0 { throw failure("a key must not contain a NUL character") }
            position += 1
        }
        guard position > start else { throw failure("a key is missing") }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func quotedKey() throws(DatabaseError) -> String {
        let start = position
        while let byte = peek, byte != UInt8(ascii: "\"") {
            if byte == 0 { throw failure("a key must not contain a NUL character") }
            position += byte == UInt8(ascii: "\\") ? 2 : 1
        }
        guard position < bytes.count else { throw failure("the quoted key is not closed") }
        let raw = bytes[start..<position]
        position += 1
        guard raw.contains(UInt8(ascii: "\\")) else { return String(decoding: raw, as: UTF8.self) }
        guard let key = raw.withUnsafeBytes({ JSONEscape.unescaped($0) }) else {
            throw failure("the quoted key has an unknown escape")
        }
        if key.utf8.contains(0) { throw failure("a key must not contain a NUL character") }
        return key
    }

    private mutating func index() throws(DatabaseError) -> JSONPath.Component {
        if skip("#") {
            if skip("]") { return .end }
            guard skip("-") else { throw failure("[# must be followed by ] or -") }
            let index = try number()
            // `[#-0]` is the place after the last element.
            return index == 0 ? .end : .index(-index)
        }
        return .index(try number())
    }

    private mutating func number() throws(DatabaseError) -> Int {
        let start = position
        var value = 0
        while let byte = peek, byte.isDigitASCII {
            let (shifted, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, more) = shifted.addingReportingOverflow(Int(byte - 0x30))
            if overflow || more { throw failure("the index is too large") }
            value = sum
            position += 1
        }
        guard position > start else { throw failure("an index is missing") }
        guard skip("]") else { throw failure("the index is not closed by ]") }
        return value
    }

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard peek == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private func failure(_ what: String) -> DatabaseError {
        .invalidArgument("the JSON path \(text) is malformed at byte \(min(position, bytes.count)): \(what)")
    }
}
