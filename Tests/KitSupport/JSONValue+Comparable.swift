import Foundation
import SQLCipherKitCore

extension JSONValue {
    /// Numbers by their value alone, and arrays, which sets and dictionaries are written as in any order, sorted.
    package var comparable: JSONValue {
        switch self {
        case .integer, .real, .decimal: decimalValue.map { .string("#\($0)") } ?? self
        case .array(let elements): .array(elements.map(\.comparable).sorted { "\($0)" < "\($1)" })
        case .object(let object):
            .object(object.reduce(into: JSONObject()) { $0[$1.key] = $1.value.comparable })
        default: self
        }
    }
}
