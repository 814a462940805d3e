import SQLCipherKitCore

/// A search of a full-text table with all options: for user input, complete or still being typed, or for an ``FTS5Query``.
///
/// ```swift
/// let notes = try db.fullText("note_fts")
/// let found = try notes.search("quikc bro", limit: 20)
/// for hit in found.hits { print(hit.rowID, hit.snippet ?? "") }
/// ```
/// The short form covers everyday use. Set everything else on a value of this type:
/// ```swift
/// var search = FullTextSearch("quikc bro")
/// search.filter = "year > \(2010)"
/// search.highlightedColumns = ["title"]
/// let recent = try notes.search(search)
/// ```
/// In the text, `"two words"` is a phrase that is matched exactly, `-word` and `NOT word` exclude a word, `one OR two` matches
/// either, brackets group (`pear NOT (tart OR jam)`), `begin*` is a prefix, and `title:word` searches that column only. Everything
/// else is plain words. No text throws. Operators must be in capitals and between words. If no row matches the operators, they
/// count as words. In a text that is all in capitals, `NOT` always counts as a word (`DO NOT DISTURB`).
///
/// A search is a value that names no table. You can store it and pass it between threads.
public struct FullTextSearch: Sendable {
    /// A ranking rule. Rows are compared by the first rule, ties by the second, and so on. Rows that are equal by all rules are
    /// sorted by row id, the newest first. The index, the text and the row alone determine a row's place.
    public enum RankingRule: Int32, Hashable, Sendable {
        /// Rows that lack fewer of the words come first; a rare word counts for more than a frequent one. If the index has the
        /// typed word, rows with only a similar word come after rows with every word, and before rows that lack a word. If no row
        /// has all words, in any form, the text may have a word too many: then a row also counts as having every word if it lacks
        /// at most one in three of the words and has all others side by side in the heaviest column, in any order.
        case words = 1
        /// Rows with a column that has only the words of the text come first, then rows whose heaviest column begins with the text:
        /// see ``Field``.
        case field = 2
        /// Rows with all words side by side in the heaviest column come first, then rows with all words in it, then rows with all
        /// words side by side in another column, then rows for which the text had a word too many, then all others: see ``Place``.
        case place = 3
        /// Rows with words as typed come first, then rows with other forms, spellings and synonyms, then rows with longer words,
        /// then rows with typing errors: see ``Hit/inexactness``.
        case exactness = 4
        /// bm25 of each column with its weight, changed by ``FullTextSearch/decay`` and ``FullTextSearch/popularity``. A longer
        /// word or another form is weighted by its own rarity. Without this rule, equal rows come newest first.
        case relevance = 5
    }

    /// The relation between a column of a row and the words of the typed text, in any form.
    public enum Field: Int, Hashable, Sendable {
        /// A column has only the words of the text, in any form.
        case whole
        /// The heaviest column begins with the text. An index that does not store the sizes of columns cannot tell this from
        /// ``whole``.
        case beginning
        /// No column has only the words of the text, and the heaviest column does not begin with it.
        case other
    }

    /// The place of the words in a row. The heaviest column is the column with the highest weight; without weights, the first.
    public enum Place: Int, Hashable, Sendable {
        /// All words side by side in the heaviest column, in the typed order.
        case sideBySideInHeaviestColumn
        /// All words in the heaviest column.
        case inHeaviestColumn
        /// All words side by side in another column.
        case sideBySideElsewhere
        /// Not all words, but at least two in three, side by side in the heaviest column.
        case oneWordTooMany
        /// The words in any other place, or only some of the words.
        case anywhere
    }

    /// A language in which words are found by their other forms.
    public enum Language: String, CaseIterable, Hashable, Sendable {
        case danish, dutch, english, french, german, italian, norwegian, portuguese, russian, spanish, swedish
    }

