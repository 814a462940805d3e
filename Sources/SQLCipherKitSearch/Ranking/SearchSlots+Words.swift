/// Finds words of the index for typed words.
extension SearchSlots {
    /// The maximum number of words of the index that a typed word may match, by kind.
    private enum Bound {
        static let completions = 100
        static let forms = 24
        static let typos = 24
        /// The number of words with a typing error whose other forms are looked for as well.
        static let mistyped = 4
        static let splits = 4
        /// The maximum number of rows with the rarer part of a known word that is taken apart.
        static let splitRows = 2_000
        /// The maximum number of steps to find out whether the parts of a word stand side by side anywhere.
        static let splitSteps = 30_000
        /// The maximum number of rows that the completions have together: of the word being typed, and of each other word.
        static let completedRows = 30_000
        static let otherCompletedRows = 2_000
        /// The number of completions that are always taken, however many rows they have.
        static let fewest = 4
        /// The number of leaf pages of a segment that are read for a prefix, for other forms, and for words with typing errors.
        static let prefixPages = 16
        static let formPages = 16
        static let typoPages = 300
        /// The same to find compounds by their last parts, once for all.
        static let vocabularyPages = 2_000
    }

    /// Finds the words themselves, their other forms and synonyms, the words that begin with the last one, and, of words that the
    /// index does not have, those with typing errors. What a word stands for follows from the text and the index alone.
    mutating func findWords() throws {
        for place in active {
            var slot = slots[place]
            if slot.parts.isEmpty { try findWords(&slot) }
            for part in slot.parts.indices {
                try findWords(&slot.parts[part])
                slot.alternatives += slot.parts[part].alternatives
            }
            slots[place] = slot
        }
        try findJoined()
        for place in active { slots[place].settle() }
        _ = try findTypos(isKnown: false)
    }

    private mutating func findWords(_ slot: inout Slot) throws {
        if slot.isPhrase {
            try findPhrase(&slot)
        } else {
            let word = slot.tokens[0]
            try add(index.stored(word), .exact, to: &slot)
            if !slot.isQuoted, !slot.isExcluded { try findForms(word, &slot) }
            for other in slot.others { try add(other.token, .synonym, to: &slot) }
            if !slot.isQuoted, !slot.isExcluded { try findCompounds(word, &slot) }
            if slot.isOpen { try findCompletions(word, typos: 0, &slot) }
            if slot.isOpen, index.isStemmed {
                for stem in EnglishEndings.stems(beginning: word) { try add(stem, .form, to: &slot) }
            } else if slot.isOpen, slot.alternatives.isEmpty, !index.hasTrigrams, let english {
                // A form that the index lacks, half typed: `bakin`.
                for form in try forms(of: Set(EnglishEndings.stems(beginning: word)), english) { slot.add(form, .form) }
            }
            if !slot.isQuoted, !slot.isExcluded {
                var others = OtherSpellings.words(for: word)
                if index.hasTrigrams { others += OtherSpellings.joinings(of: word) }
                for other in others { try add(other, .form, to: &slot) }
                try findSplit(word, &slot)
            }
        }
        if !slot.isQuoted, !slot.isExcluded { try findSynonyms(&slot) }
    }

    private mutating func add(_ word: [UInt8], _ kind: FullTextSearch.Word.Kind, to slot: inout Slot) throws {
        guard !slot.alternatives.contains(where: { $0.tokens == [word] }) else { return }
        guard let term = try index.term(word) else { return }
        slot.add([word], kind, documents: term.documents)
    }

    private var english: WordStems? { stems.first { $0.language == .english } }

    /// Finds the words of the index with the same stem.
    private func findForms(_ word: [UInt8], _ slot: inout Slot) throws {
        for rules in stems {
            guard let stem = try rules.stem(word) else { continue }
            for form in try forms(of: [stem], rules) where form.bytes != word {
                slot.add(form, .form, isOther: !rules.isInflection(form.bytes, of: word))
            }
        }
    }

    /// Returns the words of the index with one of these stems, those in the most rows first.
    private func forms(of stems: Set<[UInt8]>, _ rules: WordStems) throws -> [SearchIndex.Term] {
        try index.forms(of: stems, rules, pages: Bound.formPages, limit: Bound.forms)
    }

