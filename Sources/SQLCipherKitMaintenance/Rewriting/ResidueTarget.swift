import CSQLCipher
import Foundation
import SQLCipherKitCore

/// The bytes or text to search for.
struct ResidueTarget {
    /// The bytes, in UTF-8 if it is a text.
    let bytes: [UInt8]
    /// The text; nil for bytes.
    let text: String?
    /// The byte sequences to search for.
    let forms: [[UInt8]]
    /// The forms in which a full-text index may hold a word that begins like the one before it: the length of the shared beginning,
    /// the length of the rest, and the rest.
    let rests: [[UInt8]]

    init(_ value: SQLValue, encoding: String) throws(DatabaseError) {
        switch value {
        case .text(let text): self.init(text, encoding: encoding)
        case .blob(let data): self.init(Array(data))
        default: throw .invalidArgument("only texts and blobs can be searched for, not \(value.storageClass)")
        }
    }

    private init(_ bytes: [UInt8]) {
        (self.bytes, text, forms) = (bytes, nil, [bytes])
        rests = Self.rests(of: bytes)
    }

    private init(_ text: String, encoding: String) {
        self.text = text
        bytes = Array(text.utf8)
        let wide = text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
        switch encoding {
        case "UTF-16le": forms = [bytes, wide]
        case "UTF-16be": forms = [bytes, text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] }]
        default: forms = [bytes]
        }
        rests = Self.rests(of: bytes) + (text.lowercased() == text ? [] : Self.rests(of: Array(text.lowercased().utf8)))
    }

    private static func rests(of word: [UInt8]) -> [[UInt8]] {
        let shortest = 4
        // The lengths of longer words take two bytes.
        guard word.count > shortest, word.count < 126 else { return [] }
        // A word follows one byte that tells which of the indexes it belongs to.
        return (1...word.count - shortest).map { [UInt8($0 + 1), UInt8(word.count - $0)] + word[$0...] }
    }

    /// The ranges where the text occurs in bytes.
    func ranges(in bytes: UnsafeRawBufferPointer) -> [Range<Int>] { forms.flatMap { Self.ranges(of: $0, in: bytes) } }

    static func ranges(of form: [UInt8], in bytes: UnsafeRawBufferPointer) -> [Range<Int>] {
        var found: [Range<Int>] = []
        var start = 0
        form.withUnsafeBytes { form in
            while start + form.count <= bytes.count, let base = bytes.baseAddress,
                let hit = sqlcipherkit_find(base + start, bytes.count - start, form.baseAddress, form.count)
            {
                let at = hit - base
                found.append(at..<at + form.count)
                start = at + 1
            }
        }
        return found
    }

    func stands(in bytes: some ContiguousBytes) -> Bool {
        bytes.withUnsafeBytes { bytes in forms.contains { !Self.ranges(of: $0, in: bytes).isEmpty } }
    }

    /// Whether it occurs as a whole, or in a form in which a full-text index may hold it.
    func standsInPart(in bytes: some ContiguousBytes) -> Bool {
        bytes.withUnsafeBytes { bytes in (forms + rests).contains { !Self.ranges(of: $0, in: bytes).isEmpty } }
    }
}
