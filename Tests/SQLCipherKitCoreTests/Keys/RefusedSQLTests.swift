import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

/// No SQL text, from anywhere, reaches a key or a cipher setting: every route with every spelling.
@Suite struct RefusedSQLTests {
    let folder: TemporaryFolder
    let db: Connection
    let queue: DatabaseQueue
    var path: String { folder.path("a.db") }

    init() throws {
        folder = try TemporaryFolder()
        db = try Connection(.file(folder.path("a.db")), key: .passphrase("the old key").quick)
        try db.execute(SQLScript("CREATE TABLE t(x); INSERT INTO t VALUES (42)"))
        queue = try DatabaseQueue(.file(folder.path("a.db")), key: .passphrase("the old key").quick)
    }

    /// Pragmas that set something, with a value that would; nil runs without one.
    static let pragmas: [(name: String, value: String?)] = [
        ("key", "hunter2"), ("rekey", "hunter2"), ("hexkey", "6f74"), ("hexrekey", "6f74"), ("textkey", "hunter2"),
        ("textrekey", "hunter2"),
        ("cipher_migrate", nil), ("kdf_iter", "7"), ("fast_kdf_iter", "7"), ("rekey_kdf_iter", "7"), ("rekey_cipher", "x"),
        ("cipher", "x"),
        ("page_size", "1024"), ("cipher_page_size", "1024"), ("cipher_use_hmac", "0"), ("cipher_hmac_pgno", "be"),
        ("cipher_hmac_salt_mask", "x''11''"), ("cipher_plaintext_header_size", "32"),
        ("cipher_salt", "x''00112233445566778899aabbccddeeff''"), ("cipher_hmac_algorithm", "HMAC_SHA1"),
        ("cipher_kdf_algorithm", "PBKDF2_HMAC_SHA1"), ("cipher_compatibility", "3"), ("cipher_memory_security", "1"),
        ("cipher_store_pass", "1"), ("cipher_default_kdf_iter", "1"), ("cipher_default_page_size", "1024"),
        ("cipher_default_use_hmac", "0"),
        ("cipher_default_plaintext_header_size", "32"), ("cipher_default_hmac_algorithm", "HMAC_SHA1"),
        ("cipher_default_kdf_algorithm", "PBKDF2_HMAC_SHA1"), ("cipher_default_compatibility", "1"), ("cipher_profile", "LOG"),
        ("cipher_log", "LOG"), ("cipher_log_level", "TRACE"), ("cipher_log_source", "MUTEX"), ("cipher_add_random", "x''00''"),
        ("cipher_test_on", "fail_rekey"), ("cipher_of_a_later_version", "1"), ("cipher_of_a_later_version", nil),
    ]

    private func spellings(_ name: String, _ value: String?) -> [String] {
        let mixed = String(name.enumerated().map { $0.offset % 2 == 0 ? Character($0.element.uppercased()) : $0.element })
        guard let value = value?.replacingOccurrences(of: "LOG", with: folder.path("log")) else {
            return ["PRAGMA \(mixed)", "PRAGMA main.\"\(name)\"", "\u{FEFF}pragma/**/\(name);", "EXPLAIN PRAGMA \(name)"]
        }
        let bare = value.replacingOccurrences(of: "'", with: "")
        return [
            "PRAGMA \(name) = '\(value)'", "pragma \(mixed)('\(value)')", "PRAGMA main.\(name)='\(value)'",
            "PRAGMA \(name == "page_size" ? "main" : "temp") . \(name) = '\(value)'",
            "PRAGMA/**/main /* x */ . \"\(name)\" -- c\n = \"\(bare)\"", "\u{FEFF}\u{FEFF} PRAGMA [\(mixed)] = '\(value)'",
            "PRAGMA `\(name)`('\(value)');",
            "EXPLAIN PRAGMA \(name) = '\(value)'", "EXPLAIN QUERY PLAN PRAGMA \(name) = '\(value)'",
            ";; -- c\n ; PRAGMA '\(name)' = '\(value)'",
            "PRAGMA \(name) = -\(Int(bare) ?? 5)", "/* ; */ PRAGMA \(name) = ''",
            "PRAGMA\u{0C}\(name)\r\n= '\(value)' ; -- the end",
        ]
    }

