import Foundation
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitFiles
import SQLCipherKitSync
import Testing
import TestSupport

/// The examples of the article "Backup and maintenance", in its order.
@Suite struct MaintenanceArticleTests {
    let folder: TemporaryFolder
    let key: DatabaseKey, otherKey: DatabaseKey

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw([UInt8](repeating: 1, count: 32))
        otherKey = try .raw([UInt8](repeating: 2, count: 32))
    }

    private func open(_ name: String) throws -> Connection {
        let db = try Connection(.file(folder.path(name)), key: key)
        try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)")
        try db.execute("INSERT INTO note VALUES (1, 'x')")
        return db
    }

    @Test func maintenanceArticleBacksUpAndRestores() throws {
        let db = try open("a.db")
        let copyPath = folder.path("monday.db")
        try db.main.backup(toFileAt: copyPath)
        var options = Schema.BackupOptions()
        options.pagesPerStep = 256
        options.pause = .milliseconds(5)
        options.replacesFile = true
        try db.main.backup(
            toFileAt: copyPath, key: otherKey, options: options
        ) { progress in
            try Task.checkCancellation()
            print(Int(progress.fractionCompleted * 100), "%")
            #expect(progress.fractionCompleted <= 1)
        }
        try db.execute("DELETE FROM note")
        try db.main.restore(fromFileAt: copyPath, key: otherKey)
        let memory = try Connection(.memory, key: key)
        try db.main.backup(to: memory.main)
        try memory.main.backup(to: db.main)
        #expect(try db.fetchAll(String.self, "SELECT title FROM note") == ["x"])
    }

    /// A reader of a pool makes the backup, while others write.
    @Test func maintenanceArticleBacksUpThroughPool() async throws {
        let pool = try DatabasePool(.file(folder.path("p.db")), key: key)
        try await pool.write { try $0.execute(SQLScript("CREATE TABLE t(x); INSERT INTO t SELECT randomblob(3000) FROM pragma_function_list LIMIT 50")) }
        let path = folder.path("q.db"), source = folder.path("p.db"), ownKey = key
        try await pool.read { db in
            let writer = try Connection(.file(source), key: ownKey)
            var options = Schema.BackupOptions()
            options.pagesPerStep = 5
            try db.main.backup(toFileAt: path, options: options) { progress in
                if progress.fractionCompleted < 1 { try writer.execute("INSERT INTO t VALUES (2)") }
            }
        }
        #expect(try await pool.read { try $0.fetchOne(Int.self, "SELECT count(*) FROM t") } ?? 0 > 55)
        #expect(try Connection(.file(path), key: key).fetchOne(Int.self, "SELECT count(*) FROM t") == 50)
        try await pool.barrierWriteWithoutTransaction { db in
            try db.main.vacuum()
            try db.main.restore(fromFileAt: path)
        }
        #expect(try await pool.read { try $0.fetchOne(Int.self, "SELECT count(*) FROM t") } == 50)
        do {
            let path = folder.path("s.db")
            try await pool.main.backup(toFileAt: path, timeout: .seconds(60))
            try await pool.main.restore(fromFileAt: path)
        }
        // A cancelled task ends its backup.
        let target = folder.path("r.db")
        let task = Task { try await pool.read { try $0.main.backup(toFileAt: target) } }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try folder.names().filter { $0.hasPrefix("r.db") } == [])
    }

    @Test func maintenanceArticleReportsSpaceAndOptimizes() throws {
        let db = try open("a.db")
        let report = try db.main.spaceReport()
        print(report.bytes, report.freePages)
        print(report["note"]?.overflowPages ?? 0)
        print(report.bytes(ofTable: "note"))
        #expect(report.bytes > 0 && report.freePages == 0 && report["note"]?.overflowPages == 0 && report.bytes(ofTable: "note") == 4096)
        try db.main.vacuum()
        let compactPath = folder.path("compact.db")
        try db.main.backup(toFileAt: compactPath, options: .compact)
        try db.main.optimize()
        try db.main.analyze("note")
        let rows = try db.main.statistics().first?.rows
        #expect(rows == 1)
    }

    @Test func maintenanceArticleErases() throws {
        let db = try open("a.db")
        try db.execute("PRAGMA secure_delete = OFF")
        try db.execute("INSERT INTO note VALUES (2, 'Foxes')")
        try db.execute("DELETE FROM note WHERE title = 'Foxes'")
        let found = try db.main.findRemnants(of: ["Foxes"])
        for place in found.remnants {
            print(place.kind, place.file ?? "", place.page ?? 0)
            print(place.object ?? "")
        }
        #expect(found.remnants.map(\.kind).contains(.slack))
        let erasure = try db.main.eraseDeletedContent()
        print(erasure.pages, erasure.fullTextIndexes, erasure.isComplete)
        #expect(erasure.isComplete)
        print(try db.main.findRemnants(of: ["Foxes"]).isErased)
        #expect(try db.main.findRemnants(of: ["Foxes"]).isErased)
    }

    @Test func maintenanceArticleStreamsLargeBlobs() async throws {
        let db = try open("a.db")
        try db.execute("CREATE TABLE film(id INTEGER PRIMARY KEY, data BLOB)")
        let pieces = (0..<200).map { Data(repeating: UInt8($0), count: 1000) }
        try db.transaction { db in
            let room = ZeroBlob(count: pieces.count * 1000)
            try db.execute("INSERT INTO film(id, data) VALUES (1, \(room))")
            let blob = try db.main.openBlob(
                table: "film", column: "data", rowID: 1, forWriting: true)
            for piece in pieces { try blob.write(piece) }
            blob.close()
        }
        let blob = try db.main.openBlob(table: "film", column: "data", rowID: 1)
        let end = try blob.read(100, at: blob.count - 100)
        var total = 0
        for try await chunk in blob.chunks(of: 65_536) { total += chunk.count }
        #expect(end == Data(repeating: 199, count: 100) && total == 200_000)
    }
}
