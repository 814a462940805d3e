import Foundation

/// A value is coded as its own JSON by any coder. ``JSONBEncoder`` and ``JSONBDecoder`` have a faster way.
extension JSONValue: Codable {
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
