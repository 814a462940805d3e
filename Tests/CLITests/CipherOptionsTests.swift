import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// Files with every combination of settings that SQLCipher's own tools write.
@Suite struct CipherOptionsTests {
    /// The settings given to SQLCipher, and the form of the key.
    struct Combination: Codable, CustomStringConvertible {
        var compatibility = 4
        var pageSize: Int?
        var iterations: Int?
        var kdf: String?
        var hmac: String?
        var header: Int?
        var isRaw = false

        var description: String {
            "\(isRaw ? "raw " : "")\(compatibility) \(pageSize ?? 0) \(iterations ?? 0) \(kdf ?? "-") \(hmac ?? "-") \(header ?? 0)"
        }
    }

    static let combinations: [Combination] = {
        var all: [Combination] = []
        for version in 1...4 { for size in [1024, 4096, 8192, 65536] { all.append(Combination(compatibility: version, pageSize: size)) } }
        for hmac in ["SHA1", "SHA256", "none"] { for size in [1024, 4096, 16384] { all.append(Combination(pageSize: size, hmac: hmac)) } }
        for kdf in ["SHA1", "SHA256"] {
            for iterations in [4000, 64000] { for hmac in [nil, "none"] { all.append(Combination(iterations: iterations, kdf: kdf, hmac: hmac)) } }
        }
        for header in [16, 32, 64] {
            for size in [4096, 8192] { for hmac in [nil, "SHA256", "none"] { all.append(Combination(pageSize: size, hmac: hmac, header: header)) } }
        }
        for size in [1024, 4096, 8192] { all.append(Combination(compatibility: 3, pageSize: size, hmac: "none")) }
        for version in 2...4 { for hmac in [nil, "none"] { all.append(Combination(compatibility: version, pageSize: 32768, hmac: hmac, isRaw: true)) } }
        return all
    }()

    private static let salt = "000102030405060708090a0b0c0d0e0f"
    private static let rawKey = String(repeating: "0123456789abcdef", count: 4)

    /// Makes the files with SQLCipher itself, in one run.
    private static func make(_ combinations: [Combination], _ folder: TemporaryFolder) throws {
        let program = """
            import json, sys
            import sqlcipher3.dbapi2 as sqlite
            for n, c in enumerate(json.loads(sys.argv[1])):
                db = sqlite.connect(f'{sys.argv[2]}/{n}.db', isolation_level=None)
                run = lambda sql: db.execute(sql).fetchall()
                run('''PRAGMA key = "x'%s'"''' % sys.argv[4] if c['isRaw'] else "PRAGMA key = 'correct horse'")
                run(f"PRAGMA cipher_compatibility = {c['compatibility']}")
                if c.get('pageSize'): run(f"PRAGMA cipher_page_size = {c['pageSize']}")
                if c.get('iterations'): run(f"PRAGMA kdf_iter = {c['iterations']}")
                if c.get('kdf'): run(f"PRAGMA cipher_kdf_algorithm = PBKDF2_HMAC_{c['kdf']}")
                if c.get('hmac') == 'none': run("PRAGMA cipher_use_hmac = OFF")
                elif c.get('hmac'): run(f"PRAGMA cipher_hmac_algorithm = HMAC_{c['hmac']}")
                if c.get('header'):
                    run(f"PRAGMA cipher_plaintext_header_size = {c['header']}")
                    run('''PRAGMA cipher_salt = "x'%s'"''' % sys.argv[3])
                run("CREATE TABLE t(x)")
                run(f"INSERT INTO t VALUES ({n})")
                db.close()
            """
        _ = try Python.run(
            program, String(decoding: JSONEncoder().encode(combinations), as: UTF8.self), folder.url.path, salt, rawKey)
    }

