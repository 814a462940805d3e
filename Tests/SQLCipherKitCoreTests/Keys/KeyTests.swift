import Foundation
import KitSupport
import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct KeyTests {
    let folder: TemporaryFolder
    var path: String { folder.path("a.db") }

    init() throws { folder = try TemporaryFolder() }

    private func make(_ key: DatabaseKey?) throws {
        let db = try Connection(.file(path), key: key.quick)
        try db.execute("CREATE TABLE t(x)")
        try db.execute("INSERT INTO t VALUES ('kept')")
    }

    private func opens(_ key: DatabaseKey) -> Bool {
        (try? Connection(.file(path), key: key.quick).fetchOne(String.self, "SELECT x FROM t")) == "kept"
    }

    @Test func emptyKeyThrowsAndCreatesNoFile() throws {
        let attempts: [() throws -> DatabaseKey] = [
            { try .passphrase("") }, { try .passphrase(Data()) }, { try .passphrase([UInt8]()) }, { try .raw([UInt8]()) },
            { try .raw(Data(), salt: Data(count: 16)) },
        ]
        for attempt in attempts {
            let error = #expect(throws: DatabaseError.self) { try Connection(.file(path), key: attempt()) }
            #expect(error?.reason == .emptyKey)
        }
        #expect(try folder.names() == [])
    }

    @Test func rawKeyOrSaltOfWrongLengthThrows() throws {
        for count in [1, 31, 33, 48, 64] {
            let error = #expect(throws: DatabaseError.self) { try DatabaseKey.raw([UInt8](repeating: 1, count: count)) }
            #expect(error?.reason == .invalidKey)
        }
        for count in [0, 15, 17] {
            let error = #expect(throws: DatabaseError.self) {
                try DatabaseKey.raw(Data(repeating: 1, count: 32), salt: Data(repeating: 2, count: count))
            }
            #expect(error?.reason == .invalidKey)
        }
    }

    @Test func wrongKeyThrowsAtOpening() throws {
        try make(.passphrase("right"))
        for wrong in [try DatabaseKey.passphrase("wrong"), try .raw(Data(repeating: 3, count: 32)), try .passphrase("right ")] {
            let error = #expect(throws: DatabaseError.self) { try Connection(.file(path), key: wrong.quick) }
            #expect(error?.reason == .wrongKeyOrNotADatabase)
            #expect(error?.path == path)
        }
        let error = #expect(throws: DatabaseError.self) { try Connection(.file(path)) }
        #expect(error?.reason == .wrongKeyOrNotADatabase && error?.message.contains("no key") == true)
        #expect(opens(try .passphrase("right")))
    }

    @Test func mismatchedCipherSettingsThrowWrongKey() throws {
        try make(.passphrase("right"))
        var settings: [CipherConfiguration] = []
        for pageSize in [1024, 65536] {
            settings.append(.quick)
            settings[settings.count - 1].pageSize = pageSize
        }
        settings.append(CipherConfiguration())
        settings.append(.quick)
        settings[3].hmacAlgorithm = .sha1
        settings.append(.quick)
        settings[4].usesHMAC = false
        for cipher in settings {
            let error = #expect(throws: DatabaseError.self) { try Connection(.file(path), key: .passphrase("right", cipher: cipher)) }
            #expect(error?.reason == .wrongKeyOrNotADatabase, "\(cipher)")
        }
    }

    @Test func invalidCipherSettingsThrowAndCreateNoFile() throws {
        for change in [
            { $0.pageSize = 512 }, { $0.pageSize = 5000 }, { $0.pageSize = 131_072 }, { $0.pageSize = -4096 }, { $0.kdfIterations = 0 },
            { $0.kdfIterations = -1 }, { $0.kdfIterations = Int(Int32.max) + 1 },
        ] as [(inout CipherConfiguration) -> Void] {
            var cipher = CipherConfiguration()
            change(&cipher)
            let error = #expect(throws: DatabaseError.self) { try Connection(.file(path), key: .passphrase("k", cipher: cipher)) }
            #expect(error?.reason == .invalidKey)
        }
        #expect(try folder.names() == [])
    }

    @Test(arguments: [1024, 2048, 4096, 8192, 32768, 65536]) func databaseReopensWithEveryCipherSetting(pageSize: Int) throws {
        for hash in CipherConfiguration.Hash.allCases {
            for usesHMAC in [true, false] {
                var cipher = CipherConfiguration.quick
                cipher.pageSize = pageSize
                cipher.kdfAlgorithm = hash
                cipher.hmacAlgorithm = hash
                cipher.usesHMAC = usesHMAC
                let path = folder.path("\(hash)-\(usesHMAC).db")
                try Connection(.file(path), key: .passphrase("k", cipher: cipher)).execute("CREATE TABLE t(x)")
                let again = try Connection(.file(path), key: .passphrase("k", cipher: cipher))
                #expect(try again.fetchOne(Int.self, "SELECT count(*) FROM t") == 0)
                #expect(try again.fetchOne(Int.self, "PRAGMA page_size") == pageSize)
            }
        }
    }

    @Test func keyForPlaintextFileThrowsAndKeepsTheFile() throws {
        try make(nil)
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        let error = #expect(throws: DatabaseError.self) { try Connection(.file(path), key: .passphrase("k")) }
        #expect(error?.reason == .notEncrypted)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
        #expect(try folder.names() == ["a.db"])
    }

    @Test func openingNonDatabaseFileThrows() throws {
        try Data("certainly not a database, but long enough to look like one".utf8).write(to: URL(fileURLWithPath: path))
        for key in [nil, try DatabaseKey.passphrase("k")] {
            let error = #expect(throws: DatabaseError.self) { try Connection(.file(path), key: key) }
            #expect(error?.reason == .wrongKeyOrNotADatabase)
        }
    }

    static let oddPassphrases = [
        "p", "it's", "\"quoted\"", "🗝️ Schlüßel ключ", String(repeating: "long ", count: 2048), " ", "x'", "x''",
        "x'" + String(repeating: "2d", count: 32) + "'", "X'" + String(repeating: "aB", count: 48) + "'",
        "x'" + String(repeating: "00", count: 80) + "'", "x'2d'", String(repeating: "ff", count: 32),
    ]

    @Test(arguments: oddPassphrases) func anyTextIsAPassphrase(_ text: String) throws {
        try make(.passphrase(text))
        #expect(opens(try .passphrase(text)))
        #expect(opens(try .passphrase(Data(text.utf8))))
        #expect(!opens(try .passphrase(text + "x")))
        // A passphrase that is spelled like a raw key is not that raw key.
        if text.utf8.count == 67 { #expect(!opens(try .raw([UInt8](repeating: 0x2d, count: 32)))) }
    }

    @Test func rawKeyOpensWithAndWithoutSalt() throws {
        let bytes = (0..<32).map { UInt8($0) }, salt = (0..<16).map { UInt8(200 + $0) }
        try make(.raw(bytes, salt: salt))
        #expect(Array(try Data(contentsOf: URL(fileURLWithPath: path)).prefix(16)) == salt)
        #expect(opens(try .raw(bytes, salt: salt)))
        // The file has its salt in it.
        #expect(opens(try .raw(bytes)))
        #expect(!opens(try .raw(bytes.reversed())))
    }

    @Test func descriptionsAndErrorsContainNoKey() throws {
        let secret = "s3cr3t-passphrase"
        let key = try DatabaseKey.passphrase(secret)
        var shown = "\(key) \(String(reflecting: key)) \(String(describing: Optional(key)))"
        dump(key, to: &shown)
        #expect(!shown.contains(secret))
        #expect(shown.contains("DatabaseKey(passphrase)"))
        try make(.passphrase("another"))
        let error = #expect(throws: DatabaseError.self) { try Connection(.file(path), key: key.quick) }
        #expect(error.map { !"\($0) \(String(reflecting: $0))".contains(secret) } == true)
    }
}
