import CSQLCipher
import Foundation
import TestSupport
import Testing

/// True if the package's own provider is in use, and not OpenSSL's by the trait of that name.
private let isOwnProvider = String(cString: sqlcipherkit_provider_info().provider) != "openssl"

/// The crypto provider, through every kernel that this machine has.
@Suite struct ProviderTests {
    @Test func providerMatchesPublishedVectors() throws {
        let output = try Probe.expect("vectors")
        #expect(output.contains("the library: all vectors hold"))
        #expect(output.contains("portable C: all vectors hold"))
    }

    @Test func primitivesMatchPublishedVectors() throws {
        let output = try Probe.expect("primitives")
        #expect(output.contains("SHA-1, SHA-256, BLAKE2b, ChaCha20-Poly1305"))
        #expect(output.contains("Poly1305 at its edges: all vectors hold"))
    }

    @Test(.enabled(if: isOwnProvider)) func kernelsMatchAvailableCPUFeatures() throws {
        try Probe.expect("choice")
    }

    @Test func onePassPageEncryptionMatchesTwoPasses() throws {
        try Probe.expect("pages")
    }

    /// A million cases with `SQLCIPHERKIT_LONG_TESTS=1`.
    @Test func providerMatchesOpenSSLForRandomCases() throws {
        let output = try Probe.expect("differential", "openssl", LongTests.areOn ? "1000000" : "500", "\(Seed.value)")
        #expect(output.contains("random cases, each kernel agrees with openssl"))
    }

    @Test func forkedProcessesDrawDistinctRandomBytes() throws {
        try Probe.inFolder { try Probe.expect("fork", $0) }
    }

    @Test(.enabled(if: isOwnProvider)) func providerErrorsAreReported() throws {
        try Probe.inFolder { try Probe.expect("errors", $0) }
    }

    @Test func sequentialReaderFindsChangedPages() throws {
        try Probe.inFolder { try Probe.expect("scan", $0) }
    }

    @Test func batchEncryptedPagesAreCorrectInAllFiles() throws {
        try Probe.inFolder { try Probe.expect("writes", $0) }
    }

    @Test func eightConnectionsWorkDuringKernelChanges() throws {
        try Probe.inFolder { try Probe.expect("threads", $0) }
    }

    #if os(Linux)
    @Test func providerWipesPassphrasesAndKeys() throws {
        let output = try Probe.inFolder { try Probe.expect("memory", $0) }
        // The search must have found what was put there to be found.
        #expect(output.contains("control, to be found once: HMAC key"))
    }
    #endif

    @Test func providerFilesAreExchangedWithPythonSQLCipher() throws {
        let python = try #require(
            ProcessInfo.processInfo.environment["SQLCIPHERKIT_TEST_PYTHON"],
            "set SQLCIPHERKIT_TEST_PYTHON to a Python that has the package sqlcipher3; ./scripts/test does")
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../ProviderProbe/exchange.py").standardizedFileURL.path
        func expectPython(_ command: String, _ folder: String) throws {
            let (status, output) = try Probe.run(URL(fileURLWithPath: python), [script, command, folder])
            #expect(status == 0, "\(output)")
            #expect(output.contains("126 files"))
        }
        try Probe.inFolder {
            try Probe.expect("exchange-write", $0)
            try expectPython("check", $0)
            try Probe.expect("exchange-check", $0)
        }
        try Probe.inFolder {
            try expectPython("write", $0)
            try Probe.expect("exchange-check", $0)
        }
    }
}

/// The facts that a program can read about the provider.
@Suite struct ProviderInfoTests {
    @Test(.enabled(if: isOwnProvider)) func providerReportsLibraryNameAndVersion() throws {
        var database: OpaquePointer?
        #expect(sqlite3_open(":memory:", &database) == SQLITE_OK)
        defer { sqlite3_close(database) }
        #expect(sqlite3_key_v2(database, "main", "key", 3) == SQLITE_OK)
        let info = sqlcipherkit_provider_info()
        #expect(text("PRAGMA cipher_provider", database) == String(cString: info.provider))
        #expect(text("PRAGMA cipher_provider_version", database).contains(String(cString: info.version)))
    }

    private func text(_ sql: String, _ database: OpaquePointer?) -> String {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK, sqlite3_step(statement) == SQLITE_ROW
        else { return "" }
        return String(cString: sqlite3_column_text(statement, 0))
    }
}
