import Foundation
import SQLCipherKit
import TestSupport
import Testing

/// Pages that somebody without the key has put in place: no operation takes one for content, and none makes it authentic.
@Suite struct ForgedPageTests {
    let folder: TemporaryFolder
    let key: Encryption, other: Encryption
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
        case read, backup, compactBackup, inPlace, newFile, vacuum, copyTables, diff, restore, decrypt, salvage

        func run(_ test: ForgedPageTests) throws {
            let copy = test.folder.path("copy.db")
            func using(_ body: (Connection) throws -> Void) throws {
                let db = try Connection(.file(test.path), key: test.key)
                defer { db.close() }
                try body(db)
            }
            switch self {
            case .read: try using { _ = try $0.fetchAll(Data.self, "SELECT x FROM t") }
            case .backup: try using { try $0.main.backup(toFileAt: copy) }
            case .compactBackup: try using { try $0.main.backup(toFileAt: copy, key: test.other, options: .compact) }
            case .inPlace: try using { try $0.changeKey(to: test.other) }
            case .newFile: try using { try $0.changeKey(to: test.other, mode: .newFile) }
            case .vacuum: try using { try $0.main.vacuum() }
            case .copyTables:
                try using { db in try db.main.copyTables(["t"], to: db.attach(.memory, as: "target", key: nil)) }
            case .diff:
                try using { db in
                    _ = try DatabaseDiff(from: db.main, to: db.attach(.file(test.folder.path("whole.db")), as: "whole", key: test.key)).summary()
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
        return try db.fetchAll(Int.self, "SELECT pageno - 1 FROM dbstat WHERE name = 't' AND pagetype = 'overflow' ORDER BY path").suffix(8)
    }

    @Test(arguments: [0, 1, 2], [DatabaseConfiguration.JournalMode.delete, .wal])
    func nothingTakesThem(autoVacuum: Int, mode: DatabaseConfiguration.JournalMode) throws {
        let pages = try make(autoVacuum, mode)
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        try whole.write(to: URL(fileURLWithPath: folder.path("whole.db")))
        for forgery in Forgery.allCases {
            var forged = whole
            forgery.apply(to: &forged, pages: pages, pageSize: pageSize)
            for operation in Operation.allCases {
                for name in try folder.names() where name != "whole.db" { try FileManager.default.removeItem(atPath: folder.path(name)) }
                try forged.write(to: URL(fileURLWithPath: path))
                let error = #expect(throws: DatabaseError.self, "\(forgery), \(operation)") { try operation.run(self) }
                #expect(error?.code.primary == .corrupt, "\(forgery), \(operation): \(String(describing: error))")
                if operation != .salvage { #expect(!FileManager.default.fileExists(atPath: folder.path("copy.db")), "\(forgery), \(operation)") }
                // And no page has become a right one. The first page says what the journal is, and so may have been written.
                let left = try Data(contentsOf: URL(fileURLWithPath: path))
                #expect(left.dropFirst(pageSize) == forged.dropFirst(pageSize), "\(forgery), \(operation)")
                guard let db = try? Connection(.file(path), key: key) else { continue }
                #expect(try !db.main.verify().problems.isEmpty, "\(forgery), \(operation)")
            }
        }
    }
}