    @Test func identifyPrintsTheOptionsThatOpenAFile() throws {
        let combinations = LongTests.sample(4, of: Self.combinations)
        let folder = try TemporaryFolder()
        try Self.make(combinations, folder)
        for (number, combination) in combinations.enumerated() {
            let path = folder.path("\(number).db")
            var key = combination.isRaw ? ["--key-env", "RAW", "--raw-key"] : ["--key-env", "PASS"]
            let environment = ["RAW": Self.rawKey, "PASS": "correct horse"]
            let label: Comment = "\(combination)"
            if combination.header != nil {
                // Without the salt, the settings cannot be told, but it is not called plaintext.
                let told = try Tool.run(["identify", path] + key, environment: environment)
                #expect(told.status == 3 && told.errors.contains("encrypted by SQLCipher with a plaintext header"), label)
                let open = try Tool.run(["identify", path, "--no-key"])
                #expect(open.status == 3 && open.errors.contains("--salt"), label)
                #expect(try Tool.run(["query", path, "SELECT 1", "--no-key"]).status == 3, label)
                #expect(try Tool.run(["query", path, "SELECT 1"] + key, environment: environment).errors.contains("--salt"), label)
                key += ["--plaintext-header", "32", "--salt", Self.salt]
            } else {
                // Without options, no other settings are tried.
                let isDefault = combination.compatibility == 4 && combination.pageSize ?? 4096 == 4096
                    && combination.iterations == nil && combination.hmac == nil
                #expect(try Tool.run(["query", path, "SELECT 1"] + key, environment: environment).status == (isDefault ? 0 : 3), label)
            }
            let isAuthenticated = combination.hmac != "none" && combination.compatibility > 1
            if !isAuthenticated {
                // The options are not told to scripts until one of them asks for a file without authentication.
                let told = try Tool.run(["identify", path, "--json"] + key, environment: environment)
                #expect(told.status == 4 && told.errors.contains("authentication is missing"), label)
                key += ["--hmac", "none"]
            }
            let identified = try Tool.run(["identify", path, "--json"] + key, environment: environment).expectSuccess()
            guard case .array(let rows) = try JSONValue(text: identified.output), case .string(let options)? = rows.first?["options"] else {
                Issue.record(label)
                continue
            }
            var bare = combination.isRaw ? ["--key-env", "RAW", "--raw-key"] : ["--key-env", "PASS"]
            bare += options.split(separator: " ").map(String.init)
            let opened = try Tool.run(["query", path, "SELECT x FROM t", "--format", "list"] + bare, environment: environment)
            #expect(opened.output == "x\n\(number)\n" && opened.errors.isEmpty, "\(combination): \(options) \(opened.errors)")
            if combination.header == nil {
                key = Array(key.prefix(combination.isRaw ? 3 : 2))
                let isOfVersion = combination.iterations == nil && (combination.hmac == nil || combination.hmac == "none")
                if isAuthenticated, isOfVersion {
                    try Tool.run(["migrate", path] + key, environment: environment).expectSuccess()
                } else {
                    try Tool.run(["migrate", path] + key, environment: environment).expectFailure(3, isAuthenticated ? "identify" : "no page authentication")
                    let named = isOfVersion && number % 2 == 0 ? key + ["--accept-unauthenticated"] : bare
                    try Tool.run(["migrate", path] + named, environment: environment).expectSuccess()
                }
                if isAuthenticated, combination.compatibility == 4, isOfVersion, combination.pageSize ?? 4096 != 4096 { continue }
                let migrated = try Tool.run(["query", path, "SELECT x FROM t", "--format", "list"] + key, environment: environment)
                #expect(migrated.output == "x\n\(number)\n", label)
            }
        }
    }

    @Test func cipherSettingsAreReadAndRefused() throws {
        let folder = try TemporaryFolder()
        let (old, plain) = (folder.path("old.db"), folder.path("plain.db"))
        try Connection(.file(old), key: .passphrase("correct horse", cipher: .sqlCipher3)).execute("CREATE TABLE t AS SELECT 7 AS x")
        try Connection(.file(plain)).execute("CREATE TABLE u(x)")
        let attached = try Tool.run(
            "query", plain, "SELECT x FROM old.t", "--no-key", "--format", "list", "--attach", "old=\(old)", "--attach-key", "old=cipher:3:env:PASS",
            environment: ["PASS": "correct horse"])
        #expect(attached.output == "x\n7\n" && attached.errors.isEmpty, "\(attached)")
        try Tool.run("query", old, "SELECT 1", "--compatibility", "5").expectFailure(64, "the versions 1 to 4")
        try Tool.run("query", old, "SELECT 1", "--cipher-page-size", "1000").expectFailure(64, "power of two")
        try Tool.run("query", old, "SELECT 1", "--hmac", "md5").expectFailure(64, "sha1, sha256, sha512, or none")
        try Tool.run("query", old, "SELECT 1", "--salt", "12").expectFailure(64, "32 hexadecimal digits")
    }

    /// Schemas that other engines made, and what this one has no module for.
    private static let oddSchemas: [(name: String, sql: String)] = [
        ("double quotes", """
            CREATE TABLE t(x CHECK (x <> "none"), y DEFAULT "some"); CREATE INDEX i ON t(x) WHERE y = "some";
            CREATE VIEW v AS SELECT x, "lit" AS l FROM t; CREATE TRIGGER g AFTER INSERT ON t BEGIN UPDATE t SET y = "new" WHERE x = "a"; END;
            INSERT INTO t(x) VALUES ('a'), ('b');
            """),
        ("contentless", """
            CREATE VIRTUAL TABLE f USING fts4(content="", a, b); INSERT INTO f(docid, a, b) VALUES (1, 'one two', 'three'), (2, 'four', 'one');
            """),
        ("absent module", """
            CREATE TABLE geo_data(id INTEGER PRIMARY KEY, x); INSERT INTO geo_data VALUES (1, 'p');
            PRAGMA writable_schema = ON;
            INSERT INTO sqlite_schema(type, name, tbl_name, rootpage, sql) VALUES ('table', 'geo', 'geo', 0, 'CREATE VIRTUAL TABLE geo USING VirtualSpatialIndex()');
            """),
        ("2,000 columns", {
            let names = (0..<2000).map { "c\($0)" }
            return """
                CREATE TABLE w(\(names.joined(separator: ",")));
                INSERT INTO w(rowid, c0, c1999) VALUES (5, 'a', 1.5), (-3, 'b', NULL), (9223372036854775807, x'00', 'z');
                """
        }()),
    ]

