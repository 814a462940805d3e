extension TypedSearch {
    /// What a search has found.
    public struct Found: Sendable {
        /// The hits, the best first.
        public let hits: [Hit]
        /// What was understood of each word, in the order of the text.
        public let words: [Word]
        /// How many rows were found: all of them if ``isExhaustive``, otherwise at least so many. Of one index, 20,000 rows are
        /// counted at most. Rows with typing errors count if they were looked for: with ``TypedSearch/countsAll`` always.
        public let total: Int
        /// How many of these rows are in which group, by the names of ``TypedSearch/facets``.
        public let facets: [String: [FullTextSearch.Facet]]
        /// Whether all rows and words of the index that could have been among the hits were looked at. Not so for one or two
        /// letters in a large index, and not where the hits wanted were there before typing errors were looked for.
        public let isExhaustive: Bool
        /// Whether no row has all words, and rows without one of them, or more, were looked for.
        public let hasFewerWords: Bool
    }

    /// A row.
    public struct Hit: Hashable, Sendable, Identifiable {
        /// What no two hits of a search share.
        public struct ID: Hashable, Sendable {
            /// The place of the index among those searched, from 0.
            public let source: Int
            /// The row id.
            public let rowID: Int64
        }

        /// The place of the row's index among those searched, from 0; 0 in a search of one.
        public let source: Int
        /// The name of the full-text table.
        public let table: String
        /// The row id. With synchronised external content and an `INTEGER PRIMARY KEY`, that key.
        public let rowID: Int64
        /// The relevance, the greater the better: one rule of several. It compares the hits of one search.
        public let relevance: Double
        /// How many of the words the row has.
        public let words: Int
        /// How many typing errors its words have together.
        public let typos: Int
        /// The distances of neighbouring words together, each from 0 to 2.
        public let proximity: Int
        /// The places of the columns with the words together, the first being 0.
        public let column: Int
        /// 0 for each word as it was typed, 1 for another form of it or a synonym, 2 for one that begins so, 3 for one with a
        /// typing error; together.
        public let exactness: Int
        /// The part of the text with the most of the words, marked; nil if none was asked for or the table has no text.
        public let snippet: HighlightedText?
        /// Whole columns with the words marked, by the name that was asked for.
        public let highlights: [String: HighlightedText]
        /// The columns that were asked for.
        public let columns: RowCopy

        public var id: ID { ID(source: source, rowID: rowID) }

        /// One of the columns that were asked for.
        /// - Throws: ``DatabaseError/Reason/noSuchColumn``, ``DatabaseError/Reason/unexpectedNull`` or
        ///   ``DatabaseError/Reason/typeMismatch``.
        public subscript<T: SQLValueConvertible>(column: String) -> T {
            get throws(DatabaseError) { try columns[column] }
        }
    }

    /// What was understood of a word.
    public struct Word: Hashable, Sendable {
        /// How a word of the index came to stand for a typed one.
        public enum Kind: Int, Hashable, Sendable {
            /// As it was typed.
            case exact
            /// Another form of it: the same stem.
            case form
            /// A synonym.
            case synonym
            /// It begins so.
            case prefix
            /// With a typing error or two.
            case typo
        }

        /// A word of the index.
        public struct Match: Hashable, Sendable {
            /// The word, in the form of the index; words of a phrase with blanks between them.
            public let text: String
            /// How it came to stand for the typed one.
            public let kind: Kind
            /// The number of typing errors.
            public let typos: Int
            /// About how many rows have it.
            public let documents: Int
        }

        /// The word as it was typed, or the phrase.
        public let typed: String
        /// Where it stands in the text.
        public let range: Range<String.Index>
        /// The words of the index that were searched for, the nearest first; none if the index has nothing like it.
        public let matches: [Match]
        /// Whether rows with it were left out.
        public let isExcluded: Bool
        /// Whether it did not matter: a stop word beside others, or beyond the number of words that are read.
        public let isLeftOut: Bool

        /// Whether the index has nothing like it.
        public var isUnknown: Bool { matches.isEmpty && !isLeftOut }
        /// How the nearest match came to stand for it; nil if there is none.
        public var kind: Kind? { matches.first?.kind }
    }
}

extension TypedSearch.Word {
    /// With what it means in another index.
    func merged(with other: TypedSearch.Word) -> TypedSearch.Word {
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
        return TypedSearch.Word(
            typed: typed, range: range, matches: all, isExcluded: isExcluded, isLeftOut: isLeftOut && other.isLeftOut)
    }
}
