import CSQLCipher

/// Completes a word of which one letter is typed by the texts: too many words of the index begin so.
extension SearchSlots {
    private enum Bound {
        /// The number of rows that are read, the bytes of each, and the number of words that are taken from them.
        static let (rows, bytes, words) = (60, 1_000, 24)
    }

    /// Adds words that follow the word before in the best rows for the other words, where these stand together in the heaviest
    /// column.
    mutating func findFollowing() throws {
        let places = wanted
        guard let last = places.last, places.count > 1, isBegun(last), slots[last].letters == 1, slots[last].isCut,
            !index.hasTrigrams
        else { return }
        var others = self
        others.slots[last].isLeftOut = true
        let before = slots[places[places.count - 2]].alternatives.compactMap { $0.tokens.last }
        guard !before.isEmpty else { return }
        let budget = Budget(steps: 5_000, limit: 100_000)
        let answer = try others.match(minimum: places.count - 1, wanted: Bound.rows, budget, nil)
        let begun = slots[last].tokens[0]
        var known = slots[last].words
        let most = known.count + Bound.words
        for match in answer.matches where match.wordPlace == .sideBySideInHeaviestColumn && known.count < most {
            let words = try index.tokens(of: index.text(of: match.row, column: answer.heaviest, bytes: Bound.bytes), .document)
            for (word, next) in zip(words, words.dropFirst()) {
                guard next.bytes.starts(with: begun), before.contains(word.bytes), known.insert(next.bytes).inserted,
                    let term = try index.term(next.bytes)
                else { continue }
                slots[last].add([next.bytes], .prefix, documents: term.documents)
            }
        }
        slots[last].settle()
    }
}