    /// Finds compounds by their last part: `Karte` finds `Grafikkarten`.
    private mutating func findCompounds(_ word: [UInt8], _ slot: inout Slot) throws {
        guard slot.letters >= 4, !index.hasTrigrams else { return }
        for rules in stems where rules.language.hasCompounds {
            guard let stem = try rules.stem(word) else { continue }
            let found = try index.compounds(ending: stem, rules, pages: Bound.vocabularyPages)
            if !found.isComplete || found.terms.count > Bound.completions { isComplete = false }
            for term in found.terms.sorted(by: { $0.documents > $1.documents }).prefix(Bound.completions) {
                slot.add(term, .compound)
            }
        }
    }

    private mutating func findCompletions(_ word: [UInt8], typos: Int, _ slot: inout Slot) throws {
        // In an index of trigrams, a word is found inside longer ones.
        if index.hasTrigrams { return }
        let found = try index.terms(beginning: word, pages: Bound.prefixPages)
        let known = slot.words
        let others = found.terms.filter { !known.contains($0.bytes) }
            .sorted { ($1.documents, $0.bytes.count) < ($0.documents, $1.bytes.count) }
        if !found.isComplete { (isComplete, slot.isCut) = (false, true) }
        // The number of rows of all completions together determines how much work the search has with them.
        let limit = typos == 0 ? Bound.completedRows : Bound.otherCompletedRows
        var rows = 0
        for (place, term) in others.enumerated() {
            if place >= Bound.completions || (place >= Bound.fewest && rows + term.documents > limit) {
                (isComplete, slot.isCut) = (false, true)
                break
            }
            rows += term.documents
            slot.add(term, .prefix, typos: typos)
        }
    }

    /// Finds a word that the texts write as two, or an abbreviation that they write with dots: `redbull`, `dont`, `usa`.
    private mutating func findSplit(_ word: [UInt8], _ slot: inout Slot) throws {
        let isKnown = slot.alternatives.contains { $0.kind == .exact }
        var found: [Alternative] = []
        for tokens in OtherSpellings.splits(of: word).flatMap(index.sequences) {
            // Frequent words that rarely follow each other would take up the search.
            // Parts that are nowhere side by side are no reading of an unknown word, which is a typing error then.
            guard let rarest = try documents(ofAll: tokens), rarest <= (isKnown ? Bound.splitRows : Bound.completedRows),
                try (isKnown && tokens.count == 2) || isSideBySide(tokens)
            else { continue }
            found.append(Alternative(tokens: tokens, kind: .form, documents: rarest))
        }
        slot.alternatives += found.sorted { $0.documents > $1.documents }.prefix(Bound.splits)
    }

    /// Returns whether a row has the words side by side.
    private func isSideBySide(_ tokens: [[UInt8]]) throws -> Bool {
        var only = try SearchSlots(found: [tokens], index)
        only.rows = rows
        return try only.match(minimum: 1, wanted: 1, Budget(steps: 0, limit: Bound.splitSteps), nil, isFirst: true).total > 0
    }

    /// Finds neighboring words that the texts write as one: `wi fi`, `node.js`, `U.S.A.`. Such a word stands for each of them.
    private mutating func findJoined() throws {
        let places = wanted.filter { !slots[$0].isQuoted && !slots[$0].isPhrase && slots[$0].parts.isEmpty }
        for (number, first) in places.enumerated() {
            var joined = slots[first].tokens[0]
            for (other, length) in zip(places[(number + 1)...], 2...) where length <= 6 && other == first + length - 1 {
                joined += slots[other].tokens[0]
                // Words of more than a letter are joined in twos.
                let isInitials = (first...other).allSatisfy { slots[$0].letters == 1 }
                guard joined.count <= 40, length == 2 ? joined.count >= 3 : isInitials else { continue }
                let stemmed = index.stored(joined)
                guard let term = try index.term(stemmed) else { continue }
                for place in first...other { slots[place].add([stemmed], .form, documents: term.documents) }
            }
        }
    }

    /// The number of rows that may have all of these words; nil if the index lacks one.
    private func documents(ofAll tokens: some Sequence<[UInt8]>) throws -> Int? {
        var rarest = Int.max
        for token in tokens {
            guard let term = try index.term(token) else { return nil }
            rarest = min(rarest, term.documents)
        }
        return rarest
    }

