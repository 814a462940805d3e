import Foundation
import KitSupport
import SQLCipherKit
import SQLCipherKitSync
import Testing
import TestSupport

@Suite struct ConnectionClosingTests {
    /// SQLite keeps a connection open that something still uses, with its file and its key.
    @Test func closingConnectionEndsItsDependentObjects() throws {
        let folder = try TemporaryFolder()
        let db = try Connection(.file(folder.path("a.db")), key: .passphrase("k").quick)
        try db.execute(SQLScript("CREATE TABLE t(id INTEGER PRIMARY KEY, data); INSERT INTO t VALUES (1, x'0102'), (2, NULL)"))
        let statement = try db.prepare("SELECT id FROM t")
        let cursor = try db.cursor(Int.self, "SELECT id FROM t")
        _ = try cursor.next()
        let blob = try db.main.openBlob(table: "t", column: "data", rowID: 1)
        let recorder = try ChangeRecorder(db.main)
        let uses: [() throws -> Void] = [
            { _ = try statement.fetchAll(Int.self) }, { _ = try cursor.next() }, { _ = try blob.read(upTo: 1) }, { try blob.reopen(rowID: 1) },
            { _ = try recorder.changeset() }, { try recorder.add(table: "t") }, { _ = try db.main.openBlob(table: "t", column: "data", rowID: 1) },
            { _ = try ChangeRecorder(db.main) }, { _ = try db.prepare("SELECT 1") },
        ]
        db.close()
        for (number, use) in uses.enumerated() { #expect(throws: DatabaseError.self, "\(number)") { try use() } }
        // The file is closed.
        #if os(Linux)
            let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
                .compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
            #expect(!open.contains { $0.hasPrefix(folder.path("a.db")) })
        #endif
        blob.close()
        recorder.close()
    }
}
