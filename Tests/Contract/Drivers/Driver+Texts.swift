import Foundation
import SQLCipherKit
import TestSupport

/// Promises 3 and 4: hostile texts in place of each argument that is a text.
extension Driver {
    func runTexts() {
        for item in cases { Isolated.run { try texts(item) } }
    }

    private func texts(_ item: ContractCase) throws {
        Isolated.at("\(item.label) with its usual arguments")
        var trial = try self.trial(item)
        let namesBefore = try State(trial.subject).files
        let usual = Self.attempt(item, trial)
        guard case .success = usual else { return Isolated.fail("it threw \(usual)") }
        let usualNames = Set(try State(trial.subject).files).subtracting(namesBefore), arguments = trial.arguments
        let schemas = try trial.subject.openConnection.map { $0.isOpen ? try $0.schemas().map(\.name).filter { $0 != "temp" } : [] }
        trial.subject.close()
        guard !arguments.isEmpty else { return }
        Isolated.cover([3, 4], item.family)
        var isFresh = false
        for argument in arguments {
            var texts = HostileText.list(for: argument.role)
            if argument.role == .path { texts.removeAll { $0.contains("..") || $0 == "." } }
            for (number, text) in LongTests.sample(3, of: Array(texts.enumerated()), for: item.label) {
                Isolated.at("\(item.label), \(argument.name) = text \(number) \(text.debugDescription.prefix(60))")
                if !isFresh { trial = try self.trial(item) }
                trial.hostile = (argument.name, text)
                let before = try State(trial.subject)
                let result = Self.attempt(item, trial)
                try check(item, argument, text, before, trial, usualNames, schemas)
                if case .failure = result { isFresh = item.effect == .reads } else { isFresh = item.effect == .reads && item.handle == .connection }
                if !isFresh { trial.subject.close() }
            }
        }
    }

    private func check(
        _ item: ContractCase, _ argument: Trial.Argument, _ text: String, _ before: State, _ trial: Trial, _ usualNames: Set<String>,
        _ schemas: [String]?
    ) throws {
        let after = try State(trial.subject)
        let more = Set(after.files).subtracting(before.files).subtracting(usualNames)
        // A path that the caller gave, and the files that belong to a database there.
        let isAllowed = { (name: String) in argument.role == .path && !text.isEmpty && ("/" + name).hasPrefix("/" + text.drop { $0 == "/" }) }
        for name in more where !isAllowed(name) { Isolated.fail("there is a file \(name)") }
        if after.bytes["outside.txt"] != before.bytes["outside.txt"] { Isolated.fail("outside.txt has changed") }
        if !after.temporary.isEmpty { Isolated.fail("temporary files \(after.temporary)") }
        if after.descriptors.contains(where: { $0.contains("outside") }) { Isolated.fail("a file is open: \(after.descriptors)") }
        if !item.changesFiles {
            let differences = after.differences(from: before).filter { item.effect != .settles || !$0.hasPrefix("connection") }
            for line in differences where argument.role != .sql { Isolated.fail("it changed \(line)") }
        }
        guard let db = trial.subject.openConnection, db.isOpen, !db.isInTransaction else { return }
        if argument.role != .sql, argument.role != .name || item.effect != .writes {
            let sings = try db.fetchAll(String.self, "SELECT x FROM canary")
            if sings != ["sings"] { Isolated.fail("the canary is \(sings)") }
        }
        let attached = try db.schemas().map(\.name).filter { $0 != "temp" }
        if let schemas, attached != schemas, argument.role != .new { Isolated.fail("attached are \(attached)") }
        guard trial.subject.kind.hasFile, item.effect != .rewrites else { return }
        let other = try trial.subject.other(.readOnly)
        defer { other.close() }
        guard try other.fetchOne(Int.self, "SELECT count(*) FROM probe") == 3 else { return Isolated.fail("the key opens another database") }
    }
}
