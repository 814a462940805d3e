import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import Testing
import TestSupport

/// A slot file or a database that was put back is told from damage, says what comes back with it, and can be accepted.
@Suite struct KeySlotsRollbackTests {
    let folder: TemporaryFolder
    var path: String { folder.path("a.db") }
    var location: DatabaseLocation { .file(path) }
    var keys: URL { URL(fileURLWithPath: path + ".keys") }

    init() throws { folder = try TemporaryFolder() }

    private func make() throws -> KeySlots {
        let slots = try KeySlots.create(.passphrase("one"), label: "first", for: location, derivation: .quick)
        try Connection(location, key: .slots(slots)).execute("CREATE TABLE t AS SELECT 'kept' AS x")
        try slots.add(.passphrase("two"), label: "second", derivation: .quick)
        return slots
    }

    private func unlock(_ passphrase: String = "one", accepting: Bool = false, readOnly: Bool = false) throws -> KeySlots {
        var configuration = DatabaseConfiguration()
        if readOnly { configuration.access = .readOnly }
        return try KeySlots.unlock(
            .passphrase(passphrase), of: location, acceptingRollback: accepting, configuration: configuration)
    }

    private func rollback(_ passphrase: String = "one", readOnly: Bool = false) -> KeySlots.Rollback? {
        let error = #expect(throws: DatabaseError.self) { try unlock(passphrase, readOnly: readOnly) }
        #expect(error?.reason == .keySlotsRolledBack, "\(String(describing: error))")
        return error?.underlyingError as? KeySlots.Rollback
    }

    /// Accepted once, they are the latest; and those that they took the place of are not.
    private func expectAccepted(_ kind: KeySlots.Rollback.Kind, _ passphrases: [String]) throws {
        let now = try Data(contentsOf: keys)
        for passphrase in passphrases {
            #expect(rollback(passphrase)?.kind == kind)
            // Reading writes nothing, and so accepts nothing for later.
            #expect(try unlock(passphrase, accepting: true, readOnly: true).acceptedRollback?.kind == kind)
            #expect(try Data(contentsOf: keys) == now)
        }
        let slots = try unlock(passphrases[0], accepting: true)
        #expect(slots.acceptedRollback?.kind == kind)
        _ = try Connection(location, key: .slots(slots))
        for passphrase in passphrases {
            let again = try unlock(passphrase)
            #expect(again.acceptedRollback == nil)
            _ = try Connection(location, key: .slots(secret: .passphrase(passphrase)))
        }
        try slots.add(.passphrase("later"), label: "later", derivation: .quick)
        #expect((try? Connection(location, key: .slots(secret: .passphrase("later")))) != nil)
    }

    @Test func rollbackReportNamesReturningKeySlots() throws {
        let slots = try make()
        let before = try Data(contentsOf: keys)
        try slots.revoke("second")
        try slots.changePassphrase("first", from: .passphrase("one"), to: .passphrase("new"))
        try slots.add(.passphrase("three"), label: "third", derivation: .quick)
        let latest = try Data(contentsOf: keys)
        try before.write(to: keys)
        let report = try #require(rollback("two"))
        #expect(report.kind == .older && report.generation == 2 && report.databaseGeneration == 5)
        #expect(report.revoked == ["second"] && report.superseded == ["first"] && report.missing == ["third"])
        let text = report.description
        #expect(text.contains("second") && text.contains("first") && text.contains("third"))
        // The secrets of today do not open them.
        let error = #expect(throws: DatabaseError.self) { try unlock("three") }
        #expect(error?.reason == .noSlotOpens)
        try expectAccepted(.older, ["one", "two"])
        // The former latest slots are not the latest any more.
        try latest.write(to: keys)
        #expect(rollback("three")?.kind == .older)
    }

    @Test func damagedKeySlotsAreNotReportedAsRollback() throws {
        _ = try make()
        var bytes = try Data(contentsOf: keys)
        bytes[bytes.count - 1] ^= 1
        try bytes.write(to: keys)
        let error = #expect(throws: DatabaseError.self) { try unlock(accepting: true) }
        #expect(error?.reason == .keySlotsDamaged && error?.underlyingError == nil)
    }

    /// A database that was restored as a file, or put back, is older than its slots from the first change of them on. It brings no
    /// passphrase back.
    @Test(arguments: [1, 10]) func olderDatabaseBesideNewerKeySlotsThrows(changes: Int) throws {
        let slots = try make()
        let database = URL(fileURLWithPath: path)
        let before = try Data(contentsOf: database)
        try slots.revoke("second")
        for number in 1..<changes { try slots.add(.passphrase("x"), label: "\(number)", derivation: .quick) }
        #expect(try unlock().acceptedRollback == nil)
        let latest = try Data(contentsOf: database)
        try before.write(to: database)
        let report = try #require(rollback())
        #expect(report.kind == .olderDatabase && report.generation == 2 + changes && report.databaseGeneration == 2)
        #expect(report.revoked == [] && report.superseded == [] && report.missing == [])
        let error = #expect(throws: DatabaseError.self) { try unlock("two") }
        #expect(error?.reason == .noSlotOpens)
        try expectAccepted(.olderDatabase, ["one"])
        // And so is the one that it took the place of.
        try latest.write(to: database)
        #expect(rollback()?.kind == .olderDatabase)
    }

