import Foundation
import KillPoints
import KitSupport
import SQLCipherKit
import TestSupport

/// Promise 2: killed at any change of a file, a call has changed nothing or everything; once it has returned, everything.
extension Driver {
    func runKills() {
        for item in cases where item.changesFiles {
            let kinds = [Subject.Kind.passphrase, .log].filter { !item.refusing.contains($0) }
            // Another one for each case, in the gate.
            for kind in LongTests.areOn || kinds.isEmpty ? kinds : [kinds[item.label.utf8.count % kinds.count]] { kills(item, kind) }
        }
    }

    private func kills(_ item: ContractCase, _ kind: Subject.Kind) {
        let place = folder + "/kept-" + kind.rawValue
        try? FileManager.default.removeItem(atPath: place)
        Isolated.at("\(item.label) on \(kind), whole")
        // The content before the call, and after it has returned and the process was killed.
        let start = Isolated.child { _ = try trial(item, kind) }
        let before = contents(item, kind)
        let end = Isolated.child {
            let trial = try self.trial(item, kind)
            _ = try item.run(trial)
            kill(getpid(), SIGKILL)
        }
        let after = contents(item, kind)
        guard start == 0, end == 128 + SIGKILL, let before, let after else { return Isolated.fail("it ended with \(start), \(end)") }
        Isolated.cover([2], item.family)
        guard before != after || item.effect == .rewrites else { return Isolated.fail("it has written nothing") }
        // The number of changes of a run tells where it can be killed.
        var number = 1
        let most = LongTests.areOn ? 2000 : 12
        var random = SeededGenerator(state: Seed.value &+ UInt64(item.label.utf8.count))
        while number < 100_000 {
            Isolated.at("\(item.label) on \(kind), killed at change \(number)")
            let ready = Isolated.child { _ = try trial(item, kind) }
            guard ready == 0 else { return Isolated.fail("it could not be prepared: \(ready)") }
            // Only the call itself is counted: its preparations are done.
            let status = Isolated.child(struckAt: number) {
                let trial = Trial(try Subject(reopening: kind, folder: folder + "/place"))
                setenv("TMPDIR", folder + "/place/temporary", 1)
                _ = try item.run(trial)
            }
            if status != 128 + SIGKILL {
                if status != 0 { Isolated.fail("it ended with \(status)") }
                return
            }
            guard let now = contents(item, kind) else { Isolated.fail("nothing opens it"); continue }
            if !item.isStepwise, now != before, now != after {
                Isolated.fail("there is neither what was before nor what is after: \(now.filter { !before.contains($0) && !after.contains($0) }.prefix(3))")
            }
            number += LongTests.areOn ? (number < most ? 1 : number / 20) : Int.random(in: 1...4, using: &random) * number
        }
    }

    /// All rows of the databases in the folder, as the next process finds them; nil if one of them is damaged.
    private func contents(_ item: ContractCase, _ kind: Subject.Kind) -> [String]? {
        let list = folder + "/contents"
        try? FileManager.default.removeItem(atPath: list)
        let work = folder + "/place"
        let status = Isolated.child {
            var lines: [String] = []
            for name in try FileManager.default.contentsOfDirectory(atPath: work).sorted() where name.hasSuffix(".db") {
                var opened: Connection?
                for key in [try kind.key, nil, try .passphrase("other", cipher: Subject.quick)] {
                    opened = try? Connection(.file(work + "/" + name), key: key)
                    if opened != nil { break }
                }
                // A copy that has not got its bytes yet is no database.
                guard let db = opened else { lines.append("\(name) does not open"); continue }
                let problems = try db.main.verify().problems
                if !problems.isEmpty { throw BrokenPromise("\(name) is damaged: \(problems)") }
                lines += try Contents.of(db).map { "\(name) \($0)" }
                db.close()
            }
            try Data(lines.joined(separator: "\u{1}").utf8).write(to: URL(fileURLWithPath: list))
        }
        guard status == 0, let bytes = FileManager.default.contents(atPath: list) else { return nil }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\u{1}").map(String.init)
    }
}
