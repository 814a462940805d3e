/// Endings of English words, for an index that has only stems: its words cannot be compared with the beginning of a word, or with a
/// mistyped one, so the words that may have been meant are made here and stemmed.
enum EnglishEndings {
    private static let all: [[UInt8]] = """
        s es ed ing ings er ers or ors est ly y ies ied ier iest iness ily ful fully fulness ness nesses less lessly lessness ment \
        ments mental ation ations ational ationally ator ators ate ated ates ating ative atively ition itions tion tions tional \
        tionally sion sions ion ions ional ionally ize izes ized izing izer izers ization izations izational ise ises ised ising \
        isation ism isms ist ists istic istically ity ities ality alities ivity ivities ibility ibilities ability abilities \
        iviti able ably ible ibly al als ally alism alist ial ially ical ically ic ics icate icated ive ives ively iveness ous \
        ously ousness ious iously iousness ance ances ence ences ancy ency ancies encies ant ants antly ent ents ently ened ening
        """.split(whereSeparator: { $0 == " " || $0 == "\n" }).map { Array($0.utf8) }

    private static func isLetters(_ word: [UInt8]) -> Bool { word.allSatisfy { (0x61...0x7a).contains($0) } }

    private static func unique(_ stems: [[UInt8]]) -> [[UInt8]] {
        var known: Set<[UInt8]> = []
        return stems.filter { known.insert($0).inserted }
    }

    /// Returns the stems of words that begin with what was typed, where that reaches into an ending.
    static func stems(beginning typed: [UInt8]) -> [[UInt8]] {
        guard typed.count >= 3, typed.count <= 40, isLetters(typed) else { return [] }
        var words: [[UInt8]] = [typed]
        for length in max(2, typed.count - 10)..<typed.count {
            let (base, tail) = (typed.prefix(length), typed.dropFirst(length))
            for ending in all where ending.starts(with: tail) { words.append(base + ending) }
        }
        // A doubled letter: `runn`.
        if typed[typed.count - 1] == typed[typed.count - 2] { words += ["ing", "ed", "er"].map { typed + Array($0.utf8) } }
        return unique(words.compactMap { SearchIndex.stem($0) })
    }

    /// Returns the stems of words with an ending that is mistyped by one letter, or swapped by one letter with what is before it.
    static func stems(mistyped typed: [UInt8]) -> [[UInt8]] {
        guard typed.count >= 4, typed.count <= 40, isLetters(typed) else { return [] }
        var words: [[UInt8]] = []
        for length in max(2, typed.count - 10)..<typed.count {
            let (base, tail) = (typed.prefix(length), Array(typed.dropFirst(length)))
            for ending in all where ending.count >= 2 && isOneEdit(tail, ending) { words.append(base + ending) }
            var swapped = typed
            swapped.swapAt(length - 1, length)
            if all.contains(Array(swapped[length...])) { words.append(swapped) }
        }
        return unique(words.compactMap { SearchIndex.stem($0) })
    }

    /// Returns what stands before each ending that the word has, the longest ending first, and the ending.
    static func bases(of typed: [UInt8]) -> [(base: [UInt8], ending: [UInt8])] {
        guard isLetters(typed) else { return [] }
        return all.filter { typed.count >= $0.count + 3 && typed.suffix($0.count).elementsEqual($0) }
            .sorted { $0.count > $1.count }.map { (Array(typed.dropLast($0.count)), $0) }
    }

    /// Returns whether one letter is added, missing, wrong, or swapped with its neighbor.
    static func isOneEdit(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        guard abs(a.count - b.count) <= 1, a != b else { return false }
        let (short, long) = a.count <= b.count ? (a, b) : (b, a)
        var at = 0
        while at < short.count, short[at] == long[at] { at += 1 }
        if short.count < long.count { return short[at...].elementsEqual(long[(at + 1)...]) }
        if short[(at + 1)...].elementsEqual(long[(at + 1)...]) { return true }
        return at + 1 < short.count && short[at] == long[at + 1] && short[at + 1] == long[at]
            && short[(at + 2)...].elementsEqual(long[(at + 2)...])
    }
}

extension SearchIndex {
    /// Returns the stems of words within a number of edits, for an index of stems.
    ///
    /// A stemmer does not cut off an ending with an error in it, and cuts off another one if the error is before the ending.
    func stems(near word: [UInt8], edits: Int, first: Int, pages: Int, isKept: Bool = true) throws -> SearchMemory.Answer {
        var found = SearchMemory.Answer(terms: [], isComplete: true)
        func take(_ answer: SearchMemory.Answer, _ matches: (Term) throws -> Term?) throws {
            if !answer.isComplete { found.isComplete = false }
            for term in answer.terms { if let term = try matches(term) { found.terms.append(term) } }
        }
        let stem = Self.stem(word) ?? word
        if stem != word {
            try take(terms(near: stem, edits: edits, first: first, isPrefix: false, pages: pages, isKept: isKept)) { $0 }
        }
        for stem in EnglishEndings.stems(mistyped: word) {
            guard var term = try term(stem) else { continue }
            term.distance = 1
            found.terms.append(term)
        }
        for (base, ending) in EnglishEndings.bases(of: word).prefix(2) where base != stem {
            try take(terms(near: base, edits: 1, first: first, isPrefix: false, pages: pages, isKept: isKept)) { near in
                guard let stem = Self.stem(near.bytes + ending) else { return nil }
                if stem == near.bytes { return near }
                guard var term = try term(stem) else { return nil }
                term.distance = near.distance
                return term
            }
        }
        var known: Set<[UInt8]> = []
        found.terms = found.terms.sorted { $0.distance < $1.distance }.filter { known.insert($0.bytes).inserted }
        return found
    }
}
