import Foundation
import KitSupport
import SQLCipherKit
import TestSupport
import Testing

/// Files that are not one's own, on the command line.
@Suite struct UntrustedFileTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Neither into a script that is to be run, nor into one's own database.
    @Test func hostileSchemaIsNotCopiedOrDumped() throws {
        let own = folder.path("own.db"), theirs = folder.path("theirs.db")
        try Connection(.file(own)).execute("CREATE TABLE precious(a)")
        let db = try Connection(.file(theirs))
        try db.execute(SQLScript("CREATE TABLE evil(a); PRAGMA writable_schema = ON"))
        try db.execute("UPDATE sqlite_schema SET sql = sql || '; DROP TABLE precious'")
        db.close()
        let before = try Data(contentsOf: URL(fileURLWithPath: own))
        for arguments in [
            ["diff", own, theirs, "--no-key", "--other-key", "none", "--sql"], ["restore", own, theirs, "--no-key"], ["encrypt", theirs, "--raw-key", "--key-env", "TEST_KEY"],
        ] {
            let outcome = try Tool.run(arguments)
            #expect(outcome.status != 0 && outcome.output == "", "\(arguments): \(outcome)")
            // SQLite 3.54 refuses such a schema by itself.
            let refusals = ["it holds more than one statement", "malformed database schema (evil)"]
            #expect(outcome.errors.contains("evil") && refusals.contains { outcome.errors.contains($0) }, "\(outcome.errors)")
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: own)) == before)
    }

    /// Unless its owner says so, a small file takes no more memory than a small file needs.
    @Test func untrustedFileStopsAtByteLimit() throws {
        let theirs = folder.path("theirs.db"), rescued = folder.path("rescued.db")
        let db = try Connection(.file(theirs))
        try db.execute(SQLScript("CREATE TABLE t(x INTEGER); INSERT INTO t VALUES (1); PRAGMA writable_schema = ON"))
        let costly = "CREATE TABLE t(x INTEGER, y AS (length(hex(zeroblob(140000000 + x)))) NOT NULL)"
        try db.execute("UPDATE sqlite_schema SET sql = \(costly)")
        db.close()
        for arguments in [["verify", theirs], ["recover", theirs, rescued]] {
            let outcome = try Tool.run(arguments + ["--no-key"])
            #expect(outcome.status == 1 && outcome.errors.contains("memory") && outcome.errors.contains("--no-limits"), "\(outcome)")
            #expect(try folder.names() == ["theirs.db"])
            try Tool.run(arguments + ["--no-key", "--no-limits"]).expectSuccess()
        }
        #expect(try Connection(.file(rescued)).fetchAll(Int.self, "SELECT x FROM t") == [1])
    }

    /// Work that takes too long ends, too.
    @Test(.enabled(if: LongTests.areOn)) func untrustedFileStopsAtTimeLimit() throws {
        let theirs = folder.path("theirs.db"), db = try Connection(.file(theirs))
        try db.execute("CREATE TABLE t(x INTEGER)")
        try db.execute("WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500000) INSERT INTO t SELECT i FROM n")
        try db.execute("PRAGMA writable_schema = ON")
        let costly = "CREATE TABLE t(x INTEGER, y AS (length(replace(hex(zeroblob(200000 + x % 2)), '0', 'aa'))) NOT NULL)"
        try db.execute("UPDATE sqlite_schema SET sql = \(costly)")
        db.close()
        let outcome = try Tool.run("verify", theirs, "--no-key")
        #expect(outcome.status == 1 && outcome.errors.contains("longer than") && outcome.errors.contains("--no-limits"), "\(outcome)")
    }

    /// Large files that were made for nothing else than to hold rows meet no limit.
    @Test func largeHonestFilesStayWithinToolLimits() throws {
        let path = folder.path("large.db"), rescued = folder.path("rescued.db"), part = LongTests.areOn ? 1 : 40
        try HonestFile.make(path, part: part)
        for arguments in [
            ["verify", path], ["identify", path], ["recover", path, rescued], ["query", path, "SELECT count(*) FROM wide"],
        ] {
            try Tool.run(arguments + ["--no-key"]).expectSuccess()
        }
        #expect(try Connection(.file(rescued)).fetchOne(Int.self, "SELECT count(*) FROM long") == 200_000 / part)
    }

    /// Before anything is compared.
    @Test func diffRefusesDamagedFile() throws {
        let own = folder.path("own.db"), theirs = folder.path("theirs.db")
        try Connection(.file(own)).execute("CREATE TABLE t(a)")
        try Connection(.file(theirs)).execute(SQLScript("CREATE TABLE t(a); INSERT INTO t VALUES (1)"))
        var bytes = try Data(contentsOf: URL(fileURLWithPath: theirs))
        // A cell that points behind its page.
        (bytes[4096 + 8], bytes[4096 + 9]) = (0x0f, 0xff)
        try bytes.write(to: URL(fileURLWithPath: theirs))
        let outcome = try Tool.run("diff", own, theirs, "--no-key", "--other-key", "none")
        #expect(outcome.status != 0 && outcome.output == "" && outcome.errors.contains("theirs.db"), "\(outcome)")
    }
}
