import CSQLCipher
import Foundation

/// Writes values as SQL literals, without loss: for this engine, for any other SQLite since 3.8, and through a terminal.
package enum SQLLiterals {
    /// Appends a column of a statement's row.
    package static func append(_ row: OpaquePointer, _ column: Int32, to sql: inout [UInt8]) throws {
        switch try LentValue(row, column) {
        case .null: sql.append(ascii: "NULL")
        case .integer(let value): append(value, to: &sql)
        case .real(let value): append(value, to: &sql)
        case .text(let bytes): append(text: bytes, to: &sql)
        case .blob(let bytes): append(blob: bytes, to: &sql)
        }
    }

    /// Appends all columns of a statement's row, with commas between them.
    package static func append(_ row: RawStatement, to sql: inout [UInt8]) throws {
        for column in 0..<row.columns {
            if column > 0 { sql.append(ascii: ", ") }
            try append(row.handle, column, to: &sql)
        }
    }

    package static func literal(_ row: RawStatement, _ column: Int) throws -> String {
        var sql: [UInt8] = []
        try append(row.handle, Int32(column), to: &sql)
        return String(decoding: sql, as: UTF8.self)
    }

    package static func append(_ value: SQLValue, to sql: inout [UInt8]) {
        switch value {
        case .null: sql.append(ascii: "NULL")
        case .integer(let value): append(value, to: &sql)
        case .real(let value): append(value, to: &sql)
        case .text(var text): text.withUTF8 { append(text: UnsafeRawBufferPointer($0), to: &sql) }
        case .blob(let bytes): bytes.withUnsafeBytes { append(blob: $0, to: &sql) }
        }
    }

    package static func append(_ value: Int64, to sql: inout [UInt8]) {
        append(value.magnitude, isNegative: value < 0, to: &sql)
    }

    /// Appends a number, with a point before the last `places` of its digits.
    private static func append(_ digits: UInt64, isNegative: Bool, places: Int = 0, to sql: inout [UInt8]) {
        withUnsafeTemporaryAllocation(byteCount: 24, alignment: 1) { text in
            var start = text.count, rest = digits, written = 0
            func put(_ byte: UInt8) {
                start -= 1
                text[start] = byte
            }
            repeat {
                if written == places, places > 0 { put(UInt8(ascii: ".")) }
                put(0x30 + UInt8(truncatingIfNeeded: rest % 10))
                (rest, written) = (rest / 10, written + 1)
            } while rest > 0 || written <= places
            if isNegative { put(UInt8(ascii: "-")) }
            sql += UnsafeRawBufferPointer(rebasing: text[start...])
        }
    }

    // MARK: Text

    /// Appends a text. Some of its characters would not arrive: a literal ends at NUL, readers of lines drop a CR, and a terminal
    /// obeys control characters. In the literal they are names such as `\r`, and `replace` puts them back. Line feeds and tabs
    /// stay.
    package static func append(text: UnsafeRawBufferPointer, to sql: inout [UInt8]) {
        let special = text.firstUnprintable(or: 0x27)
        if special == text.count { return quote(text, false, to: &sql) }
        var hasQuote = false, isPlain = true
        for byte in text[special...] {
            if byte == 0x27 { hasQuote = true }
            if byte < 0x20 || byte >= 0x7f { isPlain = isPlain && (byte == 0x09 || byte == 0x0a) }
        }
        if isPlain { return quote(text, hasQuote, to: &sql) }
        guard let string = String(wellFormed: text) else {
            sql.append(ascii: "CAST(")
            append(blob: text, to: &sql)
            sql.append(ascii: " AS TEXT)")
            return
        }
        let escaped = Set(string.unicodeScalars.lazy.filter { $0.actsOnTerminal && $0 != "\t" && $0 != "\n" })
        if escaped.isEmpty { return quote(text, hasQuote, to: &sql) }
        append(string, escaping: escaped.sorted(), to: &sql)
    }

    private static func append(_ text: String, escaping characters: [Unicode.Scalar], to sql: inout [UInt8]) {
        // Nothing in the text looks like a name: each has one backslash, at its beginning.
        var start = "\\", number = 0
        let bytes = Array(text.utf8)
        while bytes.indices.contains(where: { bytes[$0...].starts(with: start.utf8) }) {
            number += 1
            start = "\\\(number)"
        }
        let names = Dictionary(uniqueKeysWithValues: characters.map { ($0, start + name($0)) })
        var written = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if let name = names[scalar] { written.append(contentsOf: name.unicodeScalars) } else { written.append(scalar) }
        }
        for _ in characters { sql.append(ascii: "replace(") }
        var literal = String(written)
        literal.withUTF8 { quote(UnsafeRawBufferPointer($0), true, to: &sql) }
        for scalar in characters { sql += ", '\(names[scalar] ?? "")', char(\(scalar.value)))".utf8 }
    }

    /// Names of which none begins with another.
    private static func name(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\0": "z"
        case "\r": "r"
        case "\u{1b}": "e"
        default: "u" + String(scalar.value, radix: 16) + ";"
        }
    }

    private static func quote(_ text: UnsafeRawBufferPointer, _ hasQuote: Bool, to sql: inout [UInt8]) {
        sql.append(0x27)
        if hasQuote {
            for byte in text {
                if byte == 0x27 { sql.append(0x27) }
                sql.append(byte)
            }
        } else {
            sql += text
        }
        sql.append(0x27)
    }

    package static func append(blob bytes: UnsafeRawBufferPointer, to sql: inout [UInt8]) {
        sql.append(ascii: "x'")
        sql.reserveCapacity(sql.count + bytes.count * 2 + 1)
        for byte in bytes {
            sql.append(digit(byte >> 4))
            sql.append(digit(byte & 15))
        }
        sql.append(0x27)
    }

    @inline(__always)
    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }

    // MARK: Numbers with fractions

    /// Appends a number as Swift describes it, and infinity as `9e999`.
    package static func append(shortest value: Double, to text: inout [UInt8]) {
        if let decimal = Decimal15(value) { return append(decimal, of: value, to: &text) }
        text += (value.isInfinite ? (value < 0 ? "-9e999" : "9e999") : "\(value)").utf8
    }

    /// Appends a literal. For a number whose last bit SQLite's parser of decimals may get wrong, it is an exact expression: a whole
    /// number multiplied or divided by powers of two.
    package static func append(_ value: Double, to sql: inout [UInt8]) {
        // SQLite before 3.42 divides the digits by a power of ten with 64 bits, and rounds the quotient again: that misses a number
        // whose text lies almost halfway to the next one.
        if let decimal = Decimal15(value),
            abs(decimal.digits.addingProduct(-abs(value), decimal.power)) <= 0.499 * value.ulp * decimal.power
        {
            return append(decimal, of: value, to: &sql)
        }
        if value.isFinite { sql += exact(value).utf8 } else { append(shortest: value, to: &sql) }
    }

    private static func append(_ decimal: Decimal15, of value: Double, to sql: inout [UInt8]) {
        append(UInt64(decimal.digits), isNegative: value.sign == .minus, places: decimal.places, to: &sql)
    }

    /// A number's shortest decimal, if it has at most 15 digits. No other decimal of that length is read as the same number.
    private struct Decimal15 {
        var digits = 0.0, power = 1.0, places = 0

        /// Returns nil if the decimal is longer, or has an exponent.
        init?(_ value: Double) {
            let value = abs(value)
            guard value < 1e14, value >= 1e-4 || value == 0 else { return nil }
            repeat {
                (places, power) = (places + 1, power * 10)
                digits = (value * power).rounded()
                // Both are exact, so the quotient is what a decimal with these digits is read as.
                if digits / power == value { return }
            } while value * power < 1e14 && places < 14
            return nil
        }
    }

    private static func exact(_ value: Double) -> String {
        var mantissa = value.significand, exponent = Int(value.exponent)
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
}

