import CSQLCipher
import Foundation
import TestSupport
import Testing

/// Whether the package's own provider is in use, and not OpenSSL's by the trait of that name.
private let isOwnProvider = String(cString: sqlcipherkit_provider_info().provider) != "openssl"

/// The crypto provider, through every kernel that this machine has.
@Suite struct ProviderTests {
    @Test func `published vectors hold`() throws {
        let output = try Probe.expect("vectors")
        #expect(output.contains("the library: all vectors hold"))
        #expect(output.contains("portable C: all vectors hold"))
    }

    @Test func `published vectors hold for each primitive that a library or plain C stands for`() throws {
        let output = try Probe.expect("primitives")
        #expect(output.contains("SHA-1, SHA-256, BLAKE2b, ChaCha20-Poly1305"))
        #expect(output.contains("Poly1305 at its edges: all vectors hold"))
    }

    @Test(.enabled(if: isOwnProvider)) func `without CPU features the library does all of the work, and no kernel goes beyond the CPU`() throws {
        try Probe.expect("choice")
    }

    @Test func `pages encrypted and authenticated in one pass are the same as in two, also when changed between`() throws {
        try Probe.expect("pages")
    }

    /// A million cases with `SQLCIPHERKIT_LONG_TESTS=1`.
    @Test func `random cases agree with OpenSSL`() throws {
        let output = try Probe.expect("differential", "openssl", LongTests.areOn ? "1000000" : "500", "\(Seed.value)")
        #expect(output.contains("random cases, each kernel agrees with openssl"))
    }

    @Test func `after a fork no two processes draw the same salt or vector`() throws {
        try Probe.inFolder { try Probe.expect("fork", $0) }
    }

    @Test(.enabled(if: isOwnProvider)) func `what must fail fails`() throws {
        try Probe.inFolder { try Probe.expect("errors", $0) }
    }

    @Test func `a reader of page after page finds every page that was changed, and follows other writers`() throws {
        try Probe.inFolder { try Probe.expect("scan", $0) }
    }

    @Test func `pages that are encrypted several at once are right in file, log and journal`() throws {
        try Probe.inFolder { try Probe.expect("writes", $0) }
    }

    @Test func `eight connections work at once while the kernels change`() throws {
        try Probe.inFolder { try Probe.expect("threads", $0) }
    }

    #if os(Linux)
    @Test func `no passphrase and no key stays in memory`() throws {
        let output = try Probe.inFolder { try Probe.expect("memory", $0) }
        // The search must have found what was put there to be found.
        #expect(output.contains("control, to be found once: HMAC key"))
    }
    #endif

    @Test func `its own files come back, log and journal included, and are exchanged with SQLCipher for Python, on OpenSSL`() throws {
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

/// What a program is told about the provider.
@Suite struct ProviderInfoTests {
    @Test(.enabled(if: isOwnProvider)) func `the provider is the library's by name and version`() throws {
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
