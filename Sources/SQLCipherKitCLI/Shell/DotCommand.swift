import Foundation
import SQLCipherKit

/// The commands of the shell that are not SQL.
enum DotCommand: String, CaseIterable {
    case attach, databases, detach, dump, headers, help, `import`, mode, output, pager, parameter, plan, quit, read, schema, tables,
        timer

    private var usage: String {
        switch self {
        case .attach: ".attach NAME=PATH [SOURCE]"
        case .databases: ".databases"
        case .detach: ".detach NAME"
        case .dump: ".dump"
        case .headers: ".headers on|off"
        case .help: ".help"
        case .import: ".import FILE [TABLE]"
        case .mode: ".mode FORMAT [TABLE]"
        case .output: ".output [FILE]"
        case .pager: ".pager on|off|COMMAND"
        case .parameter: ".parameter set NAME VALUE | unset NAME | list | clear"
        case .plan: ".plan STATEMENT"
        case .quit: ".quit"
        case .read: ".read FILE"
        case .schema: ".schema [NAME…]"
        case .tables: ".tables [PATTERN]"
        case .timer: ".timer on|off"
        }
    }

    private var meaning: String {
        switch self {
        case .attach: "attach a database; its key is asked for, or comes from SOURCE as with --attach-key"
        case .databases: "show the databases and their files"
        case .detach: "detach a database"
        case .dump: "show the SQL that recreates the database and its content"
        case .headers: "whether to show the names of columns"
        case .help: "show this list"
        case .import: "read a CSV or JSON file into a table"
        case .mode: "how to show rows: " + OutputFormat.allCases.map(\.rawValue).joined(separator: ", ")
        case .output: "write results to a file from now on, or to standard output again"
        case .pager: "whether long results go through a program that shows them in pages: $PAGER, less, or COMMAND"
        case .parameter: "set, remove or show values for the parameters of statements, such as :name"
        case .plan: "show how SQLite would run a statement, as a tree with estimated costs"
        case .quit: "leave the shell, as control-D does"
        case .read: "run the SQL and the commands in a file"
        case .schema: "show the SQL that made tables, indexes, views and triggers"
        case .tables: "show the names of tables and views, or of those that match PATTERN (% and _ as in LIKE)"
        case .timer: "whether to show how long each statement takes"
        }
    }

    /// Whether the history may keep a line. A line that is not a valid command is not kept: one of its words may be a key that
    /// was typed in place of its source.
    static func isFitForHistory(_ line: String) -> Bool {
        let words = words(of: line)
        guard let name = words.first?.dropFirst(), name == "exit" || Self(rawValue: String(name)) != nil else { return false }
        guard name == attach.rawValue else { return true }
        return words.count == 2 || words.count == 3 && (try? Attachment(name: "", path: "", source: words[2])) != nil
    }

