import ArgumentParser
import Foundation

/// The character encoding of a CSV or JSON file.
enum TextEncoding: Equatable, ExpressibleByArgument {
    case utf8, utf16LittleEndian, utf16BigEndian, windows1252, latin1

    static let help = "The character encoding: utf-8, utf-16le, utf-16be, windows-1252 or latin-1. By default it is detected; the "
        + "program iconv converts files in others."

    init?(argument name: String) {
        switch name.lowercased() {
        case "utf-8", "utf8": self = .utf8
        case "utf-16le": self = .utf16LittleEndian
        case "utf-16be": self = .utf16BigEndian
        case "windows-1252", "cp1252": self = .windows1252
        case "latin-1", "latin1", "iso-8859-1": self = .latin1
        default: return nil
        }
    }

    /// The name for people.
    var name: String {
        switch self {
        case .utf8: "UTF-8"
        case .utf16LittleEndian, .utf16BigEndian: "UTF-16"
        case .windows1252: "Windows-1252"
        case .latin1: "Latin-1"
        }
    }

    /// The decoder that converts the file to UTF-8 as it is read; nil if its bytes are texts as they are, or each byte is a
    /// character.
    var decoder: UTF16Reader? {
        switch self {
        case .utf16LittleEndian, .utf16BigEndian: UTF16Reader(isBigEndian: self == .utf16BigEndian)
        case .utf8, .windows1252, .latin1: nil
        }
    }

    /// The encoding that a byte order mark at the beginning names, and the mark's length in bytes.
    static func marked(_ start: ArraySlice<UInt8>) -> (TextEncoding, length: Int)? {
        if start.starts(with: [0xef, 0xbb, 0xbf]) { return (.utf8, 3) }
        if start.starts(with: [0xff, 0xfe]) { return (.utf16LittleEndian, 2) }
        if start.starts(with: [0xfe, 0xff]) { return (.utf16BigEndian, 2) }
        return nil
    }

    /// The encoding that the first bytes of a file without a mark suggest; nil if they are ASCII.
    static func found(in start: ArraySlice<UInt8>) -> TextEncoding? {
        // ASCII and Latin-1 characters have a zero in one of the two bytes of UTF-16.
        var zeros = [0, 0]
        for (index, byte) in start.enumerated() where byte == 0 { zeros[index & 1] += 1 }
        if zeros[1] > 0 && zeros[1] * 4 >= start.count / 2 && zeros[0] == 0 { return .utf16LittleEndian }
        if zeros[0] > 0 && zeros[0] * 4 >= start.count / 2 && zeros[1] == 0 { return .utf16BigEndian }
        if start.allSatisfy({ $0 < 0x80 }) { return nil }
        // The last character may be cut off.
        let isUTF8 = (0..<4).contains { cut in
            let rest = start.suffix(cut)
            return (cut == 0 || rest.first.map { $0 >= 0xc0 } ?? false) && rest.dropFirst().allSatisfy { 0x80..<0xc0 ~= $0 }
                && String(validating: start.dropLast(cut), as: UTF8.self) != nil
        }
        return isUTF8 ? .utf8 : .windows1252
    }

    /// Decodes an encoding with one byte per character. Windows-1252 is Latin-1 with other characters at 0x80 to 0x9f, except for
    /// five unassigned bytes (<https://encoding.spec.whatwg.org/#windows-1252>), which stay control characters as in Latin-1.
    func text(ofSingleBytes bytes: some Sequence<UInt8>) -> String {
        var text = String.UnicodeScalarView()
        for byte in bytes {
            let scalar = self == .windows1252 && (0x80..<0xa0).contains(byte) ? Self.upperControls[Int(byte) - 0x80] : UInt32(byte)
            text.append(Unicode.Scalar(scalar) ?? "\u{fffd}")
        }
        return String(text)
    }

    /// The bytes that Windows-1252 lacks: with one of them, a text is probably in another encoding.
    static func isUnassigned(_ byte: UInt8) -> Bool {
        (0x80..<0xa0).contains(byte) && upperControls[Int(byte) - 0x80] == UInt32(byte)
    }

    private static let upperControls: [UInt32] = [
        0x20ac, 0x81, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8d, 0x017d, 0x8f,
        0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d, 0x017e, 0x0178,
    ]
}

/// Converts UTF-16 to UTF-8, piece by piece. A character that is cut off at the end of a piece waits for the next piece.
struct UTF16Reader {
    let isBigEndian: Bool
    private var rest: [UInt8] = []

    init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

    /// True if the last character is incomplete.
    var isInCharacter: Bool { !rest.isEmpty }

    /// - Throws: ``Failure`` for bytes that are no characters.
    mutating func utf8(_ piece: ArraySlice<UInt8>) throws -> [UInt8] {
        let bytes = rest + piece
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count)
        var position = 0
        while position + 1 < bytes.count {
            let unit = unit(bytes, position)
            var scalar = UInt32(unit)
            var length = 2
            if UTF16.isLeadSurrogate(unit) {
                guard position + 3 < bytes.count else { break }
                let next = self.unit(bytes, position + 2)
                guard UTF16.isTrailSurrogate(next) else { throw Failure("it is not UTF-16: half of a character is missing") }
                scalar = 0x10000 + (UInt32(unit & 0x3ff) << 10 | UInt32(next & 0x3ff))
                length = 4
            }
            guard let character = Unicode.Scalar(scalar) else { throw Failure("it is not UTF-16: half of a character is missing") }
            text += UTF8.encode(character).map { Array($0) } ?? []
            position += length
        }
        rest = Array(bytes[position...])
        return text
    }

    private func unit(_ bytes: [UInt8], _ position: Int) -> UInt16 {
        let (first, second) = (UInt16(bytes[position]), UInt16(bytes[position + 1]))
        return isBigEndian ? first << 8 | second : second << 8 | first
    }
}
