import Foundation
import KillPoints
import SweepScenarios

/// Builds the states that a power cut or a kill may leave in the midst of an operation, and opens each as the next process would.
///
/// `CrashStates [--scenario NAME,…] [--mode delete|truncate|persist|wal] [--model weak|ordered|kept] [--sample N] [--seed N]`
///
/// A state of which a check would see nothing else than the check of an earlier one is not checked; with `--each`, it is, and both
/// must find the same. With `--failing`, each change and sync of the operation fails once instead; with `--full`, the disk is full
/// from each write on. `--list` names the scenarios.
@main
struct CrashStates {
    static let scenarios = [
        "commits", "create", "attached", "moves", "moves-whole", "copies", "copies-whole",
        "migrations",
        "key-in-place", "key-in-place-without-sync", "key-by-file",
        "key-by-file-after-a-commit", "convert", "encrypt", "encrypt-once", "decrypt", "erase", "vacuum", "backup", "backup-over-another",
        "backup-by-rows", "backup-by-link", "backup-without-links", "export", "restore", "restore-by-rows",
        "restore-pages", "restore-pages-on", "restore-pages-instead", "replicate", "replicate-whole", "follow",
        "follow-whole", "follow-key", "take-over", "restore-earlier", "messages", "messages-whole",
        "synchronize", "synchronize-whole",
        "salvage", "salvage-whole", "salvage-off", "open-salvaging", "open-salvaging-whole", "open-salvaging-off",
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
        if arguments.contains("--list") { return say(scenarios.joined(separator: "\n")) }
        let seed = value("--seed").flatMap { UInt64($0) } ?? UInt64.random(in: 0..<1_000_000)
        let model = value("--model").flatMap { CrashModel(rawValue: $0) } ?? .weak
        say("seed \(seed), file system \(model)")
        var states = 0, found = 0
        for name in value("--scenario").map({ $0.split(separator: ",").map { String($0) } }) ?? scenarios {
            for mode in value("--mode").map({ [$0] }) ?? modes(name) {
                let clock = ContinuousClock(), start = clock.now
                let outcome = run(name, mode, model, sample: value("--sample").flatMap { Int($0) }, seed: seed)
                (states, found) = (states + outcome.states, found + outcome.problems.count)
                let seconds = Double(Int((clock.now - start) / .milliseconds(1))) / 1000
                let counts = "\(outcome.changes) changes, \(outcome.states) states, \(outcome.checks) checked"
                say("\(name), \(mode): \(counts), \(seconds) s")
                for (problem, (count, example)) in outcome.problems.sorted(by: { $0.key < $1.key }) {
                    say("FOUND \(name), \(mode): \(problem) in \(count) states, as \(example)")
                }
            }
        }
        say("crash states: \(states) states, \(found) problems")
        exit(found == 0 ? 0 : 1)
    }

    private static func say(_ text: String) {
        print(text)
        fflush(nil)
    }

    private static func modes(_ name: String) -> [String] {
        switch name {
        case "commits": ["delete", "truncate", "persist", "wal"]
        case "slots-upgrade", "import-new": ["delete"]
        case "replicate", "replicate-whole", "follow", "follow-whole", "follow-key", "take-over", "restore-earlier": ["wal"]
        default: ["delete", "wal"]
        }
    }

    /// Runs a scenario in a separate process, which may die of the files that it opens.
    private static func run(_ name: String, _ mode: String, _ model: CrashModel, sample: Int?, seed: UInt64) -> CrashRun.Outcome {
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
                scenario: try SweepScenario.named(name, mode: mode), model: model, mixtures: sample == nil ? 6 : 2, sample: sample,
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
