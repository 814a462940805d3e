import SQLCipherKitCore
import Testing

@Suite struct EngineTests {
    /// `PinsTests` compares the versions with `Vendor/pins.json`.
    @Test func engineReportsSQLiteAndSQLCipherVersions() throws {
        let db = try Connection(.memory)
        #expect(try db.fetchOne(String.self, "PRAGMA cipher_version") == SQLCipherEngine.cipherVersion)
        #expect(try db.fetchOne(String.self, "SELECT sqlite_version()") == SQLCipherEngine.sqliteVersion)
        #expect(try db.fetchOne(String.self, "SELECT sqlite_source_id()") == SQLCipherEngine.sourceID)
        #expect(["libtomcrypt", "commoncrypto", "portable", "openssl"].contains(SQLCipherEngine.cryptoProvider))
        #expect(SQLCipherEngine.cryptoProviderVersion.first?.isNumber == true || SQLCipherEngine.cryptoProvider == "openssl")
    }

    @Test func compileOptionsMatchPragmaCompileOptions() throws {
        let db = try Connection(.memory)
        #expect(try db.fetchAll(String.self, "PRAGMA compile_options").sorted() == SQLCipherEngine.compileOptions.sorted())
        #expect(SQLCipherEngine.compileOptions.contains("HAS_CODEC"))
    }

    /// Features that are said to be there answer; a misspelt option would say no.
    @Test func supportedFeaturesAcceptTheirSQL() throws {
        let db = try Connection(.memory)
        let proofs: [SQLCipherEngine.Feature: SQL] = [
            .encryption: "PRAGMA cipher_version", .fts5: "CREATE VIRTUAL TABLE f5 USING fts5(x)",
            .fts4: "CREATE VIRTUAL TABLE f4 USING fts4(x)", .json: "SELECT jsonb('[1]')", .rtree: "CREATE VIRTUAL TABLE r USING rtree(a, b, c)",
            .mathFunctions: "SELECT sin(1)", .percentile: "SELECT median(1)",
            .updateDeleteLimit: "DELETE FROM sqlite_stat1 LIMIT 1", .dbstat: "SELECT * FROM dbstat",
        ]
        try db.execute("ANALYZE")
        for feature in SQLCipherEngine.Feature.allCases {
            #expect(SQLCipherEngine.supports(feature), "\(feature)")
            if let proof = proofs[feature] { try db.execute(proof) }
        }
    }
}
