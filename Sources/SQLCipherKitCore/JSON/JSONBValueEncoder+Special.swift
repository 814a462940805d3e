import Foundation

/// Values of types that JSON or the options define a form for.
extension JSONBValueEncoder {
    /// - Returns: whether the type was one of these.
    func writeSpecial<T: Encodable>(_ value: T, _ key: (any CodingKey)?) throws -> Bool {
        let writer = sink.writer
        if T.self == String.self {
            writer.append(unsafeBitCast(value, to: String.self))
        } else if T.self == Int.self {
            writer.append(unsafeBitCast(value, to: Int.self))
        } else if T.self == Double.self {
            try write(unsafeBitCast(value, to: Double.self), key)
        } else if T.self == Date.self {
            return try write(unsafeBitCast(value, to: Date.self), key)
        } else if T.self == Data.self {
            guard case .base64 = sink.context.scopes.data(sink.context.scopes.scope(of: T.self, in: scope)) else { return false }
            writer.append(unsafeBitCast(value, to: Data.self).base64EncodedString())
        } else if T.self == Decimal.self {
            let value = unsafeBitCast(value, to: Decimal.self)
            guard value.isFinite else { throw refused(value, "JSON has no NaN", key) }
            writer.append(value)
        } else if T.self == URL.self, let url = value as? URL {
            writer.append(url.absoluteString)
        } else if T.self == JSONValue.self, let json = value as? JSONValue {
            let depth = key == nil ? depth : depth + 1
            do throws(DatabaseError) { try json.write(to: writer, depth: depth, stack: sink.context.stack) } catch {
                throw refused(json, error.message, key)
            }
        } else {
            return false
        }
        return true
    }

    private func write(_ date: Date, _ key: (any CodingKey)?) throws -> Bool {
        let scope = sink.context.scopes.scope(of: Date.self, in: scope)
        switch sink.context.scopes.dates(scope) {
        case .deferredToDate: try write(date.timeIntervalSinceReferenceDate, key)
        case .secondsSince1970: try write(date.timeIntervalSince1970, key)
        case .millisecondsSince1970: try write(date.timeIntervalSince1970 * 1000, key)
        case .iso8601:
            guard case .text(let text)? = try? date.sqlValue(.iso8601) else {
                throw refused(date, "ISO 8601 text holds the years 0000 to 9999 only", key)
            }
            sink.writer.append(text)
        case .custom(let encode, _):
            let child = JSONBValueEncoder(sink, depth: key == nil ? depth : depth + 1, scope: scope, parent: self, key: key)
            try encode(date, child)
            child.finish()
        }
        return true
    }

    /// - Parameter key: the key of the value, if this is the encoder of its container; evaluated only for the path of an error.
    @inline(__always)
    func write(_ value: Double, _ key: @autoclosure () -> (any CodingKey)?) throws {
        guard value.isFinite else { return try writeNonConforming(value, value, key()) }
        sink.writer.append(value)
    }

    @inline(__always)
    func write(_ value: Float, _ key: @autoclosure () -> (any CodingKey)?) throws {
        guard value.isFinite else { return try writeNonConforming(Double(value), value, key()) }
        sink.writer.append(value)
    }

    @inline(never)
    private func writeNonConforming(_ value: Double, _ original: Any, _ key: (any CodingKey)?) throws {
        guard case .strings(let positive, let negative, let nan) = sink.context.scopes.floats(scope) else {
            throw refused(original, "JSON has neither infinity nor NaN", key)
        }
        sink.writer.append(value.isNaN ? nan : value < 0 ? negative : positive)
    }
}
