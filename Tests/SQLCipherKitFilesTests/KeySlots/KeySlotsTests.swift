import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import Testing
import TestSupport

@Suite struct KeySlotsTests {
    let folder: TemporaryFolder
    var path: String { folder.path("a.db") }
    var location: DatabaseLocation { .file(path) }

    init() throws { folder = try TemporaryFolder() }

    /// Slots with "one" as the passphrase of the slot "first", and a database with a row.
    private func make() throws -> KeySlots {
        let slots = try KeySlots.create(.passphrase("one"), label: "first", for: location, derivation: .quick)
        let db = try Connection(location, key: .slots(slots))
        try db.execute("CREATE TABLE t(x)")
        try db.execute("INSERT INTO t VALUES ('kept')")
        return slots
    }

    private func opens(_ secret: KeySlots.Secret, first label: String? = nil) -> Bool {
        (try? Connection(location, key: .slots(secret: secret, preferredSlot: label)).fetchOne(String.self, "SELECT x FROM t")) == "kept"
    }

    private func reason(_ body: () throws -> Void) -> DatabaseError.Reason? {
        #expect(throws: DatabaseError.self) { try body() }?.reason
    }

    @Test func keySlotSecretsAreMadeFromPassphraseKeys() throws {
        let slots = try make()
        let recovery = try slots.addRecoveryKey(label: "safe", derivation: .quick)
        #expect(opens(try .passphrase(of: .passphrase("one"))))
        #expect(opens(try .recoveryKey(of: .passphrase(recovery.text.lowercased()))))
        #expect(!opens(try .passphrase(of: .passphrase(recovery.text))))
        let raw = try DatabaseKey.raw([UInt8](repeating: 1, count: 32))
        #expect(reason { _ = try KeySlots.Secret.passphrase(of: raw) } == .invalidKey)
        #expect(reason { _ = try KeySlots.Secret.recoveryKey(of: raw) } == .invalidKey)
        #expect(reason { _ = try KeySlots.Secret.recoveryKey(of: .passphrase("one")) } == .invalidKey)
    }

    @Test func severalSecretsOpenOneDatabase() throws {
        let slots = try make()
        try slots.add(.passphrase(Data("two".utf8)), label: "second", derivation: .pbkdf2(iterations: 2000))
        let recovery = try slots.addRecoveryKey(label: "safe", derivation: .quick)
        for secret in [try KeySlots.Secret.passphrase("one"), try .passphrase("two"), .recoveryKey(recovery), try .recoveryKey(recovery.text.lowercased())] {
            #expect(opens(secret))
            #expect(opens(secret, first: "second"))
            #expect(opens(secret, first: "no such label"))
        }
        for secret in [try KeySlots.Secret.passphrase("three"), try .passphrase(recovery.text), .recoveryKey(try KeySlots.RecoveryKey())] {
            #expect(reason { _ = try Connection(location, key: .slots(secret: secret)) } == .noSlotOpens)
        }
        // The passphrase is not one of the database itself.
        #expect(reason { _ = try Connection(location, key: .passphrase("one")) } == .wrongKeyOrNotADatabase)
        #expect(try folder.names() == ["a.db", "a.db.keys", "a.db.keys.lock"])
        for name in ["a.db", "a.db.keys", "a.db.keys.lock"] {
            let mode = try FileManager.default.attributesOfItem(atPath: folder.path(name))[.posixPermissions] as? Int
            #expect(mode == 0o600, "\(name)")
        }
    }

    @Test func keySlotListShowsLabelsKindsAndDerivations() throws {
        let start = Date()
        let slots = try make()
        try slots.add(.passphrase("two"), label: "Büro 🗝️", derivation: .pbkdf2(iterations: 2000))
        _ = try slots.addRecoveryKey(label: "safe", derivation: .pbkdf2(iterations: 3000))
        for list in [try slots.slots(), try KeySlots.unverifiedSlots(of: location)] {
            #expect(list.map(\.label) == ["first", "Büro 🗝️", "safe"])
            #expect(list.map(\.kind) == [.passphrase, .passphrase, .recoveryKey])
            #expect(list.map(\.derivation.cost) == [1000, 2000, 3000])
            for slot in list {
                #expect(slot.createdAt == slot.changedAt)
                #expect(abs(slot.createdAt.timeIntervalSince(start)) < 60)
            }
        }
    }

