import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import Testing
import TestSupport

/// The slot file's format: as the article has it, committed to one key, and version 1 as it was.
@Suite struct SlotFormatTests {
    let folder: TemporaryFolder
    var path: String { folder.path("a.db") }
    var location: DatabaseLocation { .file(path) }
    var keys: URL { URL(fileURLWithPath: path + ".keys") }

    init() throws { folder = try TemporaryFolder() }

    private func bytes() throws -> [UInt8] { Array(try Data(contentsOf: keys)) }

    private func make() throws -> KeySlots {
        let slots = try KeySlots.create(.passphrase("one"), label: "first", for: location, derivation: .quick)
        try Connection(location, key: .slots(slots)).execute("CREATE TABLE t AS SELECT 'kept' AS x")
        return slots
    }

    private func error(_ secret: KeySlots.Secret, _ bytes: [UInt8]) -> DatabaseError? {
        #expect(throws: DatabaseError.self) {
            try KeySlots.unlock(secret, of: location, at: .storage(KeySlots.MemoryStorage(bytes)))
        }
    }

    /// A reader that was written after the article alone.
    @Test func independentReaderOpensKeySlots() throws {
        let slots = try make()
        let recovery = try slots.addRecoveryKey(label: "safe", derivation: .pbkdf2(iterations: 1500))
        try slots.add(.passphrase("abc\0"), label: "Büro", derivation: .quick)
        try slots.add(.passphrase("memory"), label: "memory", derivation: .argon2id(memory: 7168, passes: 5, lanes: 2))
        _ = try KeySlots.unlock(.passphrase("memory"), of: location, preferredSlot: "memory")
        for (kind, secret) in [("1", "one"), ("1", "abc\0"), ("2", recovery.text), ("1", "memory")] {
            let outcome = try Python.run(Self.reader, keys.path, kind, Data(secret.utf8).base64EncodedString())
            let hexadecimal = Array(outcome.utf8).filter { $0 != 10 }
            let key = stride(from: 0, to: hexadecimal.count - 1, by: 2).compactMap {
                UInt8(String(decoding: hexadecimal[$0...$0 + 1], as: UTF8.self), radix: 16)
            }
            #expect(try Connection(location, key: .raw(key)).fetchOne(String.self, "SELECT x FROM t") == "kept")
        }
    }

    /// To someone without a secret, a wrong one and a damaged slot look the same, wherever the damage is.
    @Test func wrongSecretAndDamagedKeySlotThrowTheSame() throws {
        _ = try make()
        let bytes = try bytes()
        let wrong = try #require(error(try .passphrase("wrong"), bytes))
        #expect(wrong.reason == .noSlotOpens)
        // The slot's identifier, salt, date, label, commitment, and the wrapped key.
        for offset in [57, 90, 125, 141, 150, 170, 185, bytes.count - 70] {
            var damaged = bytes
            damaged[offset] ^= 1
            #expect(error(try .passphrase("one"), damaged) == wrong, "\(offset)")
        }
    }

    /// A secret counts with its length, and is not taken for its hash.
    @Test func keySlotSecretsOfDifferentLengthsDiffer() throws {
        let slots = try make()
        try slots.add(.passphrase("abc"), label: "abc", derivation: .quick)
        try slots.add(.passphrase("\0"), label: "zero", derivation: .quick)
        let bytes = try bytes()
        for other in ["abc\0", "abc\0\0", "\0\0", "\0abc", "ab"] {
            #expect(error(try .passphrase(other), bytes)?.reason == .noSlotOpens)
        }
        _ = try KeySlots.unlock(.passphrase("abc"), of: location)
        _ = try KeySlots.unlock(.passphrase("\0"), of: location)
    }

    /// The floors are the least that OWASP names; the ceilings bound what a hostile file can ask for.
    @Test func keySlotDerivationsAreBounded() throws {
        #expect(KeySlots.Derivation.standard == .argon2id(memory: 65_536, passes: 3, lanes: 1))
        let slots = try make()
        let refused: [KeySlots.Derivation] = [
            .argon2id(memory: 7_167, passes: 5), .argon2id(memory: 19_455, passes: 1), .argon2id(memory: 1_048_577, passes: 1),
            .argon2id(passes: 0), .argon2id(passes: 65), .argon2id(lanes: 0), .argon2id(lanes: 17),
            .argon2id(memory: Int.max, passes: Int.max),
            .argon2id(memory: -1, passes: -1), .pbkdf2(iterations: 999), .pbkdf2(iterations: 10_000_001),
        ]
        for derivation in refused {
            let error = #expect(throws: DatabaseError.self) { try slots.add(.passphrase("x"), label: "x", derivation: derivation) }
            #expect(error?.reason == .invalidArgument, "\(derivation)")
        }
        // In a file, more than that is damage, and not one block is filled. The derivation stands in bytes 74 to 86.
        let bytes = try bytes()
        for numbers in [[2, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 1], [2, 0, 0x10, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1], [3]
            + [UInt8](repeating: 1, count: 12)]
            as [[UInt8]] {
            var changed = bytes
            changed.replaceSubrange(74..<87, with: numbers)
            #expect(error(try .passphrase("one"), changed)?.reason == .keySlotsDamaged)
        }
    }

    @Test func keySlotOverCostLimitDoesNotBlockOthers() throws {
        let slots = try make()
        try slots.add(.passphrase("dear"), label: "dear", derivation: .pbkdf2(iterations: 5000))
        try slots.add(.passphrase("two"), label: "second", derivation: .quick)
        _ = try KeySlots.unlock(.passphrase("two"), of: location, costLimit: 3000)
        _ = try KeySlots.unlock(.passphrase("two"), of: location, preferredSlot: "dear", costLimit: 3000)
        let error = #expect(throws: DatabaseError.self) { try KeySlots.unlock(.passphrase("dear"), of: location, costLimit: 3000) }
        #expect(error?.reason == .noSlotOpens && error?.message.contains("dear") == true)
        _ = try KeySlots.unlock(.passphrase("dear"), of: location, preferredSlot: "dear", costLimit: 5000)
        #expect(KeySlots.Derivation.standard.cost * KeySlots.maximumSlots <= KeySlots.defaultCostLimit)
    }

    /// A slot file from elsewhere does not take all of the memory.
    @Test func keySlotOverMemoryLimitDoesNotBlockOthers() throws {
        let slots = try make()
        try slots.add(.passphrase("large"), label: "large", derivation: .argon2id(memory: 20_000, passes: 2))
        _ = try KeySlots.unlock(.passphrase("one"), of: location, preferredSlot: "large", memoryLimit: 19_999)
        let error = #expect(throws: DatabaseError.self) { try KeySlots.unlock(.passphrase("large"), of: location, memoryLimit: 19_999) }
        #expect(error?.reason == .noSlotOpens && error?.message.contains("large takes 20000 KiB") == true, "\(String(describing: error))")
        _ = try KeySlots.unlock(.passphrase("large"), of: location, memoryLimit: 20_000)
        #expect(KeySlots.defaultMemoryLimit < 1 << 20)
    }

    // MARK: Version 1

    private func makeFormer(_ slots: Data = FormerSlots.slots) throws {
        try FormerSlots.database.write(to: URL(fileURLWithPath: path))
        try slots.write(to: keys)
    }

    private func secrets() throws -> [KeySlots.Secret] {
        [try .passphrase(FormerSlots.first), try .passphrase(FormerSlots.second), try .recoveryKey(FormerSlots.recovery)]
    }

    private func expectRow(_ secret: KeySlots.Secret) throws {
        let db = try Connection(location, key: .slots(secret: secret))
        #expect(try db.fetchOne(String.self, "SELECT x FROM t") == "kept")
    }

    private func revoked() -> DatabaseError? {
        #expect(throws: DatabaseError.self) { try Connection(location, key: .slots(secret: .passphrase(FormerSlots.revoked))) }
    }

    @Test func version1KeySlotsOpenAndAreUpgraded() throws {
        try makeFormer()
        for secret in try secrets() { try expectRow(secret) }
        #expect(revoked()?.reason == .noSlotOpens)
        // Opening writes nothing.
        #expect(try Data(contentsOf: keys) == FormerSlots.slots)
        let slots = try KeySlots.unlock(.passphrase(FormerSlots.first), of: location)
        try slots.add(.passphrase("new"), label: "new", derivation: .quick)
        #expect(try bytes()[8..<10] == [0, 2])
        for secret in try secrets() + [.passphrase("new")] { try expectRow(secret) }
        #expect(revoked()?.reason == .noSlotOpens)
        #expect(try slots.slots().map(\.label) == ["first", "second", "safe", "new"])
        // A slot of then is one of now once its secret changes: HMAC took these two for one.
        try expectRow(.passphrase(FormerSlots.second + "\0"))
        try slots.changePassphrase("second", from: .passphrase(FormerSlots.second), to: .passphrase(FormerSlots.second))
        try expectRow(.passphrase(FormerSlots.second))
        #expect(throws: DatabaseError.self) { try expectRow(.passphrase(FormerSlots.second + "\0")) }
        // The file from before is not the latest.
        try FormerSlots.slots.write(to: keys)
        let error = #expect(throws: DatabaseError.self) { try expectRow(.passphrase(FormerSlots.first)) }
        #expect(error?.reason == .keySlotsRolledBack)
    }

    @Test func version1KeySlotsAreCheckedForRollback() throws {
        try makeFormer(FormerSlots.withRevoked)
        let error = revoked()
        #expect(error?.reason == .keySlotsRolledBack)
        #expect((error?.underlyingError as? KeySlots.Rollback)?.kind == .older)
        let slots = try KeySlots.unlock(
            .passphrase(FormerSlots.revoked), of: location, acceptingRollback: true)
        #expect(slots.acceptedRollback?.revoked == nil)
        try expectRow(.passphrase(FormerSlots.revoked))
    }

    @Test func unfinishedVersion1RotationIsFinished() throws {
        try makeFormer(FormerSlots.midRotation)
        let slots = try KeySlots.unlock(.passphrase(FormerSlots.first), of: location)
        #expect(!slots.isRotationUnfinished)
        #expect(try bytes()[8..<12] == [0, 2, 0, 4])
        try expectRow(.passphrase(FormerSlots.first))
        #expect(throws: DatabaseError.self) { try expectRow(.passphrase(FormerSlots.second)) }
    }

    /// Slots of version 1 commit to nothing: a slot that opens in a file that is not authentic counts as not opened.
    @Test func damagedVersion1KeySlotsRevealNoSecret() throws {
        try makeFormer()
        var bytes = Array(FormerSlots.slots)
        bytes[bytes.count - 1] ^= 1
        let wrong = error(try .passphrase("wrong"), bytes)
        #expect(error(try .passphrase(FormerSlots.first), bytes) == wrong && wrong?.reason == .noSlotOpens)
    }

    private static let reader = #"""
        import base64, hashlib, hmac, struct, sys

        def mac(key, message): return hmac.new(key, message, "sha512").digest()

        def chacha(key, counter, nonce):
            state = list(struct.unpack("<4I", b"expand 32-byte k") + struct.unpack("<8I", key) + (counter,) + struct.unpack("<3I", nonce))
            work = state[:]
            def turn(a, b, c, d):
                for x, y, z, n in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                    work[x] = (work[x] + work[y]) & 0xffffffff
                    value = work[z] ^ work[x]
                    work[z] = ((value << n) | (value >> (32 - n))) & 0xffffffff
            for _ in range(10):
                for i in range(4): turn(i, 4 + i, 8 + i, 12 + i)
                for i in range(4): turn(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
            return struct.pack("<16I", *[(a + b) & 0xffffffff for a, b in zip(state, work)])

        def unseal(key, nonce, associated, sealed, tag):
            once = chacha(key, 0, nonce)
            r = int.from_bytes(once[:16], "little") & 0x0ffffffc0ffffffc0ffffffc0fffffff
            s = int.from_bytes(once[16:32], "little")
            pad = lambda b: b + bytes(-len(b) % 16)
            text = pad(associated) + pad(sealed) + struct.pack("<QQ", len(associated), len(sealed))
            total = 0
            for i in range(0, len(text), 16): total = (total + int.from_bytes(text[i:i+16] + b"\1", "little")) * r % ((1 << 130) - 5)
            assert ((total + s) & ((1 << 128) - 1)).to_bytes(16, "little") == tag, "tag"
            stream = b"".join(chacha(key, 1 + i, nonce) for i in range(len(sealed) // 64 + 1))
            return bytes(a ^ b for a, b in zip(sealed, stream))

        data, kind, secret = open(sys.argv[1], "rb").read(), int(sys.argv[2]), base64.b64decode(sys.argv[3])
        if kind == 2:
            number = 0
            for c in secret.decode().replace("-", "")[:32]: number = number * 32 + "0123456789ABCDEFGHJKMNPQRSTVWXYZ".index(c)
            secret = number.to_bytes(20, "big")
        at = 0
        def take(n):
            global at
            at += n
            return data[at - n:at]
        def number(n): return int.from_bytes(take(n), "big")
        assert take(8) == b"SQCKSLOT" and number(2) == 2
        flags, name, generation = number(2), take(16), number(8)
        changes = number(2)
        take(16 * changes)
        count = number(2)
        assert flags & 1 == 0 and 1 <= changes <= generation
        found = None
        for _ in range(count):
            assert number(1) == 2
            begin = at
            take(16)
            own = number(1)
            algorithm, a, b, c = number(1), number(4), number(4), number(4)
            assert number(1) == 1
            salt = take(32)
            take(16)
            label = take(number(2)).decode()
            head = b"SQCKSLOT\0\2" + name + data[begin:at]
            commitment, form = take(32), number(1)
            length = number(2)
            nonce, sealed, tag = take(12), take(length), take(16)
            if own != kind: continue
            digest = mac(b"SQLCipherKit key slots 2: secret", bytes([kind]) + len(secret).to_bytes(8, "big") + secret)
            if algorithm == 1:
                derived = hashlib.pbkdf2_hmac("sha512", digest, salt, a, 64)
            else:
                from argon2.low_level import hash_secret_raw, Type
                derived = hash_secret_raw(digest, salt, b, a, c, 64, Type.ID)
            if mac(derived, b"SQLCipherKit key slots 2: commit" + head)[:32] != commitment: continue
            found = unseal(mac(derived, b"SQLCipherKit key slots 2: wrap")[:32], nonce, head + bytes([form]), sealed, tag)
        assert at == len(data) - 64
        assert mac(mac(found, b"SQLCipherKit key slots 2: the whole file"), data[:-64]) == data[-64:], "file"
        print(found.hex())
        """#
}
