import Foundation

/// A JSON value of any shape, for documents that no Swift type describes.
/// ```swift
/// let meta: JSONValue = ["city": "Roma", "tags": ["a", "b"], "stars": 5, "note": .null]
/// try db.execute("INSERT INTO note(meta) VALUES (\(meta))")
/// let back = try db.fetchOne(JSONValue.self, "SELECT meta FROM note")
/// back?["tags"]?[0]            // "a"
/// ```
/// Numbers keep their value: a number that `Int64` or `Double` would change is a ``decimal(_:)``.
///
/// A statement binds the value as JSONB (<https://sqlite.org/jsonb.html>); reading accepts JSONB and JSON text.
public enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// A number with a fraction or an exponent. Infinities are written as SQLite writes them, `9e999`; NaN cannot be written.
    case real(Double)
    /// A number that neither an `Int64` nor a `Double` holds exactly.
    case decimal(Decimal)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)
}

/// Two strings are equal if their bytes are.
extension JSONValue {
    // Disfavored, because otherwise comparing a literal is ambiguous between this and another type's operator.
    @_disfavoredOverload
    public static func == (a: JSONValue, b: JSONValue) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.integer(let a), .integer(let b)): a == b
        case (.real(let a), .real(let b)): a == b
        case (.decimal(let a), .decimal(let b)): a == b
        case (.string(let a), .string(let b)): a.isSameText(as: b)
        case (.array(let a), .array(let b)): a == b
        case (.object(let a), .object(let b)): a == b
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(type)
        switch self {
        case .null: break
        case .bool(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(value)
        case .real(let value): hasher.combine(value)
        case .decimal(let value): hasher.combine(value)
        case .string(let value): hasher.combine(ExactText(value))
        case .array(let elements): hasher.combine(elements)
        case .object(let members): hasher.combine(members)
        }
    }
}

/// The members of a JSON object, in the order of the document.
///
/// Two objects are equal if they have the same members, in any order. If several members of a document have the same key, the first
/// counts, as in SQLite's paths.
public struct JSONObject: Sendable {
    private struct Entry {
        let key: String
        /// Nil once the member has been removed.
        var value: JSONValue?
    }

    private var entries: [Entry] = []
    /// The number of members.
    public private(set) var count = 0
    /// The position of the first member.
    private var start = 0
    // Only for objects in which a search through all keys would be slow.
    private var positions: [ExactText: Int]?

    /// Creates an object without members.
    public init() {}

    /// The value of a member; nil if there is none. Setting nil removes it.
    public subscript(key: String) -> JSONValue? {
        get { position(of: key).flatMap { entries[$0].value } }
        // In place: what is inside the value is not copied.
        _modify {
            let position = position(of: key)
            var value: JSONValue?
            if let position { swap(&value, &entries[position].value) }
            defer { put(value, key, position) }
            yield &value
        }
    }

    /// The keys, in order.
    public var keys: [String] { map(\.key) }

    private func position(of key: String) -> Int? {
        if let positions { return positions[ExactText(key)] }
        return entries[start...].firstIndex { $0.value != nil && $0.key.isSameText(as: key) }
    }

    /// Stores a member that was taken out of its position, or that has none yet.
    private mutating func put(_ value: consuming JSONValue?, _ key: String, _ position: Int?) {
        guard let position else {
            if value != nil { append(key, value) }
            return
        }
        let isRemoved = value == nil
        entries[position].value = consume value
        if isRemoved { noteRemoval(of: key, at: position) }
    }

    private mutating func append(_ key: String, _ value: consuming JSONValue?) {
        entries.append(Entry(key: key, value: value))
        count += 1
        if positions != nil {
            positions?[ExactText(key)] = entries.count - 1
        } else if entries.count > 16 {
            compact()
        }
    }

    private mutating func noteRemoval(of key: String, at position: Int) {
        count -= 1
        positions?[ExactText(key)] = nil
        if position == start { start = entries[start...].firstIndex { $0.value != nil } ?? entries.count }
        // Each member is moved once for each one that is removed, at most.
        if entries.count > 2 * count { compact() }
    }

    private mutating func compact() {
        if entries.count > count { entries.removeAll { $0.value == nil } }
        start = 0
        positions =
            count > 16 ? Dictionary(uniqueKeysWithValues: entries.indices.map { (ExactText(entries[$0].key), $0) }) : nil
    }
}

extension JSONObject: BidirectionalCollection {
    /// The place of a member.
    public struct Index: Comparable, Sendable {
        fileprivate let position: Int

        public static func < (a: Index, b: Index) -> Bool { a.position < b.position }
    }

    public var startIndex: Index { Index(position: start) }
    public var endIndex: Index { Index(position: entries.count) }

    public func index(after index: Index) -> Index {
        var position = index.position + 1
        while position < entries.count, entries[position].value == nil { position += 1 }
        return Index(position: position)
    }

    public func index(before index: Index) -> Index {
        var position = index.position - 1
        while entries[position].value == nil { position -= 1 }
        return Index(position: position)
    }

    public subscript(index: Index) -> (key: String, value: JSONValue) {
        (entries[index.position].key, entries[index.position].value ?? .null)
    }
}

extension JSONObject: Hashable {
    public static func == (a: JSONObject, b: JSONObject) -> Bool {
        a.count == b.count && a.allSatisfy { b[$0.key] == $0.value }
    }

    public func hash(into hasher: inout Hasher) {
        // The order of members does not affect the hash.
        var sum = 0
        for (key, value) in self {
            var member = Hasher()
            member.combine(ExactText(key))
            member.combine(value)
            sum &+= member.finalize()
        }
        hasher.combine(sum)
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral members: (String, JSONValue)...) {
        for (key, value) in members { self[key] = value }
    }
}

