import ArgumentParser
import SQLCipherKit

/// Suggests the command that a mistyped one was probably meant to be.
enum Misspelling {
    /// The names of all commands.
    static var commands: [String] {
        let configuration = SQLCipherKitCommand.configuration
        let commands = configuration.subcommands + configuration.groupedSubcommands.flatMap(\.subcommands)
        return commands.compactMap { $0.configuration.commandName } + ["help"]
    }

    /// The message about a first argument that is not a command; nil if it is a command or an option.
    static func message(for arguments: some Sequence<String>) -> String? {
        guard let word = arguments.first(where: { _ in true }), !word.isEmpty, !word.hasPrefix("-") else { return nil }
        if commands.contains(word) { return nil }
        let message = "there is no command '\(word)'"
        if let advice = NamesElsewhere.advice(about: word, NamesElsewhere.arguments) { return "\(message): use \(advice)" }
        if FileOptions.exists(word) { return nil }
        if word.contains(where: { "./".contains($0) }) { return "\(message), and no file: sqlcipherkit create FILE creates one" }
        guard let nearest = nearest(to: word, of: commands) else { return message }
        return message + ": did you mean '\(nearest)'?"
    }

    /// The name that the fewest changes lead to: at most two, and fewer than half of the word's letters.
    static func nearest(to word: String, of names: [String]) -> String? {
        names.filter { $0.isNearly(word) }.min { $0.changes(to: word) < $1.changes(to: word) }
    }
}
