import CSQLCipher
import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import Testing
import TestSupport

/// Slots that were changed, cut, swapped or put back without the key: errors, never a crash, never hours of computing.
@Suite struct KeySlotsHostileTests {
    let folder: TemporaryFolder
    var location: DatabaseLocation { .file(folder.path("a.db")) }
    var file: URL { URL(fileURLWithPath: folder.path("a.db.keys")) }

    init() throws { folder = try TemporaryFolder() }

    private func make() throws -> KeySlots {
        let slots = try KeySlots.create(.passphrase("one"), label: "first", for: location, derivation: .quick)
        try Connection(location, key: .slots(slots)).execute("CREATE TABLE t(x)")
        return slots
    }

    private func reason(_ bytes: [UInt8], limit: Int = 3000) -> DatabaseError.Reason? {
        do {
            _ = try KeySlots.unlock(.passphrase("one"), of: location, at: .storage(KeySlots.MemoryStorage(bytes)), costLimit: limit)
            return nil
        } catch {
            return (error as? DatabaseError)?.reason ?? .engine
        }
    }

    private func bytes() throws -> [UInt8] { Array(try Data(contentsOf: file)) }

    /// Another program that has the key can write any number there. One that no slots have is no mark, as if it had been removed.
    /// As the slots note that the database had one, each is refused, and opens when that is accepted.
    @Test(arguments: [Int64.min, -1, 0, .max]) func anyKeySlotGenerationIsRefusedUntilAccepted(_ generation: Int64) throws {
        let slots = try make()
        let db = try Connection(location, key: .slots(slots))
        sqlcipherkit_allow_slot_mark(try db.live(), 1)
        try db.execute("UPDATE sqlcipherkit_key_slots SET generation = \(generation)")
        db.close()
        let error = #expect(throws: DatabaseError.self) { try Connection(location, key: .slots(secret: .passphrase("one"))) }
        #expect(error?.reason == .keySlotsRolledBack)
        #expect((error?.underlyingError as? KeySlots.Rollback)?.kind == (generation < 1 ? .unknown : .older))
        let accepting = DatabaseKey.slots(secret: try .passphrase("one"), acceptingRollback: true)
        var reading = DatabaseConfiguration()
        reading.access = .readOnly
        #expect(try Connection(location, key: accepting, configuration: reading).fetchOne(Int.self, "SELECT count(*) FROM t") == 0)
        // After the last number there is none that the slots could have.
        if generation == .max {
            #expect(throws: DatabaseError.self) { try Connection(location, key: accepting) }
            return
        }
        try Connection(location, key: accepting).close()
        #expect(try Connection(location, key: .slots(secret: .passphrase("one"))).isOpen)
    }

    @Test func flippedBitInKeySlotsIsDetected() throws {
        let slots = try make()
        try slots.add(.passphrase("two"), label: "second", derivation: .quick)
        let bytes = try bytes()
        #expect(reason(bytes) == nil)
        let unnoticed = (0..<bytes.count * 8).filter { bit in
            var changed = bytes
            changed[bit / 8] ^= 1 << (bit % 8)
            let reason = reason(changed)
            return reason != .keySlotsDamaged && reason != .noSlotOpens
        }
        #expect(unnoticed == [])
    }

    @Test func truncatedOrExtendedKeySlotsThrow() throws {
        let slots = try make()
        try slots.add(.passphrase("two"), label: "second", derivation: .quick)
        let bytes = try bytes()
        for count in 0..<bytes.count { #expect(reason(Array(bytes[..<count])) == .keySlotsDamaged, "\(count) bytes") }
        for more in [1, 16, 64, 1000, 70_000, 5_000_000] {
            #expect(reason(bytes + [UInt8](repeating: 0, count: more)) == .keySlotsDamaged, "\(more) more")
        }
        // The same through a file, which is not read beyond its bound.
        try Data(bytes + [UInt8](repeating: 0, count: 5_000_000)).write(to: file)
        let error = #expect(throws: DatabaseError.self) { try Connection(location, key: .slots(secret: .passphrase("one"))) }
        #expect(error?.reason == .keySlotsDamaged)
    }

    @Test func randomKeySlotBytesThrow() throws {
        let slots = try make()
        _ = try slots.addRecoveryKey(label: "safe", derivation: .quick)
        let bytes = try bytes()
        var generator = SeededGenerator()
        for _ in 0..<3000 {
            var changed = bytes
            // Lengths and counts most of all.
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                changed[Int.random(in: 8..<changed.count, using: &generator)] = [0, 1, 2, 127, 128, 255].randomElement(using: &generator) ?? 0
            }
            if Bool.random(using: &generator) { changed = Array(changed.prefix(Int.random(in: 0...changed.count, using: &generator))) }
            if changed == bytes { continue }
            // Without a key: only the parser.
            _ = try? KeySlots.unverifiedSlots(of: location, at: .storage(KeySlots.MemoryStorage(changed)))
        }
        for count in 0..<500 {
            let noise = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            #expect(reason(noise) == .keySlotsDamaged)
            #expect(reason(Array(bytes.prefix(38)) + noise) != nil)
        }
    }

