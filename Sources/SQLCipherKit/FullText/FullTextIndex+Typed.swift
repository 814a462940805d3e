import Foundation

/// Searching for what people type.
extension FullTextIndex {
    /// Searches for what was typed, or is still being typed.
    /// ```swift
    /// let found = try notes.search(typed: "quikc bro", limit: 20)
    /// for hit in found.hits { print(hit.rowID, hit.snippet ?? "") }
    /// ```
    /// Each word is found as it is, in its other English forms, as the beginning of a word, and with typing errors; what was
    /// understood is in ``TypedSearch/Found/words``. Rows are ranked by ``TypedSearch/Rule``. If few or no rows have all words,
    /// rows without one of them follow. Of a text without a word nothing is found.
    ///
    /// The work of a search is limited, whatever was typed: see <doc:Search>.
    /// - Parameters:
    ///   - text: what was typed. Any text is accepted.
    ///   - limit: the number of hits wanted. Default: 20.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the table is gone, and what SQLite reports.
    public func search(typed text: String, limit: Int = 20) throws -> TypedSearch.Found {
        try search(TypedSearch(text, limit: limit))
    }

    /// Searches for what was typed, with everything that a ``TypedSearch`` can ask for.
    /// - Throws: ``DatabaseError/Reason/noSuchColumn`` for a column that the table has not,
    ///   ``DatabaseError/Reason/invalidArgument`` for numbers out of their range or a table that is gone, and what SQLite reports,
    ///   of the filter among others.
    public func search(_ search: TypedSearch) throws -> TypedSearch.Found {
        try TypedIndex.with(self) { index in try TypedRun(search, index).found() }
    }
}

/// One typed search.
struct TypedRun {
    private enum Bound {
        static let rows = 10_000
        /// Steps through lists of rows, for each of the rounds.
        static let steps = 20_000
        static let fewerSteps = 10_000
        /// Rows whose relevance is computed with the length of their texts.
        static let rated = 256
    }

    let search: TypedSearch
    let index: TypedIndex
    private let shown: TypedHits

    init(_ search: TypedSearch, _ index: TypedIndex) throws {
        guard (0...1_000).contains(search.limit), (0...9_000).contains(search.offset) else {
            throw DatabaseError.invalidArgument("a typed search shows up to 1,000 hits, from the 9,000th at most")
        }
        guard search.weights.allSatisfy({ abs($0) <= 1e15 }) else {
            throw DatabaseError.invalidArgument("a column's weight is a number from -1e15 to 1e15")
        }
        self.search = search
        self.index = index
        shown = try TypedHits(search, index)
    }

    func found() throws -> TypedSearch.Found {
        var slots = try TypedSlots(search, index)
        let wanted = slots.wanted
        let needed = search.offset + search.limit
        guard !wanted.isEmpty else { return Self.nothing(slots, search.text) }
        let accept = try filter()
        var rated = max(Bound.rated, needed)
        if search.decay != nil { rated = max(rated, 2 * Bound.rated) }
        try slots.findWords()
        func match(_ minimum: Int, _ steps: Int) throws -> TypedSlots.Answer {
            // A word that the index lacks leaves nothing to look for.
            let known = wanted.filter { !slots.slots[$0].alternatives.isEmpty }.count
            if known < minimum { return TypedSlots.Answer() }
            return try slots.match(minimum: minimum, wanted: rated, budget: steps, accept)
        }
        var answer = try match(wanted.count, Bound.steps)
        var isEverything = true
        for edits in 1...2 {
            if isSettled(answer, needed, edits: edits) {
                isEverything = false
                break
            }
            if try slots.findTypos(edits) { answer = try match(wanted.count, Bound.steps) }
        }
        var minimum = wanted.count
        let known = wanted.filter { !slots.slots[$0].alternatives.isEmpty }.count
        let enough = min(needed, search.fewerWordsBelow)
        while answer.matches.count < enough, minimum > 1 {
            minimum -= 1
            guard minimum <= known else { continue }
            answer = try match(minimum, Bound.fewerSteps)
        }
        answer = try fade(answer)
        let page = answer.matches.dropFirst(search.offset).prefix(search.limit)
        return TypedSearch.Found(
            hits: try shown.hits(Array(page), slots), words: slots.words(of: search.text), total: answer.total,
            isExhaustive: isEverything && answer.isComplete && slots.isComplete,
            hasFewerWords: minimum < wanted.count)
    }

