import Foundation
import KillPoints
import SQLCipherKit
import SweepScenarios
import TestSupport

/// A scenario that is recorded once, and then checked after each of its power cuts.
struct CrashRun {
    /// The coverage and the findings.
    struct Outcome {
        var changes = 0, states = 0, checks = 0, problems: [String: (count: Int, example: String)] = [:]
    }

    let scenario: SweepScenario
    let model: CrashModel
    let mixtures: Int
    /// The greatest number of states to check.
    let sample: Int?
    /// True to check states too that an earlier check has judged, and to compare.
    let isEachChecked: Bool
    /// Holds the folder of the scenario, which stays at its path, as journals contain it.
    let base: String
    private var folder: String { base + "/work" }
    /// Links to the databases that the run has left, by their inodes.
    private var held: String { base + "/held" }

    /// Records the run in a process of its own.
    private func record() throws -> CrashLog {
        let start = base + "/start", log = base + "/log"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        guard Child.run({ try scenario.prepare(folder) }) == 0 else { throw SweepScenario.Wrong(description: "no start") }
        try FileManager.default.copyItem(atPath: folder, toPath: start)
        var inodes: [String: UInt64] = [:]
        for name in SweepScenario.names(in: folder) {
            var info = stat()
            guard lstat(folder + "/" + name, &info) == 0 else { continue }
            inodes[name] = UInt64(info.st_ino)
        }
        let status = Child.run {
            guard killpoints_record(folder, log) == 0 else { throw SweepScenario.Wrong(description: "no log") }
            try scenario.act(folder)
        }
        try FileManager.default.createDirectory(atPath: held, withIntermediateDirectories: true)
        for name in SweepScenario.names(in: folder) where name.hasSuffix(".db") {
            var info = stat()
            if lstat(folder + "/" + name, &info) == 0 { link(folder + "/" + name, "\(held)/\(info.st_ino)") }
        }
        guard status == 0, let bytes = FileManager.default.contents(atPath: log) else {
            throw SweepScenario.Wrong(description: "the run ended with \(status)")
        }
        return try CrashLog(folder: start, inodes: inodes, log: bytes)
    }

    func run(seed: UInt64) throws -> Outcome {
        var random = SeededGenerator(state: seed), outcome = Outcome()
        var verdicts = CrashVerdicts(comparesLogs: scenario.comparesLogs)
        let log = try record(), model = scenario.promise == .nothing ? .kept : model
        outcome.changes = log.changes.count
        var seen: Set<[Int]> = [], cuts = CrashCuts(log: log, model: model, mixtures: mixtures).all(&random)
        if sample != nil { cuts.shuffle(using: &random) }
        for cut in cuts where outcome.checks < sample ?? .max {
            // A cut that leaves all changes may be a kill.
            let isPromised = scenario.promise != .whole || cut.missing.isEmpty
            let state = CrashState(cut, of: log), calls = isPromised ? log.calls(before: cut.end) : -1
            guard seen.insert([state.fingerprint, calls]).inserted else { continue }
            outcome.states += 1
            let story = Self.story(cut, log)
            func note(_ problem: String) {
                outcome.problems[Self.kind(problem), default: (0, "\(story): \(problem)")].count += 1
            }
            if !scenario.hasPlaintext, let name = state.name(with: SweepScenario.marker) { note("\(name) is plaintext") }
            let known = verdicts.verdict(on: state, calls: calls)
            if let known, !isEachChecked {
                if let known { outcome.problems[known]?.count += 1 }
                continue
            }
            outcome.checks += 1
            // If this process dies, the last one is to blame.
            try? story.write(toFile: base + "/current", atomically: false, encoding: .utf8)
            var problem: String?
            try state.write(to: folder, log.inodes, held: held)
            let reads = try CrashReads(in: folder) {
                do {
                    if isPromised { try scenario.checkReturned(folder, calls) }
                    try scenario.check(folder)
                } catch { problem = "\(error)".replacingOccurrences(of: base, with: "") }
            }
            if let problem { note(problem) }
            let verdict = problem.map(Self.kind)
            if let known, known != verdict { note("an equal state was judged differently: \(known ?? "no problem")") }
            if known == nil { verdicts.note(verdict, on: state, calls: calls, reads) }
        }
        return outcome
    }