    private mutating func findPhrase(_ slot: inout Slot) throws {
        let stored = slot.tokens.map(index.stored)
        func add(_ tokens: [[UInt8]], _ kind: FullTextSearch.Word.Kind) throws {
            guard let rarest = try documents(ofAll: tokens) else { return }
            slot.add(tokens, kind, documents: rarest)
        }
        try add(stored, .exact)
        // Each way to have the tokenizer's synonyms in place of words.
        var ways = [stored]
        for other in slot.others where ways.count < Bound.forms {
            ways += ways.map { way in way.enumerated().map { $0.offset == other.place ? other.token : $0.element } }
        }
        for way in ways.dropFirst() { try add(way, .synonym) }
        if slot.isWhole {
            // The same number with a `v`, in a time stamp, or without punctuation.
            let first = slot.tokens[0]
            for other in OtherSpellings.words(for: first) + OtherSpellings.hours(first, before: slot.tokens[1]) {
                try add([other] + stored.dropFirst(), .form)
            }
            // Without its dots, a version is another number.
            let text = Array(search.text.utf8)[slot.range]
            if !OtherSpellings.isVersion(text) { try add([Array(slot.tokens.joined())], .form) }
        }
        if slot.isOpen { try findPhraseCompletions(typos: 0, &slot) }
    }

    /// Finds phrases whose last word is longer.
    private mutating func findPhraseCompletions(typos: Int, _ slot: inout Slot) throws {
        let stored = slot.tokens.map(index.stored)
        guard let last = slot.tokens.last, let rarest = try documents(ofAll: stored.dropLast()) else { return }
        let found = try index.terms(beginning: last, pages: Bound.formPages)
        let others = found.terms.filter { $0.bytes != stored.last }.sorted { $0.documents > $1.documents }
        if !found.isComplete || others.count > Bound.forms { isComplete = false }
        for term in others.prefix(Bound.forms) {
            slot.add(stored.dropLast() + [term.bytes], .prefix, documents: min(rarest, term.documents), typos: typos)
        }
    }

    private mutating func findSynonyms(_ slot: inout Slot) throws {
        guard !search.synonyms.isEmpty else { return }
        for synonym in search.synonyms {
            let typed = try index.tokens(typed: synonym.typed, isPrefix: false).filter { !$0.isColocated }.map(\.bytes)
            guard typed == slot.tokens else { continue }
            for found in synonym.found {
                let typed = try index.tokens(typed: found, isPrefix: false).filter { !$0.isColocated }
                let tokens = typed.map { index.stored($0.bytes) }
                guard !tokens.isEmpty, tokens.count <= 32 else { continue }
                if let rarest = try documents(ofAll: tokens) { slot.add(tokens, .synonym, documents: rarest) }
            }
        }
    }

    // MARK: Typing errors

    /// Adds what the words may be with typing errors. Returns whether any were added.
    /// - Parameter isKnown: for the words that the index has, or for those that it does not have.
    mutating func findTypos(isKnown: Bool) throws -> Bool {
        var isAny = false
        for place in wanted {
            var slot = slots[place]
            if slot.parts.isEmpty {
                if slot.isKnown == isKnown { isAny = try findTypos(&slot) || isAny }
            } else {
                // Each alternative of an `OR` is a word of its own.
                for part in slot.parts.indices where slot.parts[part].isKnown == isKnown {
                    let known = slot.parts[part].alternatives.count
                    isAny = try findTypos(&slot.parts[part]) || isAny
                    slot.alternatives += slot.parts[part].alternatives.dropFirst(known)
                }
            }
            slot.settle()
            slots[place] = slot
        }
        return isAny
    }

    /// Adds longer words, and those with typing errors.
    private mutating func findTypos(_ slot: inout Slot) throws -> Bool {
        let before = slot.alternatives.count
        if slot.isPhrase, slot.isPrefix, !slot.isOpen { try findPhraseCompletions(typos: 1, &slot) }
        guard !slot.isQuoted, slot.tokens.count == 1 else { return slot.alternatives.count > before }
        if !slot.isOpen, slot.isPrefix || search.prefixMatching == .everyWord {
            try findCompletions(slot.tokens[0], typos: 1, &slot)
        }
        for edits in 1...2 { try findTypos(edits, &slot) }
        return slot.alternatives.count > before
    }

