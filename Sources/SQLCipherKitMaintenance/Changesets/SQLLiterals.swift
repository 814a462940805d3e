import CSQLCipher
import Foundation
import SQLCipherKitCore

/// Writes a row's values as SQL literals, without loss.
enum SQLLiterals {
    static func list(_ row: RawStatement) throws(DatabaseError) -> String {
        var text = ""
        for column in 0..<Int(row.columns) {
            if column > 0 { text += ", " }
            text += try literal(row, column)
        }
        return text
    }

    static func literal(_ row: RawStatement, _ column: Int) throws(DatabaseError) -> String {
        let index = Int32(column)
        switch sqlite3_column_type(row.handle, index) {
        case SQLITE_INTEGER: return "\(sqlite3_column_int64(row.handle, index))"
        case SQLITE_FLOAT: return real(sqlite3_column_double(row.handle, index))
        case SQLITE_TEXT:
            let bytes = try Row.Column(row.handle, index).rawBytes(text: true, blob: false, as: "text")
            guard let text = String(wellFormed: bytes) else { return "CAST(\(hexadecimal(bytes)) AS TEXT)" }
            // A literal in SQL ends at a NUL.
            return text.unicodeScalars.split(separator: "\0", omittingEmptySubsequences: false)
                .map { String($0).quotedSQLLiteral }.joined(separator: " || char(0) || ")
        case SQLITE_BLOB: return hexadecimal(try Row.Column(row.handle, index).rawBytes(text: false, blob: true, as: "a blob"))
        default: return "NULL"
        }
    }

    /// Returns a literal. For a number whose last bit SQLite's parser of decimals may get wrong, it returns an exact expression: a
    /// whole number multiplied or divided by powers of two.
    static func real(_ value: Double) -> String {
        if value.isInfinite { return value < 0 ? "-9e999" : "9e999" }
        // Up to 15 digits survive the conversion to text and back.
        let short = "\(value)"
        if short.utf8.filter({ (48...57).contains($0) }).count <= 15, abs(value) < 1e15, abs(value) > 1e-5 || value == 0 {
            return short
        }
        var mantissa = value.significand, exponent = Int(value.exponent)
        if value.isZero { return "0.0" }
        while mantissa != mantissa.rounded() {
            mantissa *= 2
            exponent -= 1
        }
        var text = "\(value < 0 ? "-" : "")\(Int64(mantissa)).0"
        while exponent != 0 {
            let step = min(abs(exponent), 40)
            text += exponent > 0 ? " * \(Int64(1) << step)" : " / \(Int64(1) << step)"
            exponent += exponent > 0 ? -step : step
        }
        return "(\(text))"
    }

    private static func hexadecimal(_ bytes: UnsafeRawBufferPointer) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = Array("x'".utf8)
        text.reserveCapacity(bytes.count * 2 + 3)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        text.append(UInt8(ascii: "'"))
        return String(decoding: text, as: UTF8.self)
    }
}
