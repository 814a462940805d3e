import CSQLCipher
import Foundation
import TestSupport
import Testing

/// The engine lives beside any other SQLite in the same process: none of its symbols has SQLite's names.
@Suite struct SymbolsTests {
    /// The global symbols of the engine and its provider.
    private var symbols: Set<String> {
        get throws { try BuildObjects.symbols(ofTarget: "CSQLCipherEngine").union(BuildObjects.symbols(ofTarget: "CSQLCipherProvider")) }
    }

    /// Nothing that is there for tests alone can be called by a program, or be imported by it.
    @Test func testEntryPointsAreNotExported() throws {
        #expect(try symbols.filter { $0.hasPrefix("sqlcipherkit_test_") } == [])
        let headers = Repository.file("Sources/CSQLCipher/include")
        for header in try FileManager.default.contentsOfDirectory(at: headers, includingPropertiesForKeys: nil) {
            let text = try String(contentsOf: header, encoding: .utf8)
            let isClean = !text.contains("sqlcipherkit_test_") && !text.contains("sqlcipherkit_provider_force")
            #expect(isClean, "\(header.lastPathComponent)")
        }
    }

    @Test func everyGlobalSymbolHasThePrefix() throws {
        let symbols = try symbols
        #expect(symbols.filter { !$0.hasPrefix("sqlcipherkit_") } == [])
        // Without these the listing was not that of the engine.
        #expect(symbols.count > 300)
        for name in ["sqlite3_open_v2", "sqlite3_key_v2", "sqlite3_version", "xoshiro_next"] {
            #expect(symbols.contains("sqlcipherkit_" + name))
        }
    }

    @Test func linkedProgramHasNoUnprefixedSQLiteSymbols() throws {
        let symbols = try BuildObjects.definedGlobals(try BuildObjects.program)
        #expect(symbols.contains("sqlcipherkit_sqlite3_open_v2"))
        // The extension of the tests has the names that extensions have.
        let unprefixed = symbols.filter { $0.hasPrefix("sqlite3") || $0.hasPrefix("sqlcipher_") }
        #expect(Set(unprefixed).subtracting(["sqlite3_sample_init", "sqlite3_failing_init"]) == [])
    }

    /// The generated list holds every name that the source marks as interface, also those of options that are off.
    @Test func symbolListCoversTheHeader() throws {
        let list = try String(contentsOf: Repository.file("Vendor/sqlcipher/symbols.h"), encoding: .utf8)
        let renamed = Set(list.matches(of: /#pragma redefine_extname (\w+) sqlcipherkit_(\w+)\n/).map { match in
            #expect(match.1 == match.2)
            return String(match.1)
        })
        let header = try String(contentsOf: Repository.file("Vendor/sqlcipher/sqlite3.h"), encoding: .utf8)
        let declared = Set(header.matches(of: /\n(?:SQLITE_API|SQLITE_EXTERN)[^;(\[]*?\b(sqlite3\w+)[(\[;]/).map { String($0.1) })
        #expect(declared.count > 300)
        #expect(declared.subtracting(renamed) == [])
        for setup in ["sqlcipher_ltc_setup", "sqlcipher_openssl_setup"] { #expect(renamed.contains(setup)) }
    }

    #if os(Linux)
    @Test func systemSQLiteWorksInTheSameProcess() throws {
        let system = try SystemSQLite()
        #expect(system.version != String(cString: sqlite3_libversion()))

        let folder = try TemporaryFolder()
        let ourPath = folder.url.appendingPathComponent("ours.db").path
        let theirPath = folder.url.appendingPathComponent("theirs.db").path
        do {
            let ours = try RawConnection(ourPath, key: "key")
            let theirs = try system.open(theirPath)
            defer { system.close(theirs) }
            try ours.query("CREATE TABLE t(x)")
            try system.query(theirs, "CREATE TABLE t(x)")
            // Both have a transaction open at the same time.
            try ours.query("BEGIN")
            try system.query(theirs, "BEGIN")
            for value in 1...100 {
                try ours.query("INSERT INTO t VALUES (\(value))")
                try system.query(theirs, "INSERT INTO t VALUES (-\(value))")
            }
            try ours.query("COMMIT")
            try system.query(theirs, "COMMIT")
            #expect(try ours.query("SELECT sum(x) FROM t") == ["5050"])
            #expect(try system.query(theirs, "SELECT sum(x) FROM t") == ["-5050"])
            // Each engine reached its own code from inside as well.
            #expect(try ours.query("SELECT sqlite_version()") == [String(cString: sqlite3_libversion())])
            #expect(try system.query(theirs, "SELECT sqlite_version()") == [system.version])
            #expect(try ours.query("PRAGMA cipher_version").count == 1)
            #expect(try system.query(theirs, "PRAGMA cipher_version") == [])
        }
        let magic = Array("SQLite format 3\u{0}".utf8)
        #expect(Array(try Data(contentsOf: URL(fileURLWithPath: theirPath)).prefix(16)) == magic)
        #expect(Array(try Data(contentsOf: URL(fileURLWithPath: ourPath)).prefix(16)) != magic)
        #expect(try RawConnection(theirPath).query("SELECT count(*) FROM t") == ["100"])
    }
    #endif
}
