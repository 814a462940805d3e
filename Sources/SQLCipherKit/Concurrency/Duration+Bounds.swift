extension Duration {
    /// The longest wait: a century. A longer one overflows the system's clocks.
    static let longestWait = Duration.seconds(3_155_760_000)

    /// A time to wait: never negative, and never longer than ``longestWait``.
    var bounded: Duration { min(max(self, .zero), .longestWait) }

    /// The time between two polls: long enough to leave the processor to other work.
    var betweenPolls: Duration { max(bounded, .milliseconds(10)) }
}