    /// The number of typing errors that a word may have. An error is a letter that is added, missing, wrong, or swapped with its
    /// neighbor.
    ///
    /// Words with digits and words in a script without spaces may have no errors. An error that changes the first letter to another
    /// letter of the same script is allowed only in words of 5 letters or more. It must be the only error, and counts as two.
    public struct TypoTolerance: Hashable, Sendable {
        package var oneFrom: Int
        package var twoFrom: Int

        /// - Parameters:
        ///   - oneFrom: the minimum number of letters of a word that may have one error. Default: 4.
        ///   - twoFrom: the minimum number of letters of a word that may have two errors. Default: 8.
        public init(oneTypoFrom oneFrom: Int = 4, twoTyposFrom twoFrom: Int = 8) {
            self.oneFrom = oneFrom
            self.twoFrom = twoFrom
        }

        /// No typing errors.
        public static let none = TypoTolerance(oneTypoFrom: .max, twoTyposFrom: .max)
    }

    /// The words that are treated as prefixes, so that longer words match too.
    public enum PrefixMatching: Hashable, Sendable {
        /// None.
        case none
        /// The last word, unless a space follows it: the word that is being typed.
        case lastWord
        /// The last word. Any other word too, if the index does not have it or if too few rows have all words; a longer word then
        /// counts as a similar word, like a word with a typing error.
        case everyWord
    }

    /// Words that are found in addition to a typed word.
    public struct Synonym: Hashable, Sendable {
        package var typed: String
        package var found: [String]

        /// Creates a synonym in one direction: with `Synonym("tv", finds: ["television", "television set"])`, `tv` finds
        /// `television`, but `television` does not find `tv`. A synonym may have several words.
        public init(_ typed: String, finds found: [String]) {
            self.typed = typed
            self.found = found
        }

        /// Returns synonyms in all directions: each of the words finds all others.
        public static func group(_ words: [String]) -> [Synonym] {
            words.enumerated().map { index, word in
                Synonym(word, finds: words.enumerated().filter { $0.offset != index }.map(\.element))
            }
        }
    }

    /// The order of the hits.
    public enum Order: Sendable {
        /// Best first: by the rules, or by the score if the search is for an ``FTS5Query``.
        case best
        /// By ascending row id.
        case rowID
        /// By descending row id.
        case rowIDDescending
        /// By SQL terms over the columns of the content table, such as `"published DESC, title"`; ties are sorted by row id. At
        /// most 200,000 rows are sorted.
        case sql(SQL)
    }

    /// The passage that is shown with a hit.
    public struct Snippet: Hashable, Sendable {
        package var column: String?
        package var words: Int
        package var ellipsis: String

        /// Creates a snippet from one column.
        /// - Parameters:
        ///   - name: the column's name.
        ///   - words: the length in words, from 1 to 64. Default: 16.
        ///   - ellipsis: the text in place of omitted words. Default: `…`.
        public static func column(_ name: String, words: Int = 16, ellipsis: String = "…") -> Snippet {
            Snippet(column: name, words: words, ellipsis: ellipsis)
        }

        /// Creates a snippet from the best-matching column.
        /// - Parameters:
        ///   - words: the length in words, from 1 to 64. Default: 16.
        ///   - ellipsis: the text in place of omitted words. Default: `…`.
        public static func best(words: Int = 16, ellipsis: String = "…") -> Snippet {
            Snippet(column: nil, words: words, ellipsis: ellipsis)
        }
    }

