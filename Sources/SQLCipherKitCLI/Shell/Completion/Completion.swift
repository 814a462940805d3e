/// What the tab key can put in the place of what was typed.
struct Completion: Equatable {
    struct Candidate: Equatable {
        /// What is inserted.
        let text: String
        /// What a list shows.
        let shown: String
        /// Whether nothing else can follow without a blank.
        let isWhole: Bool

        init(_ text: String, shown: String? = nil, isWhole: Bool = true) {
            (self.text, self.shown, self.isWhole) = (text, shown ?? text, isWhole)
        }
    }

    static let none = Completion(length: 0, candidates: [])

    /// How many characters before the cursor are replaced.
    let length: Int
    let candidates: [Candidate]

    /// What all candidates begin with.
    var commonStart: String {
        guard let first = candidates.first?.text else { return "" }
        return candidates.dropFirst().reduce(first) { $0.commonPrefix(with: $1.text) }
    }
}
