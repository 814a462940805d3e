import SQLCipherKitCore
import SQLCipherKitSearch
import Testing
import TestSupport

/// While someone types, letter by letter, a row that was among the first five stays there unless others are better.
@Suite struct SearchTypingTests {
    /// Words that begin with one another, have other forms, and are near one another by typing errors.
    private static let words = """
        note notes noted notebook notary plan plans planned planner plane planet work works worked worker workgroup workshop create \
        creates created creation cluster clusters clustered clutter table tables tablet stable setting settings set sets sit site
        """.split(whereSeparator: { $0 == " " || $0 == "\n" }).map(String.init)

    private static func text(_ count: ClosedRange<Int>, _ random: inout SeededGenerator) -> String {
        (0..<Int.random(in: count, using: &random)).map { _ in words.randomElement(using: &random) ?? "" }.joined(separator: " ")
    }

    @Test(arguments: [FTS5Tokenizer.unicode61(), .porter(.unicode61())])
    func topFiveHitsStayWhileTyping(_ tokenizer: FTS5Tokenizer) throws {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT)")
        try db.create(FTS5Table("fts", columns: ["title", "body"], content: .external(table: "note"), tokenizer: tokenizer))
        var random = SeededGenerator(), titles: [String] = [], bodies: [String] = []
        for id in 1...300 {
            titles.append(Self.text(1...4, &random))
            bodies.append(Self.text(3...25, &random))
            try db.execute("INSERT INTO note VALUES (\(id), \(titles[id - 1]), \(bodies[id - 1]))")
        }
        let index = try db.fullText("fts")
        var (lost, typed) = (0, 0)
        for number in LongTests.sample(12, of: Array(titles.indices)) {
            // As it stands in the title, with the last word cut short, and with a word more.
            let title = titles[number]
            for text in [title, title + " " + (Self.words.randomElement(using: &random) ?? "")] {
                var before: [Int64] = []
                for length in 1...text.count {
                    var search = FullTextSearch(String(text.prefix(length)), limit: 5)
                    search.snippet = nil
                    let now = try index.search(search).hits.map(\.rowID)
                    typed += 1
                    for row in before where !now.contains(row) {
                        lost += 1
                        // Looked for among these rows alone, it comes after them, or is not found.
                        search.filter = "id IN \([row] + now)"
                        search.limit = 6
                        let order = try index.search(search).hits.map(\.rowID)
                        #expect(order.firstIndex(of: row) ?? 5 == 5 && order.prefix(now.count) == now[...], "\(search.text): \(row) in \(order)")
                        // If it has all words, and the last one or a longer one, it is found.
                        let own = (titles[Int(row) - 1] + " " + bodies[Int(row) - 1]).split(separator: " ")
                        let words = search.text.split(separator: " ")
                        let isOpen = !search.text.hasSuffix(" ")
                        let hasAll = words.enumerated().allSatisfy { number, word in
                            own.contains { isOpen && number == words.count - 1 ? $0.hasPrefix(word) : $0 == word }
                        }
                        if hasAll { #expect(now.count == 5 && order.contains(row), "\(search.text): \(row) is missing") }
                    }
                    before = now
                }
            }
        }
        #expect(lost > 20 && typed > 100)
    }
}
