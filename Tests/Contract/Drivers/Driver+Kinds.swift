import Foundation
import SQLCipherKit
import TestSupport

/// Promise 7: each kind of database, with the same result on each or an error that says why not.
extension Driver {
    func runKinds() {
        for item in cases where item.handle != .nothing { Isolated.run { try kinds(item) } }
    }

    private func kinds(_ item: ContractCase) throws {
        Isolated.cover([7], item.family)
        var expected: String?
        for kind in LongTests.sample(4, of: Subject.Kind.allCases, for: item.label) {
            for sharing in item.handle == .shared ? Subject.Sharing.allCases : [.queue] {
                Isolated.at("\(item.label) on \(kind)\(item.handle == .shared ? ", \(sharing)" : "")")
                // A shared database, or a file, is one database in a file.
                if item.handle != .connection, kind == .attached { continue }
                if item.handle == .file, [.memory, .readOnly].contains(kind) { continue }
                if sharing == .pool, [.memory, .readOnly].contains(kind) { continue }
                let trial: Trial
                do { trial = try self.trial(item, kind, sharing) } catch {
                    // The needs of the call cannot be made there, because that would write as well.
                    if kind == .readOnly || item.refusing.contains(kind) { continue }
                    throw error
                }
                let result = Self.attempt(item, trial)
                let refuses = item.refusing.contains(kind) || kind == .readOnly && item.effect == .writes
                switch result {
                case .success where refuses: Isolated.fail("it returned, but should say why not")
                case .failure(let error) where !refuses: Isolated.fail("it threw \(error)")
                case .failure(let error) where !(error is DatabaseError): Isolated.fail("it threw \(type(of: error)) \(error)")
                case .failure: break
                case .success(let value):
                    let text = "\(value)"
                    if let expected, expected != text, !item.differs.contains(kind) { Isolated.fail("it returned \(text.prefix(300)), not \(expected.prefix(300))") }
                    if !item.differs.contains(kind) { expected = expected ?? text }
                }
                Self.checkUsable(trial)
            }
        }
    }
}
