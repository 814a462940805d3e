import Foundation
import KitSupport
import SQLCipherKitCore
import Testing
import TestSupport

/// Nothing that is written is readable on disk: in the database, its log, its journal, or a temporary file.
@Suite struct CiphertextTests {
    static let marker = "MARKER-in-plain-sight"

    private func fill(_ db: Connection) throws {
        let marker = Self.marker
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT, extra BLOB)")
        try db.execute("CREATE INDEX note_body ON note(body)")
        try db.execute("CREATE VIRTUAL TABLE note_fts USING fts5(body)")
        try db.execute("CREATE TABLE \(identifier: marker)(x)")
        for number in 0..<200 {
            try db.execute("INSERT INTO note(body, extra) VALUES (\("\(marker) \(number)"), \(Data("\(marker)\(number)".utf8)))")
            try db.execute("INSERT INTO note_fts(body) VALUES (\("\(marker) MARKERWORD\(number)"))")
        }
    }

    private func expectNoMarker(_ folder: TemporaryFolder, _ what: String) throws {
        for name in try folder.names() {
            let bytes = try Data(contentsOf: folder.url.appendingPathComponent(name))
            for needle in [Self.marker, "markerword", "CREATE TABLE", "SQLite format 3"] {
                #expect(bytes.range(of: Data(needle.utf8)) == nil, "\(needle) in \(name), \(what)")
            }
        }
    }

    @Test(arguments: [DatabaseConfiguration.JournalMode.wal, .delete, .persist]) func databaseWALAndJournalContainNoPlaintext(mode: DatabaseConfiguration.JournalMode) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("a.db")
        var configuration = DatabaseConfiguration()
        configuration.journalMode = mode
        let db = try Connection(.file(path), key: .passphrase("k").quick, configuration: configuration)
        try db.transaction { try fill($0) }
        try expectNoMarker(folder, "committed, \(mode)")
        // A transaction larger than the cache spills pages, and its journal holds the old ones.
        try db.execute("PRAGMA cache_size = 5")
        try db.begin()
        try db.execute("UPDATE note SET body = body || \(Self.marker), extra = zeroblob(500)")
        try expectNoMarker(folder, "open transaction, \(mode)")
        #expect(try folder.names().count > 1)
        try db.rollback()
        try expectNoMarker(folder, "rolled back, \(mode)")
        #expect(try Array(Data(contentsOf: URL(fileURLWithPath: path)).prefix(16)) != Array("SQLite format 3\0".utf8))
        db.close()
        try expectNoMarker(folder, "closed, \(mode)")
        // The test would see a marker: a plaintext database has it.
        let plain = try TemporaryFolder()
        try Connection(.file(plain.path("a.db"))).transaction { try fill($0) }
        #expect(try plain.allBytes().range(of: Data(Self.marker.utf8)) != nil)
    }

    /// Sorting, temporary tables and VACUUM of more than the cache holds: no temporary file is even made.
    @Test func temporaryDataStaysInMemory() throws {
        let folder = try TemporaryFolder(), temporary = try TemporaryFolder()
        let script = """
            PRAGMA temp_store = FILE; PRAGMA cache_size = 5;
            CREATE TABLE t(x);
            INSERT INTO t WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
                SELECT '\(Self.marker)' || i || hex(randomblob(50)) FROM n;
            CREATE TEMP TABLE s AS SELECT * FROM t ORDER BY x DESC;
            SELECT count(*) FROM (SELECT DISTINCT x FROM t ORDER BY x);
            CREATE INDEX t_x ON t(x);
            VACUUM;
            """
        let outcome = try Command.run(
            "strace", ["-f", "-e", "trace=openat,open,creat", try BuildProducts.executable("FaultDriver"), "script", folder.path("a.db"), "k", script],
            environment: ["TMPDIR": temporary.url.path, "SQLITE_TMPDIR": temporary.url.path])
        #expect(outcome.status == 0, "\(outcome.errorLines.suffix(3))")
        #expect(outcome.errors.contains("a.db"))
        // From 3.54 on, SQLite opens a temporary file by its folder's name and O_TMPFILE.
        let opened = outcome.errors.split(separator: "\n").filter {
            ($0.contains("O_CREAT") || $0.contains("O_TMPFILE")) && !$0.contains(folder.url.path)
        }
        #expect(opened.filter { $0.contains(temporary.url.path) || $0.contains("/tmp/etilqs") || $0.contains("/var/tmp") } == [])
        #expect(try temporary.names() == [])
        try expectNoMarker(folder, "after a script")
    }
}
