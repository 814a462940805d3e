/// A text that the tab key can insert in place of the text before the cursor.
struct Completion: Equatable {
    struct Candidate: Equatable {
        /// The text to insert.
        let text: String
        /// The text to show in a list.
        let shown: String
        /// True if a blank must follow.
        let isWhole: Bool

        init(_ text: String, shown: String? = nil, isWhole: Bool = true) {
            (self.text, self.shown, self.isWhole) = (text, shown ?? text, isWhole)
        }
    }

    static let none = Completion(length: 0, candidates: [])

    /// The number of characters before the cursor that are replaced.
    let length: Int
    let candidates: [Candidate]

    /// The text that all candidates begin with.
    var commonStart: String {
        guard let first = candidates.first?.text else { return "" }
        return candidates.dropFirst().reduce(first) { $0.commonPrefix(with: $1.text) }
    }
}
