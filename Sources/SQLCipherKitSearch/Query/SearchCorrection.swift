import SQLCipherKitCore

/// Corrections and suggestions for user input, from an index's words.
struct SearchCorrection {
    private enum Bound {
        static let pages = 300
        static let candidates = 4
        static let trials = 8
        static let steps = 5_000
        /// A word may be a typing error if at most one row in this many has it.
        static let rareness = 1_000
        /// The factor by which more rows must have the other word, by the number of errors.
        static let ratios = [1: 50, 2: 500]
    }

    private let index: SearchIndex

    init(_ index: SearchIndex) { self.index = index }

    private func term(_ bytes: [UInt8], _ documents: Int) -> FullTextIndex.Term {
        FullTextIndex.Term(term: String(decoding: bytes, as: UTF8.self), column: nil, documents: documents, occurrences: nil)
    }

    // MARK: Suggestions

    func suggestions(for text: String, limit: Int) throws -> [FullTextIndex.Term] {
        var search = FullTextSearch(text)
        search.languages = []
        var slots = try SearchSlots(search, index)
        guard let last = slots.slots.last, last.isPrefix, last.tokens.count == 1, !last.isLeftOut else { return [] }
        slots.slots = [last]
        if !index.hasTrigrams { try slots.findWords() }
        var terms = slots.slots[0].alternatives.filter { $0.typos == 0 }.map { term($0.tokens[0], $0.documents) }
        if index.hasTrigrams {
            terms = try index.terms(beginning: last.tokens[0], pages: 0).terms.map { term($0.bytes, $0.documents) }
        }
        terms.sort { ($1.documents, $0.term) < ($0.documents, $1.term) }
        guard index.isStemmed else { return Array(terms.prefix(limit)) }
        var found: [FullTextIndex.Term] = []
        for stem in terms.prefix(4 * limit) where found.count < limit {
            let word = try surface(of: Array(stem.term.utf8), beginning: last.tokens[0])
            if let word { found.append(term(word, stem.documents)) }
        }
        return found
    }

    /// Returns a word of the texts with this stem.
    private func surface(of stem: [UInt8], beginning: [UInt8] = []) throws -> [UInt8]? {
        guard index.isStemmed else { return stem }
        let slots = try SearchSlots(found: [[stem]], index)
        let rows = try slots.match(minimum: 1, wanted: 4, SearchSlots.Budget(steps: 64, limit: 2_000), nil).matches.map(\.row)
        var found: [UInt8]?
        for row in rows where found == nil {
            try index.eachText(of: row, bytes: 20_000) { part in
                for token in try index.tokens(of: part, .document) where token.bytes == stem && found == nil {
                    let word = index.unstemmed(token, of: Array(part.utf8))
                    if word.starts(with: beginning) { found = word }
                }
                return found == nil
            }
        }
        return found ?? (beginning.isEmpty ? stem : nil)
    }

    // MARK: Corrections

    func corrections(of word: String, distance: Int?, limit: Int) throws -> [FullTextIndex.Term] {
        let typed = try index.tokens(typed: word, isPrefix: true).first?.bytes ?? Array(word.utf8)
        guard !typed.isEmpty else { return [] }
        let letters = String(decoding: typed, as: UTF8.self).unicodeScalars.count
        var found: [SearchIndex.Term] = []
        for edits in Self.errors(distance, letters: letters) where found.isEmpty {
            found = try near(typed, edits)
        }
        return try found.prefix(limit).map { term(try surface(of: $0.bytes) ?? $0.bytes, $0.documents) }
    }

    /// The maximum numbers of errors. Each is tried if the one before it finds nothing.
    private static func errors(_ distance: Int?, letters: Int) -> [Int] {
        guard let distance else { return letters <= 4 ? [1] : [1, 2] }
        return distance > 0 ? [min(distance, 3)] : []
    }

    private func near(_ typed: [UInt8], _ edits: Int) throws -> [SearchIndex.Term] {
        let first = max(1, edits - 1)
        let pages = Bound.pages
        var found = try index.terms(near: typed, edits: edits, first: first, isPrefix: false, pages: pages, isKept: false).terms
        var own = typed
        if index.isStemmed {
            found += try index.stems(near: typed, edits: edits, first: first, pages: pages, isKept: false).terms
            own = index.stored(typed)
        }
        var known: Set<[UInt8]> = [own, typed]
        return found.sorted { ($0.distance, $1.documents) < ($1.distance, $0.documents) }.filter { known.insert($0.bytes).inserted }
    }

