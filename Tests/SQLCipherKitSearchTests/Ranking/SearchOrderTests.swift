import SQLCipherKitCore
import SQLCipherKitSearch
import Testing

/// Which of the rows that have the words, or most of them, comes first.
@Suite struct SearchOrderTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let typed: String
        /// Titles and bodies, the wanted one first.
        let rows: [(String, String)]
        var testDescription: String { typed }
    }

    static let cases = [
        // Another form side by side, and the words as typed apart.
        Case(typed: "settings plugins ", rows: [("Settings plugin", "text"), ("Settings of my plugins", "a diary")]),
        // Both side by side: the words as typed.
        Case(typed: "settings plugins ", rows: [("Settings plugins", "text"), ("Settings plugin", "settings and plugins")]),
        // The column in which they are side by side counts, not one that has them scattered.
        Case(typed: "settings plugins ", rows: [("Settings plugins", "b"), ("Plugins and settings", "settings plugins, settings plugins")]),
        // Better words elsewhere in the row do not make other forms side by side better.
        Case(typed: "settings plugins ", rows: [("Settings plugins", "text"), ("Setting plugin", "settings plugins of settings plugins")]),
        Case(typed: "setings plugins ", rows: [("Settings plugins", "text"), ("Setting plugin", "settings of plugins of settings")]),
        Case(typed: "settings plugin", rows: [("Settings plugin", "text"), ("Settings plugins", "a plugin of a plugin")]),
        // The same of a single word, and of one word too many.
        Case(typed: "plugins ", rows: [("Plugins", "text"), ("Plugin", "plugins, plugins and plugins")]),
        Case(typed: "settings zebra plugins ", rows: [("Settings plugins", "text"), ("Setting plugin", "settings, plugins")]),
        // No word is too many if a row has all of them, in any form.
        Case(typed: "plugins settings zebra ", rows: [
            ("A plugin of many words and", "other words with settings and then a long text and much later in it a zebra"),
            ("Plugins settings", "text"),
        ]),
        // Neither is side by side: all words in the title, in whatever form, come before the same in the text.
        Case(typed: "settings plugins ", rows: [("Setting for every plugin", "text"), ("Page", "its settings, and then plugins")]),
        Case(typed: "plugins settings ", rows: [("Settings plugins", "text"), ("Page", "all plugins settings")]),
        // Side by side in a text is better than all words far apart in it.
        Case(typed: "settings plugins ", rows: [("Diary", "a setting plugin"), ("Page", "settings of some kind, and then plugins")]),
        Case(typed: "settings plugins ", rows: [("Setting plugin", "text"), ("Page", "settings of some kind, and then plugins")]),
        // A mistyped word that the index lacks: its nearest word, and the others as typed.
        Case(typed: "setings plugins ", rows: [("Settings for plugin", "text"), ("Page", "its settings and plugins")]),
        Case(typed: "setings plugins ", rows: [("Diary", "its settings plugins"), ("Page", "settings of some kind and, later in it, plugins")]),
        // A title that is the text, then one that begins with it.
        Case(typed: "plugins ", rows: [("Plugins", "text"), ("Plugins for all", "all plugins"), ("All plugins", "plugins, plugins")]),
        Case(typed: "plugins ", rows: [("Plugins for all kinds of things", "text"), ("All plugins", "plugins, plugins")]),
        // A single word: the title.
        Case(typed: "plugins ", rows: [("Plugin", "text"), ("Diary", "a day with plugins")]),
        // A word too many, wherever it is typed.
        Case(typed: "plugin settings zebra ", rows: [("Plugin settings", "text"), ("Zebra", "a plugin"), ("Page", "zebra of settings")]),
        Case(typed: "zebra settings plugin ", rows: [("Settings plugin", "text"), ("Zebra", "a plugin"), ("Page", "zebra of settings")]),
        Case(typed: "settings zebra plugin ", rows: [("Settings plugin", "text"), ("Zebra", "a plugin"), ("Page", "zebra of settings")]),
        Case(typed: "settings zebra plugin ", rows: [("Plugin settings", "text"), ("Zebra", "a plugin"), ("Page", "zebra of settings")]),
        // Where the index has what was typed, a longer or mistyped one is no more than a word too many if it is far away.
        Case(typed: "plugin settings none ", rows: [
            ("Plugin settings", "text"), ("Page", "the plugin of a kind and then a text on settings and much later in it nonetheless"),
        ]),
        Case(typed: "plugin settings none ", rows: [
            ("Plugin settings", "text"), ("Page", "the plugin of a kind and then a long text on settings and much later in it nine"),
        ]),
        Case(typed: "plugin settings zebras ", rows: [
            ("Page", "the plugin of a kind and then a long text on settings and much later in it a zebra"),
            ("Plugin settings", "text"),
        ]),
        // Nothing is better than all words side by side, or in the title.
        Case(typed: "plugin settings zebra ", rows: [("Page", "the plugin settings zebra"), ("Plugin settings", "text")]),
        Case(typed: "plugin settings zebra ", rows: [("Zebra: settings and plugin", "text"), ("Plugin settings", "text")]),
    ]

    /// A letter begins so many words that only the most frequent of them are looked for, and those that follow the word before.
    @Test(arguments: [nil, "body <> ''"]) func singleLetterPrefixFindsRareFollowingWord(filter: String?) throws {
        for (words, typed) in [("given", "given s"), ("given", "givens s"), ("transit given", "transit given s")] {
            let db = try Connection(.memory)
            try db.create(FTS5Table("t", columns: ["title", "body"]))
            try db.execute("INSERT INTO t VALUES (\(words + " sunrise"), 'text')")
            for number in 0..<400 {
                let title = number % 10 == 0 ? "\(words) other \(number)" : "text"
                try db.execute("INSERT INTO t VALUES (\(title), \("s\(number % 150)a s\(number % 150)a, given"))")
            }
            var search = FullTextSearch(typed)
            if let filter { search.filter = SQL(raw: filter) }
            #expect(try db.fullText("t").search(search).hits.first?.rowID == 1, "\(typed)")
        }
    }

    /// A row that has all words decides that none is too many, although the filter rejects it.
    @Test func filterMakesNoWordTooMany() throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("t", columns: ["title", "body"]))
        for number in 0..<40 { try db.execute("INSERT INTO t VALUES (\("Other \(number)"), \(number < 20 ? "quick" : "none"))") }
        for (title, body) in [("All", "fox, then quick and brown"), ("Quick fox", "text"), ("Page", "brown, and later a fox")] {
            try db.execute("INSERT INTO t VALUES (\(title), \(body))")
        }
        var search = FullTextSearch("quick brown fox ")
        let index = try db.fullText("t")
        #expect(try index.search(search).hits.prefix(3).map(\.rowID) == [41, 43, 42])
        search.filter = "title <> 'All'"
        #expect(try index.search(search).hits.prefix(2).map(\.rowID) == [43, 42])
    }

    @Test(arguments: cases) func bestMatchComesFirst(_ one: Case) throws {
        let db = try Connection(.memory)
        try db.create(FTS5Table("t", columns: ["title", "body"]))
        // Other rows, some with a word.
        let words = ["plugin", "settings", "plugins", "setting"]
        for number in 0..<40 { try db.execute("INSERT INTO t VALUES (\("Other \(number)"), \("some \(number < 28 ? words[number % 4] : "none")"))") }
        // The newest row would be first among equals.
        for (title, body) in one.rows { try db.execute("INSERT INTO t VALUES (\(title), \(body))") }
        let found = try db.fullText("t").search(one.typed)
        #expect(found.hits.first?.rowID == 41, "\(found.hits.prefix(3))")
    }
}