    /// The settings that a key pragma would change.
    private func settings() throws -> [String] {
        var state = try db.fetchAll(String.self, "PRAGMA cipher_settings")
        state += try db.fetchAll(String.self, "PRAGMA cipher_default_settings")
        for name in [
            "cipher_salt", "cipher_hmac_pgno", "cipher_hmac_salt_mask", "cipher_store_pass", "cipher_memory_security", "cipher_status",
        ] {
            state.append("\(name) \(try db.fetchOne(String.self, SQL(raw: "PRAGMA \(name)")) ?? "nil")")
        }
        return state
    }

    /// The settings, the content and the file.
    private func state() throws -> [String] {
        var state = try settings()
        state.append("\(try db.fetchOne(Int.self, "SELECT count(*) FROM t") ?? -1)")
        state.append(try Data(contentsOf: URL(fileURLWithPath: path)).base64EncodedString())
        return state
    }

    /// Runs SQL in every way that the library has.
    private func tryAll(_ sql: String) throws {
        let raw = SQL(raw: sql)
        var refused = 0
        func attempt(_ what: String, _ body: () throws -> Void) {
            do {
                try body()
                Issue.record("\(what) ran: \(sql)")
            } catch let error as DatabaseError {
                if error.reason == .refusedSQL { refused += 1 }
                #expect(!error.description.contains("hunter2") && error.sql != sql, "\(error)")
            } catch { Issue.record("\(what): \(error)") }
        }
        attempt("execute") { try db.execute(raw) }
        attempt("prepare") { _ = try db.prepare(raw) }
        attempt("fetch") { _ = try db.fetchAll(OwnedRow.self, raw) }
        attempt("cursor") { _ = try db.cursor(OwnedRow.self, raw).next() }
        attempt("script") { try db.execute(SQLScript("SELECT 1; \(sql)")) }
        #expect(refused == 5, "\(sql)")
        attempt("tail") { try db.execute(SQL(raw: "SELECT 1; \(sql)")) }
        attempt("error behind") { try db.execute(SQL(raw: sql + " SELECT SELECT")) }
        attempt("trigger") { try db.execute(SQL(raw: "CREATE TRIGGER r AFTER INSERT ON t BEGIN \(sql); END")) }
        #expect(throws: DatabaseError.self) { try queue.read { try $0.execute(raw) } }
        #expect(throws: DatabaseError.self) { try queue.write { try $0.execute(raw) } }
    }

    @Test(arguments: pragmas.indices) func keyAndCipherPragmasChangeNothing(_ index: Int) throws {
        let (name, value) = Self.pragmas[index]
        let before = try state()
        for sql in spellings(name, value) {
            try tryAll(sql)
            #expect(try state() == before, "\(sql)")
        }
        #expect(throws: DatabaseError.self) { try db.execute(SQL(raw: "SELECT * FROM pragma_\(name)('x')")) }
        try queue.close()
        db.close()
        #expect(try folder.names() == ["a.db"])
        let again = try Connection(.file(path), key: .passphrase("the old key").quick)
        #expect(try again.fetchOne(Int.self, "SELECT x FROM t") == 42)
        #expect(try again.fetchAll(String.self, "PRAGMA cipher_integrity_check") == [])
    }

    @Test func refusedSQLErrorNamesTheSwiftCall() throws {
        for (sql, call) in [
            ("PRAGMA rekey = 'x'", "PRAGMA rekey is refused: use changeKey(to:)"), ("PRAGMA key = 'x'", "attach(_:as:key:)"),
            ("PRAGMA cipher_migrate", "DatabaseConverter.migrate"), ("PRAGMA cipher_log = 'x'", "SQLCipherEngine.setLogger"),
            ("PRAGMA cipher_page_size = 1024", "CipherConfiguration"), ("PRAGMA kdf_iter = 1", "CipherConfiguration.kdfIterations"),
            ("ATTACH 'x' AS x KEY 'x'", "attach(_:as:key:)"),
        ] {
            let error = #expect(throws: DatabaseError.self) { try db.execute(SQL(raw: sql)) }
            #expect(error?.reason == .refusedSQL && error?.code == .authorization)
            #expect(error?.message.contains(call) == true, "\(error?.message ?? "")")
            #expect(error?.sql == "[redacted]")
        }
    }

