import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitFiles
import SQLCipherKitSync
import Testing
import TestSupport

/// Pages that were forged without the key: no operation takes one for content, and none makes it authentic.
@Suite struct ForgedPageTests {
    let folder: TemporaryFolder
    let key: DatabaseKey, other: DatabaseKey
    var path: String { folder.path("a.db") }
    private let pageSize = 4096

    init() throws {
        folder = try TemporaryFolder()
        key = try .passphrase("one").quick
        other = try .passphrase("two").quick
    }

    enum Forgery: CaseIterable {
        case zero, zeroAFew, swap, repeated, truncated

        /// Changes pages of the value that lies in `pages`, counted from 0.
        func apply(to file: inout Data, pages: [Int], pageSize: Int) {
            func range(_ page: Int) -> Range<Int> { page * pageSize..<(page + 1) * pageSize }
            let last = pages[pages.count - 1], before = pages[pages.count - 2]
            switch self {
            case .zero: file.replaceSubrange(range(last), with: Data(count: pageSize))
            case .zeroAFew: for page in pages.suffix(4) { file.replaceSubrange(range(page), with: Data(count: pageSize)) }
            case .swap:
                let (a, b) = (Data(file[range(last)]), Data(file[range(before)]))
                file.replaceSubrange(range(last), with: b)
                file.replaceSubrange(range(before), with: a)
            case .repeated: file.replaceSubrange(range(last), with: Data(file[range(before)]))
            case .truncated: file = file.prefix(last * pageSize)
            }
        }
    }

    enum Operation: CaseIterable {
        case read, blob, backup, compactBackup, backupOver, inPlace, newFile, convert, vacuum, erase, copyTables
        case diff, restore, decrypt, salvage

        func run(_ test: ForgedPageTests) throws {
            let copy = test.folder.path("copy.db")
            func using(_ body: (Connection) throws -> Void) throws {
                let db = try Connection(.file(test.path), key: test.key)
                defer { db.close() }
                try body(db)
            }
            switch self {
            case .read: try using { _ = try $0.fetchAll(Data.self, "SELECT x FROM t") }
            case .blob:
                try using { db in
                    let blob = try db.main.openBlob(table: "t", column: "x", rowID: 2)
                    _ = try blob.read(blob.count, at: 0)
                }
            case .backupOver: try using { try $0.main.backup(to: Connection(.memory, key: test.other).main, options: .compact) }
            case .convert:
                var cipher = CipherConfiguration.quick
                cipher.pageSize = 8192
                try DatabaseConverter.convert(fileAt: test.path, from: test.key, to: test.other.with(cipher: cipher))
            case .erase: try using { try $0.main.eraseDeletedContent() }
            case .backup: try using { try $0.main.backup(toFileAt: copy) }
            case .compactBackup: try using { try $0.main.backup(toFileAt: copy, key: test.other, options: .compact) }
            case .inPlace: try using { try $0.changeKey(to: test.other) }
            case .newFile: try using { try $0.changeKey(to: test.other, mode: .newFile) }
            case .vacuum: try using { try $0.main.vacuum() }
            case .copyTables:
                try using { db in try db.main.copyTables(["t"], to: db.attach(.memory, as: "target", key: nil)) }
            case .diff:
                try using { db in
                    _ = try DatabaseDiff(from: db.main,
                        to: db.attach(.file(test.folder.path("whole.db")), as: "whole", key: test.key)).summary()
                }
            case .restore: try Connection(.memory, key: test.key).main.restore(fromFileAt: test.path, key: test.key)
            case .decrypt: try DatabaseConverter.decrypt(fileAt: test.path, key: test.key)
            case .salvage:
                let report = try DatabaseConverter.salvage(fileAt: test.path, key: test.key, to: copy)
                if report.isComplete { return }
                throw DatabaseError(code: .corrupt, message: "as it should be")
            }
        }
    }

    /// A database with two values on pages of their own, and the pages of the second one.
    private func make(_ autoVacuum: Int, _ mode: DatabaseConfiguration.JournalMode) throws -> [Int] {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = mode
        let db = try Connection(.file(path), key: key, configuration: configuration)
        defer { db.close() }
        try db.execute("PRAGMA auto_vacuum = \(raw: "\(autoVacuum)")")
        try db.execute("VACUUM")
        #expect(try db.fetchOne(Int.self, "PRAGMA auto_vacuum") == autoVacuum)
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
        for number in 1...2 {
            try db.execute("INSERT INTO t VALUES (\(number), \(Data((0..<60_000).map { UInt8(truncatingIfNeeded: $0 &* number) })))")
        }
        return try db.fetchAll(Int.self,
            "SELECT pageno - 1 FROM dbstat WHERE name = 't' AND pagetype = 'overflow' ORDER BY path").suffix(8)
    }

