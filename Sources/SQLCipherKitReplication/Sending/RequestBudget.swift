/// Limits a replica's requests to one in a pause, in the long run. Requests that are saved while little is committed can be made
/// later.
///
/// A link also pays its part of the requests for the head, so that a link after a head waits no longer than other links.
struct RequestBudget {
    private static let largestCredit = 8.0
    /// The requests for a head: it is replaced twice, the joined object is proven, and sometimes there is a page of the index.
    private static let headPrice = 3.25

    /// The number of requests that may be made at once, and when that was counted.
    private var credit = largestCredit, creditedAt: ContinuousClock.Instant?
    /// The requests that were counted already, with a link.
    private var prepaid = 0.0
    /// The number of links between two heads.
    private let fanOut: Double

    init(fanOut: Int) { self.fanOut = Double(fanOut) }

    /// Adds the requests earned in the time since the last call.
    /// - Returns: whether a request may be made.
    mutating func allowsRequest(every pause: Duration) -> Bool {
        let now = ContinuousClock.now
        if let creditedAt { credit = min(Self.largestCredit, credit + (now - creditedAt) / pause) }
        creditedAt = now
        return credit >= 1
    }

    /// - Parameter isWanted: whether a caller waits.
    mutating func payForLink(isWanted: Bool) {
        charge(1 + Self.headPrice / fanOut, isWanted)
        prepaid = 1
    }

    /// Pays the part of a head's requests that the links since the last head have not paid.
    /// - Parameter links: how many there are.
    mutating func payForHead(after links: Int, isWanted: Bool) {
        charge(max(0, Self.headPrice - Self.headPrice / fanOut * Double(links)), isWanted)
        prepaid = Self.headPrice
    }

    mutating func payForRequest() { if prepaid >= 1 { prepaid -= 1 } else { credit = max(-1, credit - 1) } }

    /// Requests for a waiting caller leave a debt of at most one request. With a larger debt, later commits would be stored late.
    private mutating func charge(_ requests: Double, _ isWanted: Bool) {
        credit = max(isWanted ? min(credit, -1) : -Self.largestCredit, credit - requests)
    }
}
