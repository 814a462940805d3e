import Foundation
import KillPoints
import SQLCipherKit

/// Rewriting a database's own file, and copying it to and from others.
extension SweepScenario {
    private static let count = 12

    static func rewriting(_ action: String, _ setting: Setting) throws -> SweepScenario? {
        var keys = (old: try one(), new: try two()), change: ((String) throws -> Void)?
        switch action {
        case "key-in-place", "key-by-file", "key-by-file-after-a-commit":
            change = { path in
                let db = try Connection(.file(path), key: keys.old, configuration: setting.configuration)
                // With `wholeFile`, the removal of the journal is left to the file system.
                if action == "key-by-file-after-a-commit" { try db.execute("UPDATE t SET x = x") }
                try db.changeKey(to: keys.new, mode: action.hasPrefix("key-by-file") ? .newFile : .inPlace)
                returned()
            }
        case "convert":
            var cipher = quick
            cipher.pageSize = 1024
            keys.new = keys.new.with(cipher: cipher)
        case "erase", "vacuum":
            keys.new = keys.old
            change = { path in
                let db = try Connection(.file(path), key: keys.old, configuration: setting.configuration)
                if action == "erase" { try db.main.eraseDeletedContent() } else { try db.main.vacuum() }
                returned()
            }
        case "encrypt": keys.old = .plaintext
        case "decrypt": keys.new = .plaintext
        default: return nil
        }
        let (old, new) = keys, isInKey = action == "erase" || action == "vacuum", possible = isInKey ? [old] : [old, new]
        return SweepScenario(
            prepare: { folder in
                try make(folder + "/a.db", old, setting.mode, rows: count)
                guard isInKey else { return }
                let db = try Connection(.file(folder + "/a.db"), key: old)
                try db.execute("CREATE TABLE gone AS SELECT * FROM t")
                try db.execute("DROP TABLE gone")
            },
            act: { folder in
                if let change { return try change(folder + "/a.db") }
                try DatabaseConverter.convert(fileAt: folder + "/a.db", from: old, to: new, configuration: setting.configuration)
                returned()
            },
            check: { folder in
                try expect(folder + "/a.db", possible, rows: count)
                try expect(folder, files: ["a.db"])
            },
            hasPlaintext: old.isPlaintext || new.isPlaintext,
            checkError: { try expect($0 + "/a.db", possible, mode: setting.mode) },
            checkReturned: { folder, calls in
                guard calls > 0 else { return }
                try expect(folder + "/a.db", [new], rows: count)
                let free = try intact(folder + "/a.db", new) { db in try db.main.freePageCount }
                if isInKey, free > 0 { throw Wrong(description: "there are \(free) free pages") }
            })
    }

    /// The mark is in the folder of the database, since only changes there are recorded; `EncryptionMark.file` refuses that place.
    static func encryptingOnce(_ action: String, _ setting: Setting) throws -> SweepScenario? {
        guard action == "encrypt-once" else { return nil }
        let key = try one()
        @Sendable func encrypt(_ folder: String) throws {
            let file = folder + "/mark"
            let mark = EncryptionMark(
                isSet: { try OwnFile.contents(of: file, isOwn: true) != nil }, set: { try OwnFile.replace(file, with: [1]) })
            try DatabaseConverter.encryptOnce(fileAt: folder + "/a.db", key: key, mark: mark, configuration: setting.configuration)
        }
        return SweepScenario(
            prepare: { try make($0 + "/a.db", .plaintext, setting.mode, rows: count) },
            act: { folder in
                try encrypt(folder)
                returned()
            },
            check: { folder in
                // The next call goes on from whatever there is, and from then on plaintext is refused.
                try encrypt(folder)
                try expect(folder + "/a.db", [key], rows: count)
                try expect(folder, files: ["a.db", "mark"])
                try FileManager.default.removeItem(atPath: folder + "/a.db")
                try make(folder + "/a.db", .plaintext, "delete", rows: 1)
                do { try encrypt(folder) } catch let error as DatabaseError where error.reason == .notEncrypted { return }
                throw Wrong(description: "plaintext was taken once more")
            },
            hasPlaintext: true,
            checkReturned: { folder, calls in
                guard calls > 0 else { return }
                try expect(folder + "/a.db", [key], rows: count)
                guard names(in: folder).contains("mark") else { throw Wrong(description: "there is no mark") }
            })
    }

