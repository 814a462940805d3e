import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// The article "What survives": its defaults, its code, and what a process that is gone leaves. What a kill or a power cut leaves
/// at any instant is the subject of KillSweepTests and of the machine `crashes`.
@Suite struct WhatSurvivesArticleTests {
    let folder: TemporaryFolder
    let path: String
    let key: DatabaseKey

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("notes.db")
        key = try .raw([UInt8](repeating: 7, count: 32))
    }

    @Test func durabilityDefaultsMatchArticle() throws {
        let connection = try Connection(.file(path), key: key)
        #expect(try connection.main.synchronous == .extra && connection.main.journalMode == .delete)
        connection.close()
        let queue = try DatabaseQueue(.file(path), key: key)
        #expect(try queue.read { db in try db.main.synchronous } == .extra)
        try queue.close()
        let pool = try DatabasePool(.file(path), key: key)
        #expect(try pool.writeWithoutTransaction { db in try db.main.synchronous } == .extra)
        #expect(try pool.writeWithoutTransaction { db in try db.main.journalMode } == .wal)
        #expect(try pool.read { db in try db.main.synchronous } == .extra)
    }

    @Test func whatSurvivesArticleCodeWorks() async throws {
        var configuration = DatabaseConfiguration()
        configuration.durability = .wholeFile
        let pool = try DatabasePool(
            .file(path), key: key, configuration: configuration)
        #expect(try await pool.writeWithoutTransaction { db in try db.main.synchronous } == .wholeFile)
        #expect(try await pool.read { db in try db.main.synchronous } == .wholeFile)
        #expect(try await pool.writeWithoutTransaction { db in try db.fetchOne(Int.self, "PRAGMA fullfsync") } == 1)
        try await pool.close()

        configuration.prepareDatabase = { db in
            try db.execute("PRAGMA fullfsync = OFF")
        }
        let onAMac = try DatabasePool(.file(path), key: key, configuration: configuration)
        #expect(try await onAMac.writeWithoutTransaction { db in try db.fetchOne(Int.self, "PRAGMA fullfsync") } == 0)
    }

    /// The files of a process that is gone without closing: what was committed is there, and nothing else.
    @Test(arguments: [DatabaseConfiguration.JournalMode.wal, .delete, .truncate, .persist])
    func committedRowsSurviveAbandonedProcess(mode: DatabaseConfiguration.JournalMode) throws {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = mode
        let connection = try Connection(.file(path), key: key, configuration: configuration)
        try connection.execute("CREATE TABLE note(title)")
        try connection.execute("INSERT INTO note VALUES ('kept')")
        try connection.begin()
        try connection.main.setCacheSize(10)
        try connection.execute("""
            WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
            INSERT INTO note SELECT hex(randomblob(50)) FROM n
            """)
        let copy = folder.path("copy.db")
        for suffix in ["", "-wal", "-journal"] where FileManager.default.fileExists(atPath: path + suffix) {
            try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
        }
        // Pages of the unfinished transaction are in the copied files.
        #expect(try (FileManager.default.attributesOfItem(atPath: copy + (mode == .wal ? "-wal" : ""))[.size] as? Int ?? 0) > 100_000)
        let after = try Connection(.file(copy), key: key)
        #expect(try after.fetchAll(String.self, "SELECT title FROM note") == ["kept"])
        #expect(try after.main.verify().isIntact)
    }
}
