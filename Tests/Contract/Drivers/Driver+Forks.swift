import Foundation
import SQLCipherKit
import TestSupport

/// Promise 5, after a fork: the child cannot use what its parent has opened, and every call says so; what it opens itself it can
/// use. The parent goes on as if there were no child.
extension Driver {
    func runForks() {
        // A task needs threads, which a child does not have: Swift's runtime promises nothing there.
        for item in LongTests.sample(100, of: cases.filter { !$0.waits }, for: "forks") {
            Isolated.run {
                for sharing in item.handle == .shared ? Subject.Sharing.allCases : [.queue] { try fork(item, sharing) }
            }
        }
    }

    private func fork(_ item: ContractCase, _ sharing: Subject.Sharing) throws {
        let label = "\(item.label) after a fork\(item.handle == .shared ? ", \(sharing)" : "")"
        Isolated.at(label)
        let trial = try self.trial(item, .passphrase, sharing), before = Result { try State(trial.subject) }
        let isParents = item.handle == .connection || item.handle == .shared
        let status = Isolated.child {
            Isolated.at(label)
            switch Result(catching: { try item.run(trial) }) {
            case .success(let value):
                // Some cases return why their call threw.
                let isRefused = "\(value)".hasPrefix("\(DatabaseError.Reason.usedAfterFork) ")
                if isParents, !item.worksClosed, !isRefused { Isolated.fail("it returned \("\(value)".prefix(100))") }
            case .failure(let error):
                if let secret = Secrets.told(by: error) { Isolated.fail("its error tells \(secret): \(error)") }
                if isParents, (error as? DatabaseError)?.reason != .usedAfterFork { Isolated.fail("it threw \(error)") }
            }
            trial.subject.close()
        }
        guard status == 0 else { return Isolated.fail(status == 128 + SIGALRM ? "the child does not end" : "the child ended with \(status)") }
        guard isParents else { return Self.checkUsable(trial) }
        do {
            for line in try State(trial.subject).differences(from: before.get()) { Isolated.fail("the child has changed \(line)") }
        } catch { Isolated.fail("then the parent can read nothing: \(error)") }
        if case .failure(let error) = Result(catching: { try item.run(trial) }) { Isolated.fail("then the parent's call threw \(error)") }
        Self.checkUsable(trial)
    }
}