    static func copying(_ action: String, _ setting: Setting) throws -> SweepScenario? {
        var options = Schema.BackupOptions(), key = try two(), refused: Int32 = 0
        var previous = 0
        switch action {
        case "backup": break
        case "backup-over-another": (previous, options.replacesFile) = (5, true)
        case "backup-by-rows": options.isCompact = true
        // File systems without an exclusive rename, and file systems without links as well.
        case "backup-by-link": refused = 1
        case "backup-without-links": refused = 3
        case "export": key = .plaintext
        case "restore": return try restoring(from: two(), setting)
        case "restore-by-rows": return try restoring(from: .plaintext, setting)
        default: return nil
        }
        let (copyKey, copyOptions, refusedCalls, before) = (key, options, refused, previous)
        @Sendable func copy(_ folder: String) throws {
            let db = try Connection(.file(folder + "/a.db"), key: one(), configuration: setting.configuration)
            try db.main.backup(toFileAt: folder + "/b.db", key: copyKey, options: copyOptions)
            returned()
        }
        return SweepScenario(
            prepare: { folder in
                try make(folder + "/a.db", one(), setting.mode, rows: count)
                if before > 0 { try make(folder + "/b.db", copyKey, "delete", rows: before) }
            },
            act: { folder in
                killpoints_refuse(refusedCalls)
                try copy(folder)
            },
            check: { folder in
                try expect(folder + "/a.db", [one()], rows: count)
                // A copy that has not got its name yet is made again.
                let size = try? FileManager.default.attributesOfItem(atPath: folder + "/b.db")[.size] as? Int
                if (size ?? 0) == 0 { try copy(folder) }
                let found = try rows(folder + "/b.db", copyKey)
                guard found == count || found == before else { throw Wrong(description: "the copy has \(found) rows") }
                try expect(folder, files: ["a.db", "b.db"])
            },
            hasPlaintext: copyKey.isPlaintext,
            checkReturned: { folder, calls in if calls > 0 { try expect(folder + "/b.db", [copyKey], rows: count) } })
    }

    /// Salvaging a database in its place, or to another file. The rows are in whole pages, and some of them in the log alone.
    static func salvaging(_ action: String, _ setting: Setting) throws -> SweepScenario? {
        if action == "salvage" { return try salvagingToAnotherFile(setting) }
        guard action == "open-salvaging" else { return nil }
        let files = FileManager.default, mode = setting.mode
        @Sendable func open(_ folder: String) throws {
            let (db, _) = try DatabaseConverter.openOrSalvage(
                fileAt: folder + "/a.db", key: one(), configuration: setting.configuration)
            db.close()
        }
        return SweepScenario(
            prepare: { try damage($0, mode) },
            act: { folder in
                try open(folder)
                returned()
            },
            check: { folder in
                try open(folder)
                try expect(folder + "/a.db", [one()], rows: count)
                let path = folder + "/a.db"
                let late = try lateRows(path)
                guard late == (mode == "wal" ? count : 0) else { throw Wrong(description: "\(late) rows of the log") }
                let names = names(in: folder).filter { !$0.hasPrefix("a.db-damaged") }
                guard names == ["a.db"] else { throw Wrong(description: "files \(names)") }
                // One of the copies has all that the damaged file had, with its log.
                let copies = (1...3).map { path + "-damaged" + ($0 > 1 ? "-\($0)" : "") }.filter(files.fileExists(atPath:))
                let whole = try copies.first { copy in
                    let other = folder + "/../from-copy.db"
                    for suffix in ["", "-wal", "-shm"] { try? files.removeItem(atPath: other + suffix) }
                    try DatabaseConverter.salvage(fileAt: copy, key: one(), to: other)
                    return try rows(other, one()) == count && lateRows(other) == late
                }
                if whole == nil { throw Wrong(description: "none of the copies \(copies) has all rows") }
            },
            comparesLogs: true,
            checkReturned: { folder, calls in if calls > 0 { try expect(folder + "/a.db", [one()], rows: count) } })
    }

