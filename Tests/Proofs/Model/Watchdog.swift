import Foundation
import SQLCipherKit

/// Prints the program that has not ended after half a minute of processor time or five minutes in all, and ends the process. So a
/// busy machine is not taken for a hang.
final class Watchdog: Sendable {
    static let current = Watchdog()

    private struct State {
        var program: Program?
        var step = ""
        var deadline = Date.distantFuture
        /// In seconds of processor time.
        var limit = Double.infinity

        func isOver() -> Bool { deadline < Date() || limit < Watchdog.processorTime() }
    }

    private let state = Lock(State())

    func begin() {
        Thread.detachNewThread {
            while true {
                Thread.sleep(forTimeInterval: 1)
                let hanging = self.state.withLock { $0.isOver() ? $0 : nil }
                guard let hanging, let program = hanging.program else { continue }
                print("FOUND seed \(program.seed): hangs at: \(hanging.step)\n\(program.text)")
                fflush(nil)
                exit(1)
            }
        }
    }

    func start(_ program: Program) {
        state.withLock {
            $0 = State(program: program, step: "the start", deadline: Date() + 300, limit: Self.processorTime() + 30)
        }
    }

    /// The processor time of the process since its start. A thread that waits uses none.
    private static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    func note(_ step: any Step) { state.withLock { $0.step = "\(type(of: step))" } }

    func stop() { state.withLock { $0 = State() } }
}
