import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// Files with other settings than the defaults, exchanged in both directions with two independent builds: `sqlcipher3`
/// (SQLCipher on OpenSSL) and `apsw-sqlite3mc` (SQLite3 Multiple Ciphers, which shares no code with SQLCipher).
@Suite struct InteroperabilitySettingsTests {
    enum Peer: String, CaseIterable, Sendable {
        case sqlcipher, multipleCiphers
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let cipher: CipherConfiguration
        var key: @Sendable () throws -> DatabaseKey = { try .passphrase("it's a \"key\" 🗝️") }
        /// The key as the peers' pragma takes it.
        var pragma = "'it''s a \"key\" 🗝️'"
        var peers = Peer.allCases
        var testDescription: String { name }

        init(_ name: String, peers: [Peer] = Peer.allCases, _ change: (inout CipherConfiguration) -> Void) {
            self.name = name
            self.peers = peers
            var cipher = CipherConfiguration()
            change(&cipher)
            self.cipher = cipher
        }
    }

    static let raw = (0..<32).map { UInt8(255 - $0) }
    static let salt = (0..<16).map { UInt8(0xc0 + $0) }

    static var cases: [Case] {
        var cases = [
            Case("defaults") { _ in }, Case("compatibility 1") { $0 = .sqlCipher1 }, Case("compatibility 2") { $0 = .sqlCipher2 },
            Case("compatibility 3") { $0 = .sqlCipher3 }, Case("pages of 1024") { $0.pageSize = 1024 },
            Case("pages of 65536, few rounds") { $0.pageSize = 65536; $0.kdfIterations = 1000 },
            Case("SHA-256") { $0.kdfAlgorithm = .sha256; $0.hmacAlgorithm = .sha256 },
            Case("SHA-1 for pages, SHA-256 for the key") { $0.kdfAlgorithm = .sha256; $0.hmacAlgorithm = .sha1 },
            Case("no authentication") { $0.usesHMAC = false },
            Case("a plaintext header of 32") { $0.plaintextHeaderSize = 32; $0.salt = salt },
        ]
        var key = Case("raw key, compatibility 3") { $0 = .sqlCipher3 }
        key.key = { try .raw(raw) }
        key.pragma = "\"x'\(InteroperabilityTests.hex(raw))'\""
        cases.append(key)
        var salted = Case("raw key and salt, pages of 8192") { $0.pageSize = 8192 }
        salted.key = { try .raw(raw, salt: salt) }
        salted.pragma = "\"x'\(InteroperabilityTests.hex(raw + salt))'\""
        cases.append(salted)
        return cases
    }

    /// The settings as each peer spells them, with the key in its place among them.
    private static func script(_ peer: Peer, _ test: Case) -> String {
        let cipher = test.cipher
        let hashes = [CipherConfiguration.Hash.sha1: 0, .sha256: 1, .sha512: 2]
        switch peer {
        case .sqlcipher:
            var pragmas = [
                "key = \(test.pragma)", "cipher_page_size = \(cipher.pageSize)", "kdf_iter = \(cipher.kdfIterations)",
                "cipher_kdf_algorithm = PBKDF2_HMAC_\(cipher.kdfAlgorithm.rawValue)", "cipher_hmac_algorithm = HMAC_\(cipher.hmacAlgorithm.rawValue)",
                "cipher_use_hmac = \(cipher.usesHMAC ? 1 : 0)", "cipher_plaintext_header_size = \(cipher.plaintextHeaderSize)",
            ]
            if cipher.salt != nil { pragmas.append("cipher_salt = \"x'\(InteroperabilityTests.hex(salt))'\"") }
            return pragmas.map { "db.execute(\(python("PRAGMA " + $0)))" }.joined(separator: "\n")
        case .multipleCiphers:
            var pragmas = [
                "cipher = 'sqlcipher'", "legacy = 4", "legacy_page_size = \(cipher.pageSize)", "kdf_iter = \(cipher.kdfIterations)",
                "kdf_algorithm = \(hashes[cipher.kdfAlgorithm] ?? -1)", "hmac_algorithm = \(hashes[cipher.hmacAlgorithm] ?? -1)",
                "hmac_use = \(cipher.usesHMAC ? 1 : 0)", "plaintext_header_size = \(cipher.plaintextHeaderSize)",
            ]
            if cipher.salt != nil { pragmas.append("cipher_salt = '\(InteroperabilityTests.hex(salt))'") }
            pragmas.append("key = \(test.pragma)")
            return pragmas.map { "db.execute(\(python("PRAGMA " + $0))).fetchall()" }.joined(separator: "\n")
        }
    }