    @Test func changedPassphraseReplacesTheOld() throws {
        let slots = try make()
        try slots.add(.passphrase("two"), label: "second", derivation: .quick)
        let before = try Data(contentsOf: URL(fileURLWithPath: path + ".keys"))
        #expect(reason { try slots.changePassphrase("first", from: .passphrase("two"), to: .passphrase("new")) } == .noSlotOpens)
        #expect(reason { try slots.changePassphrase("third", from: .passphrase("two"), to: .passphrase("new")) } == .invalidArgument)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path + ".keys")) == before)
        try slots.changePassphrase("first", from: .passphrase("one"), to: .passphrase("new"), derivation: .pbkdf2(iterations: 1500))
        #expect(!opens(try .passphrase("one")))
        #expect(opens(try .passphrase("new")))
        #expect(opens(try .passphrase("two")))
        #expect(try slots.slots().map(\.derivation.cost) == [1500, 1000])
        // The new passphrase has a salt of its own, and nothing is sealed as it was.
        try slots.changePassphrase("first", from: .passphrase("new"), to: .passphrase("new"))
        #expect(opens(try .passphrase("new")))
    }

    @Test func revokedKeySlotNoLongerOpens() throws {
        let slots = try make()
        #expect(reason { try slots.revoke("first") } == .misuse)
        #expect(reason { try slots.revoke("second") } == .invalidArgument)
        try slots.add(.passphrase("two"), label: "second", derivation: .quick)
        try slots.revoke("first")
        #expect(!opens(try .passphrase("one")))
        #expect(opens(try .passphrase("two")))
        #expect(reason { try slots.revoke("second") } == .misuse)
        #expect(opens(try .passphrase("two")))
    }