    /// Neither side knows of the last change if the process died between the two steps, or if nothing could note that the database
    /// has seen it; the next opening notes it.
    @Test func nextOpeningNotesThatDatabaseHasSeenKeySlots() throws {
        let capture = Capture()
        let slots = try KeySlots.create(.passphrase("one"), label: "first", for: location, at: .storage(capture), derivation: .quick)
        try Connection(location, key: .slots(slots)).execute("CREATE TABLE t AS SELECT 'kept' AS x")
        let database = URL(fileURLWithPath: path), before = try Data(contentsOf: database)
        func unlock(_ bytes: [UInt8]) throws -> [UInt8]? {
            let storage = KeySlots.MemoryStorage(bytes)
            _ = try KeySlots.unlock(.passphrase("one"), of: location, at: .storage(storage))
            return storage.value
        }
        let count = capture.all.count
        try slots.add(.passphrase("two"), label: "second", derivation: .quick)
        #expect(capture.all.count == count + 2)
        let (changed, seen) = (capture.all[count], capture.all[count + 1])
        let after = try Data(contentsOf: database)
        #expect(try unlock(changed) == seen)
        #expect(try unlock(seen) == seen)
        // Before the mark was committed.
        try before.write(to: database)
        #expect(try unlock(changed) == seen)
        try before.write(to: database)
        let error = #expect(throws: DatabaseError.self) { try unlock(seen) }
        #expect((error?.underlyingError as? KeySlots.Rollback)?.kind == .olderDatabase)
        try after.write(to: database)
        #expect(try unlock(seen) == seen)
    }