    @Test(arguments: [0, 1, 2], [DatabaseConfiguration.JournalMode.delete, .wal])
    func forgedPagesAreRefusedByEveryOperation(autoVacuum: Int, mode: DatabaseConfiguration.JournalMode) throws {
        let pages = try make(autoVacuum, mode)
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        try whole.write(to: URL(fileURLWithPath: folder.path("whole.db")))
        for forgery in Forgery.allCases {
            var forged = whole
            forgery.apply(to: &forged, pages: pages, pageSize: pageSize)
            for operation in Operation.allCases {
                for name in try folder.names() where name != "whole.db" {
                    try FileManager.default.removeItem(atPath: folder.path(name))
                }
                try forged.write(to: URL(fileURLWithPath: path))
                let error = #expect(throws: DatabaseError.self, "\(forgery), \(operation)") { try operation.run(self) }
                #expect(error?.code.primary == .corrupt, "\(forgery), \(operation): \(String(describing: error))")
                if operation != .salvage {
                    #expect(!FileManager.default.fileExists(atPath: folder.path("copy.db")), "\(forgery), \(operation)")
                }
                // And no page has become a right one. The first page says what the journal is, and so may have been written.
                let left = try Data(contentsOf: URL(fileURLWithPath: path))
                #expect(left.dropFirst(pageSize) == forged.dropFirst(pageSize), "\(forgery), \(operation)")
                guard let db = try? Connection(.file(path), key: key) else { continue }
                #expect(try !db.main.verify().problems.isEmpty, "\(forgery), \(operation)")
            }
        }
    }

    /// In a write-ahead log, whose checksums need no key.
    @Test(arguments: [0, 1, 2]) func forgedPagesInTheWALThrowCorrupt(autoVacuum: Int) throws {
        _ = try make(autoVacuum, .wal)
        let db = try Connection(.file(path), key: key)
        let value = Data((0..<60_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        try db.execute("UPDATE t SET x = \(value) WHERE id = 2")
        let last = try #require(
            try db.fetchAll(Int.self, "SELECT pageno FROM dbstat WHERE name = 't' AND pagetype = 'overflow' ORDER BY path").last)
        let copy = folder.path("copy.db")
        func read() throws -> Data? {
            let db = try Connection(.file(copy), key: key)
            defer { db.close() }
            return try db.fetchOne(Data.self, "SELECT x FROM t WHERE id = 2")
        }
        for isForged in [false, true] {
            var log = WriteAheadLog(try Data(contentsOf: URL(fileURLWithPath: path + "-wal")), pageSize: pageSize)
            let changed = isForged ? log.zero(page: last) : 1
            #expect(changed > 0)
            log.sign()
            try Data(contentsOf: URL(fileURLWithPath: path)).write(to: URL(fileURLWithPath: copy))
            try log.bytes.write(to: URL(fileURLWithPath: copy + "-wal"))
            if isForged {
                let error = #expect(throws: DatabaseError.self) { try read() }
                #expect(error?.code.primary == .corrupt)
            } else {
                #expect(try read() == value)
            }
            for name in try folder.names() where name.hasPrefix("copy.db") {
                try FileManager.default.removeItem(atPath: folder.path(name))
            }
        }
    }

    /// Pages that are allocated, freed and written early for want of room in the cache are none of these.
    @Test(arguments: 0..<6) func genuinePagesAreAcceptedByEveryOperation(seed: Int) throws {
        var random = SeededGenerator(state: UInt64(seed))
        var configuration = DatabaseConfiguration()
        configuration.journalMode = seed < 3 ? .delete : .wal
        let db = try Connection(.file(path), key: key, configuration: configuration)
        try db.execute("PRAGMA auto_vacuum = \(raw: "\(seed % 3)")")
        try db.execute("VACUUM")
        try db.execute("PRAGMA cache_size = 10")
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
        try db.execute("CREATE INDEX t_x ON t(substr(x, 1, 200))")
        for _ in 0..<8 {
            try db.transaction { db -> TransactionEnd<Void> in
                for _ in 0..<20 {
                    let size = Int.random(in: 1...60_000, using: &random)
                    if Int.random(in: 0..<3, using: &random) > 0 {
                        try db.execute("INSERT INTO t(x) VALUES (randomblob(\(size)))")
                    } else {
                        try db.execute("DELETE FROM t WHERE id % 3 = \(size % 3)")
                    }
                }
                return Bool.random(using: &random) ? .commit(()) : .rollback(())
            }
        }
        let rows = try db.fetchAll(Data.self, "SELECT x FROM t ORDER BY id")
        #expect(try db.main.verify().problems.isEmpty)
        try db.main.backup(toFileAt: folder.path("whole.db"))
        try db.main.backup(toFileAt: folder.path("compact.db"), options: .compact)
        try db.changeKey(to: other)
        try db.main.vacuum()
        try db.changeKey(to: key, mode: .newFile)
        for name in ["a.db", "whole.db", "compact.db"] {
            let copy = try Connection(.file(folder.path(name)), key: key)
            #expect(try copy.fetchAll(Data.self, "SELECT x FROM t ORDER BY id") == rows, "\(name)")
            #expect(try copy.main.verify().problems.isEmpty, "\(name)")
        }
    }
}