    @Test func readOnlyCipherPragmasWork() throws {
        #expect(try db.fetchOne(String.self, "PRAGMA cipher_version")?.contains("community") == true)
        #expect(try db.fetchAll(String.self, "PRAGMA cipher_settings").count == 6)
        for name in [
            "cipher_provider", "cipher_provider_version", "cipher_status", "cipher_salt", "kdf_iter", "cipher_log_level", "cipher",
        ] {
            #expect(try db.fetchOne(String.self, SQL(raw: "PRAGMA main.\(name)")) != nil, "\(name)")
        }
        #expect(try db.fetchOne(String.self, "PRAGMA cipher_page_size") == "4096")
        // As in SQLite, where SQLCipher answers with a text.
        #expect(try db.fetchOne(SQLValue.self, "SELECT page_size FROM pragma_page_size") == .integer(4096))
        #expect(try db.fetchAll(String.self, "PRAGMA cipher_integrity_check") == [])
        // As in SQLite, an unknown name does nothing.
        try db.execute("PRAGMA no_such_pragma = 5")
        // Of a plaintext database the page size may be set.
        try Connection(.memory).execute("PRAGMA page_size = 8192")
    }

    /// With a key or without one: SQL reaches no file.
    @Test func attachAndVacuumIntoInSQLAreRefused() throws {
        let target = folder.path("b.db")
        let before = try state()
        for sql in [
            "ATTACH '\(target)' AS b", "ATTACH 'b.db' AS b", "ATTACH 'file:\(target)' AS b", "ATTACH '\(path)' AS b",
            "EXPLAIN ATTACH '\(target)' AS b", "ATTACH 'file::memory:?cache=shared' AS b",
            "ATTACH '\(target)' AS b KEY 'hunter2'", "ATTACH '\(target)' AS b KEY ''",
            "attach database '\(target)' as b key x'6f74'",
            "ATTACH '\(target)' AS b KEY NULL", "ATTACH '\(target)' AS b KEY (SELECT 'hunter2')",
            "EXPLAIN ATTACH '\(target)' AS b KEY 'hunter2'",
            "ATTACH 'file:\(target)?key=hunter2' AS b", "ATTACH 'file:\(target)?mode=rwc&key=hunter2' AS b",
            "ATTACH 'file:\(target)?%6bey=hunter2' AS b",
            "ATTACH 'file:\(target)?hexkey=6f74' AS b", "ATTACH 'file:\(target)?textke%79=hunter2' AS b",
            "ATTACH 'file:\(target)?key=' AS b",
            "ATTACH 'file:\(target)?cache=private&k%65%79=hunter2#key' AS b KEY 'hunter2'",
        ] { try tryAll(sql) }
        for sql in [
            SQL(raw: "ATTACH 'file:\(target)?' || 'key=hunter2' AS b"), SQL("ATTACH \("file:\(target)?%6Bey=hunter2") AS b"),
            SQL(raw: "ATTACH (SELECT 'file:\(target)?hex' || 'key=6f74') AS b"),
            SQL("ATTACH \(target) AS b"), SQL(raw: "ATTACH '\(target)' || '' AS b"), "ATTACH elsewhere AS b",
            SQL("VACUUM INTO \(target)"), SQL(raw: "VACUUM INTO '\(target)'"),
            SQL(raw: "VACUUM INTO 'file:\(target)?key=hunter2'"),
            SQL("VACUUM INTO \("file:\(target)?mode=rwc&hexkey=6f74")"),
        ] {
            let error = #expect(throws: DatabaseError.self) { try db.execute(sql) }
            #expect(error?.reason == .refusedSQL, "\(String(describing: error))")
            #expect(try db.fetchAll(String.self, "SELECT sql FROM sqlite_stmt WHERE sql LIKE '%key=%'").count == 1)
        }
        #expect(try db.schemas().map(\.name) == ["main"])
        #expect(try state() == before)
        #expect(try folder.names() == ["a.db"])
    }