/// A column of a statement's row, without a copy of its bytes: they are valid until the statement moves on.
package enum LentValue {
    case null
    case integer(Int64)
    case real(Double)
    /// Bytes that should be UTF-8, and need not be.
    case text(UnsafeRawBufferPointer)
    case blob(UnsafeRawBufferPointer)

    package init(_ row: OpaquePointer, _ column: Int32) throws {
        var bytes: UnsafeRawPointer?
        var count: Int32 = 0
        let storage = sqlcipherkit_column_bytes(row, column, &bytes, &count)
        if count < 0 { throw Row._Column(row, column).outOfMemory() }
        switch storage {
        case SQLITE_INTEGER: self = .integer(sqlite3_column_int64(row, column))
        case SQLITE_FLOAT: self = .real(sqlite3_column_double(row, column))
        case SQLITE_TEXT: self = .text(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
        case SQLITE_BLOB: self = .blob(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
        default: self = .null
        }
    }
}

extension [UInt8] {
    /// Appends a literal, faster than its UTF-8 as a `String`.
    package mutating func append(ascii text: StaticString) {
        self += UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }
}

extension UnsafeRawBufferPointer {
    /// The place of the first byte that is not printable ASCII, or is one of two others; the end if there is none.
    package func firstUnprintable(from start: Int = 0, or a: UInt8 = 0, _ b: UInt8 = 0) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101, high = ones &* 0x80
        let (a8, b8) = (ones &* UInt64(a), ones &* UInt64(b))
        var place = start
        while place + 8 <= count {
            // In each byte, the highest bit: of a byte from 0x80, from 0x7f, below 0x20, and of one that is a or b.
            let word = loadUnaligned(fromByteOffset: place, as: UInt64.self), (x, y) = (word ^ a8, word ^ b8)
            let found = word | (word &+ ones) | (word &- ones &* 0x20) & ~word | (x &- ones) & ~x | (y &- ones) & ~y
            if found & high != 0 { break }
            place += 8
        }
        while place < count, (0x20..<0x7f).contains(self[place]), self[place] != a, self[place] != b { place += 1 }
        return place
    }
}

extension Unicode.Scalar {
    /// True if a terminal acts on the character instead of showing it: a control character, or one that changes the direction of
    /// text or ends a line.
    package var actsOnTerminal: Bool {
        switch value {
        case 0..<0x20, 0x7f..<0xa0, 0x2028...0x202e, 0x2066...0x2069: true
        default: false
        }
    }
}
