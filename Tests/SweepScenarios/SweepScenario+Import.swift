import Foundation
import SQLCipherKit

/// The tool's `import` of rows and documents in small batches: into an existing database, into a new database, and of sources
/// that have changed: rows by their key, and documents as a mirror of their folder.
extension SweepScenario {
    static func importing(_ action: String, _ setting: Setting) throws -> SweepScenario? {
        guard ["import", "import-new", "import-mirror"].contains(action) else { return nil }
        let (isNew, isMirror) = (action == "import-new", action == "import-mirror"), key = try ImportSweep.key()
        @Sendable func sweep(_ folder: String) -> ImportSweep { ImportSweep(folder: folder, isMirror: isMirror) }
        // The result of an undisturbed import, which each check in a process compares with.
        nonisolated(unsafe) var undisturbed: [String]?
        return SweepScenario(
            prepare: { folder in
                let sweep = sweep(folder), fileManager = FileManager.default
                if !isNew { try make(sweep.path, key, setting.mode, rows: 3) }
                if isMirror {
                    try sweep.write(ImportSweep.old)
                    try sweep.run(into: sweep.path)
                }
                try sweep.write(ImportSweep.new)
                // The result of an undisturbed import.
                if !isNew { try fileManager.copyItem(atPath: sweep.path, toPath: sweep.whole) }
                try sweep.run(into: sweep.whole)
            },
            act: { folder in try sweep(folder).run(into: folder + "/a.db") { returned() } },
            check: { folder in
                let sweep = sweep(folder)
                // A copy would be a read of all bytes, so that no two states were alike to the check (`CrashVerdicts`).
                if FileManager.default.fileExists(atPath: sweep.path) { try intact(sweep.path, key, sweep.expectBatches) }
                try sweep.run(into: sweep.path)
                let found = try intact(sweep.path, key, sweep.content)
                let whole = try undisturbed ?? intact(sweep.whole, key, sweep.content)
                undisturbed = whole
                let differences = found.difference(from: whole).map { change in
                    switch change {
                    case .insert(_, let line, _): "has too much: \(line.prefix(60))"
                    case .remove(_, let line, _): "lacks \(line.prefix(60))"
                    }
                }
                if let first = differences.first { throw Wrong(description: "the database \(first)") }
                try expect(folder, files: ["a.db"])
            },
            checkReturned: { folder, calls in
                let sweep = sweep(folder)
                if calls > 0 { try intact(sweep.path, key) { db in try sweep.expectImported(calls, db) } }
            }, getReady: { folder in try sweep(folder).parse() })
    }
}