    @Test func locationAndConnectionDescriptionsContainNoKey() throws {
        var shown = ""
        for uri in ["file:b.db?key=hunter2", "file:b.db?mode=ro&%6bey=hunter2 2", "file:b.db?hexkey=hunter2"] {
            let location = DatabaseLocation.uri(uri)
            shown += "\(location) \(String(reflecting: location)) \([location])"
            dump(location, to: &shown)
        }
        _ = try? db.execute("SELECT 'PRAGMA key = hunter2'")
        dump(db, to: &shown)
        print(db, to: &shown)
        #expect(!shown.contains("hunter2") && shown.contains("a.db"), "\(shown)")
        #expect("\(DatabaseLocation.file("/a key.db"))" == "/a key.db")
    }

    @Test func keyInURIThrows() throws {
        let target = folder.path("b.db")
        for parameters in ["key=hunter2", "mode=rwc&h%65xkey=6f74", "textkey=hunter2", "key="] {
            let uri = "file:\(target)?\(parameters)"
            for key in [nil, try DatabaseKey.passphrase("k").quick] {
                let opened = #expect(throws: DatabaseError.self) { try Connection(.uri(uri), key: key) }
                let attached = #expect(throws: DatabaseError.self) { try Connection(.memory).attach(.uri(uri), as: "b", key: key) }
                for error in [opened, attached] {
                    #expect(error?.reason == .invalidKey && error?.description.contains("hunter2") == false)
                }
            }
        }
        #expect(try folder.names() == ["a.db"])
        _ = try Connection(.uri("file:\(target)?mode=rwc"), key: .passphrase("k").quick)
    }

    /// The text of a schema is compiled whenever the schema is read.
    @Test func pragmasInSchemaTextChangeNothing() throws {
        let before = try settings()
        try db.execute("PRAGMA writable_schema = ON")
        try db.execute("UPDATE sqlite_schema SET sql = 'CREATE TABLE t(x); PRAGMA rekey = ''hunter2''' WHERE name = 't'")
        let view = "CREATE VIEW v AS SELECT 1; PRAGMA cipher_default_kdf_iter = 1"
        try db.execute("INSERT INTO sqlite_schema VALUES ('view', 'v', 'v', 0, \(view))")
        try db.execute("PRAGMA writable_schema = RESET")
        _ = try? db.fetchAll(Int.self, "SELECT * FROM v")
        #expect(try settings() == before)
        try queue.close()
        db.close()
        do {
            let again = try Connection(.file(path), key: .passphrase("the old key").quick)
            #expect(try again.fetchOne(Int.self, "SELECT x FROM t") == 42)
            #expect(try again.fetchOne(String.self, "PRAGMA cipher_default_kdf_iter") == "256000")
        } catch let error as DatabaseError {
            // SQLite 3.54 refuses a schema whose text has a second statement. Another key would be `.notADatabase`.
            #expect(error.code.primary == .corrupt, "\(error)")
        }
    }

    /// Databases that SQL attaches in memory, and VACUUM's copy, have the key and the settings of the main database.
    @Test func attachedDatabaseWithoutFileUsesTheMainCipher() throws {
        var cipher = CipherConfiguration.quick
        cipher.pageSize = 2048
        cipher.hmacAlgorithm = .sha256
        cipher.kdfAlgorithm = .sha1
        let db = try Connection(.file(folder.path("m.db")), key: .passphrase("k", cipher: cipher))
        try db.execute("CREATE TABLE t(x)")
        try db.execute("ATTACH ':memory:' AS b")
        try db.execute("ATTACH '' AS c")
        for name in ["b", "c"] {
            try db.execute("CREATE TABLE \(raw: name).t(x)")
            #expect(try db.schema(name).cipher?.settings == cipher)
        }
        try db.execute("VACUUM")
        let again = try Connection(.file(folder.path("m.db")), key: .passphrase("k", cipher: cipher))
        #expect(try again.fetchAll(Int.self, "SELECT x FROM t") == [])
    }
}
