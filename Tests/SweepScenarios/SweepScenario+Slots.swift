import Foundation
import SQLCipherKit
import TestSupport

/// Creating key slots, changing them, and rotating the key that they hold.
extension SweepScenario {
    private static let count = 12

    static func slotted(_ action: String, _ setting: Setting) throws -> SweepScenario? {
        switch action {
        case "slots-for-a-passphrase": return creating(for: try one(), setting)
        case "slots-for-a-raw-key": return creating(for: try raw(), setting)
        case "slots-add":
            return changing(setting, after: ["one": true, "two": true, "three": true]) { slots, _ in
                try slots.add(.passphrase("three"), label: "third", derivation: .quick)
            }
        case "slots-remove":
            return changing(setting, after: ["one": true, "two": false]) { slots, _ in try slots.revoke("second") }
        case "slots-change":
            return changing(setting, after: ["one": true, "two": false, "new": true]) { slots, _ in
                try slots.changePassphrase("second", from: .passphrase("two"), to: .passphrase("new"))
            }
        case "slots-upgrade": return try upgrading(setting)
        case "slots-rotate-in-place", "slots-rotate-by-file":
            return changing(setting, after: ["one": true, "two": false], newKey: true) { slots, db in
                try slots.rotateKey(
                    of: db, keeping: ["first": .passphrase("one")], droppingOthers: true,
                    mode: action == "slots-rotate-in-place" ? .inPlace : .newFile)
            }
        default: return nil
        }
    }

    private static let files = ["a.db", "a.db.keys", "a.db.keys.lock"]

    private static func raw() throws -> DatabaseKey { try .raw([UInt8](repeating: 7, count: 32), cipher: quick) }

    @discardableResult
    private static func create(_ folder: String, _ key: DatabaseKey, _ setting: Setting) throws -> KeySlots {
        try KeySlots.create(
            .passphrase("one"), label: "first", for: .file(folder + "/a.db"), existingKey: key, derivation: .quick,
            configuration: setting.configuration)
    }

    private static func createSeveral(_ folder: String, _ key: DatabaseKey, _ setting: Setting) throws {
        let slots = try create(folder, key, setting)
        try slots.add(.passphrase("two"), label: "second", derivation: .quick)
        try slots.add(.passphrase("gone"), label: "gone", derivation: .quick)
        try slots.revoke("gone")
    }

    /// After the first opening that follows a kill, nothing is left unfinished.
    private static func check(_ folder: String) throws {
        let slots = try KeySlots.unlock(.passphrase("one"), of: .file(folder + "/a.db"), cipher: quick)
        guard !slots.isRotationUnfinished else { throw Wrong(description: "the rotation is unfinished") }
        let gone = try? KeySlots.unlock(.passphrase("gone"), of: .file(folder + "/a.db"), cipher: quick)
        guard gone == nil else { throw Wrong(description: "a revoked slot opens") }
        try expect(folder + "/a.db", [.slots(slots)], rows: count)
        try expect(folder, files: files)
        // And they can be changed.
        try slots.add(.passphrase("four"), label: "fourth", derivation: .quick)
        try expect(folder + "/a.db", [.slots(secret: .passphrase("four"), cipher: quick)], rows: count)
    }

    private static func creating(for key: DatabaseKey, _ setting: Setting) -> SweepScenario {
        SweepScenario(
            prepare: { try make($0 + "/a.db", key, setting.mode, rows: count) },
            act: { folder in
                try create(folder, key, setting)
                returned()
            },
            check: { folder in
                // Without slots, the database is unchanged.
                if !FileManager.default.fileExists(atPath: folder + "/a.db.keys") {
                    try expect(folder + "/a.db", [key], rows: count)
                    try create(folder, key, setting)
                }
                try check(folder)
            },
            checkReturned: { folder, calls in
                if calls > 0 { try opens(folder, ["one": true]) }
            })
    }

    /// Throws unless the passphrases open the slots, or do not.
    private static func opens(_ folder: String, _ passphrases: [String: Bool]) throws {
        for (passphrase, isRight) in passphrases {
            do {
                let slots = try KeySlots.unlock(.passphrase(passphrase), of: .file(folder + "/a.db"), cipher: quick)
                try expect(folder + "/a.db", [.slots(slots)], rows: count)
                if !isRight { throw Wrong(description: "the passphrase \(passphrase) still opens the slots") }
            } catch let error as DatabaseError where error.reason == .noSlotOpens {
                if isRight { throw Wrong(description: "the passphrase \(passphrase) does not open the slots") }
            }
        }
    }

    /// - Parameters:
    ///   - after: which passphrases open the slots after the change, and which no longer do.
    ///   - newKey: whether the database has another key then.
    private static func changing(
        _ setting: Setting, after: [String: Bool], newKey: Bool = false,
        _ change: @escaping (inout KeySlots, Connection) throws -> Void
    ) -> SweepScenario {
        SweepScenario(
            prepare: { folder in
                let key = try raw()
                try make(folder + "/a.db", key, setting.mode, rows: count)
                try createSeveral(folder, key, setting.flushed)
            },
            act: { folder in
                let location = DatabaseLocation.file(folder + "/a.db")
                var slots = try KeySlots.unlock(
                    .passphrase("one"), of: location, cipher: quick, configuration: setting.configuration)
                try change(&slots, Connection(location, key: .slots(slots), configuration: setting.configuration))
                returned()
            },
            check: { try check($0) },
            checkReturned: { folder, calls in
                guard calls > 0 else { return }
                try opens(folder, after)
                if newKey, (try? rows(folder + "/a.db", raw())) != nil {
                    throw Wrong(description: "the former key opens the database")
                }
            })
    }

    /// Slots of version 1, and the first change of them.
    private static func upgrading(_ setting: Setting) throws -> SweepScenario {
        SweepScenario(
            prepare: { folder in
                for (name, bytes) in [("a.db", FormerSlots.database), ("a.db.keys", FormerSlots.slots)] {
                    let path = folder + "/" + name
                    guard FileManager.default.createFile(atPath: path, contents: bytes,
                        attributes: [.posixPermissions: 0o600]) else {
                        throw Wrong(description: "\(name) could not be made")
                    }
                }
            },
            act: { folder in
                let location = DatabaseLocation.file(folder + "/a.db")
                let slots = try KeySlots.unlock(.passphrase(FormerSlots.first), of: location, configuration: setting.configuration)
                try slots.add(.passphrase("new"), label: "new", derivation: .quick)
                returned()
            },
            check: { folder in
                let location = DatabaseLocation.file(folder + "/a.db")
                for secret in try [.passphrase(FormerSlots.first), .passphrase(FormerSlots.second),
                    .recoveryKey(FormerSlots.recovery)]
                    as [KeySlots.Secret] {
                    let db = try Connection(location, key: .slots(secret: secret))
                    guard try db.fetchOne(String.self, "SELECT x FROM t") == "kept" else { throw Wrong(description: "other rows") }
                }
                let gone = try? KeySlots.unlock(.passphrase(FormerSlots.revoked), of: location)
                guard gone == nil else { throw Wrong(description: "a revoked slot opens") }
                let slots = try KeySlots.unlock(.passphrase(FormerSlots.first), of: location)
                try slots.add(.passphrase("four"), label: "fourth", derivation: .quick)
                try expect(folder, files: files)
            },
            checkReturned: { folder, calls in
                if calls > 0 { _ = try KeySlots.unlock(.passphrase("new"), of: .file(folder + "/a.db")) }
            })
    }
}