    /// Copied, and changed beside the copy: its changes are not this database's.
    @Test func keySlotsOfCopyAreReportedAsRollback() throws {
        let slots = try make()
        let copy = folder.path("b.db")
        for suffix in ["", ".keys"] { try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix) }
        try slots.revoke("second")
        let other = try KeySlots.unlock(.passphrase("one"), of: .file(copy))
        for number in 0..<3 { try other.add(.passphrase("x"), label: "\(number)", derivation: .quick) }
        try FileManager.default.removeItem(at: keys)
        try FileManager.default.copyItem(atPath: copy + ".keys", toPath: keys.path)
        let report = try #require(rollback("two"))
        #expect(report.kind == .others && report.revoked == ["second", "0", "1", "2"] && report.generation == 5)
        try expectAccepted(.others, ["one", "two", "x"])
    }

    /// Another program that has the key could do it, outside of this package.
    @Test(arguments: [
        "DELETE FROM sqlite_schema WHERE name = 'sqlcipherkit_key_slots'",
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE sqlcipherkit_key_slots(a)' WHERE name = 'sqlcipherkit_key_slots'",
    ])
    func sqlCannotRemoveTheKeySlotMark(sql: String) throws {
        let slots = try make()
        let db = try Connection(location, key: .slots(slots))
        try db.execute("PRAGMA writable_schema = ON")
        let error = #expect(throws: DatabaseError.self) { try db.execute(SQL(raw: sql)) }
        #expect(error?.reason == .refusedSQL)
        db.close()
        #expect(try Connection(location, key: .slots(slots)).isOpen)
    }

    @Test(arguments: [false, true]) func emptyDatabaseBesideKeySlotsThrows(isRemoved: Bool) throws {
        let slots = try make()
        if isRemoved { try FileManager.default.removeItem(atPath: path) } else { try Data().write(to: URL(fileURLWithPath: path)) }
        let before = try folder.names()
        #expect(rollback("two")?.kind == .noDatabase)
        let error = #expect(throws: DatabaseError.self) { try Connection(location, key: .slots(slots)) }
        #expect(error?.reason == .keySlotsRolledBack)
        #expect(try folder.names() == before)
        // Calls that need a database say that there is none.
        var configuration = DatabaseConfiguration()
        configuration.access = .readWrite
        if isRemoved {
            let second = #expect(throws: DatabaseError.self) {
                try Connection(location, key: .slots(secret: .passphrase("one")), configuration: configuration)
            }
            #expect(second?.reason == .cannotOpen)
        }
        let db = try Connection(location, key: .slots(secret: .passphrase("one"), acceptingRollback: true))
        try db.execute("CREATE TABLE t(x)")
        db.close()
        #expect(try unlock().acceptedRollback == nil)
    }

    /// A backup of another database with the same key takes its mark along only where files are put into each other's place.
    @Test func databaseOfOtherKeySlotsThrows() throws {
        let slots = try make()
        let other = DatabaseLocation.file(folder.path("b.db"))
        try Connection(other, key: slots.key).execute("CREATE TABLE t(x)")
        _ = try KeySlots.create(.passphrase("one"), label: "other", for: other, existingKey: slots.key, derivation: .quick)
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: folder.path("b.db"), toPath: path)
        let report = try #require(rollback())
        #expect(report.kind == .others && report.missing == ["other"])
        try expectAccepted(.others, ["one", "two"])
    }

    /// Slots for a database that remembers others, a backup for instance, never meet that memory.
    @Test(arguments: [false, true]) func newKeySlotsOpenTheBackup(isRaw: Bool) throws {
        let slots = try make()
        let key: DatabaseKey = isRaw ? slots.key : try .passphrase("copy").quick
        let copy = folder.path("b.db")
        try Connection(location, key: .slots(slots)).main.backup(toFileAt: copy, key: key)
        _ = try KeySlots.create(.passphrase("mine"), label: "mine", for: .file(copy), existingKey: key, derivation: .quick,
            cipher: isRaw ? nil : .quick)
        let opened = try KeySlots.unlock(.passphrase("mine"), of: .file(copy), cipher: isRaw ? nil : .quick)
        #expect(opened.acceptedRollback == nil)
    }

    /// The files left by a process that dies while it makes slots for a database with a passphrase open, whatever the database
    /// remembered.
    @Test func keySlotsOfInterruptedCreationOpen() throws {
        let slots = try make()
        let copy = folder.path("b.db"), key = try DatabaseKey.passphrase("copy").quick
        try Connection(location, key: .slots(slots)).main.backup(toFileAt: copy, key: key)
        let capture = Capture(fails: true)
        #expect {
            try KeySlots.create(
                .passphrase("mine"), label: "mine", for: .file(copy), at: .storage(capture), existingKey: key, derivation: .quick)
        } throws: { $0 is CocoaError }
        let opened = try KeySlots.unlock(
            .passphrase("mine"), of: .file(copy), at: .storage(KeySlots.MemoryStorage(capture.all.last)), cipher: .quick)
        #expect(!opened.isRotationUnfinished && opened.acceptedRollback == nil)
    }

    /// Slots from before a rotation open nothing, and say why.
    @Test func keySlotsFromBeforeRotationOpenNothing() throws {
        var slots = try make()
        let before = try Data(contentsOf: keys)
        try slots.rotateKey(
            of: Connection(location, key: .slots(slots)), keeping: ["first": .passphrase("one")], droppingOthers: true)
        try before.write(to: keys)
        let error = #expect(throws: DatabaseError.self) { try unlock("two") }
        #expect(error?.reason == .wrongKeyOrNotADatabase && error?.message.contains("before a change of key") == true)
    }

    /// They hold a key that nothing has, and would give it to the database.
    @Test func keySlotsOfCancelledRotationThrow() throws {
        let capture = Capture()
        var slots = try KeySlots.create(.passphrase("one"), label: "first", for: location, at: .storage(capture),
            derivation: .quick)
        let db = try Connection(location, key: .slots(slots))
        try slots.add(.passphrase("two"), label: "second", derivation: .quick)
        let count = capture.all.count
        struct Cancelled: Error {}
        #expect(throws: Cancelled.self) {
            try slots.rotateKey(of: db, keeping: ["first": .passphrase("one"), "second": .passphrase("two")]) { _ in
                throw Cancelled()
            }
        }
        try slots.revoke("second")
        db.close()
        let error = #expect(throws: DatabaseError.self) {
            try KeySlots.unlock(.passphrase("two"), of: location, at: .storage(KeySlots.MemoryStorage(capture.all[count])))
        }
        #expect(error?.reason == .keySlotsRolledBack)
        #expect(try !KeySlots.unlock(.passphrase("one"), of: location, at: .storage(capture)).isRotationUnfinished)
    }
}

/// Keeps all that was ever stored, and fails after that if it is told to. Used by one thread.
private final class Capture: KeySlots.Storage, @unchecked Sendable {
    private(set) var all: [[UInt8]] = []
    private let fails: Bool

    init(fails: Bool = false) { self.fails = fails }

    func read() throws -> [UInt8]? { all.last }

    func update(_ change: (_ bytes: [UInt8]?, _ write: ([UInt8]) throws -> Void) throws -> Void) throws {
        try change(all.last) { bytes in
            all.append(bytes)
            if fails { throw CocoaError(.fileWriteUnknown) }
        }
    }
}
