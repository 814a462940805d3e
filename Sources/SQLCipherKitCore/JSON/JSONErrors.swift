/// Marks a coder's error whose description comes from this package, and so contains no value.
struct JSONFault: Error {}

extension DecodingError.Context {
    static func own(_ codingPath: [any CodingKey], _ description: String) -> DecodingError.Context {
        DecodingError.Context(codingPath: codingPath, debugDescription: description, underlyingError: JSONFault())
    }
}

extension EncodingError.Context {
    static func own(_ codingPath: [any CodingKey], _ description: String) -> EncodingError.Context {
        EncodingError.Context(codingPath: codingPath, debugDescription: description, underlyingError: JSONFault())
    }
}

extension Error {
    /// The description and the place of a coder's error, without the value. The description of a type's own error, such as that of
    /// an enumeration that does not know the text, may repeat the value.
    package var jsonDescription: String {
        switch self {
        case let error as DecodingError:
            "\(error.message) (at \((error.context?.codingPath ?? []).jsonPath))"
        case let error as EncodingError:
            switch error {
            case .invalidValue(_, let context):
                (context.underlyingError is JSONFault ? context.debugDescription : "it has a value that cannot be encoded")
                    + " (at \(context.codingPath.jsonPath))"
            @unknown default: "it cannot be encoded"
            }
        case let error as DatabaseError: error.message
        default: "\(type(of: self))"
        }
    }
}

extension DecodingError {
    var context: Context? {
        switch self {
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
            .dataCorrupted(let context):
            context
        @unknown default: nil
        }
    }

    var message: String {
        if let context, context.underlyingError is JSONFault { return context.debugDescription }
        return switch self {
        case .typeMismatch(let type, _): "expected \(type), found something else"
        case .valueNotFound(let type, _): "expected \(type), found nothing"
        case .keyNotFound(let key, _): "there is no member \(key.stringValue)"
        case .dataCorrupted: "the type does not accept the value"
        @unknown default: "it cannot be decoded"
        }
    }
}

extension Collection where Element == any CodingKey {
    fileprivate var jsonPath: JSONPath { JSONPath(components: map { $0.intValue.map { .index($0) } ?? .key($0.stringValue) }) }
}
