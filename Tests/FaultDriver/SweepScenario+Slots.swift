import Foundation
import SQLCipherKit

/// Making key slots, changing them, and rotating the key that they hold.
extension SweepScenario {
    private static let count = 12

    static func slotted(_ action: String, _ mode: String) throws -> SweepScenario? {
        switch action {
        case "slots-for-a-passphrase": return creating(for: try one(), mode)
        case "slots-for-a-raw-key": return creating(for: try raw(), mode)
        case "slots-add":
            return changing(mode) { slots, _ in try slots.add(.passphrase("three"), label: "third", iterations: 1000) }
        case "slots-rotate-in-place", "slots-rotate-by-file":
            return changing(mode) { slots, db in
                try slots.rotateKey(
                    of: db, keeping: ["first": .passphrase("one")], droppingOthers: true,
                    mode: action == "slots-rotate-in-place" ? .inPlace : .newFile)
            }
        default: return nil
        }
    }

    private static let files = ["a.db", "a.db.keys", "a.db.keys.lock"]

    private static func raw() throws -> Encryption { try .raw([UInt8](repeating: 7, count: 32), cipher: FaultDriver.quick) }

    private static func create(_ folder: String, _ key: Encryption) throws {
        let location = DatabaseLocation.file(folder + "/a.db")
        _ = try KeySlots.create(.passphrase("one"), label: "first", for: location, existingKey: key, iterations: 1000)
    }

    /// The first opening after a kill has nothing unfinished left.
    private static func check(_ folder: String) throws {
        let slots = try KeySlots.unlock(.passphrase("one"), of: .file(folder + "/a.db"), cipher: FaultDriver.quick)
        guard !slots.isRotationUnfinished else { throw Wrong(description: "the rotation is unfinished") }
        try expect(folder + "/a.db", [.slots(slots)], rows: count)
        try expect(folder, files: files)
        // And they can be changed.
        try slots.add(.passphrase("four"), label: "fourth", iterations: 1000)
        try expect(folder + "/a.db", [.slots(secret: .passphrase("four"), cipher: FaultDriver.quick)], rows: count)
    }

    private static func creating(for key: Encryption, _ mode: String) -> SweepScenario {
        SweepScenario(
            prepare: { try make($0 + "/a.db", key, mode, rows: count) },
            act: { try create($0, key) },
            check: { folder in
                // Without slots the database is what it was.
                if !FileManager.default.fileExists(atPath: folder + "/a.db.keys") {
                    try expect(folder + "/a.db", [key], rows: count)
                    try create(folder, key)
                }
                try check(folder)
            })
    }

    private static func changing(_ mode: String, _ change: @escaping (inout KeySlots, Connection) throws -> Void) -> SweepScenario {
        SweepScenario(
            prepare: { folder in
                let key = try raw()
                try make(folder + "/a.db", key, mode, rows: count)
                try create(folder, key)
            },
            act: { folder in
                let location = DatabaseLocation.file(folder + "/a.db")
                var slots = try KeySlots.unlock(.passphrase("one"), of: location, cipher: FaultDriver.quick)
                try change(&slots, Connection(location, key: .slots(slots)))
            },
            check: { try check($0) })
    }
}
