/// Decides which rows a typed search accepts, and collects them. C asks about one row after the other.
final class TypedRows {
    /// The number of rows that are asked about even if they are not among the best, so that they can be counted.
    private static let filtered = 5_000
    /// The maximum number of rows that facets and totals count.
    static let counted = 20_000

    private let filter: ((Int64) throws -> Bool)?
    private let isCounting: Bool
    /// The filter's answers: each row is tested only once, in however many rounds it is found.
    private var known: [Int64: Bool] = [:]
    private var error: (any Error)?
    /// The rows found in all rounds, if rows are counted.
    private(set) var found: Set<Int64> = []
    /// The number of rows accepted since the round began.
    private(set) var accepted = 0

    /// Returns nil if no row needs to be asked about.
    init?(filter: ((Int64) throws -> Bool)?, isCounting: Bool) {
        if filter == nil, !isCounting { return nil }
        self.filter = filter
        self.isCounting = isCounting
    }

    var limit: Int { isCounting ? Self.counted : Self.filtered }
    /// Whether there may be more rows than `found` has.
    var isFull: Bool { found.count >= Self.counted }

    func begin() {
        accepted = 0
        error = nil
    }

    /// Returns 1 for a row that is accepted, 0 for one that is not, and -1 after an error.
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

    /// Throws the error that the filter threw, if any.
    func check() throws { if let error { throw error } }
}
