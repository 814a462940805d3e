import Foundation

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

    /// Whether this is JSON's null.
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

    /// A number as a `Decimal`; for a ``real(_:)`` the shortest one that identifies it.
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
    /// Whether the number has no fraction.
    var isWhole: Bool { isFinite && !description.contains(".") }
}
