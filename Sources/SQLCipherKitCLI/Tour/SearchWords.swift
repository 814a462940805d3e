import SQLCipherKit

/// Words worth searching for in documents of unknown content.
enum SearchWords {
    /// A word that many but not most documents contain, and the word found together with it most often. Fewer if there are none.
    static func choose(from db: Connection) throws -> [String] {
        let bodies = try db.fetchAll(String.self, "SELECT substr(body, 1, 20000) FROM document ORDER BY size DESC LIMIT 200")
        let counts = bodies.map(count)
        let most = max(1, bodies.count / 2)
        let usable = total(counts).filter { $0.value.documents <= most }
        guard let first = best(usable) else { return [] }
        let together = total(counts.filter { $0[first] != nil }).filter { $0.key != first && usable[$0.key] != nil }
        return [first] + (best(together).map { [$0] } ?? [])
    }

    private typealias Totals = [String: (documents: Int, occurrences: Int)]

    private static func total(_ counts: [[String: Int]]) -> Totals {
        counts.reduce(into: [:]) { totals, words in
            for (word, count) in words {
                let former = totals[word] ?? (0, 0)
                totals[word] = (former.documents + 1, former.occurrences + count)
            }
        }
    }

    /// The word that is in most documents. Of several, the one that occurs most often; of several such, the first in the alphabet,
    /// so that the same folder gives the same words.
    private static func best(_ totals: Totals) -> String? {
        totals.max { a, b in a.value != b.value ? a.value < b.value : a.key > b.key }?.key
    }

    /// How often each word of 6 to 24 bytes occurs. Shorter words are mostly those that every text has.
    private static func count(_ text: String) -> [String: Int] {
        var counts: [String: Int] = [:]
        for word in text.split(whereSeparator: { !$0.isLetter }) where word.utf8.count >= 6 && word.utf8.count <= 24 {
            counts[word.lowercased(), default: 0] += 1
        }
        return counts
    }
}
