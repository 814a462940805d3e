import Foundation
import Synchronization

/// Prints the program that has not ended after half a minute, and ends the process.
final class Watchdog: Sendable {
    static let current = Watchdog()

    private struct State {
        var program: Program?
        var step = ""
        var deadline = Date.distantFuture
    }

    private let state = Mutex(State())

    func begin() {
        Thread.detachNewThread {
            while true {
                Thread.sleep(forTimeInterval: 1)
                let hanging = self.state.withLock { $0.deadline < Date() ? $0 : nil }
                guard let hanging, let program = hanging.program else { continue }
                print("FOUND seed \(program.seed): hangs for 30 seconds at: \(hanging.step)\n\(program.text)")
                fflush(nil)
                exit(1)
            }
        }
    }

    func start(_ program: Program) {
        state.withLock { $0 = State(program: program, step: "the start", deadline: Date() + 30) }
    }

    func note(_ step: any Step) { state.withLock { $0.step = "\(type(of: step))" } }

    func stop() { state.withLock { $0 = State() } }
}
