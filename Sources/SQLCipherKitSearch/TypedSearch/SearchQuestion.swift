import CSQLCipher

/// The words of a question in C's form, with the memory that the question refers to.
final class SearchQuestion {
    private var slots: [sqlcipherkit_slot] = []
    private var alternatives: [sqlcipherkit_alternative] = []
    private var bytes: [UInt8] = []
    /// The ends of the tokens in `bytes`.
    private var tokens: [Int] = []
    private var memory: [UnsafeMutableRawPointer] = []

    deinit { for block in memory { block.deallocate() } }

    /// Returns a copy that lives as long as this object. It has an address even if it is empty.
    func copy<T: BitwiseCopyable>(_ values: [T]) -> UnsafePointer<T> {
        let copy = UnsafeMutablePointer<T>.allocate(capacity: max(1, values.count))
        copy.initialize(from: values, count: values.count)
        memory.append(UnsafeMutableRawPointer(copy))
        return UnsafePointer(copy)
    }

    /// Adds a typed word.
    func add(_ slot: SearchSlots.Slot, cost: Int32, documents: Int) {
        slots.append(
            sqlcipherkit_slot(
                excluded: Int32(slot.excluded), cost: cost, documents: Int64(documents),
                columns: copy(slot.columns), column_count: Int32(slot.columns.count)))
    }

    /// Adds a word of the index that the last typed word may mean: `entries` are the entries of the index that it consists of.
    func add(_ alternative: SearchSlots.Alternative, of entries: [[UInt8]], exactness: Int32, documents: Int) {
        alternatives.append(
            sqlcipherkit_alternative(
                slot: Int32(slots.count - 1), first: Int32(tokens.count), count: Int32(entries.count),
                typos: Int32(alternative.typos), exactness: exactness, documents: Int64(documents)))
        for token in entries {
            bytes += token
            tokens.append(bytes.count)
        }
    }

    /// Returns the question with its words. It is valid as long as this object.
    func worded() -> sqlcipherkit_question {
        let bytes = copy(bytes), starts = [0] + tokens
        var question = sqlcipherkit_question()
        question.slots = copy(slots)
        question.slot_count = Int32(slots.count)
        question.alternatives = copy(alternatives)
        question.alternative_count = Int32(alternatives.count)
        question.tokens = copy(
            zip(starts, tokens).map { sqlcipherkit_index_token(bytes: bytes + $0, count: Int32($1 - $0)) })
        return question
    }
}
