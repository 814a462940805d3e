import Foundation
import SQLCipherKit

/// `Model [--seed N] [--minutes M | --cases N] [--seed-only N]`
@main
struct Main {
    static func main() throws {
        let arguments = CommandLine.arguments
        func number(_ name: String) -> Double? {
            arguments.firstIndex(of: name).flatMap { $0 + 1 < arguments.count ? Double(arguments[$0 + 1]) : nil }
        }
        let runner = try Runner()
        defer { runner.end() }
        Watchdog.current.begin()
        if let seed = number("--seed-only") {
            let program = Sketch.program(seed: UInt64(seed))
            print(program.text)
            let failure = runner.run(program)
            print(failure.map { "FOUND seed \(program.seed): \($0)" } ?? "agrees")
            return
        }
        let first = UInt64(number("--seed") ?? 1), cases = number("--cases").map { Int($0) } ?? .max
        let start = Date(), end = number("--minutes").map { start + $0 * 60 } ?? (cases == .max ? start + 60 : .distantFuture)
        var done = 0, steps = 0, found = 0
        while done < cases, Date() < end, found < 5 {
            let program = Sketch.program(seed: first + UInt64(done))
            done += 1
            steps += program.steps.count
            guard let failure = runner.run(program) else { continue }
            found += 1
            let seconds = Int(Date().timeIntervalSince(start))
            let (shortest, why) = runner.shrink(program, failure, until: Date() + 60)
            print("FOUND seed \(program.seed) after \(done) programs, \(seconds) s: \(why)\n\(shortest.text)\n")
        }
        let seconds = Date().timeIntervalSince(start)
        print("Model: \(done) programs with \(steps) steps in \(Int(seconds)) s from seed \(first), \(found) findings")
        if found > 0 {
            runner.end()
            exit(1)
        }
    }
}
