import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// Files exchanged with an independent build of SQLCipher: the Python package `sqlcipher3`, on OpenSSL.
@Suite struct InteroperabilityTests {
    /// A key as both sides write it: ours, and the text of Python's `PRAGMA key`.
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let key: @Sendable () throws -> DatabaseKey
        let pragma: String
        var testDescription: String { name }
    }

    static let raw = (0..<32).map { UInt8(7 * $0 & 255) }
    static let salt = (0..<16).map { UInt8(0xa0 + $0) }
    static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    static func passphrase(_ name: String, _ text: String) -> Case {
        Case(name: name, key: { try .passphrase(text) }, pragma: "'" + text.replacingOccurrences(of: "'", with: "''") + "'")
    }

    static let cases = [
        passphrase("passphrase", "correct horse battery staple"),
        passphrase("quotes and emoji", "it's \"odd\" 🗝️ ключ"),
        passphrase("10 KB", String(repeating: "0123456789", count: 1024)),
        Case(name: "raw", key: { try .raw(raw) }, pragma: "\"x'\(hex(raw))'\""),
        Case(name: "raw and salt", key: { try .raw(raw, salt: salt) }, pragma: "\"x'\(hex(raw + salt))'\""),
    ]

    static let prologue = """
        import sys
        from sqlcipher3 import dbapi2 as sqlite
        db = sqlite.connect(sys.argv[1], isolation_level=None)
        db.execute('PRAGMA key = ' + sys.argv[2])
        """

    @Test(arguments: cases) func ownFileOpensInPythonSQLCipher(_ test: Case) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("ours.db")
        do {
            let db = try Connection(.file(path), key: test.key())
            try db.execute("CREATE TABLE t(a INTEGER, b TEXT, c BLOB)")
            try db.execute("INSERT INTO t VALUES (\(42), \("z\0wei"), \(Data([0, 1, 255])))")
            try db.execute("CREATE VIRTUAL TABLE f USING fts5(x)")
            try db.execute("INSERT INTO f VALUES ('full text')")
        }
        let found = try Python.run(
            Self.prologue + """

            print(db.execute('SELECT a, hex(b), hex(c) FROM t').fetchall(), db.execute("SELECT x FROM f WHERE f MATCH 'text'").fetchall(),
                  db.execute('PRAGMA integrity_check').fetchall(), db.execute('PRAGMA cipher_integrity_check').fetchall())
            """, path, test.pragma)
        #expect(found == "[(42, '7A00776569', '0001FF')] [('full text',)] [('ok',)] []")
    }

    @Test(arguments: LongTests.sample(5, of: cases)) func pythonSQLCipherFileOpens(_ test: Case) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("theirs.db")
        let provider = try Python.run(
            Self.prologue + """

            db.execute('CREATE TABLE t(a INTEGER, b TEXT)')
            db.executemany('INSERT INTO t VALUES (?, ?)', [(n, 'row %d' % n) for n in range(1000)])
            print(db.execute('PRAGMA cipher_provider').fetchone()[0])
            """, path, test.pragma)
        #expect(provider == "openssl")
        let db = try Connection(.file(path), key: test.key())
        #expect(try db.fetchOne(Int.self, "SELECT sum(a) FROM t") == 499_500)
        #expect(try db.fetchAll(String.self, "PRAGMA cipher_integrity_check") == [])
        let wrong = #expect(throws: DatabaseError.self) { try Connection(.file(path), key: .passphrase("wrong")) }
        #expect(wrong?.reason == .wrongKeyOrNotADatabase)
    }

    /// A passphrase spelled like a raw key. The other engine would take its text for a raw key, so it gets the key that
    /// PBKDF2 (of Python's own library) makes from the passphrase and the file's salt.
    @Test(arguments: [64, 96, 160]) func passphraseSpelledLikeRawKeyIsDerived(digits: Int) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("ours.db")
        let text = "x'" + String(repeating: "2d", count: digits / 2) + "'"
        do {
            let db = try Connection(.file(path), key: .passphrase(text))
            try db.execute("CREATE TABLE t AS SELECT 'here' AS x")
        }
        let found = try Python.run(
            """
            import sys, hashlib
            from sqlcipher3 import dbapi2 as sqlite
            salt = open(sys.argv[1], 'rb').read(16)
            key = hashlib.pbkdf2_hmac('sha512', sys.argv[2].encode(), salt, 256000, 32)
            db = sqlite.connect(sys.argv[1])
            db.execute('PRAGMA key = "x\\'%s\\'"' % key.hex())
            print(db.execute('SELECT x FROM t').fetchone()[0])
            """, path, text)
        #expect(found == "here")
    }

    @Test func rekeyedFileWithPendingWALOpensInPython() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("ours.db")
        var configuration = DatabaseConfiguration()
        configuration.journalMode = .wal
        let db = try Connection(.file(path), key: .passphrase("old"), configuration: configuration)
        try db.execute("CREATE TABLE t AS SELECT 'here' AS x")
        try db.changeKey(to: .passphrase("new"))
        try db.execute("INSERT INTO t VALUES ('in the log')")
        #expect(try folder.names().contains("ours.db-wal"))
        #expect(try Python.run(Self.prologue + "\nprint(db.execute('SELECT count(*) FROM t').fetchone()[0])", path, "'new'") == "2")
    }
}
