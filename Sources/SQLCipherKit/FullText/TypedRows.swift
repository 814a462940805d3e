/// The rows that a typed search finds: whether its filter lets them in, and which they are. C asks for one after the other.
final class TypedRows {
    /// Rows that are asked for although they are not among the best, for the number of those found.
    private static let filtered = 5_000
    /// Rows that facets and totals count at most.
    static let counted = 20_000

    private let filter: ((Int64) throws -> Bool)?
    private let isCounting: Bool
    /// What the filter said: it is asked once for a row, in however many rounds that is found.
    private var known: [Int64: Bool] = [:]
    private var error: (any Error)?
    /// The rows found in all rounds, if they are counted.
    private(set) var found: Set<Int64> = []
    /// The number of rows let in since the round began.
    private(set) var accepted = 0

    /// Returns nil if there is nothing to ask.
    init?(filter: ((Int64) throws -> Bool)?, isCounting: Bool) {
        if filter == nil, !isCounting { return nil }
        self.filter = filter
        self.isCounting = isCounting
    }

    var limit: Int { isCounting ? Self.counted : Self.filtered }
    /// Whether there may be more rows than those that were kept.
    var isFull: Bool { found.count >= Self.counted }

    func begin() {
        accepted = 0
        error = nil
    }

    /// 1 for a row that is let in, 0 for another one, -1 after an error.
    func ask(_ row: Int64) -> Int32 {
        do {
            guard try isLetIn(row) else { return 0 }
        } catch {
            self.error = error
            return -1
        }
        accepted += 1
        if isCounting, !isFull { found.insert(row) }
        return 1
    }

    private func isLetIn(_ row: Int64) throws -> Bool {
        guard let filter else { return true }
        if let answer = known[row] { return answer }
        let answer = try filter(row)
        known[row] = answer
        return answer
    }

    /// Throws what the filter threw.
    func check() throws { if let error { throw error } }
}
