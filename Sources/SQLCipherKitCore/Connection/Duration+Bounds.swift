extension Duration {
    /// The longest wait: a century. A longer one overflows the system's clocks.
    package static let longestWait = Duration.seconds(3_155_760_000)

    /// A time to wait: never negative, and never longer than ``longestWait``.
    package var bounded: Duration { min(max(self, .zero), .longestWait) }

    /// The time between two polls: long enough to leave the processor to other work.
    package var betweenPolls: Duration { max(bounded, .milliseconds(10)) }
}
