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
        bytes += Array(repeating: 0, count: 18)
    }

    /// The bytes of the shortest part of a compound.
    private static let shortest = 3

    /// Calls `body` with each compound and the number of rows that have it: a word or a form of one, and then a part with a
    /// beginning for which `isLast` returns true.
    func eachCompound(
        with beginning: [UInt8], where isLast: (UnsafeBufferPointer<UInt8>) throws -> Bool, _ body: ([UInt8], Int) -> Void
    ) throws {
        let length = beginning.count
        guard length >= Self.shortest, let last = starts.last else { return }
        try bytes.withUnsafeBufferPointer { bytes in
            let end = last + bytes[last...].prefix { $0 != 0 }.count
            for place in Self.places(of: beginning, in: UnsafeRawBufferPointer(bytes), end: end) {
                // Most places are the beginning of a word, or close to it.
                guard place >= Self.shortest, !bytes[(place - Self.shortest)..<place].contains(0) else { continue }
                let number = starts.firstPlace { $0 > place } - 1
                let start = starts[number], stop = number + 1 < starts.count ? starts[number + 1] - 1 : end
                guard try isLast(UnsafeBufferPointer(rebasing: bytes[place..<stop])), hasWord(bytes[start..<place]) else {
                    continue
                }
                body(Array(bytes[start..<stop]), documents[number])
            }
        }
    }

    /// Returns where the words have a beginning of three bytes or more.
    private static func places(of beginning: [UInt8], in bytes: UnsafeRawBufferPointer, end: Int) -> [Int] {
        let length = beginning.count, limit = end - length + 1
        func letter(_ place: Int) -> SIMD16<UInt8> { SIMD16(repeating: beginning[place]) }
        let (first, second, third) = (letter(0), letter(1), letter(2))
        var places: [Int] = []
        // Sixteen places at a time: most have other letters.
        for block in stride(from: 0, to: limit, by: 16) {
            func letters(_ place: Int) -> SIMD16<UInt8> {
                bytes.loadUnaligned(fromByteOffset: block + place, as: SIMD16<UInt8>.self)
            }
            let begins = (letters(0) .== first) .& (letters(1) .== second)
            guard any(begins), any(begins .& (letters(2) .== third)) else { continue }
            for place in block..<min(block + 16, limit) where bytes[place..<(place + length)].elementsEqual(beginning) {
                places.append(place)
            }
        }
        return places
    }

    /// The letters between the parts of a compound (`Frage-n-katalog`), and those that its first part may lose (`Sprach-kurs`).
    private static let links = ["s", "n", "e", "es", "en", "er", "ens"].map { Array($0.utf8) }
    private static let lost = ["e", "a", "en"].map { Array($0.utf8) }

    /// Returns true if the index has the first part of a compound as a word.
    private func hasWord(_ part: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        contains(part, []) || Self.lost.contains { contains(part, $0) }
            || Self.links.contains { part.count >= $0.count + Self.shortest && part.suffix($0.count).elementsEqual($0)
                && contains(part.dropLast($0.count), []) }
    }

    /// Returns true if the index has a word, given in two parts.
    private func contains(_ word: Slice<UnsafeBufferPointer<UInt8>>, _ ending: [UInt8]) -> Bool {
        let count = word.count + ending.count
        func compare(_ start: Int) -> Int {
            for place in 0..<count {
                let byte = place < word.count ? word[word.startIndex + place] : ending[place - word.count]
                if bytes[start + place] != byte { return bytes[start + place] < byte ? -1 : 1 }
            }
            return bytes[start + count] == 0 ? 0 : 1
        }
        let number = starts.firstPlace { compare($0) >= 0 }
        return number < starts.count && compare(starts[number]) == 0
    }
}
