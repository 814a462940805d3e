import Foundation
import SQLCipherKitCore

extension SQLValue {
    /// The value in full, to be compared: its description does not show it.
    package var shown: String {
        switch self {
        case .null: "null"
        case .integer(let number): "integer(\(number))"
        case .real(let number): "real(\(number))"
        case .text(let text): "text(\(text.debugDescription))"
        case .blob(let data): "blob(\(data.map { String($0, radix: 16) }.joined(separator: " ")))"
        }
    }
}

extension [SQLValue] {
    /// The values in full, to be compared.
    package var shown: String { "[\(map(\.shown).joined(separator: ", "))]" }
}