    /// The user's input. If it is longer than 10,000 bytes, only its first 2,500 Unicode scalars are read. At most 12 words are
    /// searched for and 12 excluded; further words are ignored. A word, or a phrase in quotes, is a prefix if `*` follows it.
    public var text: String
    /// A query in FTS5's own terms, which is searched for instead of the text. Its words are found as FTS5 finds them, and hits are
    /// ordered by bm25: ``rankingRules``, ``typoTolerance``, ``prefixMatching``, ``languages``, ``synonyms``, ``stopWords`` and
    /// ``dropTokensThreshold`` have no effect. Default: none.
    public var query: FTS5Query?
    /// The maximum number of hits. Together with ``offset`` at most 10,000. Default: 20.
    public var limit: Int
    /// The number of hits to skip. Default: 0.
    public var offset = 0
    /// The order of the hits. Default: best first.
    public var order = Order.best
    /// An SQL condition over the columns of the content table, or of a full-text table with its own text. Default: none.
    public var filter: SQL?
    /// The passage to show with each hit. Default: 16 words of the best-matching column.
    public var snippet: Snippet? = .best()
    /// Columns that each hit contains in full, with the words found marked. Default: none.
    public var highlightedColumns: [String] = []
    /// Columns of the full-text table whose values each hit contains. Default: none.
    public var retrievedColumns: [String] = []
    /// The weight of each column, in the columns' order, from -1e15 to 1e15; missing weights are 1. Default: all 1.
    public var weights: [Double] = []
    /// The ranking rules, in order. Default: words, field, place, exactness, relevance.
    public var rankingRules: [RankingRule] = [.words, .field, .place, .exactness, .relevance]
    /// The number of typing errors that a word may have. Default: one error from 4 letters on, two errors from 8 letters on.
    public var typoTolerance = TypoTolerance()
    /// The words that are treated as prefixes. Default: every word.
    public var prefixMatching = PrefixMatching.everyWord
    /// The languages in which a word also finds its other forms: the words of the index with the same stem. Stems follow Porter's
    /// rules for English, and Snowball's rules with more noun endings for other languages (<https://snowballstem.org>). Empty for
    /// no other forms. Default: English.
    ///
    /// In German, Dutch, Danish, Norwegian and Swedish, a word of four letters or more also finds compounds that end with it, if
    /// the index has the first part as a word. French and Italian words before an apostrophe, as in `l'arbre`, are left out. Each
    /// language takes time at each keystroke. An index with the tokenizer ``FTS5Tokenizer/porter(_:)`` has only stems: in such an
    /// index, English words always find their other forms, and words of other languages never do.
    public var languages: Set<Language> = [.english]
    /// Synonyms of typed words. Default: none.
    public var synonyms: [Synonym] = []
    /// Words that a row need not have if other words are typed as well. Default: none.
    public var stopWords: Set<String> = []
    /// If fewer rows than this have all words, the search also shows rows that lack words. It then also shows rows with a similar
    /// word in place of a typed word that the index has: a word with a typing error or, with ``PrefixMatching/everyWord``, a longer
    /// word. With 0, neither kind of row is shown. Default: 5.
    public var dropTokensThreshold = 5
    /// The reduction of relevance according to a value of the row, such as its age. Default: no reduction.
    public var decay: Decay?
    /// The increase of relevance according to a value of the row, such as its number of readers. Default: no increase.
    public var popularity: Popularity?
    /// The groups in which the rows found are counted, each facet under a name of your choice, such as
    /// `["tag": .elements("tags")]`: see ``Results/facets``. At most 16 facets. Default: none.
    public var facets: [String: Grouping] = [:]
    /// True if all rows are counted, even rows that lack too many words to be shown, so that ``Results/total`` is the same on each
    /// page. A search with ``facets`` always counts all rows. Default: no.
    public var countsAll = false
    /// For an ``FTS5Query``, the name of the ranking function: `bm25`, or a function registered with
    /// ``SQLExtension/ranking(_:_:)``. It receives the weights as its arguments. Default: `bm25`.
    public var rankFunction: String?
    /// True if `AND`, `OR` and `NOT` are operators rather than words.
    var readsKeywords = true

    /// Creates a search for user input. Set other options on the value afterwards.
    /// - Parameters:
    ///   - text: the user's input. Any text is accepted.
    ///   - limit: the maximum number of hits. Default: 20.
    public init(_ text: String, limit: Int = 20) {
        self.text = text
        self.limit = limit
    }

