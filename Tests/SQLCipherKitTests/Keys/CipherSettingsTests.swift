import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

@Suite struct CipherSettingsTests {
    let folder: TemporaryFolder
    var path: String { folder.path("a.db") }
    static let salt = (0..<16).map { UInt8(0x30 + $0) }

    init() throws { folder = try TemporaryFolder() }

    private func open(_ key: DatabaseKey, _ cipher: CipherConfiguration) throws -> Connection {
        try Connection(.file(path), key: key.with(cipher: cipher))
    }

    private func withHeader(_ size: Int, salt: [UInt8]? = salt) -> CipherConfiguration {
        var cipher = CipherConfiguration.quick
        cipher.plaintextHeaderSize = size
        cipher.salt = salt
        return cipher
    }

    /// A database in memory has not used its key when it has just been opened.
    @Test func inMemoryDatabaseUsesGivenSalt() throws {
        let cipher = withHeader(32), raw = [UInt8](repeating: 1, count: 32)
        let keys = [try DatabaseKey.raw(raw), try .passphrase("k"), try .raw(raw, salt: Self.salt)]
        for (number, key) in keys.enumerated() {
            let db = try Connection(.memory, key: key.with(cipher: number == 2 ? withHeader(32, salt: nil) : cipher))
            #expect(try db.main.cipher?.salt == Self.salt)
            try db.main.backup(toFileAt: folder.path("\(number).db"))
            try Connection(.file(folder.path("\(number).db")), key: db.main.key).close()
            try db.attach(.memory, as: "a", key: key.with(cipher: number == 2 ? withHeader(32, salt: nil) : cipher))
            #expect(try db.schema("a").cipher?.salt == Self.salt)
        }
        let salted = try Connection(.memory, key: .raw(raw, salt: Self.salt))
        #expect(try salted.main.cipher?.salt == Self.salt)
    }

    @Test(arguments: [16, 32, 96, 4000]) func plaintextHeaderLeavesFirstBytesReadable(size: Int) throws {
        let keys = [
            try DatabaseKey.passphrase("k"), try .raw([UInt8](repeating: 1, count: 32)), try .passphrase("x'" + String(repeating: "2d", count: 32) + "'"),
        ]
        for (number, key) in keys.enumerated() {
            let path = folder.path("\(number).db")
            var configuration = DatabaseConfiguration()
            let cipher = withHeader(size), key = key.with(cipher: cipher)
            configuration.journalMode = .wal
            do {
                let db = try Connection(.file(path), key: key, configuration: configuration)
                try db.execute("CREATE TABLE t AS SELECT 'here' AS x")
                #expect(try db.main.cipher?.settings == cipher)
            }
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            #expect(Array(bytes.prefix(16)) == Array("SQLite format 3\0".utf8))
            #expect(bytes.range(of: Data("here".utf8)) == nil)
            let db = try Connection(.file(path), key: key, configuration: configuration)
            #expect(try db.fetchOne(String.self, "SELECT x FROM t") == "here")
            #expect(try db.main.verify().isIntact)
            try db.changeKey(to: .passphrase("new"))
            #expect(try Connection(.file(path), key: .passphrase("new", cipher: cipher), configuration: configuration).fetchOne(String.self, "SELECT x FROM t") == "here")
            // The same salt opens it when it is attached.
            let other = try Connection(.memory)
            try other.attach(.file(path), as: "a", key: .passphrase("new", cipher: cipher))
            #expect(try other.schema("a").cipher?.settings == cipher)
            try other.schema("a").changeKey(to: key, mode: .newFile)
            #expect(try other.fetchOne(String.self, "SELECT x FROM a.t") == "here")
            let another = withHeader(size, salt: [UInt8](repeating: 7, count: 16))
            for wrong in [(key, another), (try .passphrase("wrong"), cipher)] {
                // The raw key alone does not need the salt for its pages, but for their authentication.
                let error = #expect(throws: DatabaseError.self) { try Connection(.file(path), key: wrong.0.with(cipher: wrong.1)) }
                #expect(error?.reason == .wrongKeyOrNotADatabase, "\(String(describing: error))")
            }
        }
    }

    @Test func rawKeyCanCarryTheSalt() throws {
        let raw = [UInt8](repeating: 1, count: 32)
        let key = try DatabaseKey.raw(raw, salt: Self.salt)
        try open(key, withHeader(32, salt: nil)).execute("CREATE TABLE t(x)")
        #expect(try open(.raw(raw), withHeader(32)).main.cipher?.salt == Self.salt)
        let error = #expect(throws: DatabaseError.self) { try open(key, withHeader(32, salt: [UInt8](repeating: 0, count: 16))) }
        #expect(error?.reason == .invalidKey && error?.message.contains("salt") == true)
        let made = try CipherConfiguration.randomSalt()
        #expect(try made.count == 16 && made != CipherConfiguration.randomSalt())
    }

    @Test func invalidCipherSettingsAreRefused() throws {
        let changes: [(String, (inout CipherConfiguration) -> Void)] = [
            ("page size", { $0.pageSize = 512 }), ("rounds", { $0.kdfIterations = 0 }), ("header", { $0.plaintextHeaderSize = 8 }),
            ("header", { $0.plaintextHeaderSize = -16 }), ("header", { $0.plaintextHeaderSize = 4016 }),
            ("header", { $0.plaintextHeaderSize = 4096 }), ("salt", { $0.plaintextHeaderSize = 32 }),
            ("salt", { $0.plaintextHeaderSize = 32; $0.salt = [1, 2, 3] }), ("salt", { $0.salt = Self.salt }),
        ]
        let memory = try Connection(.memory)
        for (word, change) in changes {
            var cipher = CipherConfiguration.quick
            change(&cipher)
            for attempt in [
                { _ = try open(.passphrase("k"), cipher) },
                { try memory.attach(.file(path), as: "a", key: .passphrase("k", cipher: cipher)) },
            ] as [() throws -> Void] {
                let error = #expect(throws: DatabaseError.self) { try attempt() }
                #expect(error?.reason == .invalidKey && error?.message.contains(word) == true, "\(cipher): \(String(describing: error))")
            }
        }
        #expect(try memory.schemas().count == 1)
        #expect(try folder.names().filter { (try? Data(contentsOf: folder.url.appendingPathComponent($0)))?.isEmpty == false } == [])
    }

