import ArgumentParser

/// Suggests the command that a mistyped one was probably meant to be.
enum Misspelling {
    /// The message about a first argument that is not a command; nil if it is a command or an option.
    static func message(for arguments: some Sequence<String>) -> String? {
        guard let word = arguments.first(where: { _ in true }), !word.isEmpty, !word.hasPrefix("-") else { return nil }
        let configuration = SQLCipherKitCommand.configuration
        let commands = configuration.subcommands + configuration.groupedSubcommands.flatMap(\.subcommands)
        let names = commands.compactMap { $0.configuration.commandName } + ["help"]
        if names.contains(word) { return nil }
        let message = "there is no command '\(word)'"
        guard let nearest = nearest(to: word, of: names) else { return message }
        return message + ": did you mean '\(nearest)'?"
    }

    /// The name that the fewest changes lead to: at most two, and fewer than half of the word's letters.
    static func nearest(to word: String, of names: [String]) -> String? {
        let found = names.map { (name: $0, changes: changes(from: Array(word), to: Array($0))) }.min { $0.changes < $1.changes }
        guard let found, found.changes <= 2, 2 * found.changes < word.count else { return nil }
        return found.name
    }

    /// How many letters must be inserted, deleted or replaced (the Levenshtein distance).
    private static func changes(from word: [Character], to other: [Character]) -> Int {
        var row = Array(0...other.count)
        for (i, letter) in word.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, wanted) in other.enumerated() {
                let next = min(row[j] + 1, row[j + 1] + 1, diagonal + (letter == wanted ? 0 : 1))
                diagonal = row[j + 1]
                row[j + 1] = next
            }
        }
        return row[other.count]
    }
}