    /// Creates a search for a query in FTS5's own terms. Set other options on the value afterwards.
    /// - Parameters:
    ///   - query: the query.
    ///   - limit: the maximum number of hits. Default: 20.
    public init(_ query: FTS5Query, limit: Int = 20) {
        self.init("", limit: limit)
        self.query = query
    }
}

extension HighlightedText: ExpressibleByStringLiteral {
    /// Text without marks.
    public init(stringLiteral text: String) { self.init(text) }
}

extension FullTextSearch {
    /// The result of a search.
    public struct Results: Sendable {
        /// The hits, in the order of the search: best first by default.
        public let hits: [Hit]
        /// The meaning that the search gave to each word, in the order of the text; empty for an ``FTS5Query``.
        public let words: [Word]
        /// The number of rows found. With ``FullTextSearch/countsAll`` or facets, it counts the rows of all pages.
        public let total: Total
        /// The number of rows found in each group, by the names in ``FullTextSearch/facets``.
        public let facets: [String: [FacetCount]]
        /// True if too few rows have all words, in any form, so that the search also looked for rows that lack words: see
        /// ``FullTextSearch/dropTokensThreshold``. ``Hit/matchedWordCount`` is the number of words of a hit.
        public let hasDroppedTokens: Bool
    }

    /// The number of rows found, or a lower bound of that number. The description is `17`, or `17+` for a lower bound.
    public struct Total: Hashable, Sendable, CustomStringConvertible {
        /// The number of rows that were counted, at most 200,000 of each index.
        public let count: Int
        /// True if this number and the numbers of the facets count all rows: the search looked at all rows and words of the index
        /// that could have led to a hit. It is false for one or two letters in a large index, and without
        /// ``FullTextSearch/countsAll`` if rows that lack words were left out.
        public let isExact: Bool

        public var description: String { isExact ? "\(count)" : "\(count)+" }
    }

    /// A row that a search found.
    public struct Hit: Hashable, Sendable, Identifiable {
        private struct Identity: Hashable, Sendable {
            let source: Int
            let rowID: Int64
        }

        /// The position of the row's index in the list of indexes searched, starting at 0; always 0 in a search of one index.
        public let indexPosition: Int
        /// The name of the database with the full-text table: `main`, or the name of an attached database.
        public let schema: String
        /// The name of the full-text table.
        public let table: String
        /// The row id. With synchronized external content and an `INTEGER PRIMARY KEY`, the row id is that key.
        public let rowID: Int64
        /// The relevance; higher is better. For user input, it is only one of the ranking rules. Compare it only among the hits of
        /// one search.
        public let score: Double
        /// The number of typed words that the row has. This and the other numbers are 0 for an ``FTS5Query``.
        public let matchedWordCount: Int
        /// The total number of typing errors in the row's words.
        public let typoCount: Int
        /// The relation between a column and the typed text.
        public let field: Field
        /// The place of the words in the row.
        public let place: Place
        /// The sum over all typed words. A word counts 0 if the row has it as typed, 1 for another form or a synonym, 2 for a
        /// longer word that begins with it, 3 for a word with a typing error, 4 for a word with two errors, or for a longer word or
        /// another form of a word with an error, and 5 if the row lacks it, but it counts as a word too many. If ``place`` is in
        /// one column, only the words in that column count.
        public let inexactness: Int
        /// True if the row has all of several words side by side, in any form.
        public var isPhrase: Bool {
            matchedWordCount > 1 && (place == .sideBySideInHeaviestColumn || place == .sideBySideElsewhere)
        }
        /// The passage with the most words of the search, with these words marked; nil if no snippet was requested or the table has
        /// no text.
        public let snippet: HighlightedText?
        /// Whole columns with the words marked, by the names in ``FullTextSearch/highlightedColumns``.
        public let highlights: [String: HighlightedText]
        /// The values of ``FullTextSearch/retrievedColumns``.
        public let columnValues: OwnedRow

        /// Identifies the hit among the hits of one search.
        public var id: some Hashable & Sendable { Identity(source: indexPosition, rowID: rowID) }

