import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import Testing
import TestSupport

/// A free page that a power failure has damaged: no journal restores it, nothing needs it, and no operation on the whole file may
/// fail because of it.
@Suite struct FreePageTests {
    let folder: TemporaryFolder
    var path: String { folder.path("a.db") }
    let key: DatabaseKey

    init() throws {
        folder = try TemporaryFolder()
        key = try .passphrase("k", cipher: .quick)
    }

    /// Makes a database with free pages.
    /// - Returns: its free pages and one that is used.
    private func make(_ mode: DatabaseConfiguration.JournalMode) throws -> (free: [Int], used: Int) {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = mode
        let db = try Connection(.file(path), key: key, configuration: configuration)
        try db.execute(SQLScript("CREATE TABLE gone(x); CREATE TABLE t(x)"))
        for _ in 0..<20 { try db.execute("INSERT INTO gone VALUES (\(String(repeating: "g", count: 900)))") }
        for _ in 0..<20 { try db.execute("INSERT INTO t VALUES (\(String(repeating: "t", count: 900)))") }
        try db.execute("DROP TABLE gone")
        let used = try db.fetchAll(Int.self, "SELECT pageno FROM dbstat")
        let free = try (1...db.main.pageCount).filter { !used.contains($0) }
        let leaf = try #require(try db.fetchOne(Int.self, "SELECT pageno FROM dbstat WHERE name = 't' AND pagetype = 'leaf'"))
        #expect(try free.count == db.main.freePageCount && free.count > 3)
        return (free, leaf)
    }

    /// Copies the database and overwrites a sector of a page.
    private func copy(damaging page: Int) throws -> String {
        let copy = folder.path("copy.db")
        for suffix in ["", "-wal", "-journal"] { try? FileManager.default.removeItem(atPath: copy + suffix) }
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: copy))
        try file.seek(toOffset: UInt64((page - 1) * 4096 + 1024))
        try file.write(contentsOf: Data(repeating: 7, count: 512))
        try file.close()
        return copy
    }

    private static let operations: [(String, @Sendable (Connection, TemporaryFolder) throws -> Void)] = [
        ("vacuum", { db, _ in try db.main.vacuum() }),
        ("erase", { db, _ in try db.main.eraseDeletedContent() }),
        ("backup", { db, folder in
            var options = Schema.BackupOptions()
            options.replacesFile = true
            try db.main.backup(toFileAt: folder.path("b.db"), options: options)
        }),
        ("key", { db, _ in try db.changeKey(to: .passphrase("other", cipher: .quick)) }),
        // The freelist is half rewritten when the last of its pages is read.
        ("key, with a small cache", { db, _ in
            try db.main.setCacheSize(2)
            try db.changeKey(to: .passphrase("other", cipher: .quick))
        }),
        ("reuse", { db, _ in
            for _ in 0..<20 { try db.execute("INSERT INTO t VALUES (\(String(repeating: "n", count: 900)))") }
        }),
    ]

    @Test(arguments: [DatabaseConfiguration.JournalMode.delete, .wal], operations.indices)
    func damagedFreePageDoesNotFailOperations(mode: DatabaseConfiguration.JournalMode, number: Int) throws {
        let pages = try make(mode), (name, operation) = Self.operations[number]
        var failures = 0
        for page in pages.free + [pages.used] {
            let copy = try copy(damaging: page)
            do {
                let db = try Connection(.file(copy), key: key)
                #expect(try db.main.verify().problems == [.damagedPage(page)])
                do { try operation(db, folder) } catch let error as DatabaseError {
                    #expect(error.code.primary == .corrupt || error.code.primary == .notADatabase, "\(name): \(error)")
                    #expect(page == pages.used || failures == 0, "\(name), page \(page): \(error)")
                    failures += 1
                    continue
                }
            }
            let after = try Connection(.file(copy), key: name.hasPrefix("key") ? .passphrase("other", cipher: .quick) : key)
            if page != pages.used { #expect(try after.fetchOne(Int.self, "SELECT count(*) FROM t WHERE x LIKE 't%'") == 20) }
            // All but a backup write every page.
            if name == "vacuum" || name == "erase" || name.hasPrefix("key") { #expect(try after.main.verify().problems.isEmpty) }
        }
        // A page with content, and the one that lists the free pages. An insert needs neither of them.
        if name != "reuse" { #expect(failures == 2, "\(name)") }
    }
}
