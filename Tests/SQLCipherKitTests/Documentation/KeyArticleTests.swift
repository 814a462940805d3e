import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// The examples of the articles about keys, security and formats, each in a folder of its own.
@Suite struct KeyArticleTests {
    /// "Keys".
    @Test func keysArticleCodeWorks() throws {
        let folder = try TemporaryFolder()
        let (path, oldPath, handoverPath) = (folder.path("notes.db"), folder.path("old.db"), folder.path("handover.db"))
        let key = try DatabaseKey.raw([UInt8](repeating: 1, count: 32)), otherKey = try DatabaseKey.raw([UInt8](repeating: 2, count: 32))
        do {
            let db = try Connection(.file(path), key: .passphrase("correct horse"))
            try db.execute("CREATE TABLE note(title TEXT)")
            db.close()
        }
        do {
            let path = folder.path("cost.db")
            var cipher = CipherConfiguration()
            cipher.kdfIterations = try CipherConfiguration.iterations(
                taking: .milliseconds(500))
            let slow = try Connection(
                .file(path), key: .passphrase("correct horse", cipher: cipher))
            print(try slow.main.cipher?.settings.weaknesses ?? [])      // nothing
        }
        do {
            let path = folder.path("random.db"), keyPath = folder.path("random.key")
            let random = try SecureBytes.random()                // 32 bytes
            let file = open(keyPath, O_WRONLY | O_CREAT | O_EXCL, 0o600)
            try random.withUnsafeBytes { bytes in
                let count = write(file, bytes.baseAddress, bytes.count)
                guard count == bytes.count, fsync(file) == 0 else {
                    throw CocoaError(.fileWriteUnknown)
                }
            }
            close(file)
            let notes = try Connection(
                .file(path), key: .provided(by: .file(keyPath, as: .raw)))
            try notes.execute("CREATE TABLE t(x)")
            notes.close()
            let stored = try Data(contentsOf: URL(fileURLWithPath: keyPath))
            #expect(try stored.count == 32 && Connection(.file(path), key: .raw(stored)).main.has("t"))
        }
        try DatabaseConverter.decrypt(fileAt: path, key: .passphrase("correct horse"))
        try makeOldFile(oldPath, key)

        let settings = try DatabaseConverter.encrypt(fileAt: path, key: key)
        let version = try DatabaseConverter.migrate(fileAt: oldPath, key: key)
        let db = try Connection(.file(path), key: key)
        try db.main.backup(toFileAt: handoverPath, key: otherKey)
        #expect(settings.pageSize == 4096 && version == 3)
        #expect(try Connection(.file(handoverPath), key: otherKey).fetchOne(Int.self, "SELECT count(*) FROM note") == 0)
    }

    private func makeOldFile(_ path: String, _ key: DatabaseKey) throws {
        let old = try Connection(.file(path), key: key.with(cipher: .sqlCipher3))
        try old.execute("CREATE TABLE note(title TEXT)")
        old.close()
    }

    /// "Key slots".
    @Test func keySlotsArticleCodeWorks() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("notes.db")
        let notes = DatabaseLocation.file(path)
        let slots = try KeySlots.create(
            .passphrase("correct horse"), label: "laptop", for: notes)
        try slots.add(.passphrase("battery staple"), label: "desktop")
        let recovery = try slots.addRecoveryKey(label: "safe")
        print(recovery.text)     // to be written down, and shown only here

        let db = try Connection(
            notes,
            key: .slots(
                secret: .passphrase("battery staple"),
                preferredSlot: "desktop"))
        try db.execute("CREATE TABLE note(title TEXT)")
        db.close()

        try slots.changePassphrase(
            "laptop", from: .passphrase("correct horse"),
            to: .passphrase("something new"))
        try slots.revoke("desktop")
        #expect(throws: DatabaseError.self) {
            _ = try Connection(notes, key: .slots(secret: .passphrase("battery staple"), preferredSlot: "desktop"))
        }
    }

    /// "Key slots", slots that are not the latest.
    @Test func keySlotsArticleRollbackCodeWorks() throws {
        let folder = try TemporaryFolder()
        let notes = DatabaseLocation.file(folder.path("notes.db")), passphrase = try KeySlots.Secret.passphrase("one")
        let made = try KeySlots.create(passphrase, label: "laptop", for: notes, derivation: .quick)
        try Connection(notes, key: .slots(made)).close()
        try made.add(.passphrase("two"), label: "desktop", derivation: .quick)
        let file = URL(fileURLWithPath: folder.path("notes.db.keys"))
        let before = try Data(contentsOf: file)
        try made.revoke("desktop")
        try before.write(to: file)

        do {
            _ = try KeySlots.unlock(passphrase, of: notes)
        } catch let error as DatabaseError {
            guard let rollback = error.underlyingError as? KeySlots.Rollback
            else { throw error }
            print(rollback.revoked ?? [], rollback.superseded ?? [])
            let slots = try KeySlots.unlock(
                passphrase, of: notes, acceptingRollback: true)
            for label in rollback.revoked ?? [] { try slots.revoke(label) }
        }
        #expect(try KeySlots.unlock(passphrase, of: notes).slots().map(\.label) == ["laptop"])
    }

    /// "Security".
    @Test func securityArticleCodeWorks() throws {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE note(title TEXT)")
        let untrusted = "SELECT count(*) FROM note"
        let found = try db.withPermissions(.readOnly) { db in
            try db.fetchAll(SQLValue.self, "\(raw: untrusted)")
        }
        #expect(found == [.integer(0)])
        #expect(throws: DatabaseError.self) { try db.withPermissions(.readOnly) { try $0.execute("DROP TABLE note") } }

        let folder = try TemporaryFolder()
        try verify(Connection(.file(folder.path("notes.db")), key: .raw([UInt8](repeating: 1, count: 32))))
    }

    private func verify(_ db: Connection) throws {
        let report = try db.main.verify()
        print(report.isIntact, report.isAuthenticated, report.problems)
        #expect(report.isIntact && report.isAuthenticated)
    }

    /// "Format compatibility".
    @Test func formatCompatibilityArticleCodeWorks() throws {
        let folder = try TemporaryFolder()
        let oldPath = folder.path("old.db")
        try makeOldFile(oldPath, .passphrase("correct horse"))

        let old = try Connection(
            .file(oldPath),
            key: .passphrase("correct horse", cipher: .sqlCipher3))
        old.close()

        let passphrase = try DatabaseKey.passphrase("correct horse")
        let version = try DatabaseConverter.migrate(
            fileAt: oldPath, key: passphrase)                        // 3
        let db = try Connection(.file(oldPath), key: passphrase)
        #expect(version == 3)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM note") == 0)
    }
}
