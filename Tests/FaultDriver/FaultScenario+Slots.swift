import Foundation
import SQLCipherKit
import SweepScenarios

/// Key slots: afterwards the database opens with the secret that opened it before, and with no revoked secret.
extension FaultScenario {
    private static let raw = File("s.db", "raw", 60)
    private static let beside: Set<String> = ["s.db.keys", "s.db.keys.lock"]

    private static func unlock(_ folder: String, _ passphrase: String = "one") throws -> KeySlots {
        try KeySlots.unlock(.passphrase(passphrase), of: .file(folder + "/s.db"), cipher: FaultDriver.quick)
    }

    private static func create(_ folder: String) throws {
        let slots = try KeySlots.create(
            .passphrase("one"), label: "first", for: .file(folder + "/s.db"), existingKey: key("raw"), derivation: .quick)
        try slots.add(.passphrase("two"), label: "second", derivation: .quick)
        try slots.add(.passphrase("gone"), label: "third", derivation: .quick)
        try slots.revoke("third")
    }

    private static func check(_ folder: String) throws {
        let slots = try unlock(folder)
        guard !slots.isRotationUnfinished else { throw Untrue("the rotation is unfinished") }
        if (try? unlock(folder, "gone")) != nil { throw Untrue("a revoked slot opens") }
        try slots.add(.passphrase("three"), label: "more", derivation: .quick)
        let db = try Connection(.file(folder + "/s.db"), key: .slots(secret: .passphrase("three"), cipher: FaultDriver.quick))
        guard try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 60 else { throw Untrue("other rows") }
    }

    private static func changing(
        _ name: String, _ after: File? = nil, _ run: @escaping @Sendable (inout KeySlots, String) throws -> Void
    ) -> FaultScenario {
        FaultScenario(
            name: name, before: [raw], after: [after ?? raw], beside: beside, prepare: create,
            run: { folder in
                var slots = try unlock(folder)
                try run(&slots, folder)
            }, check: check)
    }

    static let slots: [FaultScenario] = [
        FaultScenario(
            name: "slots create", before: [raw], after: [raw], beside: beside, run: create,
            check: { folder in
                // Without slots, or with the first slots: the failed operation can be repeated.
                if !FileManager.default.fileExists(atPath: folder + "/s.db.keys") { return try create(folder) }
                _ = try unlock(folder)
            }),
        changing("slots add") { slots, _ in try slots.add(.passphrase("new"), label: "new", derivation: .quick) },
        changing("slots revoke") { slots, _ in try slots.revoke("second") },
        changing("slots rotate", File("s.db", "slots", 60)) { slots, folder in
            let db = try Connection(.file(folder + "/s.db"), key: .slots(slots))
            try slots.rotateKey(of: db, keeping: ["first": .passphrase("one")], droppingOthers: true, mode: .inPlace)
        },
        changing("slots rotate by file", File("s.db", "slots", 60)) { slots, folder in
            let db = try Connection(.file(folder + "/s.db"), key: .slots(slots))
            try slots.rotateKey(of: db, keeping: ["first": .passphrase("one")], droppingOthers: true, mode: .newFile)
        },
    ]
}
