import Foundation

/// A file's bytes, examined for signs of its content.
struct CipherProof {
    private let bytes: Data

    /// - Throws: ``Failure`` if the file cannot be read. No connection to it may be open in this process: closing the file
    ///   would drop that connection's locks.
    init(_ path: String) throws {
        do { bytes = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped) } catch {
            throw Failure("\(path) cannot be read")
        }
    }

    var count: Int { bytes.count }

    /// Whether the file begins as every plaintext SQLite database does.
    var hasPlaintextHeader: Bool { bytes.starts(with: Data("SQLite format 3\0".utf8)) }

    func contains(_ text: String) -> Bool {
        let needle = Array(text.utf8)
        guard let first = needle.first else { return true }
        return bytes.withUnsafeBytes { haystack in
            guard var position = haystack.baseAddress else { return false }
            let end = position + haystack.count
            while end - position >= needle.count, let found = memchr(position, Int32(first), end - position - needle.count + 1) {
                if memcmp(found, needle, needle.count) == 0 { return true }
                position = UnsafeRawPointer(found) + 1
            }
            return false
        }
    }

    /// The Shannon entropy of the bytes, in bits per byte: 8 for random bytes, about 5 for English text.
    var entropy: Double {
        var counts = [Int](repeating: 0, count: 256)
        bytes.withUnsafeBytes { for byte in $0 { counts[Int(byte)] += 1 } }
        return counts.reduce(0) { sum, count in
            guard count > 0 else { return sum }
            let share = Double(count) / Double(bytes.count)
            return sum - share * log2(share)
        }
    }

    /// The first bytes in hexadecimal and as characters, 16 in a line.
    func dump(_ count: Int) -> [String] {
        stride(from: 0, to: min(count, bytes.count), by: 16).map { offset in
            let row = bytes[offset..<min(offset + 16, bytes.count)]
            let digits = row.map { String(format: "%02x", $0) }.joined(separator: " ")
            let characters = row.map { (0x20..<0x7f).contains($0) ? String(UnicodeScalar($0)) : "." }.joined()
            return String(format: "%08x  ", offset) + digits.padded(toColumns: 47) + "  |" + characters + "|"
        }
    }
}