    private static func python(_ text: String) -> String {
        "'" + text.replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "'", with: "\\'") + "'"
    }

    private static func open(_ peer: Peer) -> String {
        switch peer {
        case .sqlcipher:
            """
            import sys
            from sqlcipher3 import dbapi2 as sqlite
            db = sqlite.connect(sys.argv[1], isolation_level=None)

            """
        case .multipleCiphers:
            """
            import sys, apsw
            db = apsw.Connection(sys.argv[1])

            """
        }
    }

    @Test(arguments: LongTests.sample(3, of: cases), Peer.allCases) func customSettingsFileOpensInPeer(_ test: Case, peer: Peer) throws {
        guard test.peers.contains(peer) else { return }
        let folder = try TemporaryFolder()
        let path = folder.path("ours.db")
        do {
            let db = try Connection(.file(path), key: test.key().with(cipher: test.cipher))
            try db.execute("CREATE TABLE t(a INTEGER, b TEXT)")
            try db.transaction { for number in 0..<200 { try $0.execute("INSERT INTO t VALUES (\(number), \("row \(number)"))") } }
        }
        let found = try Python.run(
            Self.open(peer) + Self.script(peer, test)
                + "\nprint(list(db.execute('SELECT sum(a), max(b) FROM t')), list(db.execute('PRAGMA integrity_check')))", path)
        #expect(found == "[(19900, 'row 99')] [('ok',)]")
    }

    @Test(arguments: LongTests.sample(3, of: cases), Peer.allCases) func peerFileWithCustomSettingsOpens(_ test: Case, peer: Peer) throws {
        guard test.peers.contains(peer) else { return }
        let folder = try TemporaryFolder()
        let path = folder.path("theirs.db")
        _ = try Python.run(
            Self.open(peer) + Self.script(peer, test)
                + "\ndb.execute('CREATE TABLE t(a INTEGER)')\ndb.executemany('INSERT INTO t VALUES (?)', [(n,) for n in range(200)])\ndb.close()", path)
        let db = try Connection(.file(path), key: test.key().with(cipher: test.cipher))
        #expect(try db.fetchOne(Int.self, "SELECT sum(a) FROM t") == 19900)
        #expect(try db.main.verify().problems == (test.cipher.usesHMAC ? [] : [.noAuthentication]))
        // And attached, which takes another way to the same settings.
        let memory = try Connection(.memory)
        try memory.attach(.file(path), as: "theirs", key: test.key().with(cipher: test.cipher))
        #expect(try memory.fetchOne(Int.self, "SELECT count(*) FROM theirs.t") == 200)
    }

    /// After both kinds of a change of key and a conversion, with a write-ahead log that is not merged yet.
    @Test(arguments: Peer.allCases) func rekeyedFileWithPendingWALOpensInPeer(peer: Peer) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("ours.db")
        var configuration = DatabaseConfiguration()
        configuration.journalMode = .wal
        let odd = "new 'odd' \"key\" 🎈"
        do {
            let db = try Connection(.file(path), configuration: configuration)
            try db.execute("CREATE TABLE t AS SELECT 'here' AS x")
        }
        try DatabaseConverter.encrypt(fileAt: path, key: .passphrase("first"))
        try Connection(.file(path), key: .passphrase("first"), configuration: configuration).changeKey(to: .raw(Self.raw), mode: .newFile)
        let db = try Connection(.file(path), key: .raw(Self.raw), configuration: configuration)
        try db.changeKey(to: .passphrase(odd))
        try db.execute("INSERT INTO t VALUES ('in the log')")
        #expect(try folder.names().contains("ours.db-wal"))
        var test = Case("after changes") { _ in }
        test.pragma = "'" + odd.replacingOccurrences(of: "'", with: "''") + "'"
        let found = try Python.run(Self.open(peer) + Self.script(peer, test) + "\nprint(list(db.execute('SELECT count(*) FROM t'))[0][0])", path)
        #expect(found == "2")
    }

    /// A log that the peer has left behind, killed before it merged it.
    @Test(arguments: Peer.allCases) func pendingWALOfKilledPeerIsRead(peer: Peer) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("theirs.db")
        let test = Case("log") { _ in }
        let program = Self.open(peer) + Self.script(peer, test) + """

            list(db.execute('PRAGMA journal_mode = WAL'))
            db.execute('CREATE TABLE t(a)')
            db.execute('INSERT INTO t VALUES (1), (2)')
            import os
            print('gone', flush=True)
            os._exit(0)
            """
        #expect(try Python.run(program, path) == "gone")
        #expect(try folder.names().contains("theirs.db-wal"))
        #expect(try Connection(.file(path), key: test.key()).fetchOne(Int.self, "SELECT count(*) FROM t") == 2)
    }
}