    private mutating func findTypos(_ edits: Int, _ slot: inout Slot) throws {
        let word = slot.tokens[0]
        let allowed = slot.letters >= search.typoTolerance.twoFrom ? 2 : slot.letters >= search.typoTolerance.oneFrom ? 1 : 0
        if slot.mayHaveTypos, edits <= allowed {
            let first = slot.letters >= 5 && edits == 1 ? 1 : -1
            var answer = try index.terms(near: word, edits: edits, first: first, isPrefix: slot.isPrefix, pages: Bound.typoPages)
            var found = answer.terms
            if !answer.isComplete { isComplete = false }
            if index.isStemmed {
                answer = try index.stems(near: word, edits: edits, first: first, pages: Bound.typoPages)
                found += answer.terms
                if !answer.isComplete { isComplete = false }
            }
            let known = slot.words
            found = found.filter { !known.contains($0.bytes) && ($0.distance == edits || index.isStemmed) }
            found.sort { ($0.distance, $1.documents) < ($1.distance, $0.documents) }
            var taken: Set<[UInt8]> = []
            for term in found where taken.count < Bound.typos && taken.insert(term.bytes).inserted {
                let isFirst = term.bytes.first == word.first
                let isLonger = slot.isPrefix && TextWords.distance(word, term.bytes) > edits
                slot.add(term, .typo, typos: max(1, term.distance) + (isFirst ? 0 : 1), isOther: isLonger)
            }
            if found.count > Bound.typos { isComplete = false }
            let isUnknown = slot.alternatives.allSatisfy { $0.typos > 0 }
            if edits == 1, isUnknown, !index.hasTrigrams {
                try findForms(mistyped: word, near: found, &slot)
            }
        }
    }

    /// Finds other forms of what a mistyped word may be: `bakign` finds `bake`, whether or not the index has `baking`.
    private func findForms(mistyped word: [UInt8], near found: [SearchIndex.Term], _ slot: inout Slot) throws {
        let first = slot.letters >= 5 ? 1 : -1
        var forms: [SearchIndex.Term] = []
        for rules in stems {
            let likely = try found.prefix(Bound.mistyped).compactMap { try rules.stem($0.bytes) }
            forms += try self.forms(of: Set(likely + (rules === english ? EnglishEndings.stems(mistyped: word) : [])), rules)
            // An error before the ending.
            guard rules !== english, let stem = try rules.stem(word), stem.count >= 4 else { continue }
            for beginning in rules.beginnings(of: stem) {
                let near = try index.terms(near: beginning, edits: 1, first: first, isPrefix: true, pages: Bound.formPages)
                forms += try near.terms.filter { try rules.stem($0.bytes).map { TextWords.distance(stem, $0) == 1 } ?? false }
            }
        }
        for (base, ending) in EnglishEndings.bases(of: word).prefix(2) where english != nil && base.count >= 4 {
            let near = try index.terms(near: base, edits: 1, first: first, isPrefix: true, pages: Bound.formPages)
            forms += near.terms.filter { term in
                guard let stem = SearchIndex.stem(term.bytes) else { return false }
                return (base.count - 1...base.count + 1).contains { length in
                    let meant = Array(term.bytes.prefix(length))
                    return EnglishEndings.isOneEdit(base, meant) && SearchIndex.stem(meant + ending) == stem
                }
            }
        }
        var known = slot.words
        forms.sort { $0.documents > $1.documents }
        for form in forms where known.count < Bound.typos * 2 && known.insert(form.bytes).inserted {
            slot.add(form, .typo, typos: form.bytes.first == word.first ? 1 : 2, isOther: true)
        }
    }
}

extension SearchSlots.Slot {
    /// Sorts the alternatives, nearest first, and removes duplicates.
    mutating func settle() {
        var known: Set<[[UInt8]]> = []
        alternatives.sort { ($0.typos, $0.kind.rawValue, $1.documents) < ($1.typos, $1.kind.rawValue, $0.documents) }
        alternatives = alternatives.filter { known.insert($0.tokens).inserted }
        // Counted once, so that what a row pays for not having the word stays the same.
        if documents == 0 { documents = alternatives.reduce(0) { $0 + $1.documents } }
    }
}
