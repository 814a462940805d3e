import CSQLCipher

/// Finds rows for words of the index.
extension TypedSlots {
    /// The rows found, best first.
    struct Answer {
        var matches: [sqlcipherkit_match] = []
        var total = 0
        var isComplete = true
        var steps = 0
    }

    /// The weights of the columns, and their positions for the column rule: the heaviest column first.
    private func columnWeights() -> (weights: [Double], places: [Int32]) {
        let weights = index.columns.indices.map { $0 < search.weights.count ? search.weights[$0] : 1 }
        var places = [Int32](repeating: 0, count: weights.count)
        let order = weights.indices.sorted { (weights[$1], $0) < (weights[$0], $1) }
        for (place, column) in order.enumerated() { places[column] = Int32(place) }
        return (weights, places)
    }

    /// Whether a word, beside others, has only just been begun: one or two letters are not a word yet.
    private func isBegun(_ place: Int) -> Bool {
        let slot = slots[place]
        return slot.isPrefix && !slot.isPhrase && slot.letters <= 2 && wanted.count > 1
    }

    /// Returns the best rows with at least `minimum` of the words.
    /// - Parameters:
    ///   - minimum: how many of the words a row must have.
    ///   - count: the maximum number of rows.
    ///   - budget: the maximum number of steps through lists of rows.
    ///   - accepting: decides whether a row is accepted; nil accepts every row.
    func match(minimum: Int, wanted count: Int, budget: Int, _ accepting: TypedRows?) throws -> Answer {
        let active = active
        var tokens: [[UInt8]] = []
        var alternatives: [sqlcipherkit_alternative] = []
        var columns: [Int32] = []
        var ranges: [Range<Int>] = []
        for (number, place) in active.enumerated() {
            for alternative in slots[place].alternatives {
                let isBegun = alternative.kind == .prefix && alternative.typos == 0 && isBegun(place)
                alternatives.append(
                    sqlcipherkit_alternative(
                        slot: Int32(number), first: Int32(tokens.count), count: Int32(alternative.tokens.count),
                        typos: Int32(alternative.typos), exactness: isBegun ? 0 : alternative.exactness,
                        documents: Int64(min(rows, alternative.shared ?? alternative.documents))))
                tokens += alternative.tokens
            }
            ranges.append(columns.count..<(columns.count + slots[place].columns.count))
            columns += slots[place].columns
        }
        let bytes = tokens.flatMap { $0 }
        let (weights, places) = columnWeights()
        let rules = search.rules.map(\.rawValue)
        accepting?.begin()
        var answer = sqlcipherkit_answer()
        defer { sqlcipherkit_answer_free(&answer) }
        let rc = bytes.withUnsafeBufferPointer { bytes in
            columns.withUnsafeBufferPointer { columns in
                var offset = 0
                let indexTokens = tokens.map { token in
                    defer { offset += token.count }
                    return sqlcipherkit_index_token(bytes: bytes.baseAddress.map { $0 + offset }, count: Int32(token.count))
                }
                let all = active.enumerated().map { number, place in
                    sqlcipherkit_slot(
                        is_excluded: slots[place].isExcluded ? 1 : 0,
                        documents: Int64(min(rows, slots[place].documents)),
                        columns: columns.baseAddress.map { $0 + ranges[number].lowerBound },
                        column_count: Int32(ranges[number].count))
                }
                return all.withUnsafeBufferPointer { all in
                    indexTokens.withUnsafeBufferPointer { indexTokens in
                        alternatives.withUnsafeBufferPointer { alternatives in
                            weights.withUnsafeBufferPointer { weights in
                                places.withUnsafeBufferPointer { places in
                                    rules.withUnsafeBufferPointer { rules in
                                        var question = sqlcipherkit_question()
                                        question.slots = all.baseAddress
                                        question.slot_count = Int32(all.count)
                                        question.alternatives = alternatives.baseAddress
                                        question.alternative_count = Int32(alternatives.count)
                                        question.tokens = indexTokens.baseAddress
                                        question.minimum = Int32(minimum)
                                        question.rules = rules.baseAddress
                                        question.rule_count = Int32(rules.count)
                                        question.weights = weights.baseAddress
                                        question.places = places.baseAddress
                                        question.rows = Int64(rows)
                                        question.budget = Int64(budget)
                                        question.wanted = Int32(count)
                                        if let accepting {
                                            question.context = Unmanaged.passUnretained(accepting).toOpaque()
                                            question.accept = { context, row in
                                                guard let context else { return -1 }
                                                return Unmanaged<TypedRows>.fromOpaque(context).takeUnretainedValue().ask(row)
                                            }
                                            question.accept_all_up_to = Int32(clamping: accepting.limit)
                                        }
                                        return withExtendedLifetime(accepting) {
                                            sqlcipherkit_words_match(index.handle, &question, &answer)
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        try accepting?.check()
        try index.check(rc)
        // If not every row was asked about, it is not known how many would be accepted.
        let total = accepting?.accepted ?? Int(answer.total)
        return Answer(
            matches: Array(UnsafeBufferPointer(start: answer.matches, count: Int(answer.count))), total: total,
            isComplete: answer.is_complete != 0 && total == Int(answer.total), steps: Int(answer.steps))
    }
}
