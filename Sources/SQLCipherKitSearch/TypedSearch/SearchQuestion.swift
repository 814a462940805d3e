import CSQLCipher

/// The words of a question in C's form.
struct SearchQuestion {
    private var slots: [sqlcipherkit_slot] = []
    private var alternatives: [sqlcipherkit_alternative] = []
    private var columns: [Int32] = []
    private var bytes: [UInt8] = []
    /// The ends of the tokens in `bytes`.
    private var tokens: [Int] = []

    /// Adds a typed word.
    mutating func add(_ slot: SearchSlots.Slot, cost: Int32, documents: Int) {
        columns += slot.columns
        slots.append(
            sqlcipherkit_slot(
                excluded: Int32(slot.excluded), cost: cost, documents: Int64(documents),
                columns: nil, column_count: Int32(slot.columns.count)))
    }

    /// Adds a word that the last typed word may mean, and what the index has for it.
    mutating func add(_ alternative: SearchSlots.Alternative, of entries: [[UInt8]], exactness: Int32, documents: Int) {
        alternatives.append(
            sqlcipherkit_alternative(
                slot: Int32(slots.count - 1), first: Int32(tokens.count), count: Int32(entries.count),
                typos: Int32(alternative.typos), exactness: exactness, documents: Int64(documents)))
        for token in entries {
            bytes += token
            tokens.append(bytes.count)
        }
    }

    /// Calls `body` with a question that has the words.
    func with<R>(_ body: (inout sqlcipherkit_question) throws -> R) rethrows -> R {
        // An empty array may have no address.
        try (bytes + [0]).withUnsafeBufferPointer { bytes in
            try (columns + [0]).withUnsafeBufferPointer { columns in
                var (start, column) = (0, 0)
                let tokens = tokens.map { end in
                    defer { start = end }
                    return sqlcipherkit_index_token(bytes: bytes.baseAddress.map { $0 + start }, count: Int32(end - start))
                }
                let slots = slots.map { slot in
                    var slot = slot
                    slot.columns = columns.baseAddress.map { $0 + column }
                    column += Int(slot.column_count)
                    return slot
                }
                return try slots.withUnsafeBufferPointer { slots in
                    try tokens.withUnsafeBufferPointer { tokens in
                        try alternatives.withUnsafeBufferPointer { alternatives in
                            var question = sqlcipherkit_question()
                            question.slots = slots.baseAddress
                            question.slot_count = Int32(slots.count)
                            question.alternatives = alternatives.baseAddress
                            question.alternative_count = Int32(alternatives.count)
                            question.tokens = tokens.baseAddress
                            return try body(&question)
                        }
                    }
                }
            }
        }
    }
}
