import Foundation
import Testing
import TestSupport

/// The pages and completions that are generated from the commands' declarations.
@Suite struct CompletionTests {
    @Test func bashCompletesCommandsAndOptions() throws {
        let folder = try TemporaryFolder()
        let script = try Tool.output("--generate-completion-script", "bash")
        try Data(script.utf8).write(to: folder.url.appendingPathComponent("completion"))
        let program = """
            source "$0"
            complete -p sqlcipherkit | grep -o -- '-F [^ ]*' | { read -r _ name; declare -F "$name" > /dev/null && echo "$name"; }
            COMP_WORDS=(sqlcipherkit im) COMP_CWORD=1 COMP_LINE='sqlcipherkit im' COMP_POINT=15
            _sqlcipherkit sqlcipherkit im sqlcipherkit; printf '%s\\n' "${COMPREPLY[@]}"
            COMP_WORDS=(sqlcipherkit query --key-) COMP_CWORD=2 COMP_LINE='sqlcipherkit query --key-' COMP_POINT=25
            _sqlcipherkit sqlcipherkit --key- query; printf '%s\\n' "${COMPREPLY[@]}"
            """
        let outcome = try Command.run("bash", ["-c", program, folder.path("completion")])
        let lines = outcome.output.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        #expect(Array(lines.drop { $0 == "import" || $0 == "_sqlcipherkit" }) == ["--key-file", "--key-env", "--key-fd", "--key-credential"], "\(outcome.errors)")
        #expect(lines.prefix(2) == ["_sqlcipherkit", "import"])
    }

    @Test(arguments: ["zsh", "fish"])
    func zshAndFishCompletionListEveryCommand(shell: String) throws {
        let script = try Tool.output("--generate-completion-script", shell)
        for command in UsageTests.commands { #expect(script.contains(command)) }
    }

    /// The help of every command has its examples, and no line of them is broken.
    @Test func helpHasExamples() throws {
        for command in UsageTests.commands where !["tour", "version"].contains(command) {
            let help = try Tool.output("help", command)
            #expect(help.contains("EXAMPLES\n  sqlcipherkit \(command) ") || help.contains("| sqlcipherkit \(command) "), "\(command)")
            let examples = help.components(separatedBy: "EXAMPLES\n").dropFirst().joined().components(separatedBy: "\n\n")[0]
            let isWhole = examples.split(separator: "\n").allSatisfy { $0.hasPrefix("  ") }
            #expect(isWhole, "\(command)")
        }
    }
}
