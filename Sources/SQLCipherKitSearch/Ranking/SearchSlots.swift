import SQLCipherKitCore

/// The typed words, each a slot with the words of the index that it may mean.
struct SearchSlots {
    /// A word of the index, or several words in sequence, that a typed word may mean.
    struct Alternative {
        var tokens: [[UInt8]]
        var kind: FullTextSearch.Word.Kind
        var typos = 0
        var documents: Int
        /// About how many rows of all searched indexes have it; nil for a single index.
        var shared: Int?
        /// True if a word with a typing error is longer than the typed word or another form of it, or if a word with the same
        /// stem is another word of the family.
        var isOther = false

        var exactness: Int32 {
            switch kind {
            case .exact: 0
            case .form, .synonym: isOther ? 3 : 1
            case .compound, .prefix: 2
            case .typo: isOther || typos > 1 ? 4 : 3
            }
        }
    }

    /// A typed word or phrase.
    struct Slot {
        /// The word's range in the text, in bytes.
        var range: Range<Int>
        /// The word's tokens: several tokens form a phrase.
        var tokens: [[UInt8]]
        /// Further tokens that the tokenizer produced, each at the position of one of `tokens`.
        var others: [(place: Int, token: [UInt8])] = []
        var isQuoted = false
        /// True if it is a version, a date, an address or the like, which is found as a whole.
        var isWhole = false
        /// True if longer words may be meant; and true if a `*` says so.
        var isPrefix = false
        var isBeginning = false
        /// The number of the group of excluded words that it is in, from 1 on: rows with all words of a group are excluded. 0 for a
        /// word that is searched for.
        var excluded = 0
        var isLeftOut = false
        /// True if the index has more words that begin so than were taken.
        var isCut = false
        var columns: [Int32] = []
        var alternatives: [Alternative] = []
        /// About how many rows have it, counted for the words that were found first: the rarest slot is looked for first.
        var documents = 0
        /// About how many rows of all searched indexes have it; nil for a single index.
        var shared: Int?
        /// The slots of the alternatives of an `OR`.
        var parts: [Slot] = []

        /// True if the index has the word without a typing error.
        var isKnown: Bool { alternatives.contains { $0.typos == 0 } }
        /// True if longer words are what is being typed. A number is whole: longer ones are no more than like it.
        var isOpen: Bool { isPrefix && (isBeginning || !(tokens.last.map(SearchText.hasDigit) ?? false)) }
        var isExcluded: Bool { excluded > 0 }
        var isPhrase: Bool { tokens.count > 1 }
        var letters: Int { tokens.count == 1 ? String(decoding: tokens[0], as: UTF8.self).unicodeScalars.count : 0 }
        /// The single words of the index that it may mean.
        var words: Set<[UInt8]> { Set(alternatives.filter { $0.tokens.count == 1 }.map { $0.tokens[0] }) }
        /// Years, versions and other numbers are not mistyped words.
        var mayHaveTypos: Bool {
            !isQuoted && !isExcluded && tokens.count == 1
                && !String(decoding: tokens[0], as: UTF8.self).unicodeScalars.contains {
                    $0.properties.numericType != nil || $0.isUnspacedScript
                }
        }
    }

    /// The maximum number of words that are searched for, and of excluded words.
    static let limit = 12

    var slots: [Slot] = []
    /// True if the text has operators that may be words.
    private(set) var hasKeywords = false
    /// True if everything that the index has for the words was found.
    var isComplete = true
    /// True if a row that lacks one word in three may count as having every word.
    var mayHaveWordTooMany = false
    /// The number of rows among which words are rare or frequent: those of all indexes that are searched together.
    var rows: Int

    let search: FullTextSearch
    let index: SearchIndex
    /// The rules by which words have other forms.
    let stems: [WordStems]

