import SQLCipherKitCore
import SQLCipherKitSearch
import Testing

/// The order of rows as the five sentences of the article "Search" say it: predicted from the article alone, before looking.
@Suite struct SearchGuideTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let typed: String
        /// Titles and bodies, in the order that is predicted.
        let rows: [(String, String)]
        let weights: [Double]
        var testDescription: String { typed }

        init(_ typed: String, _ rows: [(String, String)], weights: [Double] = []) {
            (self.typed, self.rows, self.weights) = (typed, rows, weights)
        }
    }

    static let cases = [
        // Words.
        Case("brown fox ", [("Page", "a fox that is brown"), ("Page", "a fox")]),
        Case("common fox ", [("Page", "a fox here"), ("Page", "common here")]),
        Case("plane ", [("Page", "some plane"), ("Plant", "text")]),
        Case("quick brown fox ", [("Page", "fox, then something quick and brown"), ("Quick fox", "text")]),
        Case("quick brown fox ", [("Fox, quick", "text"), ("Page", "brown, and later in the text a fox")]),
        Case("quick brown fox ", [("Page", "the quick brown fox"), ("Quick fox", "text")]),
        Case("quick brown fox ", [("Brown and quick: fox", "text"), ("Quick fox", "text")]),
        Case("quick red brown fox ", [("Brown red fox", "text"), ("Page", "quick something, and red")]),
        Case("quick red brown fox ", [("Page", "quick red something brown fox"), ("Brown fox", "text")]),
        Case("\"brown fox\" ", [("A brown fox", "text"), ("Page", "a brown fox")]),
        // Field.
        Case("fox ", [("Fox", "text"), ("Fox and dog", "text"), ("A fox", "fox, fox and fox")]),
        Case("fox ", [("Page", "fox"), ("Fox and dog", "text")]),
        Case("jumped ", [("Jumps", "text"), ("Page", "he jumped")]),
        Case("red fox ", [("Red fox news", "text"), ("News of the red fox", "text")]),
        Case("wifi ", [("Wi-fi", "text"), ("Page", "wifi here")]),
        Case("802 ", [("802", "text"), ("802 and more", "text"), ("All of 802", "text")]),
        Case("quikc fox ", [("Quick fox", "text"), ("Page of a quick fox", "text"), ("Page", "the quick fox")]),
        Case("fox ", [("Page", "fox runs"), ("Fox runs", "text")], weights: [1, 5]),
        // Place.
        Case("red fox ", [("A red fox", "text"), ("A fox, red", "text"), ("Page", "the red fox"), ("Page", "fox that is red")]),
        Case("jumped high ", [("High jump", "text"), ("Page", "he jumped high")]),
        Case("settings plugin ", [("A setting plugin", "text"), ("A plugin for settings", "text")]),
        Case("fox red ", [("Red fox", "text"), ("Page", "a fox red of anger")]),
        Case("fox OR dog ", [("A dog", "text"), ("Page", "a fox")]),
        Case("title:fox ", [("Fox", "fox"), ("A fox", "fox")]),
        Case("fox glo", [("Fox glove", "text"), ("A glove and a fox", "text"), ("Page", "the fox gloves")]),
        // Exactness.
        Case("foxes ", [("Foxes", "text"), ("Fox", "text")]),
        Case("fox", [("Fox", "text"), ("Foxglove", "text")]),
        Case("plane ", [("Planes", "text"), ("Plant", "text")]),
        Case("2.10.3 ", [("Version 2.10.3", "text"), ("Version v2.10.3", "text")]),
        // Relevance.
        Case("fox ", [("Page", "a fox"), ("Page", "a fox in a long text with many other words in it")]),
        Case("fox ", [("Page", "some fox and fox here"), ("Page", "some fox and dog here")]),
    ]

    @Test(arguments: cases) func rowsComeInTheOrderThatTheGuidePredicts(_ one: Case) throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("t", columns: ["title", "body"]))
        for number in 0..<40 { try db.execute("INSERT INTO t VALUES (\("Other \(number)"), 'other common matter')") }
        // Equal rows would come in the opposite order.
        for (title, body) in one.rows { try db.execute("INSERT INTO t VALUES (\(title), \(body))") }
        var search = FullTextSearch(one.typed)
        search.weights = one.weights
        let found = try db.fullText("t").search(search).hits.filter { $0.rowID > 40 }
        #expect(found.map(\.rowID) == one.rows.indices.map { Int64(41 + $0) }, "\(found)")
    }
}
