import Foundation
import SQLCipherKit

extension SQLValue {
    /// The value without quotes; a blob as SQL writes it.
    var plainText: String {
        switch self {
        case .null: "NULL"
        case .integer(let value): "\(value)"
        case .real(let value): "\(value)"
        case .text(let value): value
        case .blob(let value): value.sqlLiteral
        }
    }

    /// The value for people: JSONB as JSON text, and other blobs as SQL writes them.
    var readableText: String {
        guard case .blob(let bytes) = self, let first = bytes.first, first & 15 == 11 || first & 15 == 12,
            let value = try? JSONValue(jsonb: bytes), let text = try? value.text()
        else { return plainText }
        return text
    }
}

extension Data {
    /// The bytes as SQL writes a blob, such as `x'00ff'`.
    var sqlLiteral: String {
        var sql: [UInt8] = []
        withUnsafeBytes { SQLLiterals.append(blob: $0, to: &sql) }
        return String(decoding: sql, as: UTF8.self)
    }
}
