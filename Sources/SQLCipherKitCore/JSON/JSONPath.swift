/// A place in a JSON document, in the form that SQLite's JSON functions take (<https://sqlite.org/json1.html#path_arguments>).
///
/// A path is built from components, so a key with any characters means exactly that key:
/// ```swift
/// JSONPath("address", "city")     // $.address.city
/// JSONPath("a.b", 0)              // $."a.b"[0]
/// JSONPath("tags", -1)            // $.tags[#-1], the last element
/// JSONPath("tags").end            // $.tags[#], after the last element
/// JSONPath()                      // $, the whole document
/// ```
/// A path is bound like any other value:
/// ```swift
/// let tags = try db.fetchAll(
///     String.self, "SELECT value FROM note, json_each(note.meta, ?)", [JSONPath("tags")])
/// ```
/// A key with the character U+0000 is refused when the path is used, because SQLite would read only the part before it.
///
/// An index on an expression (<https://sqlite.org/expridx.html>) is used only if the path is in the SQL text itself.
/// ``JSONExpression`` writes it there.
public struct JSONPath: Hashable, Sendable {
    /// A step of a path.
    public enum Component: Hashable, Sendable {
        /// The member of an object with this key.
        case key(String)
        /// The element of an array, counted from 0. A negative number counts from the end; -1 is the last element.
        case index(Int)
        /// The place after the last element of an array, where setting a value appends it.
        case end
    }

    /// The steps from the whole document to the place.
    public var components: [Component]

    /// Creates a path from keys (`String`), indexes (`Int`), ``Component``s and other paths. Without components, the path is the
    /// whole document.
    public init(_ components: any JSONPathComponent...) { self.init(list: components) }

    /// Creates a path from its components.
    public init(components: [Component]) { self.components = components }

    package init(list: [any JSONPathComponent]) {
        components = []
        components.reserveCapacity(list.count)
        for component in list { components += component._jsonPathComponents }
    }

    /// The error for a key that SQLite cannot find: it compares keys with escapes only up to U+0000, and would find or change
    /// another member.
    package var refusal: DatabaseError? {
        for case .key(let key) in components where key.utf8.contains(0) { return .nullInKey }
        return nil
    }

    /// The whole document.
    public static let root = JSONPath(components: [])

    /// True if this is the whole document.
    package var isRoot: Bool { components.isEmpty }

    /// Returns the path with more components at its end.
    public func appending(_ components: any JSONPathComponent...) -> JSONPath {
        JSONPath(components: self.components + JSONPath(list: components).components)
    }

    /// Returns the path of a member of the object at this path.
    public subscript(key: String) -> JSONPath { appending(key) }

    /// Returns the path of an element of the array at this path; a negative index counts from the end.
    public subscript(index: Int) -> JSONPath { appending(index) }

    /// The place after the last element of the array at this path.
    public var end: JSONPath { JSONPath(components: components + [.end]) }

    /// The path without its last component; nil for the whole document.
    public var parent: JSONPath? { isRoot ? nil : JSONPath(components: Array(components.dropLast())) }
}

/// Two keys are equal if their bytes are, as in SQLite.
extension JSONPath.Component {
    public static func == (a: Self, b: Self) -> Bool {
        switch (a, b) {
        case (.key(let a), .key(let b)): a.isSameText(as: b)
        case (.index(let a), .index(let b)): a == b
        case (.end, .end): true
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .key(let key): hasher.combine(ExactText(key))
        case .index(let index): hasher.combine(index)
        case .end: hasher.combine(0xfe as UInt8)
        }
    }
}

/// A type that a ``JSONPath`` can be built from: `String` for a key, `Int` for an index, a component, or another path.
public protocol JSONPathComponent: Sendable {
    /// The steps that the value stands for.
    var _jsonPathComponents: [JSONPath.Component] { get }
}

extension String: JSONPathComponent {
    public var _jsonPathComponents: [JSONPath.Component] { [.key(self)] }
}

extension Int: JSONPathComponent {
    public var _jsonPathComponents: [JSONPath.Component] { [.index(self)] }
}

extension JSONPath.Component: JSONPathComponent {
    public var _jsonPathComponents: [JSONPath.Component] { [self] }
}

extension JSONPath: JSONPathComponent {
    public var _jsonPathComponents: [JSONPath.Component] { components }
}

/// Bound as text, such as `$.tags[0]`, and read from text that is a well-formed path.
extension JSONPath: SQLValueConvertible {
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a key with the character U+0000; see ``JSONPath``.
    public var sqlValue: SQLValue {
        get throws {
            if let refusal { throw refusal }
            return .text(description)
        }
    }

    public init?(sqlValue: SQLValue) {
        guard case .text(let text) = sqlValue, let path = try? JSONPath(parsing: text) else { return nil }
        self = path
    }
}

extension DatabaseError {
    static var nullInKey: DatabaseError {
        .invalidArgument("a JSON key contains the character U+0000, at which SQLite would end the key")
    }
}

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
    public init(parsing text: String) throws {
        var parser = JSONPathParser(text)
        components = try parser.parse()
    }
}

extension UInt8 {
    fileprivate var isLetterASCII: Bool { (0x61...0x7a).contains(self | 0x20) }
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

    mutating func parse() throws -> [JSONPath.Component] {
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

    private mutating func key() throws -> String {
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

    private mutating func quotedKey() throws -> String {
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

    private mutating func index() throws -> JSONPath.Component {
        if skip("#") {
            if skip("]") { return .end }
            guard skip("-") else { throw failure("[# must be followed by ] or -") }
            let index = try number()
            // `[#-0]` is the place after the last element.
            return index == 0 ? .end : .index(-index)
        }
        return .index(try number())
    }

    private mutating func number() throws -> Int {
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
