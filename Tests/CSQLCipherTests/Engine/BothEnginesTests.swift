import Foundation
import TestSupport
import Testing

/// The product SQLCipher: the engine under its plain names, in one program with SQLCipherKit and its engine.
@Suite(.enabled(if: WholeBuild.isHere, "SQLCIPHERKIT_DEVELOPMENT is not \"all\": ./scripts/test --part engines"))
struct BothEnginesTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func run(_ arguments: String...) throws -> [Substring] {
        let result = try Command.run(try BuildProducts.executable("BothEngines"), arguments)
        try #require(result.status == 0, "\(result)")
        #expect(result.errors == "")
        return result.output.split(separator: "\n")
    }

    @Test func bothEnginesShareOneFileInOneProgram() throws {
        #expect(try run("turns", folder.path("a.db")) == [
            #"["plain"] [1]"#, "plain,kit", "wrong key: failure(26 file is not a database)",
        ])
    }

    @Test func bothEnginesShareOneFileAcrossProcesses() throws {
        let path = folder.path("a.db")
        for journal in ["delete", "wal"] {
            let db = try RawConnection(path, key: "correct horse")
            try db.query("PRAGMA journal_mode = \(journal)")
            try db.query("DROP TABLE IF EXISTS tally")
            try db.query("CREATE TABLE tally(layer, value, UNIQUE (layer, value))")
            let program = try BuildProducts.executable("BothEngines")
            let writers = try ["fill-plain", "fill-kit"].map { try Command(program, [$0, path, "150"]) }
            for writer in writers {
                let result = try writer.end()
                #expect(result.status == 0, "\(result)")
            }
            let sums = try db.query("SELECT layer || count(*) || ' ' || sum(value) FROM tally GROUP BY layer")
            #expect(sums == ["kit150 11325", "plain150 11325"])
            #expect(try db.query("PRAGMA integrity_check") == ["ok"])
            #expect(try db.query("PRAGMA cipher_integrity_check") == [])
        }
    }

    @Test func plainEngineConnectionServesManyThreads() throws {
        #expect(try run("threads", folder.path("a.db")) == ["1600 8 160800 ok"])
    }

    @Test func plainEngineHasUsualBuildDefaults() throws {
        let shared = "the shared cache is not part of this engine; to share a database in memory, "
            + "open file:/NAME?vfs=memdb in each connection"
        #expect(try run("facts") == [
            "threadsafe: 1", "double quotes: text", "shared: failure(1 \(shared))",
            "shared by flag: failure(1 \(shared))", "private: 1", "attached: failure(1 \(shared))", "by name: 1",
        ])
    }

    @Test func plainEngineReportsWrongKeyAndContinues() throws {
        let refusal = "loading extensions is not part of this engine"
        let written = "the key cannot be changed in a savepoint, or within a transaction that has written"
        #expect(try run("answers", folder.url.path) == [
            "in a transaction: failure(1 \(written))", "in a savepoint: failure(1 \(written))", "rows: 1", "in an empty one: 2 2",
            "status: 1 failure(26 file is not a database)", "status: 0", "status: 1", "migrated: 14 3", "not migrated: 26",
            "extensions: 1 1 \(refusal)", "shared cache: 1 0",
        ])
    }

    /// Each system call of a change of key fails, or ends the process; pages are damaged; others hold locks. The file always opens
    /// with just one of the keys, and has all its rows, also after the write of a program that did not look at the error.
    @Test(arguments: ["delete", "wal", "truncate", "persist", "off", "memory"], ["kill", "fail", "read", "full", "damage", "busy"])
    func aChangeOfKeyLeavesOneKey(journal: String, how: String) throws {
        let result = try Command.run(
            try BuildProducts.executable("PlainSweep"), [folder.url.path, journal, how, LongTests.areOn ? "1" : "9"])
        #expect(result.status == 0 && result.output.contains("bad 0"), "\(result)")
    }

    /// The two engines differ exactly as `options.h` says.
    @Test func plainEngineOptionsDifferOnlyAsListed() throws {
        let plain = Set(try run("options").map(String.init))
        let own = Set(try RawConnection(folder.path("a.db"), key: "k").query("PRAGMA compile_options"))
        #expect(plain.symmetricDifference(own) == [
            "DQS=0", "THREADSAFE=1", "THREADSAFE=2", "MAX_COLUMN=2000", "MAX_COLUMN=2001",
            "EXTRA_AUTOEXT=sqlcipherkit_start_full_text", "EXTRA_AUTOEXT=sqlcipherkit_plain_start_full_text",
            "EXTRA_INIT=sqlcipherkit_extra_init", "EXTRA_INIT=sqlcipherkit_plain_extra_init",
            "EXTRA_SHUTDOWN=sqlcipherkit_extra_shutdown", "EXTRA_SHUTDOWN=sqlcipherkit_plain_extra_shutdown",
        ])
    }

    /// Linked into one program, the two would otherwise be one by halves.
    @Test func noSymbolIsInBothEngines() throws {
        let engine = try BuildObjects.symbols(ofTarget: "CSQLCipherEngine"), plain = try BuildObjects.symbols(ofTarget: "SQLCipher")
        let provider = try BuildObjects.symbols(ofTarget: "CSQLCipherProvider")
        #expect(engine.intersection(provider) == [] && engine.intersection(plain) == [] && plain.intersection(provider) == [])
        for name in ["sqlite3_open_v2", "sqlite3_key", "sqlite3_key_v2", "sqlite3_rekey", "sqlite3_rekey_v2", "sqlcipher_version"] {
            #expect(plain.contains(name))
        }
        let prefixes = ["sqlite3", "sqlcipherkit_plain_", "sqlcipher_", "sqlcipherCodec", "sqlcipherPager"]
        #expect(plain.filter { name in !prefixes.contains { name.hasPrefix($0) } } == [])
    }
}
