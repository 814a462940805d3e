import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

/// A queue or a pool that has lost its connection says so, and why; one that has not goes on.
@Suite struct ConcurrencyLostConnectionTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// The disk is full somewhere in a change of key, so that the connection cannot go on. The pool opens another connection with
    /// the key that opens the file. If there is no file any more, callers and observers learn that and why.
    @Test(arguments: [false, true]) func failedKeyChangeReopensPoolOrReportsLoss(vanishes: Bool) throws {
        let path = folder.path("a.db"), away = path + "-away", driver = try BuildProducts.executable("FaultDriver")
        func count(_ passphrase: String) -> Int? {
            guard let db = try? Connection(.file(path), key: .passphrase(passphrase).quick) else { return nil }
            return try? db.fetchOne(Int.self, "SELECT count(*) FROM t")
        }
        let db = try Connection(.file(path), key: .passphrase("old").quick)
        try db.execute("CREATE TABLE t(x)")
        for _ in 0..<600 { try db.execute("INSERT INTO t VALUES (randomblob(1000))") }
        db.close()
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        var failures = 0
        for blocks in stride(from: 100, to: whole.count / 512 * 2, by: max(1, whole.count / 512 / 8)) {
            for suffix in ["", "-journal", "-wal", "-shm", "-away"] { try? FileManager.default.removeItem(atPath: path + suffix) }
            try whole.write(to: URL(fileURLWithPath: path))
            let outcome = try Command.run(
                "sh",
                ["-c", "trap '' XFSZ; ulimit -f \(blocks); exec \"$0\" pool-rekey \"$1\" old new $2", driver, path, vanishes ? "vanish" : ""])
            let lines = outcome.output.split(separator: "\n")
            if FileManager.default.fileExists(atPath: away) { try FileManager.default.moveItem(atPath: away, toPath: path) }
            guard lines.contains(where: { $0.hasPrefix("changeKey rekeyFailed") }) else { continue }
            failures += 1
            let calls = lines.filter { $0.hasPrefix("call ") }
            if vanishes {
                #expect(lines.contains("changeKey rekeyFailed unknown") && lines.contains("open false"), "\(outcome)")
                // An observation that reads just then finds out before the pool does.
                #expect(lines.contains("observation closed") || lines.contains("observation cannotOpen"), "\(outcome)")
                #expect(calls.count == 2 && calls.allSatisfy { $0.hasPrefix("call closed: ") && $0.contains("key") }, "\(outcome)")
            } else {
                #expect((count("old") == 600) != (count("new") == 600), "blocks \(blocks): \(outcome)")
                #expect(lines.contains(count("old") == 600 ? "changeKey rekeyFailed old" : "changeKey rekeyFailed new"), "\(outcome)")
                #expect(lines.contains("open true") && calls == ["call went on", "call went on"], "\(outcome)")
            }
        }
        #expect(failures > 2)
    }

    /// A checkpoint that would have to write throws the cause.
    @Test func checkpointOfReadOnlyPoolThrows() throws {
        let location = DatabaseLocation.file(folder.path("a.db"))
        let writer = try DatabasePool(location)
        try writer.write { db in try db.execute("CREATE TABLE t(x)") }
        var configuration = DatabaseConfiguration()
        configuration.access = .readOnly
        let pool = try DatabasePool(location, configuration: configuration)
        for mode in CheckpointMode.allCases {
            let error = #expect(throws: DatabaseError.self) { try pool.main.checkpoint(mode) }
            #expect(error?.code == .readOnly && error?.message.contains("open for reading only") == true, "\(mode): \(error.map { "\($0)" } ?? "no error")")
        }
        #expect(try pool.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } == 0)
    }
}