    /// The number of rows that only the log had.
    private static func lateRows(_ path: String, _ key: DatabaseKey? = nil) throws -> Int {
        try intact(path, key ?? one()) { db in
            try db.fetchOne(Int.self, "SELECT count(*) FROM t WHERE x LIKE '%in the log'") ?? -1
        }
    }

    /// A database with a damaged page. With a write-ahead log, changes to all rows are in the log alone.
    private static func damage(_ folder: String, _ mode: String) throws {
        let path = folder + "/a.db"
        try make(path, one(), mode, rows: count)
        let db = try Connection(.file(path), key: one())
        try db.execute("CREATE TABLE harmed AS SELECT 1 AS x")
        let root = try db.fetchOne(Int.self, "SELECT rootpage FROM sqlite_schema WHERE name = 'harmed'") ?? 2
        if mode == "wal" {
            try db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            try db.execute("UPDATE t SET x = x || ' in the log'")
            for suffix in ["", "-wal"] { try FileManager.default.copyItem(atPath: path + suffix, toPath: path + "kept" + suffix) }
        }
        db.close()
        if mode == "wal" {
            for suffix in ["", "-wal"] {
                unlink(path + suffix)
                try FileManager.default.moveItem(atPath: path + "kept" + suffix, toPath: path + suffix)
            }
        }
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.seek(toOffset: UInt64((root - 1) * 4096 + 100))
        try file.write(contentsOf: Data(repeating: 0, count: 50))
        try file.close()
    }

    /// Salvaging to another file: the damaged one stays as it is, whatever happens.
    private static func salvagingToAnotherFile(_ setting: Setting) throws -> SweepScenario {
        let files = FileManager.default, mode = setting.mode
        @Sendable func salvage(_ folder: String) throws {
            try DatabaseConverter.salvage(
                fileAt: folder + "/a.db", key: one(), to: folder + "/b.db", newKey: two(), configuration: setting.configuration)
        }
        @Sendable func checkCopy(_ folder: String) throws {
            try expect(folder + "/b.db", [two()], rows: count)
            let late = try lateRows(folder + "/b.db", two())
            guard late == (mode == "wal" ? count : 0) else { throw Wrong(description: "\(late) rows of the log") }
        }
        return SweepScenario(
            prepare: { folder in
                try damage(folder, mode)
                for name in names(in: folder) {
                    let before = folder + "/../before-" + name
                    try? files.removeItem(atPath: before)
                    try files.copyItem(atPath: folder + "/" + name, toPath: before)
                }
            },
            act: { folder in
                try salvage(folder)
                returned()
            },
            check: { folder in
                for name in ["a.db"] + (mode == "wal" ? ["a.db-wal"] : []) {
                    guard files.contentsEqual(atPath: folder + "/" + name, andPath: folder + "/../before-" + name) else {
                        throw Wrong(description: "\(name) was changed")
                    }
                }
                // A copy that has not got its name yet is made again.
                if !files.fileExists(atPath: folder + "/b.db") { try salvage(folder) }
                try checkCopy(folder)
                let others = names(in: folder).filter { !$0.hasPrefix("a.db") && $0 != "b.db" }
                guard others.isEmpty else { throw Wrong(description: "there are \(others)") }
            },
            comparesLogs: true,
            checkReturned: { folder, calls in if calls > 0 { try checkCopy(folder) } })
    }

    private static func restoring(from key: DatabaseKey, _ setting: Setting) throws -> SweepScenario {
        SweepScenario(
            prepare: { folder in
                try make(folder + "/a.db", one(), setting.mode, rows: count)
                try make(folder + "/b.db", key, "delete", rows: 5)
            },
            act: { folder in
                let db = try Connection(.file(folder + "/a.db"), key: one(), configuration: setting.configuration)
                try db.main.restore(fromFileAt: folder + "/b.db", key: key)
                returned()
            },
            check: { folder in
                let found = try rows(folder + "/a.db", one())
                guard found == count || found == 5 else { throw Wrong(description: "the database has \(found) rows") }
                try expect(folder + "/b.db", [key], rows: 5)
                try expect(folder, files: ["a.db", "b.db"])
            },
            hasPlaintext: key.isPlaintext,
            checkReturned: { folder, calls in if calls > 0 { try expect(folder + "/a.db", [one()], rows: 5) } })
    }
}
