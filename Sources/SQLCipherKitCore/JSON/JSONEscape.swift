/// Escapes of JSON and JSON5 strings (<https://sqlite.org/json1.html#json5_extensions>), on bytes of UTF-8.
enum JSONEscape {
    private static let backslash = UInt8(ascii: "\\")

    /// Returns whether a byte must be escaped in a JSON string: a quote, a backslash or a control character.
    @inline(__always)
    static func needsEscape(_ byte: UInt8) -> Bool { byte < 0x20 || byte == UInt8(ascii: "\"") || byte == backslash }

    /// Appends text with the escapes that RFC 8259 requires.
    static func append(_ text: some Sequence<UInt8>, to output: inout [UInt8]) {
        for byte in text {
            guard needsEscape(byte) else {
                output.append(byte)
                continue
            }
            output.append(backslash)
            switch byte {
            case UInt8(ascii: "\""), backslash: output.append(byte)
            case 0x08: output.append(UInt8(ascii: "b"))
            case 0x09: output.append(UInt8(ascii: "t"))
            case 0x0a: output.append(UInt8(ascii: "n"))
            case 0x0c: output.append(UInt8(ascii: "f"))
            case 0x0d: output.append(UInt8(ascii: "r"))
            default:
                let digits = Array("0123456789abcdef".utf8)
                output += [UInt8(ascii: "u"), 0x30, 0x30, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
    }

    /// Returns the text that escaped bytes stand for; nil for an unknown escape, half of a surrogate pair, or bytes that are not
    /// UTF-8.
    static func unescaped(_ bytes: UnsafeRawBufferPointer) -> String? {
        // No escape is shorter than the text that it stands for.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: bytes.count) { output in
            guard let count = unescape(bytes, into: output) else { return nil }
            return String(validating: UnsafeBufferPointer(rebasing: output[..<count]), as: UTF8.self)
        }
    }

    /// Writes the text that escaped bytes stand for. `output` has room for as many bytes as the input has.
    /// - Returns: the number of bytes written, or nil for an unknown escape.
    private static func unescape(_ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableBufferPointer<UInt8>) -> Int? {
        var position = 0
        var written = 0
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte != backslash {
                output[written] = byte
                written += 1
                continue
            }
            guard position < bytes.count else { return nil }
            let letter = bytes[position]
            position += 1
            var scalar: UInt32
            switch letter {
            case UInt8(ascii: "\""), backslash, UInt8(ascii: "/"), UInt8(ascii: "'"): scalar = UInt32(letter)
            case UInt8(ascii: "b"): scalar = 0x08
            case UInt8(ascii: "f"): scalar = 0x0c
            case UInt8(ascii: "n"): scalar = 0x0a
            case UInt8(ascii: "r"): scalar = 0x0d
            case UInt8(ascii: "t"): scalar = 0x09
            case UInt8(ascii: "v"): scalar = 0x0b
            case UInt8(ascii: "0"):
                if position < bytes.count, bytes[position].isDigitASCII { return nil }
                scalar = 0
            case UInt8(ascii: "x"):
                guard let value = hex(bytes, &position, 2) else { return nil }
                scalar = value
            case UInt8(ascii: "u"):
                guard let value = utf16(bytes, &position) else { return nil }
                scalar = value
            case 0x0a: continue
            case 0x0d:
                if position < bytes.count, bytes[position] == 0x0a { position += 1 }
                continue
            case 0xe2:
                // JSON5: a backslash before U+2028 or U+2029 continues the line.
                guard position + 1 < bytes.count, bytes[position] == 0x80, bytes[position + 1] | 1 == 0xa9 else { return nil }
                position += 2
                continue
            default: return nil
            }
            written += encode(scalar, output, at: written)
        }
        return written
    }

    private static func utf16(_ bytes: UnsafeRawBufferPointer, _ position: inout Int) -> UInt32? {
        guard let unit = hex(bytes, &position, 4) else { return nil }
        guard unit & 0xf800 == 0xd800 else { return unit }
        guard unit < 0xdc00, position + 1 < bytes.count, bytes[position] == backslash, bytes[position + 1] == UInt8(ascii: "u")
        else { return nil }
        position += 2
        guard let low = hex(bytes, &position, 4), low & 0xfc00 == 0xdc00 else { return nil }
        return 0x10000 + (unit & 0x3ff) << 10 + low & 0x3ff
    }

    private static func hex(_ bytes: UnsafeRawBufferPointer, _ position: inout Int, _ count: Int) -> UInt32? {
        guard position + count <= bytes.count else { return nil }
        var value: UInt32 = 0
        for byte in bytes[position..<position + count] {
            guard let digit = byte.hexDigit else { return nil }
            value = value << 4 | UInt32(digit)
        }
        position += count
        return value
    }

    private static func encode(_ scalar: UInt32, _ output: UnsafeMutableBufferPointer<UInt8>, at offset: Int) -> Int {
        switch scalar {
        case 0..<0x80:
            output[offset] = UInt8(scalar)
            return 1
        case 0x80..<0x800:
            output[offset] = 0xc0 | UInt8(scalar >> 6)
            output[offset + 1] = 0x80 | UInt8(scalar & 0x3f)
            return 2
        case 0x800..<0x10000:
            output[offset] = 0xe0 | UInt8(scalar >> 12)
            output[offset + 1] = 0x80 | UInt8(scalar >> 6 & 0x3f)
            output[offset + 2] = 0x80 | UInt8(scalar & 0x3f)
            return 3
        default:
            output[offset] = 0xf0 | UInt8(scalar >> 18)
            output[offset + 1] = 0x80 | UInt8(scalar >> 12 & 0x3f)
            output[offset + 2] = 0x80 | UInt8(scalar >> 6 & 0x3f)
            output[offset + 3] = 0x80 | UInt8(scalar & 0x3f)
            return 4
        }
    }
}