    init(_ search: FullTextSearch, _ index: SearchIndex) throws {
        self.search = search
        self.index = index
        rows = index.rows
        stems = try (index.isStemmed ? [] : search.languages).sorted { $0.rawValue < $1.rawValue }.map(WordStems.init)
        try parse()
    }

    /// Slots for words, or phrases, as the index has them.
    init(found words: [[[UInt8]]], _ index: SearchIndex) throws {
        try self.init(FullTextSearch(""), index)
        slots = words.map { tokens in
            var slot = Slot(range: 0..<0, tokens: tokens)
            slot.add(tokens, .exact, documents: 1)
            return slot
        }
    }

    // MARK: From text to slots

    private mutating func parse() throws {
        let typed = SearchText(search.text, columns: index.columns, readsKeywords: search.readsKeywords)
        hasKeywords = typed.hasKeywords
        let words = try typed.parts.enumerated().map { number, part in
            let isLast = number == typed.parts.count - 1 && typed.isOpen && search.prefixMatching != .none
            return try read(part, isPrefix: part.isPrefix || isLast)
        }
        for clause in typed.clauses {
            // The tokenizer may have dropped all words of an alternative.
            let known = clause.map { words[$0] }.filter { !$0.isEmpty }
            if known.count > 1 {
                // The words of an alternative without spaces stand side by side.
                let parts = known.map { slots in Slot(joining: slots.filter { !$0.isLeftOut }) }
                slots.append(parts[0])
                slots[slots.count - 1].parts = parts
            } else {
                slots += known.joined()
            }
        }
        var groups = 0
        for group in typed.excluded {
            let found = group.flatMap { part in
                words[part].map { slot in
                    var slot = slot
                    slot.isPrefix = slot.isPrefix && typed.parts[part].isPrefix
                    return slot
                }
            }
            if found.isEmpty { continue }
            groups += 1
            for var slot in found {
                slot.excluded = groups
                slots.append(slot)
            }
        }
        slots.sort { ($0.range.lowerBound, $0.range.upperBound) < ($1.range.lowerBound, $1.range.upperBound) }
        leaveOut()
    }

    /// Returns a slot for each word of a part, or for each run of words that touch.
    private func read(_ part: SearchText.Part, isPrefix: Bool) throws -> [Slot] {
        let start = search.text.utf8.distance(from: search.text.utf8.startIndex, to: part.range.lowerBound)
        let tokens = try index.tokens(typed: String(search.text[part.range]), isPrefix: isPrefix)
        let isWhole = !part.isQuoted && SearchText.isWhole(search.text[part.range])
        var found = runs(tokens, isPhrase: part.isQuoted || isWhole).map { run in
            var slot = run
            slot.range = (start + run.range.lowerBound)..<(start + run.range.upperBound)
            (slot.isQuoted, slot.isWhole, slot.isBeginning) = (part.isQuoted, isWhole && run.tokens.count > 1, part.isPrefix)
            if let column = part.column, let place = index.columns.firstIndex(named: column) { slot.columns = [Int32(place)] }
            return slot
        }
        if !part.isQuoted, !isWhole { leaveOutElisions(&found) }
        guard isPrefix, !found.isEmpty else { return found }
        found[found.count - 1].isPrefix = true
        // A tokenizer has no synonyms for a beginning. What is being typed may be a whole word.
        if !part.isPrefix, let whole = try read(part, isPrefix: false).last, whole.tokens == found[found.count - 1].tokens {
            found[found.count - 1].others = whole.others
        }
        return found
    }

    /// Groups the tokens into phrases. Tokens that touch, as in text without spaces, are a phrase; so are those of quoted text, of
    /// numbers and of addresses.
    private func runs(
        _ tokens: [SearchIndex.Token], isPhrase: Bool
    ) -> [Slot] {
        var runs: [Slot] = []
        for token in tokens {
            guard let last = runs.last else {
                runs.append(Slot(range: token.range, tokens: [token.bytes]))
                continue
            }
            let run = runs.count - 1
            if token.isColocated {
                runs[run].others.append((last.tokens.count - 1, token.bytes))
            } else if isPhrase || token.range.lowerBound <= last.range.upperBound, last.tokens.count < 32 {
                runs[run].tokens.append(token.bytes)
                runs[run].range = last.range.lowerBound..<max(last.range.upperBound, token.range.upperBound)
            } else {
                runs.append(Slot(range: token.range, tokens: [token.bytes]))
            }
        }
        return runs
    }

