import SQLCipherKitCore
import SQLCipherKitSearch

/// The words to search for in one full-text index, and where they occur.
struct ResidueWords {
    private let index: FullTextIndex
    private let targets: [ResidueTarget]
    /// The words into which the tokenizer splits each text.
    private var words: [Set<[UInt8]>] = []
    private var wanted: Set<[UInt8]> = []
    /// Where words occur.
    private var hits: [[UInt8]: Set<ResidueSearch.Place>] = [:]
    /// Where other words occur that contain a target.
    private var containing: [[UInt8]: Set<ResidueSearch.Place>] = [:]

    init(_ index: FullTextIndex, _ targets: [ResidueTarget]) throws(DatabaseError) {
        self.index = index
        self.targets = targets
        for target in targets {
            var found: Set<[UInt8]> = []
            if let text = target.text {
                for token in try index.tokens(of: text, for: .document) { found.insert(Array(token.token.utf8)) }
            }
            words.append(found)
        }
        wanted = words.reduce(into: []) { $0.formUnion($1) }
    }

    /// Records the words, each after a prefix byte, that occur in a place.
    mutating func note(_ terms: [ArraySlice<UInt8>], _ place: (_ target: Int) -> ResidueSearch.Place) {
        for term in terms {
            let word = Array(term.dropFirst())
            if wanted.contains(word) { hits[word, default: []].insert(place(0)) }
            for (number, target) in targets.enumerated() where target.stands(in: word) {
                containing[word, default: []].insert(place(number))
            }
        }
    }

    /// The places of all texts of which each word occurs somewhere.
    func places() throws -> [ResidueSearch.Place] {
        var places: [ResidueSearch.Place] = []
        for (target, words) in words.enumerated() where !words.isEmpty && words.allSatisfy({ hits[$0] != nil }) {
            var found: [ResidueSearch.Place] = []
            for word in words { found += try located(hits[word] ?? [], word, target) }
            // If one of its words occurs only in deleted content, the text as a whole is deleted.
            let deleted = found.filter { !$0.isLive }
            places += deleted.isEmpty ? found : deleted
        }
        for (word, found) in containing { places += try located(found, word, nil) }
        return places
    }

    private func located(_ found: Set<ResidueSearch.Place>, _ word: [UInt8], _ target: Int?) throws -> [ResidueSearch.Place] {
        let isLive = try !index.instances(of: String(decoding: word, as: UTF8.self), limit: 1).isEmpty
        return found.map { place in
            ResidueSearch.Place(
                target: target ?? place.target, kind: place.kind, file: place.file, page: place.page, object: place.object,
                // An older image of the index holds earlier content.
                isLive: isLive && place.kind == .fullTextIndex)
        }
    }
}
