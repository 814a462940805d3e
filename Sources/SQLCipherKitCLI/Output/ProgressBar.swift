import Foundation

/// A line on the terminal's standard error that shows how far a long task is. Silent where there is no terminal.
struct ProgressBar: ~Copyable {
    private let label: String
    private let total: Int
    private let isVisible = Terminal.isTerminal(STDERR_FILENO)
    private let clock = ContinuousClock()
    private var lastDrawn: ContinuousClock.Instant?

    init(_ label: String, total: Int) {
        self.label = label
        self.total = total
    }

    /// Shows the state, at most ten times a second, as drawing must not cost more than the work.
    mutating func show(_ done: Int, _ detail: @autoclosure () -> String) {
        guard isVisible else { return }
        let now = clock.now
        if let lastDrawn, done < total, lastDrawn.duration(to: now) < .milliseconds(100) { return }
        lastDrawn = now
        let share = total == 0 ? 1 : Double(done) / Double(total)
        let filled = Int(share * 24)
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: 24 - filled)
        let line = "\(label) \(bar) \(Int(share * 100))%  \(detail().onOneLine)"
        Output.write("\r" + line.cut(toColumns: Terminal.width(STDERR_FILENO) - 1) + "\u{1b}[K", to: STDERR_FILENO)
    }

    deinit {
        if lastDrawn != nil { Output.write("\r\u{1b}[K", to: STDERR_FILENO) }
    }
}
