import Foundation
import KillPoints
import SQLCipherKit

/// Rewriting a database's own file, and copying it to and from others.
extension SweepScenario {
    private static let count = 12

    static func rewriting(_ action: String, _ mode: String) throws -> SweepScenario? {
        var keys = (old: try one(), new: try two()), change: ((String) throws -> Void)?
        switch action {
        case "key-in-place", "key-in-place-without-sync", "key-by-file", "key-by-file-after-a-commit":
            change = { path in
                let db = try Connection(.file(path), key: keys.old)
                if action == "key-in-place-without-sync" { try db.main.setSynchronous(.off) }
                if action == "key-by-file-after-a-commit" {
                    // It leaves the removal of the journal to the file system.
                    try db.main.setSynchronous(.full)
                    try db.execute("UPDATE t SET x = x")
                }
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
                let db = try Connection(.file(path), key: keys.old)
                if action == "erase" { try db.main.erase() } else { try db.main.vacuum() }
                returned()
            }
        case "encrypt": keys.old = .plaintext
        case "decrypt": keys.new = .plaintext
        default: return nil
        }
        let (old, new) = keys, isInKey = action == "erase" || action == "vacuum", possible = isInKey ? [old] : [old, new]
        return SweepScenario(
            prepare: { folder in
                try make(folder + "/a.db", old, mode, rows: count)
                guard isInKey else { return }
                let db = try Connection(.file(folder + "/a.db"), key: old)
                try db.execute("CREATE TABLE gone AS SELECT * FROM t")
                try db.execute("DROP TABLE gone")
            },
            act: { folder in
                if let change { return try change(folder + "/a.db") }
                try DatabaseConverter.convert(fileAt: folder + "/a.db", from: old, to: new)
                returned()
            },
            check: { folder in
                try expect(folder + "/a.db", possible, rows: count)
                try expect(folder, files: ["a.db"])
            },
            hasPlaintext: old.isPlaintext || new.isPlaintext,
            checkError: { try expect($0 + "/a.db", possible, mode: mode) },
            checkReturned: { folder, calls in
                guard calls > 0 else { return }
                try expect(folder + "/a.db", [new], rows: count)
                let free = try intact(folder + "/a.db", new) { db in try db.main.freePageCount }
                if isInKey, free > 0 { throw Wrong(description: "there are \(free) free pages") }
            })
    }

    static func copying(_ action: String, _ mode: String) throws -> SweepScenario? {
        var options = BackupOptions(), key = try two(), refused: Int32 = 0
        var previous = 0
        switch action {
        case "backup": break
        case "backup-over-another": (previous, options.replacesFile) = (5, true)
        case "backup-by-rows": options.isCompact = true
        // File systems without an exclusive rename, and file systems without links as well.
        case "backup-by-link": refused = 1
        case "backup-without-links": refused = 3
        case "export": key = .plaintext
        case "restore": return try restoring(from: two(), mode)
        case "restore-by-rows": return try restoring(from: .plaintext, mode)
        default: return nil
        }
        let (copyKey, copyOptions, refusedCalls, before) = (key, options, refused, previous)
        @Sendable func copy(_ folder: String) throws {
            let db = try Connection(.file(folder + "/a.db"), key: one())
            try db.main.backup(toFileAt: folder + "/b.db", key: copyKey, options: copyOptions)
            returned()
        }
        return SweepScenario(
            prepare: { folder in
                try make(folder + "/a.db", one(), mode, rows: count)
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

    private static func restoring(from key: Encryption, _ mode: String) throws -> SweepScenario {
        SweepScenario(
            prepare: { folder in
                try make(folder + "/a.db", one(), mode, rows: count)
                try make(folder + "/b.db", key, "delete", rows: 5)
            },
            act: { folder in
                try Connection(.file(folder + "/a.db"), key: one()).main.restore(fromFileAt: folder + "/b.db", key: key)
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
