import Foundation
import KillPoints
import SQLCipherKit
import SweepScenarios

/// Builds the states that a power cut or a kill may leave in the midst of an operation, and opens each as the next process would.
///
/// `CrashStates [--scenario NAME,…] [--mode delete|truncate|persist|wal] [--durability everyCommit|wholeFile|off]
/// [--model weak|ordered|kept] [--sample N] [--seed N]`
///
/// A state of which a check would see nothing else than the check of an earlier one is not checked; with `--each`, it is, and both
/// must find the same. With `--failing`, each change and sync of the operation fails once instead; with `--full`, the disk is full
/// from each write on. `--list` names the scenarios, with their promises for a power cut at each durability.
@main
struct CrashStates {
    static let scenarios = [
        "commits", "create", "attached", "moves", "copies", "migrations", "key-in-place", "key-by-file",
        "key-by-file-after-a-commit", "convert", "encrypt", "encrypt-once", "decrypt", "erase", "vacuum", "backup",
        "backup-over-another", "backup-by-rows", "backup-by-link", "backup-without-links", "export", "restore",
        "restore-by-rows", "restore-pages", "restore-pages-on", "restore-pages-instead", "replicate", "follow", "follow-key",
        "take-over", "restore-earlier", "messages", "synchronize", "exchange", "change-store", "salvage", "open-salvaging",
        "slots-for-a-passphrase", "slots-for-a-raw-key", "slots-add", "slots-remove", "slots-change", "slots-upgrade",
        "slots-rotate-in-place", "slots-rotate-by-file", "import", "import-new", "import-mirror",
    ]

    static func main() {
        let arguments = CommandLine.arguments
        func value(_ name: String) -> String? {
            arguments.firstIndex(of: name).flatMap { arguments.indices.contains($0 + 1) ? arguments[$0 + 1] : nil }
        }
        guard killpoints_supported() == 1 else {
            say("the calls of the C library cannot be recorded on this system")
            exit(77)
        }
        if arguments.contains("--list") { return list() }
        let seed = value("--seed").flatMap { UInt64($0) } ?? UInt64.random(in: 0..<1_000_000)
        let model = value("--model").flatMap { CrashModel(rawValue: $0) } ?? .weak
        say("seed \(seed), file system \(model)")
        let sample = value("--sample").flatMap { Int($0) }, names = value("--scenario")?.split(separator: ",").map { String($0) }
        var states = 0, found = 0
        for name in names ?? scenarios {
            let settings = (value("--mode").map { [$0] } ?? modes(name)).flatMap { mode in
                durabilities.map { SweepScenario.Setting(mode: mode, durability: $0) }
                    .filter { SweepScenario.promise(of: name, $0) != nil }
            }
            for setting in settings where value("--durability").map({ $0 == "\(setting.durability)" }) ?? true {
                let clock = ContinuousClock(), start = clock.now
                // Most of a sample is of the default.
                let share = sample.map { setting.durability == .everyCommit ? $0 : max(1, $0 / 3) }
                let outcome = run(name, setting, model, sample: share, seed: seed)
                (states, found) = (states + outcome.states, found + outcome.problems.count)
                let seconds = Double(Int((clock.now - start) / .milliseconds(1))) / 1000
                let counts = "\(outcome.changes) changes, \(outcome.states) states, \(outcome.checks) checked"
                let title = "\(name), \(setting.mode), \(setting.durability)"
                say("\(title): \(counts), \(seconds) s")
                for (problem, (count, example)) in outcome.problems.sorted(by: { $0.key < $1.key }) {
                    say("FOUND \(title): \(problem) in \(count) states, as \(example)")
                }
            }
        }
        say("crash states: \(states) states, \(found) problems")
        exit(found == 0 ? 0 : 1)
    }

    private static let durabilities: [DatabaseConfiguration.Durability] = [.everyCommit, .wholeFile, .off]

    /// Writes a line for each scenario: its name and its promises with a write-ahead log, with `-` for a durability that its calls
    /// have not.
    private static func list() {
        for name in scenarios {
            let promises = durabilities.map { durability in
                SweepScenario.promise(of: name, SweepScenario.Setting(mode: "wal", durability: durability))?.rawValue ?? "-"
            }
            say(([name] + promises).joined(separator: " "))
        }
    }

    private static func say(_ text: String) {
        print(text)
        fflush(nil)
    }

    private static func modes(_ name: String) -> [String] {
        switch name {
        case "commits": ["delete", "truncate", "persist", "wal"]
        case "slots-upgrade", "import-new": ["delete"]
        case "replicate", "follow", "follow-key", "take-over", "restore-earlier": ["wal"]
        default: ["delete", "wal"]
        }
    }

    /// Runs a scenario in a separate process, which may die of the files that it opens.
    private static func run(
        _ name: String, _ setting: SweepScenario.Setting, _ model: CrashModel, sample: Int?, seed: UInt64
    ) -> CrashRun.Outcome {
        // The checks sync a lot, and need no disk for it.
        let memory = "/dev/shm"
        let parent = access(memory, W_OK) == 0 ? memory : FileManager.default.temporaryDirectory.resolvingSymlinksInPath().path
        let base = parent + "/crash-states-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: base) }
        var outcome = CrashRun.Outcome()
        do { try FileManager.default.createDirectory(atPath: base, withIntermediateDirectories: true) } catch {
            outcome.problems["\(error)"] = (1, "the folder could not be made")
            return outcome
        }
        let result = base + "/result"
        let status = Child.run {
            let run = CrashRun(
                scenario: try SweepScenario.named(name, setting), model: model, mixtures: sample == nil ? 6 : 2, sample: sample,
                isEachChecked: CommandLine.arguments.contains("--each"), base: base)
            let failures = [("--failing", Child.Failure.once), ("--full", .fullDisk)]
            let failure = failures.first { CommandLine.arguments.contains($0.0) }?.1
            let outcome = if let failure { try run.runFailing(failure, seed: seed) } else { try run.run(seed: seed) }
            var lines = ["\(outcome.changes) \(outcome.states) \(outcome.checks)"]
            for (problem, (count, example)) in outcome.problems {
                lines.append([problem.replacingOccurrences(of: "\n", with: " "), "\(count)", example].joined(separator: "\t"))
            }
            try lines.joined(separator: "\n").write(toFile: result, atomically: false, encoding: .utf8)
        }
        let lines = ((try? String(contentsOfFile: result, encoding: .utf8)) ?? "").split(separator: "\n")
        let counts = (lines.first ?? "").split(separator: " ").compactMap { Int($0) }
        if counts.count == 3 { (outcome.changes, outcome.states, outcome.checks) = (counts[0], counts[1], counts[2]) }
        for line in lines.dropFirst() {
            let fields = line.components(separatedBy: "\t")
            if fields.count == 3 { outcome.problems[fields[0]] = (Int(fields[1]) ?? 1, fields[2]) }
        }
        if status != 0 {
            let last = (try? String(contentsOfFile: base + "/current", encoding: .utf8)) ?? "nothing was checked"
            outcome.problems["the process ended with \(status)"] = (1, last)
        }
        return outcome
    }
}
