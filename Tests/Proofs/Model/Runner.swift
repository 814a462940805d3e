import Foundation
import SQLCipherKit

/// Runs programs, each in a folder of its own.
struct Runner {
    let folder: URL

    init() throws {
        // In memory where the system has such a folder: programs write and sync often.
        let base = FileManager.default.isWritableFile(atPath: "/dev/shm") ? URL(fileURLWithPath: "/dev/shm") : FileManager.default.temporaryDirectory
        folder = base.appendingPathComponent("model-\(ProcessInfo.processInfo.processIdentifier)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    func end() { try? FileManager.default.removeItem(at: folder) }

    /// Runs a program.
    /// - Returns: the difference; nil if both worlds agreed.
    func run(_ program: Program) -> String? {
        let place = folder.appendingPathComponent("run")
        defer { if program.onDisk || program.steps.contains(where: { !($0 is SQLStep) }) { try? FileManager.default.removeItem(at: place) } }
        Watchdog.current.start(program)
        defer { Watchdog.current.stop() }
        do {
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            let world = try World(folder: place, onDisk: program.onDisk, key: program.key)
            for step in program.steps {
                do { try world.run(step) } catch { throw Mismatch(description: "\(error)\n  at: \(step)") }
            }
            // At the end: everything again with the current key, from the file.
            if program.onDisk {
                try world.run(ReopenStep(trying: ModelKey(form: .passphrase("certainly wrong"))))
            } else {
                try world.verify()
            }
            world.db.close()
            return nil
        } catch let error as Unexpected {
            return "the machine itself: \(error)"
        } catch {
            return "\(error)"
        }
    }

    /// Makes a failing program shorter, as long as it fails.
    func shrink(_ program: Program, _ failure: String, until end: Date) -> (Program, String) {
        var best = program, why = failure
        var isShorter = true
        while isShorter {
            isShorter = false
            for steps in shorter(best.steps) {
                if Date() > end { return (best, why) }
                var candidate = best
                candidate.steps = steps
                guard candidate.text.utf8.count < best.text.utf8.count, let failure = run(candidate),
                    failure.hasPrefix("the machine itself") == why.hasPrefix("the machine itself")
                else { continue }
                (best, why) = (candidate, failure)
                isShorter = true
                break
            }
        }
        return (best, why)
    }
}
