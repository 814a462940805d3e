import CSQLCipher

/// How far down the thread's stack a recursion may go: deep documents end in an error also on threads whose stack is small.
struct StackLimit {
    private let lowest: UInt

    /// The limit of this thread; none where the system does not tell.
    static func ofThisThread() -> StackLimit { StackLimit(lowest: UInt(sqlcipherkit_stack_limit())) }

    /// Whether the calls on the stack have come down to the limit.
    @inline(__always)
    var isReached: Bool {
        var marker: UInt8 = 0
        return withUnsafeMutableBytes(of: &marker) { UInt(bitPattern: $0.baseAddress) < lowest }
    }
}
