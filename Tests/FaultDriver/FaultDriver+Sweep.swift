import Foundation
import KillPoints
import SQLCipherKit
import SweepScenarios

/// Kills an action at every change that it makes to the file system, and checks each time what is left.
///
/// `sweep ACTION FOLDER MODE all` kills at each change; `names` only at changes that create, rename or remove a file; with `fail`,
/// each change and sync fails once instead. Each attempt starts from the same state, in its own process. The sweep ends when the
/// action completes, and prints how many attempts there were and what was wrong.
extension FaultDriver {
    static func runSweep(_ action: String, _ arguments: [String]) throws {
        guard arguments.count == 3 else { throw DatabaseError(message: "sweep ACTION FOLDER MODE all|names|fail") }
        let how = ["names": KILLPOINTS_NAMES, "fail": KILLPOINTS_FAIL][arguments[2]] ?? KILLPOINTS_ALL
        guard killpoints_supported() == 1 else { return say("unsupported") }
        let start = arguments[0] + "/start", work = arguments[0] + "/work"
        let scenario = try SweepScenario.named(action, mode: arguments[1])
        try FileManager.default.createDirectory(atPath: start, withIntermediateDirectories: true)
        guard child({ try scenario.prepare(start) }) == 0 else { throw DatabaseError(message: "the start could not be made") }
        var kills = 0
        for number in 1... {
            try? FileManager.default.removeItem(atPath: work)
            try FileManager.default.copyItem(atPath: start, toPath: work)
            let status = child(struckAt: number, how: how) { try scenario.act(work) }
            if status == 0 {
                if child({ try scenario.check(work) }) != 0 { say("wrong: at the end") }
                say("kills: \(kills)")
                return
            }
            // After a failed call, the action may have thrown, or succeeded without that call.
            let isExpected = how == KILLPOINTS_FAIL ? Int(status) & KILLPOINTS_STRUCK != 0 : status == 128 + SIGKILL
            guard isExpected else { throw DatabaseError(message: "\(action) ended with \(status) at change \(number)") }
            kills += 1
            if let problem = scenario.exposure(in: work) { say("wrong: struck at change \(number): \(problem)") }
            let left = SweepScenario.names(in: work)
            let check = { (folder: String) in
                if how == KILLPOINTS_FAIL { try scenario.checkError(folder) }
                try scenario.check(folder)
            }
            if child({ try check(work) }) != 0 { say("wrong: struck at change \(number), which left \(left)") }
        }
    }

    private final class Body {
        let run: () throws -> Void

        init(_ run: @escaping () throws -> Void) { self.run = run }
    }

    /// Runs `body` in a child process. Prints the error that it throws.
    private static func child(struckAt number: Int = 0, how: Int = KILLPOINTS_ALL, _ body: @escaping () throws -> Void) -> Int32 {
        let body = Body(body)
        return withExtendedLifetime(body) {
            killpoints_run(number, Int32(how), { context in
                guard let context else { return 1 }
                do {
                    try Unmanaged<Body>.fromOpaque(context).takeUnretainedValue().run()
                    return 0
                } catch {
                    FaultDriver.say("error: \(error)")
                    return 1
                }
            }, Unmanaged.passUnretained(body).toOpaque())
        }
    }
}