    /// The number of rounds stands in bytes 75 to 78.
    @Test func keySlotIterationsAreBounded() throws {
        _ = try make()
        let bytes = try bytes()
        #expect(Array(bytes[75..<79]) == [0, 0, 3, 232])
        for rounds in [[0xff, 0xff, 0xff, 0xff], [0, 0x98, 0x96, 0x81], [0, 0, 3, 231], [0, 0, 0, 0]] as [[UInt8]] {
            var changed = bytes
            changed.replaceSubrange(75..<79, with: rounds)
            #expect(reason(changed) == .keySlotsDamaged)
        }
        // As many as are allowed, but beyond the limit of this attempt: not one is computed.
        var changed = bytes
        changed.replaceSubrange(75..<79, with: [0, 0x98, 0x96, 0x80])
        let time = processorTime { #expect(reason(changed) == .noSlotOpens) }
        #expect(time < .seconds(1))
        #expect(reason(bytes, limit: 999) == .noSlotOpens)
        #expect(reason(bytes, limit: 1000) == nil)
    }

    /// The limit is for the attempt as a whole.
    @Test func costLimitAppliesToAllKeySlotsTogether() throws {
        let slots = try make()
        for number in 2...5 { try slots.add(.passphrase("\(number)"), label: "\(number)", derivation: .quick) }
        func unlock(_ passphrase: String, _ limit: Int, first: String? = nil) throws {
            _ = try KeySlots.unlock(.passphrase(passphrase), of: location, preferredSlot: first, costLimit: limit)
        }
        try unlock("5", 5000)
        #expect(throws: DatabaseError.self) { try unlock("5", 4999) }
        // A label saves the others.
        try unlock("5", 1000, first: "5")
    }

    @Test func rolledBackKeySlotsThrow() throws {
        let slots = try make()
        try slots.add(.passphrase("two"), label: "second", derivation: .quick)
        let before = try bytes()
        try slots.revoke("second")
        try Data(before).write(to: file)
        for passphrase in ["one", "two"] {
            let error = #expect(throws: DatabaseError.self) { try Connection(location, key: .slots(secret: .passphrase(passphrase))) }
            #expect(error?.reason == .keySlotsRolledBack)
        }
        // Nor can they be gone on with.
        let error = #expect(throws: DatabaseError.self) { try slots.add(.passphrase("x"), label: "x", derivation: .quick) }
        #expect(error?.reason == .keySlotsRolledBack)
    }

    @Test func keySlotsOfAnotherDatabaseThrow() throws {
        _ = try make()
        let key = try DatabaseKey.raw([UInt8](repeating: 5, count: 32))
        let other = DatabaseLocation.file(folder.path("b.db"))
        try Connection(other, key: key).execute("CREATE TABLE t(x)")
        _ = try KeySlots.create(.passphrase("one"), label: "first", for: other, existingKey: key, derivation: .quick)
        // Of another key.
        try FileManager.default.copyItem(atPath: folder.path("b.db.keys"), toPath: folder.path("c.keys"))
        let error = #expect(throws: DatabaseError.self) { try Connection(location, key: .slots(.file(folder.path("c.keys")), secret: .passphrase("one"))) }
        #expect(error?.reason == .wrongKeyOrNotADatabase)
        // Made again for the same key: the old ones no longer count.
        let old = try Data(contentsOf: URL(fileURLWithPath: folder.path("b.db.keys")))
        try FileManager.default.removeItem(atPath: folder.path("b.db.keys"))
        _ = try KeySlots.create(.passphrase("two"), label: "first", for: other, existingKey: key, derivation: .quick)
        try old.write(to: URL(fileURLWithPath: folder.path("b.db.keys")))
        let second = #expect(throws: DatabaseError.self) { try Connection(other, key: .slots(secret: .passphrase("one"))) }
        #expect(second?.reason == .keySlotsRolledBack)
    }

    /// Each slot by itself is genuine, and the whole is not.
    @Test func oldKeySlotInNewFileThrows() throws {
        let slots = try make()
        let one = try bytes()
        try slots.changePassphrase("first", from: .passphrase("one"), to: .passphrase("two"))
        let two = try bytes()
        // The new file names one change more.
        #expect(one.count + 16 == two.count)
        // The old slot in the new file.
        let mixed = Array(two[..<72]) + Array(one[56..<(one.count - 64)]) + Array(two[(two.count - 64)...])
        #expect(reason(mixed) == .keySlotsDamaged)
    }

    /// A process that died between writing the slots and committing the database's mark of them.
    @Test func keySlotsNewerThanTheMarkOpen() throws {
        let slots = try make()
        let database = URL(fileURLWithPath: folder.path("a.db"))
        let before = try Data(contentsOf: database)
        // Before the commit. After it the slots are written once more, with the note that the database has seen them.
        let storage = FirstWrite(try bytes())
        let other = try KeySlots.unlock(.passphrase("one"), of: location, at: .storage(storage))
        try other.add(.passphrase("two"), label: "second", derivation: .quick)
        try before.write(to: database)
        try Data(storage.bytes).write(to: file)
        _ = try Connection(location, key: .slots(secret: .passphrase("two")))
        // And from now on it knows.
        let bytes = try bytes()
        try slots.revoke("second")
        try Data(bytes).write(to: file)
        #expect(throws: DatabaseError.self) { try Connection(location, key: .slots(secret: .passphrase("two"))) }
    }
}

/// Keeps the first bytes of each change alone, as a process that dies after them. Used by one thread.
private final class FirstWrite: KeySlots.Storage, @unchecked Sendable {
    private(set) var bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func read() -> [UInt8]? { bytes }

    func update(_ change: (_ bytes: [UInt8]?, _ write: ([UInt8]) throws -> Void) throws -> Void) throws {
        var isFirst = true
        try change(bytes) { new in
            if isFirst { bytes = new }
            isFirst = false
        }
    }
}
