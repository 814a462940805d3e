import SQLCipherKit

/// A value of a key-value store, in the form that the store keeps.
enum KeyValue {
    case plain(SQLValue)
    case json(JSONValue)

    /// - Parameter json: whether the text is JSON, and not the value itself. Values that both JSON and SQL have are stored as SQL
    ///   values, as a program stores its `Int` or `String`.
    init(parsing text: String, json: Bool) throws {
        guard json else {
            self = .plain(.text(text))
            return
        }
        let value: JSONValue
        do { value = try JSONValue(text: text) } catch let error as DatabaseError {
            throw Failure("the value is not JSON: \(error.message)")
        }
        self =
            switch value {
            case .null: .plain(.null)
            case .bool(let value): .plain(.integer(value ? 1 : 0))
            case .integer(let value): .plain(.integer(value))
            case .real(let value): .plain(.real(value))
            case .string(let value): .plain(.text(value))
            case .decimal, .array, .object: .json(value)
            }
    }

    /// The value as JSON. A blob is written as SQL writes it.
    var json: JSONValue {
        switch self {
        case .plain(let value): JSONValue(shown: value)
        case .json(let value): value
        }
    }

    /// The value as text. Stored JSON is written as JSON in either case.
    func text(json: Bool) throws -> String {
        switch self {
        case .plain(let value): json ? try self.json.line() : value.plainText
        case .json(let value): try value.line()
        }
    }

    /// The value for a row.
    func cell() throws -> SQLValue {
        switch self {
        case .plain(let value): value
        case .json(let value): .text(try value.line())
        }
    }
}

/// Any JSON, which a store keeps as JSON: a bare ``JSONValue`` has its own form in SQL.
struct CodedJSON: Codable {
    let value: JSONValue

    init(value: JSONValue) { self.value = value }

    init(from decoder: any Decoder) throws { value = try decoder.singleValueContainer().decode(JSONValue.self) }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}

extension KeyValueStore {
    /// The value of a key, whatever it is; nil if there is none.
    func shown(_ key: String) throws -> KeyValue? {
        do { return try get(
            key, as: SQLValue.self
        ).map { .plain($0) } } catch let error as DatabaseError where error.reason == .typeMismatch {
            return try get(key, as: CodedJSON.self).map { .json($0.value) }
        }
    }
}

extension KeyValueEntry {
    /// The value, whatever it is.
    borrowing func shown() throws -> KeyValue {
        do { return .plain(try value(as: SQLValue.self)) } catch let error as DatabaseError where error.reason == .typeMismatch {
            return .json(try value(as: CodedJSON.self).value)
        }
    }
}
