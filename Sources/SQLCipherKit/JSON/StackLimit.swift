import CSQLCipher

/// How far down the thread's stack a recursion may go: deep documents end in an error also on threads whose stack is small.
///
/// Asking the system costs microseconds, so it is done only for values that are deeper than most.
struct StackLimit {
    /// Deeper than this is worth asking.
    static let carelessDepth = 32
    /// What is left for everything that is called at the deepest level.
    private static let reserve: UInt = 96 * 1024

    private let lowest: UInt

    /// No limit, unless a lowest address is given.
    init(lowest: UInt = 0) { self.lowest = lowest }

    /// The limit of this thread; none where the system does not tell.
    static func ofThisThread() -> StackLimit {
        let end = UInt(sqlcipherkit_stack_lowest())
        return end == 0 ? StackLimit() : StackLimit(lowest: end &+ reserve)
    }

    /// Whether the calls on the stack have come down to the limit.
    @inline(__always)
    var isReached: Bool {
        var marker: UInt8 = 0
        return withUnsafeMutableBytes(of: &marker) { UInt(bitPattern: $0.baseAddress) < lowest }
    }
}