    @Test func cipherInfoReportsSettingsInEffect() throws {
        var cipher = CipherConfiguration.sqlCipher3
        cipher.hmacAlgorithm = .sha256
        let db = try open(.passphrase("k"), cipher)
        let info = try #require(try db.main.cipher)
        #expect(info.settings == cipher)
        #expect(info.version.hasPrefix("4.") && !info.provider.isEmpty && !info.providerVersion.isEmpty && info.cipher == "aes-256-cbc")
        #expect(info.salt == Array(try Data(contentsOf: URL(fileURLWithPath: path)).prefix(16)))
        try db.attach(.file(folder.path("plain.db")), as: "plain", key: .plaintext)
        #expect(try db.schema("plain").cipher == nil)
        try db.attach(.file(folder.path("inherited.db")), as: "inherited", key: db.main.key)
        #expect(try db.schema("INHERITED").cipher == info)
        #expect(try Connection(.memory).main.cipher == nil)
        let error = #expect(throws: DatabaseError.self) { try db.schema("nowhere").cipher }
        #expect(error?.reason == .schemaName)
    }

    @Test(arguments: [CipherConfiguration.sqlCipher1, .sqlCipher3, .sqlCipher4, .quick]) func cipherInfoMatchesPragmas(
        cipher: CipherConfiguration
    ) throws {
        let db = try open(.passphrase("k"), cipher)
        let info = try #require(try db.main.cipher)
        let settings = info.settings
        for (pragma, value) in [
            ("cipher_version", info.version), ("cipher_provider", info.provider), ("cipher_provider_version", info.providerVersion),
            ("cipher_page_size", "\(settings.pageSize)"), ("kdf_iter", "\(settings.kdfIterations)"),
            ("cipher_kdf_algorithm", "PBKDF2_HMAC_\(settings.kdfAlgorithm.rawValue)"),
            ("cipher_hmac_algorithm", "HMAC_\(settings.hmacAlgorithm.rawValue)"),
            ("cipher_use_hmac", settings.usesHMAC ? "1" : "0"),
            ("cipher_plaintext_header_size", "\(settings.plaintextHeaderSize)"),
            ("cipher_salt", info.salt.map { String(format: "%02x", $0) }.joined()),
        ] {
            #expect(try db.fetchOne(String.self, "PRAGMA \(raw: pragma)") == value, "\(pragma)")
        }
        #expect(try db.fetchOne(String.self, "PRAGMA cipher")?.lowercased() == info.cipher)
    }

    @Test func cipherPresetsMatchEngineCompatibility() throws {
        for (version, preset) in [(1, CipherConfiguration.sqlCipher1), (2, .sqlCipher2), (3, .sqlCipher3), (4, .sqlCipher4)] {
            let db = try Connection(.memory, key: .passphrase("k"))
            // Without a page in it the codec has not been used yet, and takes the engine's own preset.
            let empty = try Connection(.memory)
            try empty.attach(.file(folder.path("\(version).db")), as: "a", key: .passphrase("k", cipher: preset))
            #expect(try empty.schema("a").cipher?.settings == preset)
            #expect(try db.main.cipher?.settings == .sqlCipher4)
        }
    }

    /// No opening or attaching leaves the process's defaults changed.
    @Test func openingLeavesCipherDefaultsUnchanged() throws {
        let db = try Connection(.memory)
        let before = try db.fetchAll(String.self, "PRAGMA cipher_default_settings")
        #expect(before.count == 6)
        try db.attach(.file(path), as: "a", key: .passphrase("k", cipher: withHeader(32)))
        try db.attach(.file(folder.path("b.db")), as: "b", key: .passphrase("k", cipher: .sqlCipher1))
        #expect(throws: DatabaseError.self) { try db.attach(.file(folder.path("b.db")), as: "c", key: .passphrase("wrong", cipher: .sqlCipher2)) }
        _ = try open(.passphrase("k"), withHeader(32))
        #expect(try db.fetchAll(String.self, "PRAGMA cipher_default_settings") == before)
    }

    /// The switch is the whole process's, so it is thrown in one of its own.
    @Test func memorySecurityIsReportedWithLockedBytes() throws {
        let driver = try BuildProducts.executable("FaultDriver")
        func run(_ limit: String, _ action: String) throws -> [String: Int] {
            let outcome = try Command.run("prlimit", ["--memlock=\(limit)", driver, action, path, "k"])
            #expect(outcome.status == 0, "\(outcome)")
            return Dictionary(
                outcome.output.split(separator: "\n").compactMap { line in
                    let parts = line.split(separator: " ")
                    return parts.count == 2 ? Int(parts[1]).map { (String(parts[0]), $0) } : nil
                }, uniquingKeysWith: { $1 })
        }
        let off = try run("4194304:4194304", "memory"), on = try run("4194304:4194304", "securememory")
        #expect(off["on"] == 0 && on["on"] == 1)
        #expect(on["limit"] == 4_194_304)
        let locked = try #require(on["locked"])
        #expect(try locked > #require(off["locked"]) && locked.isMultiple(of: 1024))
    }
}
