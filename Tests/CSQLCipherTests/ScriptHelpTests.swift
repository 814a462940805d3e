import Foundation
import TestSupport
import Testing

/// The parts that every script has.
@Suite struct ScriptHelpTests {
    private static let scripts = programs(in: "") + programs(in: "workshop/")

    private static func programs(in folder: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: Repository.file("scripts/\(folder)").path)) ?? []
        return names.filter { !["lib", "workshop", "README.md"].contains($0) && !$0.hasPrefix(".") }.sorted().map { folder + $0 }
    }

    /// Scripts that are not for users of the package are in the workshop, whose page names each machine.
    @Test func scriptsAreListedInTheirFolders() throws {
        #expect(Self.programs(in: "") == ["bench", "docs", "grdb", "quickstart", "release", "setup", "test", "try", "vendor"])
        let page = try String(contentsOf: Repository.file("scripts/workshop/README.md"), encoding: .utf8)
        let listed = page.matches(of: /\n\| `([a-z0-9-]+)/).map { String($0.output.1) }
        #expect(listed.sorted() == Self.programs(in: "workshop/").map { String($0.dropFirst("workshop/".count)) })
    }

    /// The parts that only `scripts/test --long` runs are listed where contributors look for them.
    @Test func contributingListsEachTestPart() throws {
        let outcome = try Command.run(Repository.file("scripts/test").path, ["--list-parts"])
        let page = try String(contentsOf: Repository.file("CONTRIBUTING.md"), encoding: .utf8)
        let parts = outcome.output.matches(of: /(?m)^(\w+) +(\d+) min  (.+)\n +if you change (.+)$/)
        #expect(parts.count > 10)
        for part in parts {
            let (_, name, minutes, what, paths) = part.output
            #expect(page.contains("| `\(name)` | \(what) | \(minutes) | \(paths) |"), "\(name)")
        }
        #expect(page.matches(of: /\n\| `\w+` \| [^|]+ \| \d+ \|/).count == parts.count)
    }

    /// With `--help`, a script says what it is for, and does nothing else.
    @Test(arguments: scripts) func eachScriptHasHelp(name: String) throws {
        let outcome = try Command.run(Repository.file("scripts/\(name)").path, ["--help"])
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome)")
        #expect(outcome.output.hasPrefix("usage: scripts/\(name)") || outcome.output.hasPrefix("usage: \(name)"), "\(outcome)")
        #expect(outcome.output.count > 150)
    }

    /// An option that is misspelt starts nothing.
    @Test(arguments: scripts) func eachScriptRefusesUnknownOptions(name: String) throws {
        let outcome = try Command.run(Repository.file("scripts/\(name)").path, ["--no-such-option"])
        #expect(outcome.status == 2 && !outcome.errors.isEmpty && outcome.output.isEmpty, "\(outcome)")
    }
}
