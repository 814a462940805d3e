import CSQLCipher
import TestSupport
import Testing

/// The engine that runs is the engine that was pinned.
@Suite struct PinsTests {
    @Test func runningVersionsMatchPins() throws {
        let pins = try Pins.load()
        let connection = try RawConnection(":memory:", key: "key")
        let sqlcipher = try pins.upstream("SQLCipher"), sqlite = try pins.upstream("SQLite")

        #expect(try connection.query("PRAGMA cipher_version") == [try #require(sqlcipher.cipherVersion)])
        #expect(String(cString: sqlite3_libversion()) == sqlite.version)
        #expect(String(cString: sqlite3_sourceid()) == sqlite.sourceID)
    }

    @Test func headerBelongsToTheEngine() throws {
        let sqlite = try Pins.load().upstream("SQLite")
        #expect(SQLITE_VERSION == sqlite.version)
        #expect(SQLITE_SOURCE_ID == sqlite.sourceID)
        #expect(SQLITE_VERSION_NUMBER == sqlite3_libversion_number())
    }

    @Test func cipherProviderMatchesLinkedLibrary() throws {
        let connection = try RawConnection(":memory:", key: "key")
        #if OpenSSL
        let name = "openssl", pin = try Pins.load().upstream("OpenSSL")
        #else
        let name = "libtomcrypt", pin = try Pins.load().upstream("LibTomCrypt")
        #endif
        #expect(try connection.query("PRAGMA cipher_provider") == [name])

        let reported = try #require(try connection.query("PRAGMA cipher_provider_version").first)
        let found = try #require(reported.firstMatch(of: /(\d+)\.(\d+)(?:\.(\d+))?/), "no version in '\(reported)'")
        let version = [found.1, found.2, found.3 ?? "0"].compactMap { Int($0) }
        let minimum = try #require(pin.minimumVersion).split(separator: ".").compactMap { Int($0) }
        #expect(!version.lexicographicallyPrecedes(minimum), "\(reported) is older than \(minimum)")
    }

    @Test func everyPinHasChecksumAndLicense() throws {
        let pins = try Pins.load()
        let source = try pins.upstream("SQLCipher")
        let carriers = try #require(source.carriers)
        let sums = carriers.compactMap(\.sha256) + (try #require(source.members).map(\.sha256))
        // A tree is checked by the sums of its members alone.
        let archives = carriers.filter { $0.kind != "tree" }
        #expect(!carriers.isEmpty && sums.count == archives.count + 2 && Set(sums).count == sums.count)
        for sum in sums { #expect(sum.wholeMatch(of: /[0-9a-f]{64}/) != nil) }
        #expect(pins.upstreams.allSatisfy { !$0.licence.isEmpty })
    }

    /// The options that the package's features need from the build, by the name under which the engine reports it.
    @Test(arguments: [
        "HAS_CODEC", "TEMP_STORE=3", "THREADSAFE=2", "EXTRA_INIT=sqlcipherkit_extra_init", "DQS=0", "OMIT_SHARED_CACHE",
        "OMIT_LOAD_EXTENSION", "LIKE_DOESNT_MATCH_BLOBS", "ENABLE_FTS3", "ENABLE_FTS3_PARENTHESIS", "ENABLE_FTS4", "ENABLE_FTS5",
        "ENABLE_RTREE", "ENABLE_SESSION", "ENABLE_PREUPDATE_HOOK", "ENABLE_SNAPSHOT", "ENABLE_COLUMN_METADATA",
        "ENABLE_DBSTAT_VTAB", "ENABLE_STMTVTAB", "ENABLE_BYTECODE_VTAB", "ENABLE_NORMALIZE", "ENABLE_CARRAY",
        "ENABLE_MATH_FUNCTIONS", "ENABLE_PERCENTILE", "SOUNDEX", "ENABLE_UPDATE_DELETE_LIMIT", "ENABLE_STAT4",
        "MAX_ATTACHED=125", "MAX_VARIABLE_NUMBER=250000",
    ])
    func requiredCompileOptionIsSet(_ option: String) throws {
        #expect(try RawConnection(":memory:").query("PRAGMA compile_options").contains(option))
    }

    /// Options that would take something away, or that belong to SQLite's own tests.
    @Test(arguments: ["OMIT_JSON", "ENABLE_API_ARMOR", "DEBUG", "ENABLE_LOAD_EXTENSION"])
    func unwantedCompileOptionIsAbsent(_ option: String) throws {
        let options = try RawConnection(":memory:").query("PRAGMA compile_options")
        #expect(!options.contains { $0 == option || $0.hasPrefix(option + "=") })
    }
}
