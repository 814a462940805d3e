import CSQLCipher

/// The limit of a recursion on the thread's stack, so that deep documents end in an error even on threads with a small stack.
struct StackLimit {
    private let lowest: UInt

    /// Returns the limit of this thread; no limit if the system does not report one.
    static func ofThisThread() -> StackLimit { StackLimit(lowest: UInt(sqlcipherkit_stack_limit())) }

    /// True if the stack has grown down to the limit.
    @inline(__always)
    var isReached: Bool {
        var marker: UInt8 = 0
        return withUnsafeMutableBytes(of: &marker) { UInt(bitPattern: $0.baseAddress) < lowest }
    }
}