    /// The words of a line. A word may be in double quotes; single quotes belong to SQL, and stay.
    static func words(of line: String) -> [String] {
        var words: [String] = []
        var word: String?
        var quote: Character?
        for character in line {
            if character == quote {
                if character == "'" { word?.append(character) }
                quote = nil
            } else if quote != nil {
                word?.append(character)
            } else if character == "\"" || character == "'" {
                word = (word ?? "") + (character == "'" ? "'" : "")
                quote = character
            } else if character.isWhitespace {
                if let word { words.append(word) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        return words + (word.map { [$0] } ?? [])
    }

    /// Runs a line that begins with a dot.
    /// - Returns: whether the shell goes on.
    static func run(_ line: String, in shell: Shell) throws -> Bool {
        let words = words(of: line)
        let name = words[0].dropFirst()
        guard let command = name == "exit" ? .quit : Self(rawValue: String(name)) else {
            throw Failure("there is no command \(words[0]): .help lists the commands", status: .usage)
        }
        if command == .quit { return false }
        try command.run(Array(words.dropFirst()), line, shell)
        return true
    }

    private func run(_ words: [String], _ line: String, _ shell: Shell) throws {
        switch (self, words.count) {
        case (.help, 0):
            let width = Self.allCases.map(\.usage.count).max() ?? 0
            for command in Self.allCases { Output.line(command.usage.padded(toColumns: width) + "  " + command.meaning) }
            Output.line("""

                A statement ends with a semicolon, and may span several lines. Tab completes names, control-R searches what \
                was typed, and control-C stops a statement.
                """)
        case (.tables, 0), (.tables, 1):
            for name in try SchemaText.tables(shell.db, like: words.first) { Output.line(name.onOneLine) }
        case (.schema, _): for part in try SchemaText.parts(shell.db, words) { Output.line(part.statement.onItsLines) }
        case (.databases, 0):
            try shell.show(["name", "file"], shell.db.schemas().map { [.text($0.name), try $0.path.map { .text($0) } ?? .null] })
        case (.timer, 1) where ["on", "off"].contains(words[0]): shell.showsTime = words[0] == "on"
        case (.headers, 1) where ["on", "off"].contains(words[0]): shell.showsHeaders = words[0] == "on"
        case (.mode, 1), (.mode, 2):
            guard let format = OutputFormat(rawValue: words[0]), words.count == 1 || format == .insert else { throw wrongUse }
            shell.format = format
            if words.count == 2 { shell.insertTable = words[1] }
        case (.output, 0), (.output, 1): try Output.redirect(to: words.first)
        case (.dump, 0): try DatabaseDump.write(shell.db) { Output.line($0) }
        case (.read, 1): try shell.read(words[0])
        case (.import, 1), (.import, 2): try importFile(words, shell)
        case (.pager, 1...): Output.pager = words == ["on"] ? Pager.usual : words == ["off"] ? nil : words.joined(separator: " ")
        case (.plan, 1...): try shell.showPlan(String(line.drop { !$0.isWhitespace }))
        case (.parameter, _): try setParameter(words, shell)
        case (.attach, 1), (.attach, 2):
            guard let (name, path) = words[0].splitAtEquals else { throw wrongUse }
            let attachment = try Attachment(name: name, path: path, source: words.count == 2 ? words[1] : "prompt")
            try attachment.attach(to: shell.db, shell.key)
        case (.detach, 1): try shell.db.schema(words[0]).detach()
        default: throw wrongUse
        }
    }

    private func importFile(_ words: [String], _ shell: Shell) throws {
        if shell.db.isInTransaction { throw Failure("a transaction is open: use COMMIT or ROLLBACK before .import") }
        let name = (words[0] as NSString).lastPathComponent
        let isJSON = [".json", ".jsonl", ".ndjson"].contains { name.lowercased().hasSuffix($0) }
        let usual: UInt8 = name.lowercased().hasSuffix(".tsv") ? 0x09 : UInt8(ascii: ",")
        let file = try FileImport(
            words[0], table: words.count == 2 ? words[1] : ImportCommand.tableName(words[0]),
            format: isJSON ? .json : .csv(CSVOptions(), usual: usual), encoding: nil, plan: RowPlan(), again: true)
        let report = try file.run(shell.db, BatchWriter(shell.db, rowsPerBatch: 10_000), isLast: true)
        for line in report.lines(file) { Output.error(line.onOneLine) }
    }

    private func setParameter(_ words: [String], _ shell: Shell) throws {
        switch (words.first, words.count) {
        case ("set", 3): shell.parameters[words[1]] = ParameterValues.literal(words[2])
        case ("unset", 2): shell.parameters[words[1]] = nil
        case ("clear", 1): shell.parameters = [:]
        case ("list", 1):
            try shell.show(["name", "value"], shell.parameters.sorted { $0.key < $1.key }.map { [.text($0.key), $0.value] })
        default: throw wrongUse
        }
    }

    private var wrongUse: Failure { Failure("usage: \(usage)", status: .usage) }
}
