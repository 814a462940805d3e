import SQLCipherKitCore
import SQLCipherKitSearch

/// A search by words and by meaning, in a full-text index and a table of vectors over the same rows.
///
/// ```swift
/// let found = try db.search(
///     HybridSearch("quikc bro", vector: question), words: notes, vectors: noteVectors)
/// for hit in found.hits { print(hit.rowID, hit.wordRank ?? 0, hit.vectorRank ?? 0) }
/// ```
/// Each side finds its best rows independently. A row's score is the sum, over the sides that found the row, of the side's weight ÷
/// (60 + the row's rank on that side): reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009). The search combines
/// ranks, because scores and distances have no common scale.
///
/// A search is a value that names no table. You can store it and pass it between threads.
public struct HybridSearch: Sendable {
    /// A row that a search found.
    public struct Hit: Hashable, Sendable, Identifiable {
        /// The row id.
        public let rowID: Int64
        /// The sum of both sides' contributions; higher is better. Compare it only among the hits of one search.
        public let score: Double
        /// The rank of the row among the rows found by words, counted from 1; nil if the words do not find it.
        public let wordRank: Int?
        /// The rank of the row among the rows with the nearest vectors, counted from 1; nil if the row is not among them.
        public let vectorRank: Int?
        /// The hit of the search by words, with the snippet and the highlights; nil without ``wordRank``.
        public let wordHit: FullTextSearch.Hit?
        /// The distance of the row's vector; nil without ``vectorRank``.
        public let distance: Double?

        public var id: Int64 { rowID }
    }

    /// The result of a search.
    public struct Results: Sendable {
        /// The hits, best first; hits with equal scores are sorted by row id.
        public let hits: [Hit]
        /// The number of different rows that the two sides found.
        public let total: Int
        /// The result of the search by words alone: the meaning of each word, facets, and the number of rows.
        public let words: FullTextSearch.Results
    }

    /// The search by words: its text, snippet, highlights, facets and ranking. Its filter applies to both sides. Its limit and
    /// offset have no effect, and its order must be `.best`.
    public var words: FullTextSearch
    /// The vector of the text; nil to search by words alone.
    public var vector: [Float]?
    /// The maximum number of hits, 1 or more. Default: 20.
    public var limit: Int
    /// The number of hits to skip. Default: 0.
    public var offset = 0
    /// The number of rows that each side finds, from 1 to 10,000. A row has no rank on a side that does not find it. Default: 100.
    public var depth = 100
    /// The weight of ranks by words, 0 or more. Default: 1.
    public var wordWeight = 1.0
    /// The weight of ranks by vectors, 0 or more. Default: 1.
    public var vectorWeight = 1.0
    /// The first pass of the search by vectors. Default: nil, all vectors are compared with all their numbers.
    public var coarse: VectorSearch.Coarse?

    /// Creates a search. Set other options on the value afterwards.
    /// - Parameters:
    ///   - text: the user's input. If it has no word, rows are found by the vector alone.
    ///   - vector: the vector of the text, from the same model as the table's vectors.
    ///   - limit: the maximum number of hits. Default: 20.
    public init(_ text: String, vector: [Float]?, limit: Int = 20) {
        self.init(FullTextSearch(text), vector: vector, limit: limit)
    }

    /// Creates a search with all options of a search by words.
    /// - Parameters:
    ///   - words: the search by words. Its limit and offset have no effect.
    ///   - vector: the vector of the text, from the same model as the table's vectors; nil to search by words alone.
    ///   - limit: the maximum number of hits. Default: 20.
    public init(_ words: FullTextSearch, vector: [Float]?, limit: Int = 20) {
        self.words = words
        self.vector = vector
        self.limit = limit
    }
}

extension Connection {
    /// Searches by words and by meaning.
    /// - Parameters:
    ///   - search: the search.
    ///   - words: a full-text index with external content.
    ///   - vectors: a table of vectors with the same content.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for two tables that do not have the same content, for numbers out of
    /// range, and for an order other than `.best`; and the errors of both searches.
    public func search(
        _ search: HybridSearch, words: FullTextIndex, vectors: VectorIndex
    ) throws -> HybridSearch.Results {
        try search.validate(words, vectors, self)
        var byWords = search.words
        (byWords.limit, byWords.offset) = (search.depth, 0)
        let (worded, near) = try inSnapshot {
            let worded = try words.search(byWords)
            guard let vector = search.vector else { return (worded, [VectorSearch.Hit]()) }
            var byVector = VectorSearch(vector, limit: search.depth)
            byVector.filter = search.words.filter
            byVector.coarse = search.coarse
            return (worded, try vectors.found(byVector))
        }
        let hits = search.fused(worded.hits, near)
        return HybridSearch.Results(
            hits: Array(hits.dropFirst(search.offset).prefix(search.limit)), total: hits.count, words: worded)
    }
}

extension HybridSearch {
    /// The constant of reciprocal rank fusion: the greater, the less the first ranks stand out.
    private static let constant = 60.0

    fileprivate func validate(_ words: FullTextIndex, _ vectors: VectorIndex, _ connection: Connection) throws {
        guard words.connection === connection, vectors.connection === connection else {
            throw DatabaseError.invalidArgument("\(words.name) or \(vectors.name) belongs to another connection")
        }
        guard limit > 0, offset >= 0, (1...10_000).contains(depth) else {
            throw DatabaseError.invalidArgument("a search has 1 hit or more, skips 0 or more, and has a depth of 1 to 10,000")
        }
        guard wordWeight >= 0, wordWeight.isFinite, vectorWeight >= 0, vectorWeight.isFinite else {
            throw DatabaseError.invalidArgument("a weight is a number of 0 or more")
        }
        guard case .best = self.words.order else {
            throw DatabaseError.invalidArgument("a search by words and vectors is ordered by relevance")
        }
        let content = try vectors.requireContent()
        guard let own = try words.content(), own.key.isEmpty,
            own.rows.isSameName(as: vectors.schema.qualified(content.table))
        else {
            throw DatabaseError.invalidArgument("\(words.name) and \(vectors.name) must have the same content, by its row id")
        }
    }

    /// Puts the ranks of both sides together.
    fileprivate func fused(_ worded: [FullTextSearch.Hit], _ near: [VectorSearch.Hit]) -> [Hit] {
        var places: [Int64: (word: Int?, vector: Int?)] = [:]
        for (place, hit) in worded.enumerated() { places[hit.rowID] = (place, nil) }
        for (place, hit) in near.enumerated() { places[hit.rowID, default: (nil, nil)].vector = place }
        let hits = places.map { row, place in
            let word = place.word.map { wordWeight / (Self.constant + Double($0 + 1)) } ?? 0
            let vector = place.vector.map { vectorWeight / (Self.constant + Double($0 + 1)) } ?? 0
            return Hit(
                rowID: row, score: word + vector, wordRank: place.word.map { $0 + 1 }, vectorRank: place.vector.map { $0 + 1 },
                wordHit: place.word.map { worded[$0] }, distance: place.vector.map { near[$0].distance })
        }
        return hits.sorted { $0.score == $1.score ? $0.rowID < $1.rowID : $0.score > $1.score }
    }
}

extension HybridSearch: _HidesValues {}