        /// The value of one of ``FullTextSearch/retrievedColumns``.
        /// - Throws: ``DatabaseError/Reason/noSuchColumn``, ``DatabaseError/Reason/unexpectedNull`` or
        ///   ``DatabaseError/Reason/typeMismatch``.
        public subscript<T: SQLValueConvertible>(column: String) -> T {
            get throws { try columnValues[column] }
        }
    }

    /// A hit and the record it belongs to.
    public struct RecordHit<Record> {
        /// The record, read from the content table.
        public let record: Record
        /// The hit.
        public let hit: Hit
    }

    /// A value, or a group of values, and its number of hits.
    public struct FacetCount: Hashable, Sendable {
        /// The value. For dates, it is the interval's name as text; for ranges, the lower bound, or NULL for the first range.
        public let value: SQLValue
        /// The number of hits.
        public let count: Int
        /// The range, if the facet is ``Grouping/ranges(_:bounds:)``; the first and the last range are infinite. Otherwise nil.
        public let range: Range<Double>?
    }

    /// The meaning that a search gave to a typed word or phrase.
    public struct Word: Hashable, Sendable {
        /// The relation between a word of the index and a typed word.
        public enum Kind: Int, Hashable, Sendable {
            /// The typed word.
            case exact
            /// Another form of the typed word, with the same stem.
            case form
            /// A synonym of the typed word.
            case synonym
            /// A compound that ends with the typed word or another form of it.
            case compound
            /// A longer word that begins with the typed word.
            case prefix
            /// A word that differs from the typed word by one or two typing errors.
            case typo
        }

        /// A word of the index that matches.
        public struct Match: Hashable, Sendable {
            /// The word in the form that the index has; the words of a phrase are separated by spaces.
            public let text: String
            /// The relation to the typed word.
            public let kind: Kind
            /// The number of typing errors.
            public let typos: Int
            /// The approximate number of rows that have the word.
            public let documents: Int
        }

        /// The word or phrase as typed.
        public let typed: String
        /// The word's range in the text.
        public let range: Range<String.Index>
        /// The words of the index that were searched for, nearest first; empty if the index has no match.
        public let matches: [Match]
        /// True if rows with the word were excluded.
        public let isExcluded: Bool
        /// True if the word was ignored, because it is a stop word beside other words or exceeds the maximum number of words.
        public let isLeftOut: Bool

        /// True if the index has no match for the word.
        public var isUnknown: Bool { matches.isEmpty && !isLeftOut }
        /// The relation between the nearest match and the typed word; nil if there is no match.
        public var kind: Kind? { matches.first?.kind }
    }
}

extension FullTextSearch.Word {
    /// Returns the word with its matches in another index added.
    func merged(with other: FullTextSearch.Word) -> FullTextSearch.Word {
        var all: [Match] = []
        for match in matches + other.matches {
            if let place = all.firstIndex(where: { $0.text.isSameText(as: match.text) && $0.typos == match.typos }) {
                let known = all[place]
                all[place] = Match(
                    text: known.text, kind: known.kind.rawValue < match.kind.rawValue ? known.kind : match.kind, typos: known.typos,
                    documents: known.documents + match.documents)
            } else {
                all.append(match)
            }
        }
        all.sort { ($0.typos, $0.kind.rawValue, $1.documents) < ($1.typos, $1.kind.rawValue, $0.documents) }
        return FullTextSearch.Word(
            typed: typed, range: range, matches: all, isExcluded: isExcluded, isLeftOut: isLeftOut && other.isLeftOut)
    }
}

extension FullTextSearch.RecordHit: Sendable where Record: Sendable {}

extension FullTextSearch: _HidesValues {}

extension FullTextSearch.Hit: _HidesValues {
    /// The full-text table and the row id.
    public var description: String { "\(schema).\(table) \(rowID)" }
}

extension FullTextSearch.Word: _HidesValues {}

extension FullTextSearch.Word.Match: _HidesValues {}
