import Foundation
import TestSupport
import Testing

/// Runs the cases of Tests/Contract: every public call against every promise that its table says they hold. A driver's cases run in
/// processes of their own, so that one which traps or hangs is a line of its report.
@Suite struct ContractTests {
    /// The drivers, and the promises that each of them tries.
    private static let drivers: [(String, [String])] = [
        ("texts", ["3", "4"]), ("kinds", ["7"]), ("situations", ["1", "5", "6"]), ("kills", ["2"]), ("forks", []), ("memory", []), ("calls", []),
    ]

    @Test(arguments: drivers.map(\.0))
    func everyCallKeepsItsPromises(driver: String) throws { try run(driver) }

    /// By itself, since scripts/workshop/check-threads runs nothing else of these.
    @Test func concurrentCallsKeepTheirContract() throws { try run("races") }

    private func run(_ driver: String) throws {
        let folder = try TemporaryFolder()
        var environment: [String: String] = [:]
        #if os(Linux)
        if driver == "calls" { environment["LD_PRELOAD"] = try FaultLibrary.path() }
        #endif
        let outcome = try Command.run(BuildProducts.executable("Contract"), [folder.path("work"), driver], environment: environment)
        let lines = outcome.output.split(separator: "\n"), failures = lines.filter { $0.hasPrefix("FAILED") }
        #expect(failures.isEmpty, "\(failures.joined(separator: "\n"))")
        #expect(outcome.status == 0 && lines.last?.hasPrefix("tried ") == true, "\(outcome.output.suffix(2000)) \(outcome.errors.suffix(2000))")
        if let last = lines.last { print("contract, \(driver): \(last)") }
        // The tables' statements about this driver.
        let covered = Set(lines.filter { $0.hasPrefix("covered ") }.flatMap { line in
            let words = line.split(separator: " ").map(String.init)
            return words.dropFirst().dropLast().map { "\($0) \(words.last ?? "")" }
        })
        let promises = Self.drivers.first { $0.0 == driver }?.1 ?? []
        let generated = try Self.generated().filter { cell in promises.contains { cell.hasPrefix($0 + " ") } }
        let missing = generated.subtracting(covered)
        #expect(missing.isEmpty, "no case of the family tries this promise: \(missing.sorted())")
    }

    /// The cells of the tables that say `generated`, as `PROMISE FAMILY`.
    private static func generated() throws -> Set<String> {
        var cells: Set<String> = []
        for table in try FileManager.default.contentsOfDirectory(atPath: Repository.file("Tests/Contract/Tables").path) {
            var family = ""
            for line in try String(contentsOf: Repository.file("Tests/Contract/Tables/" + table), encoding: .utf8).split(separator: "\n") {
                let words = line.split(separator: " ")
                if words.first == "family" { family = String(words[1].dropLast()) }
                if words.last == "generated" { cells.formUnion(words.dropLast().map { "\($0) \(family)" }) }
            }
        }
        return cells
    }
}
