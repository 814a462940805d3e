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
}

extension Data {
    /// The bytes as SQL writes a blob, such as `x'00ff'`.
    var sqlLiteral: String {
        let digits = Array("0123456789abcdef".utf8)
        var text = [UInt8(ascii: "x"), UInt8(ascii: "'")]
        text.reserveCapacity(count * 2 + 3)
        for byte in self {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        text.append(UInt8(ascii: "'"))
        return String(decoding: text, as: UTF8.self)
    }
}
