import SQLCipherKit

/// The commands of the shell that are not SQL.
enum DotCommand: String, CaseIterable {
    case attach, databases, detach, help, mode, quit, schema, tables, timer

    private var usage: String {
        switch self {
        case .attach: ".attach NAME=PATH [SOURCE]"
        case .databases: ".databases"
        case .detach: ".detach NAME"
        case .help: ".help"
        case .mode: ".mode FORMAT"
        case .quit: ".quit"
        case .schema: ".schema [NAME…]"
        case .tables: ".tables"
        case .timer: ".timer on|off"
        }
    }

    private var meaning: String {
        switch self {
        case .attach: "attach a database; its key is asked for, or comes from SOURCE as with --attach-key"
        case .databases: "show the databases and their files"
        case .detach: "detach a database"
        case .help: "show this"
        case .mode: "how rows are shown: " + OutputFormat.allCases.map(\.rawValue).joined(separator: ", ")
        case .quit: "leave; control-D does, too"
        case .schema: "show the SQL that made tables, indexes, views and triggers"
        case .tables: "show the names of tables and views"
        case .timer: "show how long each statement takes"
        }
    }

    /// Whether the history may keep a line: not one that no command understands, as a word of it may be a key that was typed in
    /// the place of its source.
    static func isFitForHistory(_ line: String) -> Bool {
        let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
        guard let name = words.first?.dropFirst(), name == "exit" || Self(rawValue: String(name)) != nil else { return false }
        guard name == attach.rawValue else { return true }
        return words.count == 2 || words.count == 3 && (try? Attachment(name: "", path: "", source: words[2])) != nil
    }

    /// Runs a line that begins with a dot.
    /// - Returns: whether the shell goes on.
    static func run(_ line: String, in shell: Shell) throws -> Bool {
        let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
        let name = words[0].dropFirst()
        guard let command = name == "exit" ? .quit : Self(rawValue: String(name)) else {
            throw Failure("there is no command \(words[0]): .help shows those that there are", status: .usage)
        }
        if command == .quit { return false }
        try command.run(Array(words.dropFirst()), shell)
        return true
    }

    private func run(_ words: [String], _ shell: Shell) throws {
        switch (self, words.count) {
        case (.help, 0):
            let width = Self.allCases.map(\.usage.count).max() ?? 0
            for command in Self.allCases { Output.line(command.usage.padded(toColumns: width) + "  " + command.meaning) }
            Output.line("\nSQL ends with a semicolon, and may go over several lines. Control-C stops a statement.")
        case (.tables, 0): for name in try SchemaText.tables(shell.db) { Output.line(name.onOneLine) }
        case (.schema, _): for statement in try SchemaText.statements(shell.db, words) { Output.line(statement.onItsLines) }
        case (.databases, 0):
            let writer = shell.format.writer(["name", "file"])
            for database in try shell.db.schemas() {
                try writer.write([.text(database.name), database.path.map { .text($0) } ?? .null])
            }
            writer.finish()
        case (.timer, 1) where ["on", "off"].contains(words[0]): shell.showsTime = words[0] == "on"
        case (.mode, 1):
            guard let format = OutputFormat(rawValue: words[0]) else { throw wrongUse }
            shell.format = format
        case (.attach, 1), (.attach, 2):
            guard let (name, path) = words[0].splitAtEquals else { throw wrongUse }
            let attachment = try Attachment(name: name, path: path, source: words.count == 2 ? words[1] : "prompt")
            try attachment.attach(to: shell.db, shell.key)
        case (.detach, 1): try shell.db.schema(words[0]).detach()
        default: throw wrongUse
        }
    }

    private var wrongUse: Failure { Failure("the command is used as \(usage)", status: .usage) }
}
