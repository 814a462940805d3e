import Foundation
import SQLCipherKit

/// A line on standard error that shows the progress of a long task. Silent if standard error is not a terminal.
final class ProgressBar {
    private let label: String
    private let descriptor = Invocation.current.errors
    private let isVisible: Bool
    private let clock = ContinuousClock()
    private let start = ContinuousClock.now
    private var lastDrawn: ContinuousClock.Instant?

    init(_ label: String) {
        self.label = label
        isVisible = Terminal.isTerminal(descriptor)
        if isVisible { Invocation.current.bar = self }
    }

    /// Shows, from the second second on, how long work of an unknown length has taken and how much it has read, unless another
    /// bar shows more.
    func tick() {
        guard isVisible, start.duration(to: clock.now) >= .seconds(1) else { return }
        guard Invocation.current.bar == nil || Invocation.current.bar === self else { return }
        Invocation.current.bar = self
        show(nil, "\(start.duration(to: clock.now).components.seconds) s" + (Self.bytesRead.map { ", \($0.bytes) read" } ?? ""))
    }

    /// The bytes that the process has read; nil on a system that does not tell.
    private static var bytesRead: Int? {
        (try? String(contentsOfFile: "/proc/self/io", encoding: .utf8)).flatMap { text in
            text.split(separator: "\n").first { $0.hasPrefix("rchar: ") }.flatMap { Int($0.dropFirst(7)) }
        }
    }

    /// Shows the progress, at most ten times a second, as drawing must not cost more than the work.
    /// - Parameter share: the part that is done, from 0 to 1; nil if it is not known.
    func show(_ share: Double?, _ detail: @autoclosure () -> String) {
        guard isVisible else { return }
        let now = clock.now
        if let lastDrawn, (share ?? 0) < 1, lastDrawn.duration(to: now) < .milliseconds(100) { return }
        lastDrawn = now
        var line = label
        if let share {
            let filled = Int(min(max(share, 0), 1) * 24)
            line +=
                " " + String(repeating: "█", count: filled) + String(repeating: "░", count: 24 - filled) + " \(Int(share * 100))%"
        }
        line += "  " + detail().onOneLine
        Output.write("\r" + line.cut(toColumns: Terminal.width(descriptor) - 1) + "\u{1b}[K", to: descriptor)
    }

    /// Removes the line, to make room for other output.
    func clear() {
        if lastDrawn != nil { Output.write("\r\u{1b}[K", to: descriptor) }
        lastDrawn = nil
    }

    deinit { clear() }

    /// A bar for rewriting a database. Control-C stops the rewrite and leaves the database unchanged.
    static func rewriting(_ label: String) -> DatabaseProgress.Handler {
        Interruption.catchSignals()
        let bar = ProgressBar(label)
        return { progress in
            try Interruption.check()
            bar.show(progress.fractionCompleted, "\(progress.completed.grouped) of \(progress.total.counted("page"))")
            if progress.completed == progress.total { bar.clear() }
        }
    }
}

/// The speed of a task.
struct Rate {
    private let start = ContinuousClock.now

    var elapsed: Duration { start.duration(to: .now) }

    /// The average per second since the start.
    func perSecond(_ count: Int) -> Int {
        let components = elapsed.components
        let seconds = Double(components.seconds) + Double(components.attoseconds) / 1e18
        return seconds > 0.001 ? Int(Double(count) / seconds) : 0
    }
}