    /// Runs the action again and again, and lets one change or sync fail each time, until none does; or fills the disk, each time
    /// from a later write on.
    func runFailing(_ failure: Child.Failure, seed: UInt64) throws -> Outcome {
        var random = SeededGenerator(state: seed), outcome = Outcome(), number = 1, step = 1
        if let sample {
            step = max(1, try record().changes.count(where: \.isOfContent) / sample)
            number = Int.random(in: 1...step, using: &random)
        }
        // Some scenarios have more beside the folder.
        let place = base + "/failing", folder = place + "/work", log = base + "/log"
        func note(_ problem: String) {
            let example = "call \(number) failed, with \(SweepScenario.names(in: folder))"
            outcome.problems[problem, default: (0, example)].count += 1
        }
        try scenario.getReady(folder)
        while true {
            try? FileManager.default.removeItem(atPath: place)
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            guard Child.run({ try scenario.prepare(folder) }) == 0 else { throw SweepScenario.Wrong(description: "no start") }
            let status = Child.run(failingAt: number, as: failure) {
                guard killpoints_record(folder, log) == 0 else { throw SweepScenario.Wrong(description: "no log") }
                do { try scenario.act(folder) } catch where failure == .fullDisk && Self.isFull(error) {}
            }
            // The action may have thrown, or succeeded without that call.
            let isStruck = Int(status) & KILLPOINTS_STRUCK != 0 && status < 128
            if !isStruck, status != 0 { note("the action ended with \(status)") }
            if isStruck, failure == .fullDisk, Int(status) != KILLPOINTS_STRUCK { note("the error is not that the disk is full") }
            if let problem = scenario.exposure(in: folder) { note(problem) }
            let end = Child.run {
                if isStruck, failure == .once { try scenario.checkError(folder) }
                let log = try CrashLog(folder: folder, inodes: [:], log: Data(contentsOf: URL(fileURLWithPath: log)))
                try scenario.checkReturned(folder, log.calls(before: log.changes.count))
                try scenario.check(folder)
            }
            if end != 0 { note(isStruck ? "wrong after a failed call" : "wrong at the end") }
            guard isStruck else { return outcome }
            outcome.states += 1
            number += step
        }
    }

    /// True if an error says that there is no room. SQLite's error for the memory that processes share is SQLITE_IOERR_SHMSIZE.
    private static func isFull(_ error: any Error) -> Bool {
        // The tool's errors are texts.
        guard let error = error as? DatabaseError else { return "\(error)".contains("disk is full") }
        if let cause = error.underlyingError, isFull(cause) { return true }
        return error.code.primary == .full || error.code.rawValue == 10 | 19 << 8 || error.message.contains("No space left on device")
    }

    /// Without its numbers, so that similar problems count as one.
    private static func kind(_ problem: String) -> String {
        let words = problem.split(whereSeparator: { "[]".contains($0) }).map { part in
            part.contains("Problem.") ? "…" : part.split(whereSeparator: \.isNumber).joined(separator: "#")
        }
        return words.joined()
    }

    private static func story(_ cut: CrashCut, _ log: CrashLog) -> String {
        let missing = cut.missing.sorted { $0.key < $1.key }.map { number, extent in
            switch extent {
            case .none: "\(number) \(log.changes[number])"
            case .bytes(let bytes): "\(number) \(log.changes[number]) but for its bytes \(bytes)"
            }
        }
        let last = cut.end > 0 ? "\(cut.end - 1) \(log.changes[cut.end - 1])" : "nothing"
        let shown = missing.prefix(8).joined(separator: ", ") + (missing.count > 8 ? " and \(missing.count - 8) more" : "")
        return "cut after \(last)" + (missing.isEmpty ? "" : ", without \(shown)")
    }
}

/// Code that runs in a forked process.
enum Child {
    private final class Body {
        let run: () throws -> Void

        init(_ run: @escaping () throws -> Void) { self.run = run }
    }

    /// The calls that fail on purpose: one change or sync, or all writes from one on.
    enum Failure { case once, fullDisk }

    /// Returns 0, 1 after an error, which is printed, or 128 and a signal; plus `KILLPOINTS_STRUCK` if a call failed on purpose.
    static func run(failingAt number: Int = 0, as failure: Failure = .once, _ body: @escaping () throws -> Void) -> Int32 {
        let body = Body(body)
        return withExtendedLifetime(body) {
            killpoints_run(number, Int32(failure == .once ? KILLPOINTS_FAIL : KILLPOINTS_FULL), { context in
                guard let context else { return 1 }
                do {
                    try Unmanaged<Body>.fromOpaque(context).takeUnretainedValue().run()
                    return 0
                } catch {
                    print("error: \(error)")
                    return 1
                }
            }, Unmanaged.passUnretained(body).toOpaque())
        }
    }
}
