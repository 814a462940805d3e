import SQLCipherKitCore

extension FullTextSearch {
    /// The result of a search.
    public struct Found: Sendable {
        /// The hits, best first.
        public let hits: [Hit]
        /// How each word was understood, in the order of the text; empty for an ``FTS5Query``.
        public let words: [Word]
        /// How many rows were found. Rows with typing errors count only if the search looked for them, as it always does with
        /// ``FullTextSearch/countsAll`` or facets.
        public let total: Total
        /// How many of these rows are in each group, by the names in ``FullTextSearch/facets``.
        public let facets: [String: [Facet]]
        /// Whether too few rows have all words (see ``FullTextSearch/fewerWordsBelow``), in whatever form, so that rows without one
        /// or more of them were looked for too. ``Hit/words`` tells how many a hit has.
        public let hasFewerWords: Bool
    }

    /// A number of rows found, or a lower bound of it. Its description is `17`, or `17+` for a lower bound.
    public struct Total: Hashable, Sendable, CustomStringConvertible {
        /// The number of rows that were counted, at most 200,000 of each index.
        public let count: Int
        /// Whether these are all, and counted in each facet: whether the search looked at all rows and words of the index that
        /// could have led to a hit. It is false for one or two letters in a large index, and if there were enough hits before
        /// typing errors, or rows with fewer words, were looked for.
        public let isExact: Bool

        public var description: String { isExact ? "\(count)" : "\(count)+" }
    }

    /// A row that a search found.
    public struct Hit: Hashable, Sendable, Identifiable {
        private struct Place: Hashable, Sendable {
            let source: Int
            let rowID: Int64
        }

        /// The position of the row's index in the list of indexes searched, starting at 0; always 0 in a search of one index.
        public let source: Int
        /// The name of the full-text table.
        public let table: String
        /// The row id. With synchronised external content and an `INTEGER PRIMARY KEY`, it is that key.
        public let rowID: Int64
        /// The relevance; higher is better. For user input it is only one of the ranking rules. It can be compared only among the
        /// hits of one search.
        public let score: Double
        /// How many of the typed words the row has. This and what follows of the rules is 0 for an ``FTS5Query``.
        public let words: Int
        /// The total number of typing errors in its words.
        public let typos: Int
        /// The sum of the distances between neighbouring words, each from 0 to 2.
        public let proximity: Int
        /// The sum, over all words, of the position of the column with the word. The first column in the order of
        /// ``FullTextSearch/Rule/column`` counts 0. If all words stand side by side, their column counts.
        public let column: Int
        /// The sum, over all words, of 0 for a word as typed, 1 for another form of it or a synonym, 2 for a longer word that
        /// begins with it, 3 for a word with a typing error, and 4 for a longer word or another form of that. Where the rules look
        /// at the column first, only what is in that column counts. 1 more if all stand side by side, and the row has better ones
        /// only elsewhere.
        public let exactness: Int
        /// Whether the row has all of several words side by side, as they were typed or in other forms.
        public let isPhrase: Bool
        /// The passage with the most of the words, marked; nil if no snippet was requested or the table has no text.
        public let snippet: HighlightedText?
        /// Whole columns with the words marked, by the names in ``FullTextSearch/highlights``.
        public let highlights: [String: HighlightedText]
        /// The values of ``FullTextSearch/columns``.
        public let columns: RowCopy

        /// Identifies the hit among the hits of one search.
        public var id: some Hashable & Sendable { Place(source: source, rowID: rowID) }

        /// The value of one of ``FullTextSearch/columns``.
        /// - Throws: ``DatabaseError/Reason/noSuchColumn``, ``DatabaseError/Reason/unexpectedNull`` or
        ///   ``DatabaseError/Reason/typeMismatch``.
        public subscript<T: SQLValueConvertible>(column: String) -> T {
            get throws(DatabaseError) { try columns[column] }
        }
    }

    /// A hit and the record it belongs to.
    public struct Match<Record> {
        /// The record, read from the content table.
        public let record: Record
        /// The hit.
        public let hit: Hit
    }

    /// A value, or a group of values, and the number of hits that have it.
    public struct Facet: Hashable, Sendable {
        /// The value. For dates, it is the interval's name as text; for ranges, the lower bound, or NULL for the first range.
        public let value: SQLValue
        /// The number of hits.
        public let count: Int
        /// The range, if the facet is ``Grouping/ranges(_:bounds:)``; the first and the last range are infinite. Otherwise nil.
        public let range: Range<Double>?
    }

    /// How a typed word or phrase was understood.
    public struct Word: Hashable, Sendable {
        /// How a word of the index matches a typed word.
        public enum Kind: Int, Hashable, Sendable {
            /// It is the typed word.
            case exact
            /// It is another form of the typed word, with the same stem.
            case form
            /// It is a synonym of the typed word.
            case synonym
            /// It is longer and begins with the typed word.
            case prefix
            /// It differs from the typed word by one or two typing errors.
            case typo
        }

        /// A word of the index that matches.
        public struct Match: Hashable, Sendable {
            /// The word in the form that the index has; the words of a phrase are separated by spaces.
            public let text: String
            /// How it matches the typed word.
            public let kind: Kind
            /// The number of typing errors.
            public let typos: Int
            /// The approximate number of rows that have it.
            public let documents: Int
        }

        /// The word or phrase as typed.
        public let typed: String
        /// Its range in the text.
        public let range: Range<String.Index>
        /// The words of the index that were searched for, nearest first; empty if the index has no match.
        public let matches: [Match]
        /// Whether rows with it were excluded.
        public let isExcluded: Bool
        /// Whether it was ignored, because it is a stop word beside other words or exceeds the maximum number of words.
        public let isLeftOut: Bool

        /// Whether the index has no match for it.
        public var isUnknown: Bool { matches.isEmpty && !isLeftOut }
        /// How the nearest match corresponds to the typed word; nil if there is no match.
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

extension FullTextSearch.Match: Sendable where Record: Sendable {}