    private struct Candidates {
        var range: Range<Int>
        var words: [[UInt8]]
    }

    func correctedText(_ text: String, _ languages: Set<FullTextSearch.Language>) throws -> String? {
        var search = FullTextSearch(text)
        search.languages = languages
        search.prefixMatching = .none
        var slots = try SearchSlots(search, index)
        try slots.findWords()
        var corrections: [Int: Candidates] = [:]
        for place in slots.wanted where slots.slots[place].mayHaveTypos {
            if let candidates = try candidates(slots.slots[place]) { corrections[place] = candidates }
        }
        let places = corrections.keys.sorted()
        guard !places.isEmpty else { return nil }
        let isUnknown = slots.wanted.contains { !slots.slots[$0].isKnown }
        let before = isUnknown ? 0 : try count(slots)
        // First the likeliest candidate for every word, then for one word at a time each of its other candidates.
        var trials = [Dictionary(uniqueKeysWithValues: places.map { ($0, 0) })]
        for place in places {
            for other in 1..<max(1, corrections[place]?.words.count ?? 0) {
                var trial = trials[0]
                trial[place] = other
                trials.append(trial)
            }
        }
        // A word that the index does not have is corrected even if no row has all words then.
        var best: (trial: [Int: Int], count: Int)? = isUnknown ? (trials[0], 0) : nil
        for trial in trials.prefix(Bound.trials) {
            var corrected = slots
            for (place, choice) in trial {
                guard let word = corrections[place]?.words[choice] else { continue }
                corrected.slots[place].alternatives = [SearchSlots.Alternative(tokens: [word], kind: .exact, documents: 1)]
            }
            for place in corrected.wanted where !corrected.slots[place].isKnown {
                corrected.slots[place].isLeftOut = true
            }
            let found = try count(corrected)
            if found > max(before, best?.count ?? 0) {
                best = (trial, found)
                break
            }
        }
        guard let best else { return nil }
        var words: [(range: Range<Int>, word: [UInt8])] = []
        for place in places {
            guard let found = corrections[place], let choice = best.trial[place] else { continue }
            words.append((found.range, try surface(of: found.words[choice]) ?? found.words[choice]))
        }
        return replaced(text, words)
    }

    /// The words that may have been meant; nil if the typed word is probably right.
    private func candidates(_ slot: SearchSlots.Slot) throws -> Candidates? {
        let typed = slot.tokens[0]
        let documents = slot.alternatives.reduce(0) { $0 + ($1.typos == 0 ? $1.documents : 0) }
        guard slot.letters >= 3, documents <= max(1, index.rows / Bound.rareness) else { return nil }
        let edits = slot.letters >= 5 ? 2 : 1
        var found = try near(typed, edits).filter { term in
            if slot.alternatives.contains(where: { $0.typos == 0 && $0.tokens == [term.bytes] }) { return false }
            // In a word of three letters, only swapped letters count as an error.
            if slot.letters == 3, term.bytes.sorted() != typed.sorted() { return false }
            return documents == 0 || term.documents / documents >= Bound.ratios[term.distance, default: .max]
        }
        func cost(_ term: SearchIndex.Term) -> Int { term.distance + (term.bytes.first == typed.first ? 0 : 1) }
        found.sort { (cost($0), $1.documents) < (cost($1), $0.documents) }
        guard !found.isEmpty else { return nil }
        return Candidates(range: slot.range, words: found.prefix(Bound.candidates).map(\.bytes))
    }

    private func count(_ slots: SearchSlots) throws -> Int {
        let budget = SearchSlots.Budget(steps: Bound.steps, limit: Bound.steps)
        return try slots.match(minimum: slots.wanted.count, wanted: 0, budget, nil).total
    }

    private func replaced(_ text: String, _ words: [(range: Range<Int>, word: [UInt8])]) -> String {
        let utf8 = Array(text.utf8)
        var result: [UInt8] = []
        var position = 0
        for (range, word) in words.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) where range.lowerBound >= position {
            result += utf8[position..<range.lowerBound] + word
            position = range.upperBound
        }
        return String(decoding: result + utf8[position...], as: UTF8.self)
    }
}
