import Foundation
import KitSupport
import SQLCipherKitCore
import Testing
import TestSupport

/// Conversions that a full disk or a kill cuts off: the file is the old one or the new one, whole.
@Suite struct ConversionFaultTests {
    let folder: TemporaryFolder
    var path: String { folder.path("a.db") }

    init() throws { folder = try TemporaryFolder() }

    private func make(_ key: String, _ mode: DatabaseConfiguration.JournalMode, rows: Int) throws {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = mode
        let db = try Connection(.file(path), key: key == "-" ? nil : .passphrase(key).quick, configuration: configuration)
        try db.transaction { db in
            try db.execute("CREATE TABLE t(x)")
            for number in 0..<rows { try db.execute("INSERT INTO t VALUES (\("MARKER \(number) " + String(repeating: "x", count: 300)))") }
        }
    }

    private func count(_ key: String) -> Int? {
        guard let db = try? Connection(.file(path), key: key == "-" ? nil : .passphrase(key).quick),
            (try? db.fetchOne(String.self, "PRAGMA integrity_check")) == "ok",
            (try? db.fetchAll(String.self, "PRAGMA cipher_integrity_check")) == []
        else { return nil }
        return try? db.fetchOne(Int.self, "SELECT count(*) FROM t")
    }

    private static let directions = [("-", "new"), ("old", "-"), ("old", "new")]

    @Test(arguments: directions, [DatabaseConfiguration.JournalMode.delete, .wal])
    func fullDiskDuringConversionLeavesWholeFile(keys: (String, String), mode: DatabaseConfiguration.JournalMode) throws {
        try make(keys.0, mode, rows: 2000)
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        var failures = 0
        for blocks in stride(from: 0, through: whole.count / 512 + 200, by: whole.count / 512 / (LongTests.areOn ? 8 : 4)) {
            try whole.write(to: URL(fileURLWithPath: path))
            let outcome = try Command.run(
                "sh", ["-c", "trap '' XFSZ; ulimit -f \(blocks); exec \"$0\" convert \"$1\" \"$2\" \"$3\" 2>&1 | cat", try BuildProducts.executable("FaultDriver"), path, keys.0, keys.1])
            let succeeded = outcome.output.contains("done")
            if !succeeded { failures += 1 }
            #expect(count(succeeded ? keys.1 : keys.0) == 2000, "blocks \(blocks): \(outcome)")
            #expect(count(succeeded ? keys.0 : keys.1) == nil)
            #expect(try folder.names().filter { $0.contains("sqlcipherkit-new") } == [], "blocks \(blocks)")
        }
        #expect(failures > 2)
    }

    @Test(arguments: directions, [DatabaseConfiguration.JournalMode.delete, .wal])
    func killDuringConversionLeavesWholeFile(keys: (String, String), mode: DatabaseConfiguration.JournalMode) throws {
        try make(keys.0, mode, rows: 3000)
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        let program = try BuildProducts.executable("FaultDriver")
        let probe = try Command(program, ["convert", path, keys.0, keys.1])
        try probe.waitForOutput("ready")
        let duration = try ContinuousClock().measure { _ = try probe.end() }
        var old = 0
        for moment in LongTests.steps(4, of: 20) {
            try whole.write(to: URL(fileURLWithPath: path))
            let driver = try Command(program, ["convert", path, keys.0, keys.1])
            try driver.waitForOutput("ready")
            Thread.sleep(forTimeInterval: Double(moment) / 20 * Double(duration.components.attoseconds) / 1e18 * 1.1)
            kill(driver.process.processIdentifier, SIGKILL)
            _ = try driver.end()
            for name in try folder.names() where name.contains("sqlcipherkit-new") {
                #expect(try FileManager.default.attributesOfItem(atPath: folder.path(name))[.posixPermissions] as? Int == 0o600)
                let bytes = try Data(contentsOf: URL(fileURLWithPath: folder.path(name)))
                if keys.1 != "-" { #expect(bytes.range(of: Data("MARKER".utf8)) == nil) }
            }
            let counts = (count(keys.0), count(keys.1))
            #expect((counts.0 == 3000) != (counts.1 == 3000), "moment \(moment): \(counts)")
            if counts.0 == 3000 {
                old += 1
                // The next one goes through, and removes what the killed one has left.
                if moment % 5 == 0 {
                    #expect(try Command.run(program, ["convert", path, keys.0, keys.1]).status == 0)
                    #expect(try folder.names() == ["a.db"])
                    #expect(count(keys.1) == 3000)
                }
            }
        }
        #expect(old > 0)
    }
}