// No nil literal: in `value["key"] == nil` it would mean JSON's null.
extension JSONValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .real(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    public init(dictionaryLiteral members: (String, JSONValue)...) {
        var object = JSONObject()
        for (key, value) in members { object[key] = value }
        self = .object(object)
    }
}

/// Reading parts of a value, and changing it.
extension JSONValue {
    /// A member of an object. Nil if this is not an object or has no such member. Setting a member turns ``null`` into an object,
    /// and does nothing to any other value; setting nil removes the member.
    public subscript(key: String) -> JSONValue? {
        get { objectValue?[key] }
        // In place, at any depth: `value["a"]?["b"] = 1` copies neither object.
        _modify {
            var object: JSONObject, wasNull = false
            switch self {
            case .object(let members): object = members
            case .null: (object, wasNull) = (JSONObject(), true)
            default:
                var ignored: JSONValue?
                yield &ignored
                return
            }
            self = .null
            defer { if !wasNull || !object.isEmpty { self = .object(object) } }
            yield &object[key]
        }
    }

    /// An element of an array; a negative index counts from the end. Nil if this is not an array, or is too short.
    public subscript(index: Int) -> JSONValue? {
        guard case .array(let elements) = self else { return nil }
        let position = index < 0 ? elements.count + index : index
        return elements.indices.contains(position) ? elements[position] : nil
    }

    /// The value at a path; nil if there is none.
    public subscript(path: JSONPath) -> JSONValue? {
        var value = self
        for component in path.components {
            let next: JSONValue? =
                switch component {
                case .key(let key): value[key]
                case .index(let index): value[index]
                case .end: nil
                }
            guard let next else { return nil }
            value = next
        }
        return value
    }

    /// True if this is JSON's null.
    public var isNull: Bool { self == .null }
    /// The value of a boolean.
    public var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The text of a string.
    public var stringValue: String? { if case .string(let value) = self { value } else { nil } }
    /// The elements of an array.
    public var arrayValue: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }
    /// The members of an object.
    public var objectValue: JSONObject? { if case .object(let object) = self { object } else { nil } }

    /// A number that is an integer and fits into `Int`.
    public var intValue: Int? {
        switch self {
        case .integer(let value): Int(exactly: value)
        case .real(let value): Int(exactly: value)
        default: nil
        }
    }

    /// A number that a `Double` holds exactly.
    public var doubleValue: Double? {
        switch self {
        case .integer(let value): Double(exactly: value)
        case .real(let value): value
        default: nil
        }
    }

    /// A number as a `Decimal`; for a ``real(_:)`` the shortest decimal that identifies it.
    public var decimalValue: Decimal? {
        switch self {
        case .integer(let value): Decimal(value)
        case .real(let value): value.isFinite ? Decimal(string: value.description, locale: Locale(identifier: "en_US_POSIX")) : nil
        case .decimal(let value): value
        default: nil
        }
    }

    /// SQLite's name for the type of the value (<https://sqlite.org/json1.html#jtype>).
    public var type: JSONType {
        switch self {
        case .null: .null
        case .bool(let value): value ? .true : .false
        case .integer: .integer
        case .decimal(let value): value.isWhole ? .integer : .real
        case .real: .real
        case .string: .text
        case .array: .array
        case .object: .object
        }
    }
}

/// The type of a JSON value, as SQLite's `json_type()` names it (<https://sqlite.org/json1.html#jtype>).
public enum JSONType: String, Hashable, Sendable, CaseIterable, SQLValueConvertible {
    case null, `true`, `false`, integer, real, text, array, object
}

extension Decimal {
    /// True if the number has no fraction.
    var isWhole: Bool { isFinite && !description.contains(".") }
}

/// A value is coded as its own JSON by any coder. ``JSONBEncoder`` and ``JSONBDecoder`` have a faster way.
extension JSONValue: Codable {
    /// Encodes the value as JSON, not as a Swift enumeration: an object in a keyed container, an array in an unkeyed container.
    /// - Throws: the error of the encoder, such as Foundation's for a NaN.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        case .object(let object):
            var container = encoder.container(keyedBy: JSONBKey.self)
            for (key, value) in object { try container.encode(value, forKey: JSONBKey(key)) }
        default:
            var container = encoder.singleValueContainer()
            switch self {
            case .null, .array, .object: try container.encodeNil()
            case .bool(let value): try container.encode(value)
            case .integer(let value): try container.encode(value)
            case .real(let value): try container.encode(value)
            case .decimal(let value): try container.encode(value)
            case .string(let value): try container.encode(value)
            }
        }
    }

    /// Decodes a document of any shape. A number is an integer if it fits into `Int64`, otherwise a `Double` if that is exact,
    /// otherwise a `Decimal`.
    /// - Throws: the decoder's error for a value that has none of JSON's types.
    public init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: JSONBKey.self) {
            var object = JSONObject()
            for key in container.allKeys { object[key.stringValue] = try container.decode(JSONValue.self, forKey: key) }
            self = .object(object)
        } else if var container = try? decoder.unkeyedContainer() {
            var elements: [JSONValue] = []
            while !container.isAtEnd { elements.append(try container.decode(JSONValue.self)) }
            self = .array(elements)
        } else {
            self = try JSONValue(container: decoder.singleValueContainer())
        }
    }

    private init(container: any SingleValueDecodingContainer) throws {
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Decimal.self) {
            let real = try? container.decode(Double.self)
            if let real, Decimal(string: real.description, locale: Locale(identifier: "en_US_POSIX")) == value {
                self = .real(real)
            } else {
                self = .decimal(value)
            }
        } else if let value = try? container.decode(Double.self) {
            self = .real(value)
        } else {
            self = .string(try container.decode(String.self))
        }
    }
}