    @Test func invalidKeySlotArgumentsThrow() throws {
        let slots = try make()
        #expect(reason { try slots.add(.passphrase("x"), label: "first", derivation: .quick) } == .invalidArgument)
        for label in ["", "a\nb", "\u{1b}[2J", String(repeating: "x", count: 201), "\u{202e}"] {
            #expect(reason { try slots.add(.passphrase("x"), label: label, derivation: .quick) } == .invalidArgument)
        }
        for iterations in [0, 999, -1, 10_000_001, Int.max] {
            #expect(reason { try slots.add(.passphrase("x"), label: "x", derivation: .pbkdf2(iterations: iterations)) }
                == .invalidArgument)
        }
        #expect(reason { try slots.add(.passphrase(""), label: "x", derivation: .quick) } == .emptyKey)
        for number in 1..<KeySlots.maximumSlots { try slots.add(.passphrase("x"), label: "\(number)", derivation: .quick) }
        #expect(reason { try slots.add(.passphrase("x"), label: "one more", derivation: .quick) } == .invalidArgument)
        #expect(try slots.slots().count == 32)
        #expect(reason { _ = try KeySlots.create(.passphrase("x"), label: "x", for: location, derivation: .quick) } == .misuse)
        #expect(reason { _ = try KeySlots.create(.passphrase("x"), label: "x", for: .memory, derivation: .quick) }
            == .invalidArgument)
        #expect(opens(try .passphrase("one")))
    }

    @Test func missingKeySlotsThrowAndCreateNoFile() throws {
        #expect(reason { _ = try Connection(location, key: .slots(secret: .passphrase("x"))) } == .cannotOpen)
        #expect(reason { _ = try KeySlots.unverifiedSlots(of: location) } == .cannotOpen)
        #expect(try folder.names() == [])
    }

    @Test func passphraseChangeDoesNotRewriteTheDatabase() throws {
        let slots = try KeySlots.create(.passphrase("one"), label: "first", for: location)
        let db = try Connection(location, key: .slots(slots))
        // With SQLCIPHERKIT_LONG_TESTS a million.
        let rows = LongTests.areOn ? 1_000_000 : 20_000
        try db.execute("CREATE TABLE t(x)")
        try db.execute("INSERT INTO t WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < \(rows)) SELECT 'row number ' || i FROM n")
        let before = try Data(contentsOf: URL(fileURLWithPath: path)).count
        let passphrases = ["one", "two", "one", "two"]
        var derivation = Duration.zero, change = Duration.seconds(1000)
        for (old, new) in zip(passphrases, passphrases.dropFirst()) {
            derivation = max(derivation, try processorTime { _ = try KeySlots.unlock(.passphrase(old), of: location) })
            change = min(change, try processorTime { try slots.changePassphrase("first", from: .passphrase(old), to: .passphrase(new)) })
        }
        print("a change of passphrase over \(rows) rows, \(before) bytes: \(change); unlocking: \(derivation)")
        // Two derivations, and no work that grows with the database.
        #expect(change < derivation * 3 + .milliseconds(300))
        #expect(try Connection(location, key: .slots(secret: .passphrase("two"))).fetchOne(Int.self, "SELECT count(*) FROM t") == rows)
    }

    @Test func keySlotFileKeepsItsPermissions() throws {
        let slots = try make()
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path + ".keys")
        try slots.add(.passphrase("two"), label: "second", derivation: .quick)
        #expect(try FileManager.default.attributesOfItem(atPath: path + ".keys")[.posixPermissions] as? Int == 0o640)
    }

    /// The lock's file follows, so that a group that may write the slots can change them; and its access ends with theirs.
    @Test func keySlotLockFollowsFilePermissions() throws {
        let slots = try make()
        func mode(_ suffix: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path + suffix)[.posixPermissions] as? Int
        }
        func set(_ mode: Int) throws {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path + ".keys")
        }
        #expect(try mode(".keys") == 0o600 && mode(".keys.lock") == 0o600)
        try set(0o660)
        // The owner's next opening is enough.
        _ = try KeySlots.unlock(.passphrase("one"), of: location)
        #expect(try mode(".keys.lock") == 0o660)
        try slots.add(.passphrase("two"), label: "second", derivation: .quick)
        #expect(try mode(".keys") == 0o660 && mode(".keys.lock") == 0o660)
        try set(0o600)
        try slots.revoke("second")
        #expect(try mode(".keys") == 0o600 && mode(".keys.lock") == 0o600)
    }

    /// As root of any group, as anyone else of one of their own.
    @Test func keySlotFileKeepsItsGroup() throws {
        let slots = try make()
        let own = getegid()
        var groups = [gid_t](repeating: 0, count: 256)
        let count = Int(getgroups(256, &groups))
        guard let group = getuid() == 0 ? own + 1 : groups.prefix(max(0, count)).first(where: { $0 != own }) else { return }
        for suffix in [".keys", ".keys.lock"] {
            #expect(chmod(path + suffix, 0o660) == 0 && chown(path + suffix, uid_t.max, suffix == ".keys" ? group : own) == 0)
        }
        try slots.add(.passphrase("two"), label: "second", derivation: .quick)
        for suffix in [".keys", ".keys.lock"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: path + suffix)
            #expect(attributes[.groupOwnerAccountID] as? Int == Int(group))
            #expect(attributes[.posixPermissions] as? Int == 0o660)
        }
    }

    /// In a folder that others may write to, the lock's name may lead to a file of the user's that is not meant.
    @Test func keySlotLockRefusesLinksAndPipes() throws {
        let slots = try make(), other = folder.path("private"), lock = path + ".keys.lock"
        #expect(FileManager.default.createFile(atPath: other, contents: Data("secret".utf8), attributes: [.posixPermissions: 0o400]))
        for make in [{ link(other, lock) }, { symlink(other, lock) }, { mkfifo(lock, 0o600) }] as [() -> Int32] {
            try FileManager.default.removeItem(atPath: lock)
            #expect(make() == 0 && chmod(path + ".keys", 0o666) == 0)
            let error = #expect(throws: DatabaseError.self) { try slots.add(.passphrase("two"), label: "x", derivation: .quick) }
            #expect(error?.reason == .cannotOpen, "\(String(describing: error))")
            let mode = try FileManager.default.attributesOfItem(atPath: other)[.posixPermissions] as? Int
            #expect(mode == 0o400)
        }
    }

    // MARK: Other places

    @Test func keySlotsInStorageLeaveNoFile() throws {
        let bytes = KeySlots.MemoryStorage()
        let slots = try KeySlots.create(.passphrase("one"), label: "first", for: location, at: .storage(bytes), derivation: .quick)
        try Connection(location, key: .slots(slots)).execute("CREATE TABLE t(x)")
        try slots.add(.passphrase("two"), label: "second", derivation: .quick)
        #expect(try folder.names() == ["a.db"])
        let stored = KeySlots.MemoryStorage(bytes.value)
        let db = try Connection(location, key: .slots(.storage(stored), secret: .passphrase("two")))
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 0)
    }

    @Test func keySlotsOpenFromNamedFileButNotThroughLink() throws {
        let file = folder.path("slots")
        let slots = try KeySlots.create(.passphrase("one"), label: "first", for: location, at: .file(file), derivation: .quick)
        try Connection(location, key: .slots(slots)).execute("CREATE TABLE t(x)")
        _ = try Connection(location, key: .slots(.file(file), secret: .passphrase("one")))
        try FileManager.default.createSymbolicLink(atPath: folder.path("link"), withDestinationPath: file)
        #expect(reason { _ = try Connection(location, key: .slots(.file(folder.path("link")), secret: .passphrase("one"))) } == .cannotOpen)
        #expect(reason { _ = try Connection(location, key: .slots(.file(folder.url.path), secret: .passphrase("one"))) } == .cannotOpen)
        // Of a linked database, the slots are beside the file itself.
        let other = try TemporaryFolder()
        try FileManager.default.createSymbolicLink(atPath: other.path("b.db"), withDestinationPath: path)
        try FileManager.default.moveItem(atPath: file, toPath: path + ".keys")
        _ = try Connection(.file(other.path("b.db")), key: .slots(secret: .passphrase("one")))
        #expect(try other.names() == ["b.db"])
    }

    // MARK: Existing databases

    @Test func rawKeyDatabaseGetsKeySlots() throws {
        for salted in [false, true] {
            let key: DatabaseKey = salted
                ? try .raw([UInt8](repeating: 5, count: 32), salt: [UInt8](repeating: 6, count: 16)) : try .raw([UInt8](repeating: 5, count: 32))
            let location = DatabaseLocation.file(folder.path("\(salted).db"))
            try Connection(location, key: key).execute("CREATE TABLE t(x)")
            #expect(reason { _ = try KeySlots.create(.passphrase("one"), label: "a", for: location, derivation: .quick) }
                == .misuse)
            #expect(reason {
                _ = try KeySlots.create(
                    .passphrase("one"), label: "a", for: location, existingKey: .raw([UInt8](repeating: 7, count: 32)),
                        derivation: .quick)
            } == .wrongKeyOrNotADatabase)
            _ = try KeySlots.create(.passphrase("one"), label: "a", for: location, existingKey: key, derivation: .quick)
            _ = try Connection(location, key: .slots(secret: .passphrase("one")))
            _ = try Connection(location, key: key)
        }
    }

    @Test func passphraseDatabaseGetsKeySlots() throws {
        let db = try Connection(location, key: .passphrase("old").quick)
        try db.execute("CREATE TABLE t(x)")
        try db.execute("INSERT INTO t VALUES ('kept')")
        #expect(reason {
            _ = try KeySlots.create(
                .passphrase("one"), label: "a", for: location, existingKey: .passphrase("wrong").quick, derivation: .quick)
        } == .wrongKeyOrNotADatabase)
        #expect(try folder.names().contains("a.db.keys") == false)
        // Another connection reads: the key cannot change, and there are no slots then.
        try db.execute("BEGIN")
        _ = try db.fetchOne(Int.self, "SELECT count(*) FROM t")
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .milliseconds(50)
        #expect(reason {
            _ = try KeySlots.create(
                .passphrase("one"), label: "a", for: location, existingKey: .passphrase("old").quick, derivation: .quick,
                    configuration: configuration)
        } == .busy)
        try db.execute("COMMIT")
        db.close()
        #expect((try? Connection(location, key: .passphrase("old").quick)) != nil)
        #expect(try !folder.names().contains("a.db.keys"))
        let slots = try KeySlots.create(
            .passphrase("one"), label: "a", for: location, existingKey: .passphrase("old").quick, derivation: .quick)
        #expect(!slots.isRotationUnfinished)
        #expect(opens(try .passphrase("one")))
        #expect(reason { _ = try Connection(location, key: .passphrase("old").quick) } == .wrongKeyOrNotADatabase)
    }

    // MARK: A new database key

    @Test(arguments: [Schema.KeyChangeMode.inPlace, .newFile]) func keyRotationReplacesKeyAndKeySlots(mode: Schema.KeyChangeMode) throws {
        var slots = try make()
        try slots.add(.passphrase("two"), label: "second", derivation: .quick)
        let recovery = try slots.addRecoveryKey(label: "safe", derivation: .quick)
        let old = slots.key
        let stale = slots
        let db = try Connection(location, key: .slots(slots))
        #expect(reason { try slots.rotateKey(of: db, keeping: [:]) } == .misuse)
        #expect(reason { try slots.rotateKey(of: db, keeping: ["first": .passphrase("one")]) } == .misuse)
        #expect(reason { try slots.rotateKey(of: db, keeping: ["first": .passphrase("two")], droppingOthers: true) } == .noSlotOpens)
        #expect(reason { try slots.rotateKey(of: db, keeping: ["third": .passphrase("two")], droppingOthers: true) } == .invalidArgument)
        #expect(try opens(.passphrase("one")) && opens(.recoveryKey(recovery)))
        var calls = 0
        try slots.rotateKey(
            of: db, keeping: ["safe": .recoveryKey(recovery), "first": .passphrase("one")], droppingOthers: true, mode: mode
        ) { _ in calls += 1 }
        #expect(calls > 0)
        #expect(db.isOpen == (mode == .inPlace))
        try (db.isOpen ? db : Connection(location, key: .slots(slots))).execute("INSERT INTO t VALUES ('more')")
        db.close()
        #expect(try opens(.passphrase("one")) && opens(.recoveryKey(recovery)))
        #expect(!opens(try .passphrase("two")))
        #expect(try slots.slots().map(\.label).sorted() == ["first", "safe"])
        #expect(reason { _ = try Connection(location, key: old) } == .wrongKeyOrNotADatabase)
        // A value from before the rotation is out of date.
        #expect(reason { try stale.add(.passphrase("x"), label: "x", derivation: .quick) } == .keySlotsDamaged)
        try slots.add(.passphrase("two"), label: "second", derivation: .quick)
        #expect(opens(try .passphrase("two")))
    }

    @Test func failedKeyRotationChangesNothing() throws {
        var slots = try make()
        try slots.add(.passphrase("two"), label: "second", derivation: .quick)
        var configuration = DatabaseConfiguration()
        configuration.busyTimeout = .milliseconds(50)
        let db = try Connection(location, key: .slots(slots), configuration: configuration)
        let reader = try Connection(location, key: .slots(slots))
        try reader.execute(SQLScript("BEGIN; SELECT * FROM t"))
        #expect(reason { try slots.rotateKey(of: db, keeping: ["first": .passphrase("one")], droppingOthers: true) } == .busy)
        reader.close()
        // The slot that would have gone is back as well.
        #expect(try opens(.passphrase("one")) && opens(.passphrase("two")))
        #expect(try !KeySlots.unlock(.passphrase("one"), of: location).isRotationUnfinished)
        try slots.rotateKey(of: db, keeping: ["first": .passphrase("one")], droppingOthers: true)
        #expect(opens(try .passphrase("one")))
    }

    @Test(arguments: [Schema.KeyChangeMode.inPlace, .newFile]) func cancelledKeyRotationChangesNothing(mode: Schema.KeyChangeMode) throws {
        var slots = try make()
        try slots.add(.passphrase("two"), label: "second", derivation: .quick)
        let db = try Connection(location, key: .slots(slots))
        struct Cancelled: Error {}
        #expect(throws: Cancelled.self) {
            try slots.rotateKey(of: db, keeping: ["first": .passphrase("one")], droppingOthers: true, mode: mode) { _ in throw Cancelled() }
        }
        try db.execute("INSERT INTO t VALUES ('more')")
        db.close()
        #expect(try opens(.passphrase("one")) && opens(.passphrase("two")))
        #expect(try !KeySlots.unlock(.passphrase("one"), of: location).isRotationUnfinished)
    }

    @Test func keyRotationOfAnotherDatabaseThrows() throws {
        var slots = try make()
        let other = try Connection(.file(folder.path("b.db")), key: slots.key)
        #expect(reason { try slots.rotateKey(of: other, keeping: ["first": .passphrase("one")]) } == .misuse)
    }

    @Test func keySlotDescriptionsContainNoSecret() throws {
        let slots = try make()
        var shown = "\(slots) \(String(reflecting: slots)) \(try KeySlots.Secret.passphrase("s3cret"))"
        dump(slots, to: &shown)
        dump(try KeySlots.Secret.passphrase("s3cret"), to: &shown)
        #expect(!shown.contains("s3cret") && !shown.contains("DatabaseKey"))
        #expect(shown.contains("KeySlots(\(path))"))
    }
}
