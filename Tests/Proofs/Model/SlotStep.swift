import Foundation
import SQLCipherKit

/// A database of its own with key slots. The model is a dictionary of labels and passphrases.
struct SlotStep: Step {
    enum Call: Sendable {
        case add(String, String), revoke(String), change(String, from: String, to: String), open(String), rotate(Schema.KeyChangeMode), list, write
        /// A recovery key is added; the one that was made last opens the database, or no longer.
        case addRecovery(String), recover
    }

    var calls: [Call]

    func run(in world: World) throws {
        let path = world.folder.appendingPathComponent("slots\(world.steps).db").path, location = DatabaseLocation.file(path)
        let quick = KeySlots.Derivation.pbkdf2(iterations: 1000), cipher = ModelKey.cipher(.quick)
        var secrets = ["first": "one"], recovery: [String: KeySlots.RecoveryKey] = [:], last: (label: String, key: KeySlots.RecoveryKey)?, rows = 0
        var slots = try KeySlots.create(.passphrase("one"), label: "first", for: location, derivation: quick, cipher: cipher)
        func connect(_ passphrase: String) throws -> Connection { try connect(.passphrase(passphrase)) }
        func connect(_ secret: KeySlots.Secret) throws -> Connection {
            try Connection(location, key: .slots(secret: secret, cipher: cipher), configuration: World.configuration)
        }
        func count(_ db: Connection) throws -> Outcome {
            defer { db.close() }
            return .text("\(try db.fetchOne(Int.self, "SELECT count(*) FROM t") ?? -1)")
        }
        func anySecret() throws -> KeySlots.Secret { try secrets.values.first.map { try .passphrase($0) } ?? .recoveryKey(recovery.values.first!) }
        let first = try connect("one")
        try first.execute("CREATE TABLE t(x)")
        first.close()
        for call in calls {
            let expected: Outcome, found: Outcome
            switch call {
            case .add(let label, let passphrase):
                expected = label.isEmpty || secrets[label] != nil || recovery[label] != nil ? .error : .done
                found = try Outcome.of {
                    try slots.add(.passphrase(passphrase), label: label, derivation: quick)
                    return .done
                }
                if expected == .done { secrets[label] = passphrase }
            case .revoke(let label):
                let isThere = secrets[label] != nil || recovery[label] != nil
                expected = !isThere || secrets.count + recovery.count == 1 ? .error : .done
                found = try Outcome.of {
                    try slots.revoke(label)
                    return .done
                }
                if expected == .done { (secrets[label], recovery[label]) = (nil, nil) }
            case .change(let label, let old, let new):
                expected = secrets[label] == old ? .done : .error
                found = try Outcome.of {
                    try slots.changePassphrase(label, from: .passphrase(old), to: .passphrase(new))
                    return .done
                }
                if expected == .done { secrets[label] = new }
            case .open(let passphrase):
                expected = secrets.values.contains(passphrase) ? .text("\(rows)") : .refused(.noSlotOpens)
                found = try Outcome.of { try count(connect(passphrase)) }
            case .addRecovery(let label):
                expected = label.isEmpty || secrets[label] != nil || recovery[label] != nil ? .error : .done
                found = try Outcome.of {
                    let key = try slots.addRecoveryKey(label: label, derivation: quick)
                    (recovery[label], last) = (key, (label, key))
                    return .done
                }
            case .recover:
                guard let last else { continue }
                expected = recovery[last.label] == nil ? .refused(.noSlotOpens) : .text("\(rows)")
                found = try Outcome.of { try count(connect(.recoveryKey(last.key))) }
            case .rotate(let mode):
                expected = .done
                let db = try connect(anySecret())
                defer { db.close() }
                found = try Outcome.of {
                    let kept = try secrets.mapValues { try KeySlots.Secret.passphrase($0) }
                    try slots.rotateKey(
                        of: db, keeping: kept.merging(recovery.mapValues { KeySlots.Secret.recoveryKey($0) }) { first, _ in first }, mode: mode)
                    return .done
                }
            case .list:
                expected = .text("\((Array(secrets.keys) + Array(recovery.keys)).sorted())")
                found = try Outcome.of { .text("\(try slots.slots().map(\.label).sorted())") }
            case .write:
                let db = try connect(anySecret())
                defer { db.close() }
                (expected, rows) = (.done, rows + 1)
                found = try Outcome.of {
                    try db.execute("INSERT INTO t VALUES (1)")
                    return .done
                }
            }
            do { try world.expect(expected, found) } catch { throw Mismatch(description: "\(call): \(error)") }
        }
        for passphrase in ["one", "two", "three"] {
            let opens = (try? connect(passphrase))?.close() != nil
            if opens != secrets.values.contains(passphrase) { throw Mismatch(description: "\(passphrase) opens a slot: \(opens)") }
        }
    }

    var simpler: [any Step] { calls.indices.map { index in
        var step = self
        step.calls.remove(at: index)
        return step
    } }

    var description: String { "KeySlots: \(calls)" }
}

extension Sketch {
    mutating func slotStep() -> (any Step)? {
        // Deriving keys takes long.
        if depth > 0 || !onDisk || count("slots") > 1 { return dataStep() }
        let labels = ["first", "b", "c", ""], words = ["one", "two", "three"]
        return SlotStep(calls: (0..<1 + dice.below(5)).map { _ in
            switch dice.below(10) {
            case 8: .addRecovery(dice.pick(labels))
            case 9: .recover
            case 0, 1: .add(dice.pick(labels), dice.pick(words))
            case 2: .revoke(dice.pick(labels))
            case 3: .change(dice.pick(labels), from: dice.pick(words), to: dice.pick(words))
            case 4: .open(dice.pick(words))
            case 5: .rotate(dice.pick([.inPlace, .newFile]))
            case 6: .list
            default: .write
            }
        })
    }
}
