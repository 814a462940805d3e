import CSQLCipher
import SQLCipherKitCore

/// Remembers the words found in an index until its content changes, because each keystroke asks again for all words before the one
/// that is being typed.
final class SearchMemory {
    enum Question: Hashable {
        case word([UInt8])
        case beginning([UInt8], pages: Int)
        case near([UInt8], edits: Int, first: Int, isPrefix: Bool, pages: Int)
        case forms([UInt8], FullTextSearch.Language)
        case compounds([UInt8], FullTextSearch.Language)
    }

    struct Answer {
        var terms: [SearchIndex.Term]
        var isComplete: Bool
    }

    private enum Bound {
        static let questions = 1_024
        /// Words in all answers together: about a megabyte.
        static let terms = 10_000
    }

    private var answers: [Question: Answer] = [:]
    /// The questions, oldest first.
    private var order: [Question] = []
    private var terms = 0
    /// The words of the index, and whether these are all.
    var vocabulary: (words: Vocabulary, isComplete: Bool)?
    /// Identifies the index's content.
    private var content: UnsafeMutableRawPointer?

    /// Forgets everything if the index's content has changed.
    func update(_ words: OpaquePointer) {
        guard sqlcipherkit_words_is_same(words, &content) == 0 else { return }
        answers = [:]
        order = []
        terms = 0
        vocabulary = nil
    }

    subscript(question: Question) -> Answer? {
        get { answers[question] }
        set {
            guard let newValue, answers[question] == nil, newValue.terms.count < Bound.terms / 4 else { return }
            answers[question] = newValue
            order.append(question)
            terms += newValue.terms.count
            guard order.count > Bound.questions || terms > Bound.terms else { return }
            // Drop the older half at once.
            for old in order.prefix(order.count / 2 + 1) { terms -= answers.removeValue(forKey: old)?.terms.count ?? 0 }
            order.removeFirst(order.count / 2 + 1)
        }
    }
}

/// The memories of a connection's indexes.
private final class SearchMemories: ConnectionState {
    private var memories: [ExactText: SearchMemory] = [:]

    func of(_ table: String) -> SearchMemory {
        let key = ExactText(table)
        if let memory = memories[key] { return memory }
        if memories.count >= 8 { memories = [:] }
        let memory = SearchMemory()
        memories[key] = memory
        return memory
    }
}

extension Connection {
    /// Returns the memory for an index.
    func searchMemory(of table: String) -> SearchMemory { state(SearchMemories.self).of(table) }
}