    @Test(arguments: ["double quotes", "contentless", "absent module", "2,000 columns"]) func unusualSchemasSurviveEncryptAndDecrypt(name: String) throws {
        let sql = Self.oddSchemas.first { $0.name == name }?.sql ?? ""
        let folder = try TemporaryFolder()
        let path = folder.path("a.db"), copy = folder.path("b.db")
        // Python's engine takes double quotes for those of a string.
        let made = try Command.run("python3", ["-c", "import sqlite3,sys; d=sqlite3.connect(sys.argv[1], isolation_level=None); d.executescript(sys.argv[2])", path, sql])
        #expect(made.status == 0, "\(made.errors)")
        let table = ["double quotes": "t", "contentless": "f_segments", "absent module": "geo_data", "2,000 columns": "w"][name] ?? ""
        func content(_ path: String, _ key: [String] = ["--no-key"]) throws -> String {
            let rows = try Tool.run(["query", path, "SELECT * FROM \(table)", "--format", "quote"] + key).expectSuccess().output
            let schema = try Tool.run(["query", path, "SELECT type, name, sql FROM sqlite_schema ORDER BY 1, 2", "--format", "quote"] + key).expectSuccess().output
            return rows + schema
        }
        let before = try content(path)
        try Tool.run("verify", path, "--no-key").expectSuccess()
        try Tool.run("backup", path, copy, "--no-key").expectSuccess()
        #expect(try content(copy) == before)
        let same = try Tool.run("diff", path, copy, "--no-key").expectSuccess()
        #expect(same.output == "no difference\n")
        let dump = try Tool.run("dump", path, "--no-key").expectSuccess()
        let (script, again) = (folder.path("a.sql"), folder.path("c.db"))
        try Data(dump.output.utf8).write(to: URL(fileURLWithPath: script))
        try Tool.run("create", again, "--script", script, "--no-key").expectSuccess()
        if name == "absent module" {
            for errors in [dump.errors, same.errors] { #expect(errors.hasPrefix("left out the virtual table geo: its module is not here")) }
            #expect(try Connection(.file(again)).fetchOne(String.self, "SELECT x FROM geo_data") == "p")
        } else {
            #expect(try content(again) == before)
            #expect(dump.errors == "")
        }
        try Tool.run(["encrypt", path] + Tool.key).expectSuccess()
        #expect(try content(path, Tool.key) == before)
        try Tool.run(["verify", path] + Tool.key).expectSuccess()
        try Tool.run(["decrypt", path] + Tool.key).expectSuccess()
        #expect(try content(path) == before)
    }

    @Test(arguments: [512, 1024, 2048, 8192, 65536]) func encryptAndDecryptKeepPageSize(size: Int) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("a.db")
        let db = try Connection(.file(path))
        try db.execute(SQLScript("CREATE TABLE t(x); INSERT INTO t VALUES (1)"))
        db.close()
        let made = try Command.run("python3", ["-c", "import sqlite3,sys; d=sqlite3.connect(sys.argv[1], isolation_level=None); d.execute('PRAGMA page_size=' + sys.argv[2]); d.execute('VACUUM')", path, "\(size)"])
        #expect(made.status == 0, "\(made.errors)")
        let outcome = try Tool.run(["encrypt", path] + Tool.key).expectSuccess()
        #expect(outcome.output.contains("--cipher-page-size \(size)") == (size >= 1024))
        let key = Tool.key + (size >= 1024 ? ["--cipher-page-size", "\(size)"] : [])
        #expect(try Tool.run(["query", path, "SELECT x FROM t", "--format", "list"] + key).output == "x\n1\n")
        try Tool.run(["verify", path] + key).expectSuccess()
        try Tool.run(["decrypt", path] + key + (size == 512 ? ["--page-size", "512"] : [])).expectSuccess()
        #expect(try Connection(.file(path)).fetchOne(Int.self, "PRAGMA page_size") == size)
    }

    /// The salt alone says that there is a plaintext header, of the usual size.
    @Test func identifyTakesSaltAlone() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("a.db"), key = ["--key-env", "PASS", "--kdf-iterations", "1000", "--salt", Self.salt]
        let environment = ["PASS": "correct horse"]
        try Tool.run(["create", path] + key, environment: environment).expectSuccess()
        let told = try Tool.run(["identify", path] + key, environment: environment).expectSuccess()
        #expect(told.output.contains("--plaintext-header 32 --salt \(Self.salt)"), "\(told.output)")
        try Tool.run(["query", path, "SELECT 1"] + key, environment: environment).expectSuccess()
    }

    /// After it, the file opens without options.
    @Test func migrateChangesPageSize() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("a.db")
        try Tool.run(["create", path, "--cipher-page-size", "8192"] + Tool.key).expectSuccess()
        try Tool.run(["migrate", path] + Tool.key).expectSuccess()
        try Tool.run(["query", path, "SELECT 1"] + Tool.key).expectSuccess()
    }
}
