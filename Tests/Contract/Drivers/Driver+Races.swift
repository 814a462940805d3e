import Foundation
import SQLCipherKit
import TestSupport

/// Promise 5, with threads: several threads make the call at once, while another thread interrupts or closes the object that they
/// use. Calls may throw; none traps, hangs or tells a secret, and the file is whole. The thread sanitizer looks on in
/// scripts/workshop/check-threads.
extension Driver {
    enum Race: String, CaseIterable { case alone, interrupted, closed }

    func runRaces() {
        for item in LongTests.sample(60, of: cases, for: "races") {
            Isolated.run {
                for sharing in item.handle == .shared ? Subject.Sharing.allCases : [.queue] {
                    for race in Race.allCases where item.handle == .shared || race == (item.handle == .connection ? .interrupted : .alone) {
                        try self.race(race, item, sharing)
                    }
                }
            }
        }
    }

    /// The objects that a thread uses, until it has signalled its end.
    private final class Runner: @unchecked Sendable {
        // Sendable: the thread that made it reads the results only after the end.
        let item: ContractCase, trial: Trial
        let done = DispatchSemaphore(value: 0)
        var results: [Result<Any, any Error>] = []

        init(_ item: ContractCase, _ trial: Trial) { (self.item, self.trial) = (item, trial) }

        func start() {
            let thread = Thread {
                for _ in 0..<3 { self.results.append(Result { try self.item.run(self.trial) }) }
                self.done.signal()
            }
            thread.start()
        }
    }

    private func race(_ race: Race, _ item: ContractCase, _ sharing: Subject.Sharing) throws {
        Isolated.at("\(item.label) in threads, \(race)\(item.handle == .shared ? ", \(sharing)" : "")")
        let trial = try self.trial(item, .passphrase, sharing), subject = trial.subject
        // A connection belongs to one thread at a time; only its handle for interruptions does not.
        let handle = item.handle == .connection ? try trial.db.interruptHandle : nil
        let shared = item.handle == .shared ? try trial.shared : nil
        let runners = (0..<(item.handle == .connection ? 1 : 3)).map { _ in
            let own = Trial(subject)
            own.prepared = trial.prepared
            return Runner(item, own)
        }
        for runner in runners { runner.start() }
        if race == .closed {
            usleep(200)
            try? shared?.close()
        }
        for runner in runners {
            var wait = DispatchTime.now()
            while runner.done.wait(timeout: wait) == .timedOut {
                if race == .interrupted {
                    handle?.interrupt()
                    shared?.interrupt()
                }
                wait = .now() + .microseconds(300)
            }
        }
        for case .failure(let error) in runners.flatMap(\.results) {
            // Threads find the rows of other threads.
            if error is BrokenPromise { continue }
            Isolated.countThrown()
            if let secret = Secrets.told(by: error) { Isolated.fail("its error tells \(secret): \(error)") }
        }
        guard race != .closed, !item.worksClosed else { return subject.close() }
        Self.checkUsable(trial)
    }
}
