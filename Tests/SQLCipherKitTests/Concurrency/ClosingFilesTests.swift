import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// The last connection to close empties the log, and removes its files. A pool's readers may not write, so it must be the
/// writer, whatever was done before.
@Suite struct ConcurrencyClosingFilesTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        for name in ["a.db", "b.db"] {
            let pool = try DatabasePool(.file(folder.path(name)), key: .passphrase("one").quick)
            try pool.write { db in try db.execute("CREATE TABLE t AS SELECT 1 AS x") }
            try pool.close()
        }
    }

    @Test(arguments: ["nothing", "read", "write", "attach", "change of key", "change of key, new file", "snapshot", "conversion"])
    func closingPoolRemovesLogFiles(after last: String) throws {
        for isReadLast in [false, true] {
            let pool = try DatabasePool(.file(folder.path("a.db")), key: .passphrase("one").quick)
            switch last {
            case "read": _ = try pool.read { db in try db.fetchOne(Int.self, "SELECT x FROM t") }
            case "write": try pool.write { db in try db.execute("UPDATE t SET x = x + 1") }
            case "attach": _ = try pool.attach(.file(folder.path("b.db")), as: "b", key: .passphrase("one").quick)
            case "change of key": try pool.changeKey(to: .passphrase("one").quick, mode: .inPlace)
            case "change of key, new file": try pool.changeKey(to: .passphrase("one").quick, mode: .newFile)
            case "snapshot": _ = try pool.snapshot().read { db in try db.fetchOne(Int.self, "SELECT x FROM t") }
            case "conversion": try pool.convert(to: .passphrase("one").quick)
            default: break
            }
            if isReadLast {
                let schema = last == "attach" ? "b" : "main"
                let rows = try pool.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM \(identifier: schema).t") }
                #expect(rows == 1)
            }
            try pool.close()
            #expect(try folder.names() == ["a.db", "b.db"], "read last: \(isReadLast)")
        }
    }
}