    /// Whether rows with more typing errors could no longer be among those wanted.
    private func isSettled(_ answer: TypedSlots.Answer, _ needed: Int, edits: Int) -> Bool {
        guard answer.matches.count >= needed, needed > 0 else { return needed == 0 }
        return search.rules.prefix(2) != [.words, .typos] || answer.matches[needed - 1].typos < edits
    }

    private static func nothing(_ slots: TypedSlots, _ text: String) -> TypedSearch.Found {
        TypedSearch.Found(hits: [], words: slots.words(of: text), total: 0, isExhaustive: true, hasFewerWords: false)
    }

    private func filter() throws -> ((Int64) throws -> Bool)? {
        guard let filter = search.filter else { return nil }
        try FullTextStatements.requirePositional(filter, "a filter")
        let table = index.table
        let head: SQL
        if let content = try table.content() {
            head = SQL(raw: "SELECT 1 FROM \(content.rows) AS t\(content.join) WHERE \(content.rowID) = ")
        } else {
            head = SQL(raw: "SELECT 1 FROM \(table.qualifiedName) AS t WHERE t.rowid = ")
        }
        let connection = table.connection
        return { row in try connection.fetchOne(Int.self, "\(head)\(row) AND (\(filter))") != nil }
    }

    /// The rows in order again, once their relevance has faded.
    private func fade(_ answer: TypedSlots.Answer) throws -> TypedSlots.Answer {
        guard let decay = search.decay, decay.half > 0 else { return answer }
        try FullTextStatements.requirePositional(decay.value, "a decay")
        let table = index.table
        let head: SQL
        if let content = try table.content() {
            head = "SELECT (\(decay.value)) FROM \(raw: content.rows) AS t\(raw: content.join) WHERE \(raw: content.rowID) = "
        } else {
            head = "SELECT (\(decay.value)) FROM \(raw: table.qualifiedName) AS t WHERE t.rowid = "
        }
        var answer = answer
        for place in answer.matches.indices {
            let row = answer.matches[place].row
            guard let value = try table.connection.fetchOne(Double.self, "\(head)\(row)") else { continue }
            answer.matches[place].relevance *= exp2(-max(0, value) / decay.half)
        }
        answer.matches.sort {
            ($0.before, -$0.relevance, $0.after, $0.row) < ($1.before, -$1.relevance, $1.after, $1.row)
        }
        return answer
    }
}

extension TypedSlots {
    /// What was understood of each word.
    func words(of text: String) -> [TypedSearch.Word] {
        let utf8 = text.utf8
        return slots.map { slot in
            let lower = utf8.index(utf8.startIndex, offsetBy: slot.range.lowerBound, limitedBy: utf8.endIndex) ?? utf8.endIndex
            let upper = utf8.index(utf8.startIndex, offsetBy: slot.range.upperBound, limitedBy: utf8.endIndex) ?? utf8.endIndex
            return TypedSearch.Word(
                typed: String(text[lower..<upper]), range: lower..<upper,
                matches: slot.alternatives.map { alternative in
                    TypedSearch.Word.Match(
                        text: alternative.tokens.map { String(decoding: $0, as: UTF8.self) }.joined(separator: " "),
                        kind: alternative.kind, typos: alternative.typos, documents: alternative.documents)
                },
                isExcluded: slot.isExcluded, isLeftOut: slot.isLeftOut)
        }
    }
}
