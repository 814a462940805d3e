/// A search for what a person typed, or is still typing: with prefixes, typing errors and other forms of words, ranked by rules.
///
/// ```swift
/// let notes = try db.fullText("note_fts")
/// let found = try notes.search(typed: "quikc bro", limit: 20)
/// for hit in found.hits { print(hit.rowID, hit.snippet ?? "") }
/// ```
/// The short form takes what is needed every day. This value has the rest:
/// ```swift
/// var search = TypedSearch("quikc bro")
/// search.filter = "year > \(2010)"
/// search.highlights = ["title"]
/// let recent = try notes.search(search)
/// ```
/// In the text, `"two words"` is a phrase that must stand so, `-word` and `NOT word` exclude, `one OR two` is either, `title:word`
/// looks in that column only, and all else is words, whatever it is. No text throws.
public struct TypedSearch: Sendable {
    /// A rule of the ranking. Rows are compared by the first rule, equal ones by the second, and so on; rows that are equal by all
    /// of them come in the order of their ids, so that pages fit together.
    public enum Rule: Int32, Hashable, Sendable {
        /// The more of the words a row has, the better.
        case words = 1
        /// The fewer typing errors, the better.
        case typos = 2
        /// The nearer to one another the words are, in the order in which they were typed, the better. Each two neighbours count 0
        /// where the second follows the first, 1 where one word is between them or they are exchanged, 2 anywhere else.
        case proximity = 3
        /// The earlier the columns with the words, the better. Columns count in the order of their weights, the heaviest first;
        /// without weights, in the table's order.
        case column = 4
        /// Words as they were typed before synonyms and other forms of them, and these before words that only begin so. One or two
        /// letters at the end of a text of several words are taken for the beginning of a word: longer words count as typed.
        case exactness = 5
        /// bm25, with the columns' weights, and with ``TypedSearch/decay`` and ``TypedSearch/popularity``. A longer word or another
        /// form counts as much as it is rare itself.
        case relevance = 6
    }

    /// How many typing errors a word may have. An error is a letter too many, missing, wrong, or exchanged with its neighbour.
    ///
    /// A word with digits has none. With another first letter, one error fewer is allowed than otherwise, though one from 5 letters
    /// on, and it counts as one more.
    public struct Typos: Hashable, Sendable {
        /// From how many letters on a word may have one error.
        public var oneFrom: Int
        /// From how many letters on a word may have two.
        public var twoFrom: Int

        /// - Parameters:
        ///   - oneFrom: from how many letters on a word may have one error. Default: 4.
        ///   - twoFrom: from how many letters on a word may have two. Default: 8.
        public init(oneFrom: Int = 4, twoFrom: Int = 8) {
            self.oneFrom = oneFrom
            self.twoFrom = twoFrom
        }

        /// No typing errors.
        public static let none = Typos(oneFrom: .max, twoFrom: .max)
    }

    /// Which words are taken as the beginnings of others.
    public enum Completion: Hashable, Sendable {
        /// None.
        case none
        /// The last one, unless a blank follows it: the one that is being typed.
        case lastWord
        /// The last one, and where too little is found each other, as with a typing error.
        case everyWord
    }

    /// Words that are found for others.
    public struct Synonym: Hashable, Sendable {
        /// What is typed: a word or several.
        public var typed: String
        /// What is found as well, each a word or several.
        public var found: [String]

        /// In one direction: `Synonym("tv", finds: ["television", "television set"])` finds these for `tv`, and not `tv` for them.
        public init(_ typed: String, finds found: [String]) {
            self.typed = typed
            self.found = found
        }

        /// In all directions: each for all others.
        public static func group(_ words: [String]) -> [Synonym] {
            words.enumerated().map { index, word in
                Synonym(word, finds: words.enumerated().filter { $0.offset != index }.map(\.element))
            }
        }
    }

    /// What was typed. Of a text beyond 10,000 bytes the beginning is read, and of its words the first 12.
    public var text: String
    /// The number of hits wanted, up to 1,000. Default: 20.
    public var limit: Int
    /// The number of hits passed over, up to 9,000. Default: 0.
    public var offset = 0
    /// A condition in SQL over the columns of the content table, or of the full-text table itself if that has its own content.
    /// Default: all rows.
    public var filter: SQL?
    /// The part of the text to show with each hit. Default: 16 words of the column that fits best.
    public var snippet: FullTextSearch.Snippet? = .best()
    /// Columns that each hit brings along whole, with the words found marked. Default: none.
    public var highlights: [String] = []
    /// Columns of the full-text table whose values each hit brings along. Default: none.
    public var columns: [String] = []
    /// How much a word counts in each column, in the columns' order; those left out count 1. Default: all alike.
    public var weights: [Double] = []
    /// The rules of the ranking, in order. Default: words, typos, exactness, proximity, relevance, column.
    public var rules: [Rule] = [.words, .typos, .exactness, .proximity, .relevance, .column]
    /// How many typing errors a word may have. Default: one from 4 letters on, two from 8.
    public var typos = Typos()
    /// Which words are taken as beginnings. Default: every word.
    public var completion = Completion.everyWord
    /// Whether English words are found in their other forms: the words of the index with the same Porter stem. An index with
    /// the tokenizer ``FTS5Tokenizer/porter(_:)`` has nothing else. Default: yes.
    public var findsForms = true
    /// Words that are found for others. Default: none.
    public var synonyms: [Synonym] = []
    /// Words that a row need not have while others are typed as well. Default: none.
    public var stopWords: Set<String> = []
    /// Rows without one of the words are shown if fewer rows than this have all of them. 0 never shows them. Default: 5.
    public var fewerWordsBelow = 5
    /// How relevance fades with a value of the row's. Default: not at all.
    public var decay: Decay?
    /// How relevance grows with a value of the row's. Default: not at all.
    public var popularity: Popularity?
    /// What the rows found are counted by, each under a name of your choice, such as `["tag": .elements("tags")]`: see
    /// ``Found/facets``. At most 16. Default: none.
    public var facets: [String: FullTextSearch.Grouping] = [:]
    /// Whether all rows are counted, so that ``Found/total`` is the same on each page: those with typing errors too, even if there
    /// are enough hits without. A search with ``facets`` does so in any case. Default: no.
    public var countsAll = false

    /// A search for what was typed; what is not said here is set afterwards.
    public init(_ text: String, limit: Int = 20) {
        self.text = text
        self.limit = limit
    }
}

extension HighlightedText: ExpressibleByStringLiteral {
    /// Text without marks.
    public init(stringLiteral text: String) { self.init(text) }
}
