import Foundation
import TestSupport
import Testing

/// What every script has.
@Suite struct ScriptHelpTests {
    private static let scripts: [String] = {
        let folder = Repository.file("scripts")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { $0 != "lib" && !$0.hasPrefix(".") }.sorted()
    }()

    @Test func theScriptsAreFound() { #expect(Self.scripts.count >= 17) }

    /// It does nothing but say what the script is for.
    @Test(arguments: scripts) func eachHasHelp(name: String) throws {
        let outcome = try Command.run(Repository.file("scripts/\(name)").path, ["--help"])
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome)")
        #expect(outcome.output.hasPrefix("usage: scripts/\(name)") || outcome.output.hasPrefix("usage: \(name)"), "\(outcome)")
        #expect(outcome.output.count > 150)
    }

    /// An option that is misspelt starts nothing.
    @Test(arguments: scripts) func eachRefusesWhatItDoesNotKnow(name: String) throws {
        let outcome = try Command.run(Repository.file("scripts/\(name)").path, ["--no-such-option"])
        #expect(outcome.status == 2 && !outcome.errors.isEmpty && outcome.output.isEmpty, "\(outcome)")
    }
}
