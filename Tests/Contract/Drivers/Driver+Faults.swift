import FaultMemory
import Faults
import Foundation
import SQLCipherKit
import TestSupport

/// Promise 1: an allocation or a system call of the call fails, once or from then on, or it is interrupted at a step.
extension Driver {
    /// - Parameter faults: the calls that fail; allocations need nothing, all others the library in LD_PRELOAD.
    func runFaults(_ faults: [Fault]) {
        let kinds = faults.flatMap { [($0, Fault.Length.once), ($0, .forGood)] }
        for item in cases {
            Isolated.run {
                Isolated.cover([1], item.family)
                for (fault, length) in LongTests.sample(min(2, faults.count), of: kinds, for: item.label) { try strike(fault, length, item) }
                if item.handle == .connection { try interrupt(item) }
            }
        }
    }

    private func strike(_ fault: Fault, _ length: Fault.Length, _ item: ContractCase) throws {
        Isolated.at("\(item.label) with each \(fault) counted")
        var trial = try self.trial(item)
        fault.choose(0, .once)
        let usual = Result { try item.run(trial) }
        Fault.none()
        trial.subject.close()
        guard case .success = usual else { return Isolated.fail("it threw \(usual)") }
        let calls = fault.calls
        let most = length == .once ? 800 : 80
        for number in LongTests.steps(3, of: min(calls, most)) {
            let struck = calls <= most ? number + 1 : number * calls / most + 1
            Isolated.at("\(item.label) with \(fault) \(struck) of \(calls) failing, \(length)")
            trial = try self.trial(item)
            let before = Result { try State(trial.subject) }
            fault.choose(struck, length)
            let result = Result { try item.run(trial) }
            Fault.none()
            judge(item, result, before, trial)
        }
    }

    /// A progress handler ends it at the n-th step of SQLite's machine, alone and in a transaction that goes on.
    private func interrupt(_ item: ContractCase) throws {
        let all = [1, 2, 5, 12, 30, 70, 150, 400, 1000, 3000].flatMap { [($0, false), ($0, true)] }
        for (steps, isNested) in LongTests.sample(3, of: all, for: item.label) {
            Isolated.at("\(item.label) interrupted after \(steps) steps\(isNested ? ", in a transaction" : "")")
            let trial = try self.trial(item)
            if isNested { try trial.db.begin() }
            let before = Result { try State(trial.subject) }
            var left = steps
            try trial.db.settings.setProgressHandler(every: 1) {
                left -= 1
                return left > 0
            }
            let result = Result { try item.run(trial) }
            if try trial.db.isOpen { try trial.db.settings.setProgressHandler(nil) }
            if isNested, case .success = result, try trial.db.isInTransaction { try trial.db.commit() }
            judge(item, result, before, trial)
        }
    }

    private func judge(_ item: ContractCase, _ result: Result<Any, any Error>, _ before: Result<State, any Error>, _ trial: Trial) {
        if case .success = result { do { try trial.finish() } catch { Isolated.fail("\(error)") } }
        if case .failure(let error) = result {
            Isolated.countThrown()
            // An answer read through a failing system may lack something, but never has anything else.
            if let broken = error as? BrokenPromise { Isolated.fail(broken.description) }
            if let secret = Secrets.told(by: error) { Isolated.fail("its error tells \(secret): \(error)") }
            for change in trial.changedArguments { Isolated.fail("it threw, and an argument changed: \(change)") }
            // SQLite ends a transaction by itself, if a statement that writes is interrupted.
            let isGone = (try? before.get().isInTransaction) == true && trial.subject.openConnection?.isInTransaction == false
            if !item.isStepwise, !isGone { Self.compare(before, trial, error, isFaulty: true) }
            if !isGone, let db = trial.subject.openConnection, db.isOpen, db.isInTransaction { try? db.rollback() }
        }
        Self.checkUsable(trial)
    }
}
