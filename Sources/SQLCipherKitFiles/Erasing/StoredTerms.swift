/// The words on a page of a full-text index, which omits the beginning that each shares with the previous word
/// (<https://sqlite.org/fts5.html#appendix_a>).
enum StoredTerms {
    /// The words of a row of the table `_data`, each after the byte that tells which index it belongs to: the main one or a prefix
    /// index. Nil if the row holds no words or is damaged.
    static func inRow(_ id: Int64, _ block: ArraySlice<UInt8>) -> [ArraySlice<UInt8>]? {
        // An id consists of the segment's number, bits for pages without words, and the page's number.
        let segment = id >> 37
        guard (1...0xffff).contains(segment), id >> 31 & 0x3f == 0 else { return nil }
        return inBlock(Array(block))
    }

    private static func inBlock(_ block: [UInt8]) -> [ArraySlice<UInt8>]? {
        guard let end = block.bigEndian(at: 2, bytes: 2), end >= 4, end <= block.count else { return nil }
        var terms: [ArraySlice<UInt8>] = []
        var at = 0, entry = end
        while entry < block.count {
            guard let (delta, next) = block.variableLength(at: entry), delta > 0, delta < UInt64(end) else { return nil }
            entry = next
            at += Int(delta)
            guard let term = term(in: block, at: at, end: end, after: terms.last) else { return nil }
            terms.append(term)
        }
        return terms
    }

    private static func term(in block: [UInt8], at start: Int, end: Int, after last: ArraySlice<UInt8>?) -> ArraySlice<UInt8>? {
        var at = start, shared: ArraySlice<UInt8> = []
        if let last {
            guard let (count, next) = block.variableLength(at: at), count <= UInt64(last.count) else { return nil }
            shared = last.prefix(Int(count))
            at = next
        }
        guard let (count, next) = block.variableLength(at: at), count <= UInt64(end), next + Int(count) <= end else { return nil }
        return shared + block[next..<next + Int(count)]
    }
}