    /// Leaves out the first word of `l'arbre`.
    private func leaveOutElisions(_ slots: inout [Slot]) {
        let elisions = search.languages.reduce(into: Set<[UInt8]>()) { $0.formUnion($1.elisions) }
        guard !elisions.isEmpty, slots.count > 1 else { return }
        let text = Array(search.text.utf8)
        for place in slots.indices.dropLast() where slots[place].tokens.count == 1 && elisions.contains(slots[place].tokens[0]) {
            let between = text[slots[place].range.upperBound..<slots[place + 1].range.lowerBound]
            if ["'", "\u{2019}"].contains(String(decoding: between, as: UTF8.self)) { slots[place].isLeftOut = true }
        }
    }

    private mutating func leaveOut() {
        let stopWords = Set(search.stopWords.map { Array($0.lowercased().utf8) })
        let wanted = self.wanted
        func isStopWord(_ slot: Slot) -> Bool { !slot.isQuoted && slot.tokens.count == 1 && stopWords.contains(slot.tokens[0]) }
        // If all words are stop words, they are meant. The last one may still become another word.
        let isAllStopWords = wanted.allSatisfy { isStopWord(slots[$0]) }
        var count = 0
        for place in wanted {
            if !isAllStopWords, isStopWord(slots[place]), !slots[place].isPrefix {
                slots[place].isLeftOut = true
            } else {
                count += 1
                if count > Self.limit { slots[place].isLeftOut = true }
            }
        }
        // A group is left out as a whole: a part of it would exclude more rows.
        var excluded = 0
        for group in Set(slots.map(\.excluded)).subtracting([0]).sorted() {
            let places = slots.indices.filter { slots[$0].excluded == group }
            excluded += places.count
            if excluded > Self.limit { for place in places { slots[place].isLeftOut = true } }
        }
    }

    /// The slots that are not left out: words that are searched for, and excluded ones.
    var active: [Int] { slots.indices.filter { !slots[$0].isLeftOut } }
    var wanted: [Int] { active.filter { !slots[$0].isExcluded } }
}

extension SearchSlots.Slot {
    mutating func add(
        _ tokens: [[UInt8]], _ kind: FullTextSearch.Word.Kind, documents: Int, typos: Int = 0, isOther: Bool = false
    ) {
        alternatives.append(
            SearchSlots.Alternative(tokens: tokens, kind: kind, typos: typos, documents: documents, isOther: isOther))
    }

    mutating func add(_ word: SearchIndex.Term, _ kind: FullTextSearch.Word.Kind, typos: Int = 0, isOther: Bool = false) {
        add([word.bytes], kind, documents: word.documents, typos: typos, isOther: isOther)
    }

    /// Takes over in how many rows of all indexes the words are. What is known of the words that were found first stays.
    mutating func share(_ typed: [[[UInt8]]: Int], _ documents: [[[UInt8]]: Int]) {
        shared = shared ?? typed[tokens]
        for number in alternatives.indices {
            alternatives[number].shared = alternatives[number].shared ?? documents[alternatives[number].tokens]
        }
    }

    /// Several words side by side as one.
    fileprivate init(joining slots: [Self]) {
        self = slots[0]
        for slot in slots.dropFirst() {
            range = range.lowerBound..<slot.range.upperBound
            others += slot.others.map { (tokens.count + $0.place, $0.token) }
            tokens += slot.tokens
            (isPrefix, isBeginning) = (slot.isPrefix, slot.isBeginning)
        }
    }
}
