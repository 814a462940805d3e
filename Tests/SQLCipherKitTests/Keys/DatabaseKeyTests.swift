import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// One type says how a database is encrypted, wherever that is asked.
@Suite struct DatabaseKeyTests {
    let folder: TemporaryFolder
    var location: DatabaseLocation { .file(folder.path("a.db")) }
    let raw = [UInt8](repeating: 1, count: 32)

    init() throws { folder = try TemporaryFolder() }

    private func failure(_ body: () throws -> Void) -> DatabaseError? { #expect(throws: DatabaseError.self) { try body() } }

    @Test func encryptionDescriptionShowsOnlyItsKind() throws {
        let slots = try KeySlots.create(.passphrase("s3cret"), label: "a", for: location, derivation: .quick)
        let all: [(DatabaseKey, String)] = [
            (.plaintext, "plaintext"), (try .passphrase("s3cret"), "passphrase"), (try .raw(raw), "raw"),
            (try .raw(raw, salt: [UInt8](repeating: 2, count: 16)), "raw, salt"),
            (.provided(by: KeySource { try .passphrase("s3cret") }), "provided"), (.slots(secret: try .passphrase("s3cret")), "slots"),
            (.slots(slots), "slots"),
        ]
        for (encryption, kind) in all {
            for value in [encryption, encryption.with(cipher: .quick)] {
                var shown = "\(value) \(String(reflecting: value)) "
                dump(value, to: &shown)
                #expect(shown.hasPrefix("DatabaseKey(\(kind)) DatabaseKey(\(kind)) "), "\(shown)")
                #expect(!shown.contains("s3cret") && Mirror(reflecting: value).children.isEmpty)
            }
        }
    }

    @Test func cipherSettingsTravelWithTheKey() throws {
        let key = try DatabaseKey.passphrase("k")
        #expect(key.cipher == nil && key.quick.cipher == .quick && key.quick.with(cipher: nil).cipher == nil)
        #expect(DatabaseKey.plaintext.quick.isPlaintext && DatabaseKey.plaintext.quick.cipher == nil && !key.isPlaintext)
        _ = try Connection(location, key: key.with(cipher: .sqlCipher3))
        #expect(failure { _ = try Connection(location, key: key) }?.reason == .wrongKeyOrNotADatabase)
        // A provider's key may bring settings, which others given with the provider replace.
        let provider = KeySource { try .passphrase("k", cipher: .sqlCipher3) }
        _ = try Connection(location, key: .provided(by: provider))
        #expect(failure { _ = try Connection(location, key: .provided(by: provider, cipher: .quick)) }?.reason == .wrongKeyOrNotADatabase)
        _ = try Connection(location, key: .provided(by: KeySource { key }, cipher: .sqlCipher3))
    }

    @Test func missingKeyMeansPlaintext() throws {
        for key in [nil, DatabaseKey.plaintext] {
            let db = try Connection(location, key: key)
            #expect(try db.main.cipher == nil)
            try db.attach(.file(folder.path("b.db")), as: "b", key: key).detach()
            #expect(failure { _ = try db.main.key }?.reason == .notEncrypted)
            #expect(failure { try db.changeKey(to: .plaintext) }?.reason == .notEncrypted)
        }
        #expect(failure { _ = try DatabaseConverter.encrypt(fileAt: folder.path("a.db"), key: .plaintext) }?.reason == .invalidKey)
        let db = try Connection(.file(folder.path("c.db")), key: .raw(raw))
        #expect(failure { try db.changeKey(to: .plaintext) }?.reason == .invalidKey)
        #expect(failure { _ = try Connection(location, key: .provided(by: KeySource { .plaintext })) }?.reason == .keyProvider)
        #expect(failure { _ = try Connection(location, key: .provided(by: KeySource { .provided(by: KeySource { nil }) })) }?.reason == .keyProvider)
    }

    @Test func mainEncryptionOpensAttachedDatabase() throws {
        let db = try Connection(location, key: .passphrase("k").quick)
        let other = try db.attach(.file(folder.path("b.db")), as: "b", key: db.main.key)
        #expect(try other.cipher == db.main.cipher)
        try other.detach()
        _ = try Connection(.file(folder.path("b.db")), key: .passphrase("k").quick)
        // The same passphrase, and so a salt of its own: the error names the remedy.
        let own = DatabaseLocation.file(folder.path("c.db"))
        _ = try Connection(own, key: .passphrase("k").quick)
        for attempt in [
            { try db.attach(own, as: "c", key: db.main.key) }, { _ = try Connection(own, key: db.main.key) },
        ] as [() throws -> Void] {
            let error = failure(attempt)
            #expect(error?.reason == .wrongKeyOrNotADatabase && error?.path == folder.path("c.db"))
            #expect(error?.message.contains("salt") == true && error?.message.contains("give the passphrase") == true)
        }
        // With its own salt it is the key that is wrong.
        let salt = Array(try Data(contentsOf: URL(fileURLWithPath: folder.path("c.db"))).prefix(16))
        #expect(failure { _ = try Connection(own, key: .raw(raw, salt: salt)) }?.message.contains("salt") == false)
    }

    @Test func keyProvidersAndSlotsAttachDatabases() throws {
        let slots = try KeySlots.create(.passphrase("one"), label: "a", for: location, derivation: .quick)
        let db = try Connection(.memory)
        let attached = try db.attach(location, as: "A b", key: .slots(secret: .passphrase("one")))
        try db.execute("CREATE TABLE \(identifier: "A b").t(x)")
        // The database has its mark of the slots, so that older slots are refused.
        #expect(try db.fetchOne(Int.self, "SELECT generation FROM \(identifier: "A b").sqlcipherkit_key_slots") == 1)
        try attached.detach()
        let old = try Data(contentsOf: URL(fileURLWithPath: folder.path("a.db.keys")))
        try slots.add(.passphrase("two"), label: "b", derivation: .quick)
        let path = try db.withAttached(location, as: "a", key: .slots(slots)) { try $0.path }
        #expect(path == folder.path("a.db"))
        try old.write(to: URL(fileURLWithPath: folder.path("a.db.keys")))
        #expect(failure { try db.attach(location, as: "a", key: .slots(secret: .passphrase("one"))) }?.reason == .keySlotsRolledBack)
        #expect(failure { _ = try Connection(.file(folder.path("b.db")), key: .slots(slots)) }?.reason == .misuse)
        #expect(failure { try db.main.backup(toFileAt: folder.path("b.db"), key: .slots(slots)) }?.reason == .misuse)
        try db.attach(.file(folder.path("c.db")), as: "c", key: .provided(by: KeySource { try .raw(self.raw) })).detach()
        #expect(failure { try db.attach(location, as: "c", key: .provided(by: KeySource { nil })) }?.reason == .keyProvider)
        #expect(try db.schemas().map(\.name) == ["main"] && !folder.names().contains("b.db"))
    }

    /// A provider such as an environment variable answers once, and the new file is opened several times.
    @Test func keyProviderIsAskedOncePerNewFile() throws {
        nonisolated(unsafe) var calls = 0
        let raw = raw
        let once = DatabaseKey.provided(by: KeySource {
            calls += 1
            return try .raw(raw)
        })
        let db = try Connection(.memory, key: .passphrase("k").quick)
        try db.execute("CREATE TABLE t(x)")
        try db.main.backup(toFileAt: folder.path("a.db"), key: once)
        #expect(calls == 1)
        try db.main.backup(toFileAt: folder.path("b.db"), key: once, options: .compact)
        #expect(calls == 2)
        let file = try Connection(location, key: .raw(raw))
        try file.changeKey(to: once, mode: .newFile)
        #expect(calls == 3 && !file.isOpen)
        _ = try Connection(location, key: once)
    }

    @Test func changeKeyToNewFileChangesCipherSettings() throws {
        let db = try Connection(location, key: .passphrase("one").quick)
        try db.execute("CREATE TABLE t(x)")
        var wide = CipherConfiguration.quick
        wide.pageSize = 8192
        #expect(failure { try db.changeKey(to: .passphrase("two", cipher: wide)) }?.reason == .invalidKey)
        try db.changeKey(to: .passphrase("two").quick)
        #expect(try db.main.cipher?.settings == .quick)
        try db.changeKey(to: .passphrase("three", cipher: wide), mode: .newFile)
        let again = try Connection(location, key: .passphrase("three", cipher: wide))
        #expect(try again.main.cipher?.settings.pageSize == 8192 && again.fetchOne(Int.self, "SELECT count(*) FROM t") == 0)
    }
}
