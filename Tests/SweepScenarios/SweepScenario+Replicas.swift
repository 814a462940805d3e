import Foundation
import SQLCipherKit
import SQLCipherKitReplication

/// Putting a database together from pages, as a restore from a replica does, and going on after an interruption.
extension SweepScenario {
    private static let count = 12, pageSize = 4096

    static func replicated(_ action: String, _ setting: Setting) throws -> SweepScenario? {
        // The remains of an earlier restore: nothing, half of the pages, or pages of something else.
        let earlier: UInt8
        switch action {
        case "restore-pages": earlier = 0
        case "restore-pages-on": earlier = 1
        case "restore-pages-instead": earlier = 2
        default: return nil
        }
        return SweepScenario(
            prepare: { folder in
                try make(folder + "/a.db", one(), setting.mode, rows: count)
                if earlier > 0 { try leave(earlier, in: folder) }
            },
            act: { folder in
                try restore(folder)
                returned()
            },
            check: { folder in
                try expect(folder + "/a.db", [one()], rows: count)
                let copy = folder + "/b.db"
                if !FileManager.default.fileExists(atPath: copy) {
                    try restore(folder)
                } else if FileManager.default.fileExists(atPath: copy + "-restoring-state") {
                    // A record without pages, whose removal was lost with the power.
                    try expect(copy, [one()], rows: count)
                    unlink(copy)
                    try restore(folder)
                }
                try expect(copy, [one()], rows: count)
                try expect(folder, files: ["a.db", "b.db"])
            },
            checkReturned: { folder, calls in if calls > 0 { try expect(folder + "/b.db", [one()], rows: count) } })
    }

    /// Leaves pages and a record as a restore that was interrupted.
    private static func leave(_ kind: UInt8, in folder: String) throws {
        let pages = try source(folder), file = try RestoredFile(at: folder + "/b.db", replacing: false)
        try pages.withUnsafeBytes { pages in
            for page in 0..<pages.count / pageSize {
                // Pages of something else are in the wrong place, and too many.
                let place = kind == 1 ? page : pages.count / pageSize - page
                try file.write(UnsafeRawBufferPointer(rebasing: pages[page * pageSize..<(page + 1) * pageSize]), at: place * pageSize)
                if page == 2 { try file.record([kind, 3]) }
            }
        }
    }

    private static func source(_ folder: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: folder + "/a.db")) }

    private static func restore(_ folder: String) throws {
        let pages = try source(folder), file = try RestoredFile(at: folder + "/b.db", replacing: false)
        var done = 0
        if let record = file.record {
            if record.first == 1 { done = Int(record[1]) } else { try file.begin() }
        }
        try pages.withUnsafeBytes { pages in
            while done < pages.count / pageSize {
                let page = UnsafeRawBufferPointer(rebasing: pages[done * pageSize..<(done + 1) * pageSize])
                try file.write(page, at: done * pageSize)
                done += 1
                if done % 2 == 0 { try file.record([1, UInt8(done)]) }
            }
        }
        try file.truncate(to: pages.count)
        try file.publish(key: one(), replacing: false)
    }
}
