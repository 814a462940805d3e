import CSQLCipher
import Foundation

/// Finds rows for words of the index.
extension SearchSlots {
    /// The rows found, best first.
    struct Answer {
        var matches: [sqlcipherkit_match] = []
        var total = 0
        var isComplete = true
        /// The column with the highest weight.
        var heaviest = 0
    }

    /// Returns whether a word, beside others, has only just been begun: one or two letters are not a word yet.
    func isBegun(_ place: Int) -> Bool {
        let slot = slots[place]
        return slot.isPrefix && !slot.isPhrase && slot.letters <= 2 && wanted.count > 1
    }

    /// The cost to a row of not having a slot's word: its share of all words' rarities, in percent.
    private var costs: [Int: Int32] {
        let rarities = wanted.map { place in
            let documents = Double(min(slots[place].shared ?? slots[place].documents, rows))
            return log(1 + (Double(rows) - documents + 0.5) / (documents + 0.5))
        }
        let all = max(1e-9, rarities.reduce(0, +))
        return Dictionary(uniqueKeysWithValues: zip(wanted, rarities.map { max(2, Int32(100 * $0 / all)) }))
    }

    /// The work that a search may do, in steps through lists of rows.
    struct Budget {
        /// The steps after which a search ends if it has found enough rows, and those after which it always ends.
        var steps: Int
        var limit: Int

        /// The budget of a walk to rows that lack at most `missing` words. Where rows are left out that cannot be on the page, it
        /// is so large that it ends no walk through 100,000 rows: how far a walk goes must not depend on the page.
        static func walk(missing: Int, prunes: Bool, of slots: SearchSlots) -> Budget {
            let isBegun = slots.wanted.allSatisfy { !slots.slots[$0].isPhrase && slots.slots[$0].letters <= 2 }
            return Budget(steps: prunes ? 1_000_000 : isBegun ? 20_000 : missing == 0 ? 150_000 : 120_000, limit: 2_000_000)
        }
    }

    /// Returns the best rows with at least `minimum` of the words.
    /// - Parameters:
    ///   - minimum: how many of the words a row must have.
    ///   - count: the maximum number of rows.
    ///   - budget: the maximum work.
    ///   - judging: decides which rows are accepted; nil accepts every row.
    ///   - prunes: whether rows may be left out that pay more than the last of the rows that are returned.
    ///   - isFirst: whether any row will do, the first one found.
    ///   - only: the only rows that are looked at, in ascending order; nil for those of `judging`.
    func match(
        minimum: Int, wanted count: Int, _ budget: Budget, _ judging: SearchRows?, prunes: Bool = false, isFirst: Bool = false,
        only: [Int64]? = nil
    ) throws -> Answer {
        let costs = costs
        let words = SearchQuestion()
        // Excluded words come after the others, and those of a group together.
        for place in wanted + active.filter({ slots[$0].isExcluded }) {
            let slot = slots[place]
            let isBegun = isBegun(place)
            words.add(slot, cost: costs[place] ?? 0, documents: min(rows, slot.documents))
            for alternative in slot.alternatives {
                let isTypedPart = isBegun && alternative.kind == .prefix && alternative.typos == 0
                words.add(
                    alternative, of: try alternative.tokens.flatMap(index.entries),
                    exactness: isTypedPart ? 0 : alternative.exactness,
                    documents: min(rows, alternative.shared ?? alternative.documents))
            }
        }
        let weights = index.columns.indices.map { $0 < search.weights.count ? search.weights[$0] : 1 }
        var answer = sqlcipherkit_answer()
        defer { sqlcipherkit_answer_free(&answer) }
        var question = words.worded()
        question.minimum = Int32(minimum)
        question.may_have_word_too_many = mayHaveWordTooMany ? 1 : 0
        question.rules = words.copy(search.rankingRules.map(\.rawValue))
        question.rule_count = Int32(search.rankingRules.count)
        question.weights = words.copy(weights)
        question.rows = Int64(rows)
        question.budget = Int64(budget.steps)
        question.limit = Int64(budget.limit)
        question.enough = isFirst ? 1 : 20
        question.wanted = Int32(count)
        question.prunes = prunes ? 1 : 0
        question.highest_factor = 1
        if let only = only ?? judging?.only {
            question.only = words.copy(only)
            question.only_count = Int32(only.count)
        }
        judging?.set(&question)
        let rc = withExtendedLifetime((words, judging)) { sqlcipherkit_words_match(index.handle, &question, &answer) }
        try judging?.take(answer)
        try index.check(rc)
        return Answer(
            matches: Array(UnsafeBufferPointer(start: answer.matches, count: Int(answer.count))), total: Int(answer.total),
            isComplete: answer.is_complete != 0 && answer.unjudged == 0, heaviest: Int(answer.heaviest))
    }
}
