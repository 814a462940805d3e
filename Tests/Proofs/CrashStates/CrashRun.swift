import Foundation
import KillPoints
import SweepScenarios
import TestSupport

/// A scenario that is recorded once, and then checked after each of its power cuts.
struct CrashRun {
    /// The coverage and the findings.
    struct Outcome {
        var changes = 0, states = 0, problems: [String: (count: Int, example: String)] = [:]
    }

    let scenario: SweepScenario
    let model: CrashModel
    let mixtures: Int
    /// The greatest number of states to check.
    let sample: Int?
    /// Holds the folder of the scenario, which stays at its path, as journals contain it.
    let base: String
    private var folder: String { base + "/work" }

    /// Records the run in a process of its own.
    private func record() throws -> CrashLog {
        let start = base + "/start", log = base + "/log"
        try FileManager.default.createDirectory(atPath: start, withIntermediateDirectories: true)
        guard Child.run({ try scenario.prepare(start) }) == 0 else { throw SweepScenario.Wrong(description: "no start") }
        try FileManager.default.copyItem(atPath: start, toPath: folder)
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
        guard status == 0, let bytes = FileManager.default.contents(atPath: log) else {
            throw SweepScenario.Wrong(description: "the run ended with \(status)")
        }
        return try CrashLog(folder: start, inodes: inodes, log: bytes)
    }

    func run(seed: UInt64) throws -> Outcome {
        var random = SeededGenerator(state: seed), outcome = Outcome()
        let log = try record()
        outcome.changes = log.changes.count
        var seen: Set<[Int]> = [], cuts: [CrashCut] = [], possible = CrashCuts(log: log, model: model, mixtures: mixtures).all(&random)
        if sample != nil { possible.shuffle(using: &random) }
        for cut in possible where cuts.count < sample ?? .max {
            let state = CrashState(cut, of: log)
            if seen.insert([state.fingerprint, log.calls(before: cut.end)]).inserted { cuts.append(cut) }
        }
        outcome.states = cuts.count
        for cut in cuts {
            let story = Self.story(cut, log)
            // If this process dies, the last one is to blame.
            try? story.write(toFile: base + "/current", atomically: false, encoding: .utf8)
            do {
                try CrashState(cut, of: log).write(to: folder)
                if let problem = scenario.exposure(in: folder) { throw SweepScenario.Wrong(description: problem) }
                try scenario.checkReturned(folder, log.calls(before: cut.end))
                try scenario.check(folder)
            } catch {
                let problem = "\(error)".replacingOccurrences(of: base, with: "")
                outcome.problems[Self.kind(problem), default: (0, "\(story): \(problem)")].count += 1
            }
        }
        return outcome
    }

    /// Runs the action again and again from its start, and lets one change or sync fail each time, until none does.
    func runFailing() throws -> Outcome {
        var outcome = Outcome()
        let start = base + "/start"
        func note(_ problem: String) {
            let example = "call \(outcome.states) failed, with \(SweepScenario.names(in: folder))"
            outcome.problems[problem, default: (0, example)].count += 1
        }
        try FileManager.default.createDirectory(atPath: start, withIntermediateDirectories: true)
        guard Child.run({ try scenario.prepare(start) }) == 0 else { throw SweepScenario.Wrong(description: "no start") }
        while true {
            try? FileManager.default.removeItem(atPath: folder)
            try FileManager.default.copyItem(atPath: start, toPath: folder)
            let status = Child.run(failingAt: outcome.states + 1) { try scenario.act(folder) }
            // The action may have thrown, or succeeded without that call.
            guard Int(status) & KILLPOINTS_STRUCK != 0, status < 128 else {
                if status != 0 { note("the action ended with \(status)") }
                if Child.run({ try scenario.check(folder) }) != 0 { note("wrong at the end") }
                return outcome
            }
            outcome.states += 1
            if let problem = scenario.exposure(in: folder) { note(problem) }
            if Child.run({ try scenario.checkError(folder); try scenario.check(folder) }) != 0 { note("wrong after a failed call") }
        }
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

    /// Returns 0, 1 after an error, which is printed, or 128 and a signal; plus `KILLPOINTS_STRUCK` if a call failed on purpose.
    static func run(failingAt number: Int = 0, _ body: @escaping () throws -> Void) -> Int32 {
        let body = Body(body)
        return withExtendedLifetime(body) {
            killpoints_run(number, Int32(KILLPOINTS_FAIL), { context in
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
