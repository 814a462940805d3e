import Foundation
import SQLCipherKit
import TestSupport

/// The parts that all drivers share: folders, and one call with a check of its effects.
struct Driver {
    let folder: String
    let cases: [ContractCase]

    func template(_ kind: Subject.Kind) -> String { folder + "/template-" + kind.rawValue }

    func makeTemplates() {
        for kind in Subject.Kind.allCases {
            let path = template(kind)
            Isolated.run { try Subject.makeTemplate(kind, at: path) }
        }
    }

    /// A subject in which the case can run.
    func trial(_ item: ContractCase, _ kind: Subject.Kind = .passphrase, _ sharing: Subject.Sharing = .queue) throws -> Trial {
        let work = folder + "/place"
        let subject = try Subject(kind, template: template(kind), folder: work, sharing: sharing)
        setenv("TMPDIR", work + "/temporary", 1)
        let trial = Trial(subject)
        try item.prepare(trial)
        // Files that the first use of a connection opens are open from then on.
        switch item.handle {
        case .connection: _ = try trial.schema.connection.fetchOne(Int.self, "SELECT count(*) FROM probe")
        case .shared: _ = try trial.shared.read { try $0.fetchOne(Int.self, "SELECT count(*) FROM probe") }
        case .file, .nothing: break
        }
        return trial
    }

    /// Makes the call, and checks the promises of every call in every situation.
    @discardableResult
    static func attempt(_ item: ContractCase, _ trial: Trial, observes: Bool = true, checks: Bool = true) -> Result<Any, any Error> {
        let before = observes ? Result { try State(trial.subject) } : nil
        let result = Result { try item.run(trial) }
        if ProcessInfo.processInfo.environment["CONTRACT_SHOWS"] != nil { Isolated.show("\(result)") }
        switch result {
        case .success(let value):
            if let secret = Secrets.told(by: value) { Isolated.fail("its result tells \(secret)") }
            if checks { do { try trial.finish() } catch { Isolated.fail("\(error)") } }
        case .failure(let error):
            Isolated.countThrown()
            if let broken = error as? BrokenPromise { Isolated.fail(broken.description) }
            if let secret = Secrets.told(by: error) { Isolated.fail("its error tells \(secret): \(error)") }
            for change in trial.changedArguments { Isolated.fail("it threw, and an argument changed: \(change)") }
            if let before, !item.isStepwise { compare(before, trial, error) }
        }
        return result
    }

    /// - Parameter isFaulty: whether a file that could not be removed, or be told from another's, is left for the next process.
    static func compare(_ before: Result<State, any Error>, _ trial: Trial, _ error: any Error, isFaulty: Bool = false) {
        if let error = error as? DatabaseError, error.reason == .unknownOutcome || error.workingKey != nil { return }
        do {
            for line in try State(trial.subject).differences(from: before.get()) where !isFaulty || !line.contains("-sqlcipherkit-") {
                Isolated.fail("it threw \(error), and changed \(line)")
            }
        } catch let second { Isolated.fail("it threw \(error), and then nothing can be read: \(second)") }
    }

    /// Checks that open objects still work, and that the file is whole.
    static func checkUsable(_ trial: Trial) {
        do {
            let subject = trial.subject
            if let db = subject.openConnection, db.isOpen {
                guard try db.fetchOne(Int.self, "SELECT count(*) FROM probe") == 3 else { return Isolated.fail("probe has other rows") }
                if db.isInTransaction { Isolated.fail("a transaction is left open") }
            }
            subject.close()
            let open = State.openFiles().filter { $0.contains(subject.folder) }
            if !open.isEmpty { Isolated.fail("files are open after all is closed: \(open)") }
            guard subject.kind.hasFile else { return }
            let other = try subject.other(subject.kind == .readOnly ? .readOnly : .readWrite)
            defer { other.close() }
            let problems = try other.main.verify().problems
            if !problems.isEmpty { Isolated.fail("the file is damaged: \(problems)") }
        } catch { Isolated.fail("afterwards nothing works: \(error)") }
    }
}
