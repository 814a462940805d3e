import KitSupport

#if os(Linux)
    import Foundation
    import SQLCipherKit
    import TestSupport
    import Testing

    /// After a connection, a queue or a pool is closed, no passphrase and no key is left in the process's memory, although the
    /// object that was closed lives on. So with the dynamic linker's lazy binding, which saves vector registers on the stack, and
    /// without.
    ///
    /// A process of its own does the work and searches itself. It has the bytes to look for only masked; Python's hashlib derives
    /// it.
    @Suite struct MemoryTests {
        let folder: TemporaryFolder
        var path: String { folder.path("a.db") }
        static let passphrase = "a passphrase that stands nowhere else in memory"
        static let raw = (0..<32).map { UInt8(truncatingIfNeeded: 201 &* $0 &+ 77) }

        init() throws { folder = try TemporaryFolder() }

        /// The keys that SQLCipher and the slots derive from a salt, and bytes that are trivially turned into them.
        private func needles(salt: [UInt8], passphrase: String?, iterations: Int, slotSalt: [UInt8]? = nil) throws -> [String] {
            let hex = { (bytes: [UInt8]) in InteroperabilityTests.hex(bytes) }
            let lines = try Python.run(
                """
                import hashlib, hmac, sys, struct
                salt, passphrase, raw, iterations, slot = sys.argv[1:]
                salt, raw = bytes.fromhex(salt), bytes.fromhex(raw)
                out = {}
                def halves(name, key):
                    out[name] = key[:16]
                    out[name + " (second half)"] = key[16:32]
                    out[name + " (hexadecimal)"] = key.hex().encode()[:32]
                    # What a hash function leaves of a key: words of the padded block.
                    block = key + bytes(128 - len(key))
                    for pad in (0x36, 0x5c):
                        words = bytes(b ^ pad for b in block)
                        out["%s (padded %x)" % (name, pad)] = words[:32]
                        out["%s (words %x)" % (name, pad)] = b"".join(words[i:i + 8][::-1] for i in range(0, 32, 8))
                key = raw
                if raw: halves("replica key", hmac.new(raw, b"SQLCipherKit replication 2", "sha512").digest())
                if passphrase:
                    out["passphrase"] = passphrase.encode()[:32]
                    key = hashlib.pbkdf2_hmac("sha512", passphrase.encode(), salt, int(iterations), 32) if not raw else raw
                halves("AES key", key)
                halves("HMAC key", hashlib.pbkdf2_hmac("sha512", key, bytes(b ^ 0x3a for b in salt), 2, 32))
                if slot:
                    mac = lambda key, message: hmac.new(key, message, "sha512").digest()
                    counted = bytes([1]) + struct.pack(">Q", len(passphrase.encode())) + passphrase.encode()
                    digest = mac(b"SQLCipherKit key slots 2: secret", counted)
                    derived = hashlib.pbkdf2_hmac("sha512", digest, bytes.fromhex(slot), 1000, 64)
                    halves("slot secret", digest)
                    halves("slot key", derived)
                    halves("slot wrapping key", mac(derived, b"SQLCipherKit key slots 2: wrap")[:32])
                    out["file key"] = mac(key, b"SQLCipherKit key slots 2: the whole file")[:32]
                    out["key before"] = mac(key, b"SQLCipherKit key slots 2: the key before")[:32]
                for name, value in out.items(): print(name + "=" + bytes(b ^ 0x5a for b in value).hex())
                """, hex(salt), passphrase ?? "", iterations == 0 ? hex(Self.raw) : "", "\(iterations)", slotSalt.map(hex) ?? "")
            return lines.split(separator: "\n").map(String.init)
        }

        private func masked(_ bytes: some Sequence<UInt8>) -> String { InteroperabilityTests.hex(bytes.map { $0 ^ 0x5a }) }

        private func header() throws -> [UInt8] { try Array(Data(contentsOf: URL(fileURLWithPath: path)).prefix(16)) }

        private func expectNothing(
            _ action: String, _ secret: String, _ needles: [String], bindsNow: Bool, environment: [String: String] = [:]
        ) throws {
            #expect(needles.count > 5)
            let outcome = try Command.run(
                BuildProducts.executable("FaultDriver"), [action, path, secret] + needles,
                environment: environment.merging(bindsNow ? ["LD_BIND_NOW": "1"] : [:]) { $1 })
            #expect(outcome.status == 0, "\(outcome)")
            let lines = outcome.output.split(separator: "\n")
            #expect(lines.contains("control: found"), "\(outcome)")
            #expect(environment.isEmpty == lines.contains("cleared: []"), "\(outcome)")
            #expect(lines.contains("closed: []"), "\(outcome)")
        }

        private func makeWithPassphrase() throws -> [String] {
            let db = try Connection(.file(path), key: .passphrase(Self.passphrase).quick)
            try db.execute("CREATE TABLE t(x)")
            return try needles(salt: header(), passphrase: Self.passphrase, iterations: 10)
        }

        @Test(arguments: ["memory-passphrase", "memory-store", "memory-descriptor", "memory-queue", "memory-pool"], [false, true])
        func passphraseBytesAreWipedFromMemory(action: String, bindsNow: Bool) throws {
            try expectNothing(action, masked(Self.passphrase.utf8), makeWithPassphrase(), bindsNow: bindsNow)
        }

        @Test(arguments: [false, true]) func rawKeyIsWipedFromMemory(bindsNow: Bool) throws {
            try Connection(.file(path), key: .raw(Self.raw)).execute("CREATE TABLE t(x)")
            let needles = try needles(salt: header(), passphrase: nil, iterations: 0)
            try expectNothing("memory-raw", masked(Self.raw), needles, bindsNow: bindsNow)
        }

        /// Cleaning up is not given up: an app that locks itself in a cancelled task keeps no key.
        @Test(arguments: ["pool", "queue", "snapshot", "replica", "replica-of-file", "follower"], [false, true])
        func closingInCancelledTaskWipesKeyFromMemory(_ kind: String, bindsNow: Bool) throws {
            let db = try Connection(.file(path), key: .raw(Self.raw))
            // As a replica needs it.
            try db.main.setJournalMode(.wal)
            try db.execute("CREATE TABLE t(x)")
            db.close()
            let needles = try needles(salt: header(), passphrase: nil, iterations: 0)
            try expectNothing("memory-cancelled-\(kind)", masked(Self.raw), needles, bindsNow: bindsNow)
        }

        @Test(arguments: [false, true]) func passphraseFromFileIsWipedFromMemory(bindsNow: Bool) throws {
            let needles = try makeWithPassphrase()
            try Data((Self.passphrase + "\n").utf8).write(to: URL(fileURLWithPath: path + ".key"))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path + ".key")
            try expectNothing("memory-file", "00", needles, bindsNow: bindsNow)
        }

        @Test(arguments: [false, true]) func passphraseFromEnvironmentIsWipedFromMemory(bindsNow: Bool) throws {
            try expectNothing(
                "memory-environment", "00", makeWithPassphrase(), bindsNow: bindsNow,
                environment: ["SQLCIPHERKIT_TEST_KEY": Self.passphrase])
        }

        @Test(arguments: ["memory-slots", "memory-pool-slots", "memory-recovery"], [false, true])
        func slotSecretsAreWipedFromMemory(action: String, bindsNow: Bool) throws {
            try Connection(.file(path), key: .raw(Self.raw)).execute("CREATE TABLE t(x)")
            let slots = try KeySlots.create(
                .passphrase(Self.passphrase), label: "first", for: .file(path), existingKey: .raw(Self.raw), derivation: .quick)
            let slotSalt = try Array(Data(contentsOf: URL(fileURLWithPath: path + ".keys"))[88..<120])
            var needles = try needles(salt: header(), passphrase: Self.passphrase, iterations: 0, slotSalt: slotSalt)
            guard action == "memory-recovery" else {
                return try expectNothing(action, masked(Self.passphrase.utf8), needles, bindsNow: bindsNow)
            }
            let key = try slots.addRecoveryKey(label: "safe", derivation: .quick)
            needles.append("recovery key=" + masked(key.text.utf8))
            try expectNothing(action, masked(key.text.utf8), needles, bindsNow: bindsNow)
        }
    }
#endif
