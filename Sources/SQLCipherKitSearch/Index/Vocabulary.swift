import CSQLCipher

/// The words of an index in one run of bytes, sorted, so that compounds are found by their last parts.
struct Vocabulary {
    /// The words, each with a 0 after it.
    private var bytes: [UInt8] = []
    private var starts: [Int] = []
    private var documents: [Int] = []

    /// Takes the words that have letters alone.
    init(_ found: sqlcipherkit_terms) {
        for number in 0..<Int(found.count) {
            let term = found.terms[number]
            let word = UnsafeBufferPointer(start: term.bytes, count: Int(term.count))
            guard word.count >= Self.shortest, word.allSatisfy({ (0x61...0x7a).contains($0) || $0 >= 0xc3 }) else { continue }
            starts.append(bytes.count)
            documents.append(Int(clamping: term.documents))
            bytes += word
            bytes.append(0)
        }
        // So that the letters of the last word are in a full block.
        bytes += Array(repeating: 0, count: 17)
    }

    /// The bytes of the shortest part of a compound.
    private static let shortest = 3

    /// Calls `body` with each compound that has a word of the index, or a form of one, before a beginning: with what follows from
    /// the beginning on, the whole compound, and the number of rows that have it.
    func eachCompound(with beginning: [UInt8], _ body: (ArraySlice<UInt8>, ArraySlice<UInt8>, Int) throws -> Void) rethrows {
        let length = beginning.count
        guard length >= Self.shortest, let last = starts.last else { return }
        let end = last + bytes[last...].prefix { $0 != 0 }.count
        let limit = end - length + 1
        let (first, second) = (SIMD16(repeating: beginning[0]), SIMD16(repeating: beginning[1]))
        var places: [Int] = []
        bytes.withUnsafeBytes { bytes in
            // Sixteen places at a time: most have other letters.
            for block in stride(from: 0, to: limit, by: 16) {
                let here = bytes.loadUnaligned(fromByteOffset: block, as: SIMD16<UInt8>.self)
                let next = bytes.loadUnaligned(fromByteOffset: block + 1, as: SIMD16<UInt8>.self)
                guard any((here .== first) .& (next .== second)) else { continue }
                places += (block..<min(block + 16, limit)).filter { bytes[$0..<($0 + length)].elementsEqual(beginning) }
            }
        }
        for place in places {
            let number = starts.firstPlace { $0 > place } - 1
            let start = starts[number], stop = number + 1 < starts.count ? starts[number + 1] - 1 : end
            guard place - start >= Self.shortest, hasWord(Array(bytes[start..<place])) else { continue }
            try body(bytes[place..<stop], bytes[start..<stop], documents[number])
        }
    }

    /// The letters between the parts of a compound (`Frage-n-katalog`), and those that its first part may lose (`Sprach-kurs`).
    private static let links = ["s", "n", "e", "es", "en", "er", "ens"].map { Array($0.utf8) }
    private static let lost = ["e", "a", "en"].map { Array($0.utf8) }

    /// Returns true if the index has the first part of a compound as a word.
    private func hasWord(_ part: [UInt8]) -> Bool {
        contains(part) || Self.lost.contains { contains(part + $0) }
            || Self.links.contains { part.count >= $0.count + Self.shortest && part.suffix($0.count).elementsEqual($0)
                && contains(Array(part.dropLast($0.count))) }
    }

    private func contains(_ word: [UInt8]) -> Bool {
        func compare(_ start: Int) -> Int {
            for (place, byte) in word.enumerated() where bytes[start + place] != byte {
                return bytes[start + place] < byte ? -1 : 1
            }
            return bytes[start + word.count] == 0 ? 0 : 1
        }
        let number = starts.firstPlace { compare($0) >= 0 }
        return number < starts.count && compare(starts[number]) == 0
    }
}
