import ArgumentParser
import Foundation
import SQLCipherKit

/// The commands of the shell that are not SQL, under the names that SQLite's own shell has for them.
enum DotCommand: String, CaseIterable {
    case attach, backup, bail, changes, databases, detach, dump, echo, headers, help, `import`, indexes, mode, nullvalue, once
    case open, output, parameter, print, quit, read, restore, save, schema, separator, shell, tables, timer

    /// Other names, from SQLite's shell.
    private static let synonyms: [String: DotCommand] = [
        "clone": .save, "exit": .quit, "header": .headers, "indices": .indexes, "param": .parameter, "system": .shell,
    ]

    /// The command with this name, or the only one that begins with it.
    static func named(_ name: some StringProtocol) -> DotCommand? {
        let name = String(name)
        if let found = Self(rawValue: name) ?? synonyms[name] { return found }
        let found = allCases.filter { !name.isEmpty && $0.rawValue.hasPrefix(name) }
        return found.count == 1 ? found[0] : nil
    }

    /// How the command is typed, and what it does.
    private var help: (usage: String, meaning: String) {
        switch self {
        case .attach:
            (".attach NAME=PATH [SOURCE]", "attach a database; its key is asked for, or comes from SOURCE as with --attach-key")
        case .backup: (".backup [DATABASE] FILE", "copy a database into a new file, with the same key")
        case .bail: (".bail on|off", "whether an error ends the shell")
        case .changes: (".changes on|off", "whether to say how many rows a statement has changed")
        case .databases: (".databases", "show the databases and their files")
        case .detach: (".detach NAME", "detach a database")
        case .dump: (".dump [NAME…]", "show the SQL that recreates the database, or these tables, with the content")
        case .echo: (".echo on|off", "whether to show each statement before it runs")
        case .headers: (".headers on|off", "whether to show the names of columns")
        case .help: (".help [NAME]", "show this list, or the commands whose names contain NAME")
        case .import:
            (".import FILE [TABLE] [OPTION…]",
                "read a CSV or JSON file into a table, with the options of sqlcipherkit import, such as --skip 1; a table that "
                    + "exists takes every line of CSV as a row, column by column, unless --header says that the first has names")
        case .indexes: (".indexes [TABLE]", "show the names of indexes, or of those of TABLE")
        case .mode: (".mode [FORMAT] [TABLE]", "how to show rows: " + OutputFormat.names)
        case .nullvalue: (".nullvalue TEXT", "the text that stands for NULL")
        case .once: (".once FILE", "write the next result to a file, or to a program: .once |less")
        case .open: (".open FILE [SOURCE]", "work on another database; its key is asked for, or comes from SOURCE")
        case .output:
            (".output [FILE]", "write results to a file or to a program (|COMMAND) from now on, or to standard output again")
        case .parameter:
            (".parameter set NAME VALUE | unset NAME | list | clear",
                "set, remove or show values for the parameters of statements, such as :name")
        case .print: (".print TEXT…", "show text")
        case .quit: (".quit", "leave the shell, as control-D does")
        case .read: (".read FILE", "run the SQL and the commands in a file, or from a program: .read |COMMAND")
        case .restore:
            (".restore [DATABASE] FILE", "replace everything in a database with the content of a backup with the same key")
        case .save: (".save FILE", "copy the main database into a new file, with the same key")
        case .schema: (".schema [NAME…]", "show the SQL that made tables, indexes, views and triggers")
        case .separator:
            (".separator COLUMN [ROW]",
                "what stands between columns and after rows, in list, csv and tsv; \\t and \\n are tab and line feed")
        case .shell: (".shell COMMAND", "run a command of the system")
        case .tables:
            (".tables [PATTERN]", "show the names of tables and views, or of those that match PATTERN (% and _ as in LIKE)")
        case .timer: (".timer on|off", "whether to show how long each statement takes")
        }
    }

    /// True if the command runs a program, or reads or writes a file other than the database.
    var reachesOut: Bool {
        switch self {
        case .attach, .backup, .import, .once, .open, .output, .read, .restore, .save, .shell: true
        case .bail, .changes, .databases, .detach, .dump, .echo, .headers, .help, .indexes, .mode, .nullvalue, .parameter,
            .print, .quit, .schema, .separator, .tables, .timer: false
        }
    }

    /// The command in a line that begins one: after a dot, or a word that people type to leave or to get help.
    static func line(_ bytes: ArraySlice<UInt8>) -> String? {
        let blanks: Set<UInt8> = [0x20, 0x09, 0x0d]
        guard let first = bytes.first(where: { !blanks.contains($0) }) else { return nil }
        // Most lines of SQL are told by their first byte.
        guard ".\\bdehqsuBDEHQSU".utf8.contains(first), first < 0x41 || bytes.count < 200 else { return nil }
        let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        if first == UInt8(ascii: ".") { return text }
        let word = (text.hasSuffix(";") ? String(text.dropLast()) : text).lowercased()
        return ["exit", "quit", "help"].contains(word) ? "." + word : NamesElsewhere.dotLine(text)
    }

    /// Returns whether the history may keep a line. A line that is not a valid command is not kept: one of its words may be a key
    /// that was typed in place of its source.
    static func isFitForHistory(_ line: String) -> Bool {
        let words = words(of: line)
        guard let name = words.first?.dropFirst(), let command = named(name) else { return false }
        let source: String
        switch (command, words.count) {
        case (.attach, 2), (.open, 2): return true
        case (.attach, 3), (.open, 3): source = words[2]
        case (.attach, _), (.open, _): return false
        default: return true
        }
        return (try? Attachment(name: "", path: "", source: source)) != nil
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
        let name = String(words[0].dropFirst())
        guard let command = line.hasPrefix("\\") ? Self(rawValue: name) : named(name) else {
            let advice = NamesElsewhere.advice(about: name, NamesElsewhere.dotCommands).map { ": \($0)" }
                ?? Misspelling.nearest(to: name, of: allCases.map(\.rawValue)).map { ": did you mean .\($0)?" }
            throw Failure("there is no command \(words[0])\(advice ?? ": .help lists the commands")", status: .usage)
        }
        if command == .quit, words.count == 1 { return false }
        if shell.isSafe, command.reachesOut {
            throw Failure(".\(command.rawValue) reaches files or programs, and --safe refuses that", status: .usage)
        }
        try command.run(Array(words.dropFirst()), line, shell)
        return true
    }

    private func run(_ words: [String], _ line: String, _ shell: Shell) throws {
        /// The text after the command's name.
        let rest = String(line.drop { !$0.isWhitespace }.drop { $0.isWhitespace })
        switch (self, words.count) {
        case (.help, 0), (.help, 1): showHelp(words.first)
        case (.tables, 0), (.tables, 1):
            for name in try SchemaListing.tables(shell.db, like: words.first) { Output.line(name.onOneLine) }
        case (.indexes, 0), (.indexes, 1):
            for name in try SchemaListing.indexes(shell.db, of: words.first) { Output.line(name.onOneLine) }
        case (.schema, _): for part in try SchemaListing.parts(shell.db, words.map(\.unquoted)) { Output.data(part.statement) }
        case (.databases, 0):
            try shell.show(["name", "file"], shell.db.schemas().map { [.text($0.name), try $0.path.map { .text($0) } ?? .null] })
        case (.print, _): Output.data(words.map(\.unquoted.unescaped).joined(separator: " "))
        case (.shell, 1...): try runProgram(rest)
        case (.parameter, _): try setParameter(words, shell)
        default: if try !set(words, shell), try !useFile(words, rest, shell) { throw wrongUse }
        }
    }

    private func showHelp(_ name: String?) {
        let found = Self.allCases.filter { command in name.map { command.rawValue.contains($0.drop { $0 == "." }) } ?? true }
        let width = min(40, found.map(\.help.usage.count).max() ?? 0)
        for (usage, meaning) in found.map(\.help) { Output.line(usage.padded(toColumns: width) + "  " + meaning) }
        guard name == nil else { return }
        Output.line("""

            A statement ends with a semicolon, and may span several lines. Tab completes names, control-R searches what \
            was typed, and control-C stops a statement.
            """)
    }

    /// Runs a command of the system, with the terminal as it was.
    private func runProgram(_ command: String) throws {
        try Output.flush()
        let mode = TerminalMode.lend()
        defer { TerminalMode.takeBack(mode) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", command]
        process.standardInput = FileHandle(fileDescriptor: Invocation.current.input, closeOnDealloc: false)
        process.standardOutput = FileHandle(fileDescriptor: Output.current.standard, closeOnDealloc: false)
        process.standardError = FileHandle(fileDescriptor: Invocation.current.errors, closeOnDealloc: false)
        do { try process.run() } catch { throw Failure("\(command) cannot be started") }
        process.waitUntilExit()
        if process.terminationStatus != 0 { throw Failure("\(command) ended with status \(process.terminationStatus)") }
    }

    private func setParameter(_ words: [String], _ shell: Shell) throws {
        switch (words.first, words.count) {
        case ("set", 3): shell.parameters[words[1]] = ParameterValues.literal(words[2])
        case ("unset", 2): shell.parameters[words[1]] = nil
        case ("clear", 1): shell.parameters = [:]
        // SQLite's shell makes a table for them.
        case ("init", 1): break
        case ("list", 1):
            try shell.show(["name", "value"], shell.parameters.sorted { $0.key < $1.key }.map { [.text($0.key), $0.value] })
        default: throw wrongUse
        }
    }

    var wrongUse: Failure { Failure("usage: \(help.usage)", status: .usage) }
}

extension OutputFormat {
    /// The names of all formats, for people.
    static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }
}

extension String {
    /// The text without the single quotes around it.
    var unquoted: String { count >= 2 && hasPrefix("'") && hasSuffix("'") ? String(dropFirst().dropLast()) : self }

    /// The text with tabs, line feeds and the like in place of what stands for them.
    var unescaped: String {
        var text = "", isEscape = false
        for character in self {
            if isEscape {
                text.append(["t": "\t", "n": "\n", "r": "\r", "0": "\0"][character] ?? character)
                isEscape = false
            } else if character == "\\" {
                isEscape = true
            } else {
                text.append(character)
            }
        }
        return text + (isEscape ? "\\" : "")
    }
}

extension DotCommand {
    /// Does what the commands for files do.
    /// - Returns: false if this is no such command, or its words are wrong.
    func useFile(_ words: [String], _ rest: String, _ shell: Shell) throws -> Bool {
        let words = words.map(\.unquoted)
        if [.output, .once, .open].contains(self), words.first?.hasPrefix("-") == true { return false }
        switch (self, words.count) {
        case (.output, 0), (.output, 1...): try Output.redirect(to: target(words, rest))
        case (.once, 1...): if let target = target(words, rest) { try shell.once(to: target) }
        case (.read, 1...): try shell.read(target(words, rest) ?? "")
        case (.dump, 0): try DatabaseDump.write(shell.db)
        case (.dump, _): try TableDump.write(words, shell.db)
        case (.import, 1...): try importFile(words, shell)
        case (.attach, 1), (.attach, 2):
            guard let (name, path) = words[0].splitAtEquals else { return false }
            let attachment = try Attachment(name: name, path: path, source: words.count == 2 ? words[1] : "prompt")
            try attachment.attach(to: shell.db, shell.key)
        case (.detach, 1): try shell.db.schema(words[0]).detach()
        case (.open, 1), (.open, 2): try open(words, shell)
        case (.save, 1), (.backup, 1): try copy("main", words[0], shell)
        case (.backup, 2): try copy(words[0], words[1], shell)
        case (.restore, 1), (.restore, 2):
            let (name, path) = words.count == 1 ? ("main", words[0]) : (words[0], words[1])
            try FileOptions.requireDatabase(path)
            try shell.db.schema(name).restore(fromFileAt: path)
        default: return false
        }
        return true
    }

    /// A file, or a program with its arguments.
    private func target(_ words: [String], _ rest: String) -> String? {
        if rest.hasPrefix("|") { return rest }
        return words.first.flatMap { $0 == "stdout" && self != .read ? nil : $0 }
    }

    private func copy(_ database: String, _ path: String, _ shell: Shell) throws {
        try FileOptions.requireNothing(at: path)
        try shell.db.schema(database).backup(toFileAt: path)
    }

    private func open(_ words: [String], _ shell: Shell) throws {
        let source = words.count == 2 ? words[1] : "prompt"
        try Attachment(name: "main", path: words[0], source: source).open(shell)
    }

    private func importFile(_ words: [String], _ shell: Shell) throws {
        if shell.db.isInTransaction { throw Failure("a transaction is open: use COMMIT or ROLLBACK before .import") }
        let others = ["--csv": "--as=csv", "--tabs": "--delimiter=tab", "-csv": "--as=csv", "-skip": "--skip"]
        let words = words.map { others[$0] ?? $0 }
        let options: ImportOfShell
        do { options = try ImportOfShell.parse(words) } catch { throw Failure(ImportOfShell.message(for: error), status: .usage) }
        var file = try options.file()
        // As in SQLite's shell, every line is a row for a table that exists.
        if case .csv(var form, let usual) = file.format, form.hasHeader == nil, try shell.db.main.has(file.table) {
            form.hasHeader = false
            file.format = .csv(form, usual: usual)
        }
        try TableImport(file).run(shell.db, rowsPerBatch: 10_000) { file, report in
            for line in report.lines(file) { Output.error(line.onOneLine) }
        }
    }
}

/// The arguments of `.import`.
private struct ImportOfShell: ParsableArguments {
    @Argument var path: String
    @Argument var name: String?
    @Option(name: .customLong("as")) var format: ImportCommand.SourceFormat?
    @OptionGroup var rows: RowOptions

    func file() throws -> FileImport {
        let kind = try format ?? ImportCommand.SourceFormat(ofRowsIn: path) ?? .csv
        guard kind != .text else { throw Failure("\(path) has no rows: sqlcipherkit import reads it as a text", status: .usage) }
        return try rows.file(path, table: name ?? rows.table ?? ImportCommand.tableName(path), kind, again: true)
    }
}

/// Some tables as SQL, with their indexes and triggers.
enum TableDump {
    static func write(_ names: [String], _ db: Connection) throws {
        let wanted = try names.map { (name: $0, tables: try SchemaListing.tables(db, like: $0)) }
        let parts = try SchemaListing.parts(db, wanted.flatMap { $0.tables.isEmpty ? [$0.name] : $0.tables })
        for line in ["PRAGMA foreign_keys = OFF;", "BEGIN IMMEDIATE;"] { Output.line(line) }
        for part in parts where part.type == "table" {
            Output.data(part.statement)
            let source = "\(part.database.quotedSQLIdentifier).\(part.name.quotedSQLIdentifier)"
            // Generated columns are computed again, and a virtual table fills the tables that hold its content.
            let columns = try db.schema(part.database).columns(of: part.name).filter { $0.kind == .normal }.map(\.name)
            let list = columns.map(\.quotedSQLIdentifier).joined(separator: ", ")
            let writer = LiteralWriter(columns, insertingInto: part.name)
            try db.forEach(SQL(raw: "SELECT \(list) FROM \(source)")) { row in
                try Interruption.check()
                try writer.write(row)
            }
        }
        for part in parts where part.type != "table" { Output.data(part.statement) }
        Output.line("COMMIT;")
    }
}

extension DotCommand {
    private static let switches = ["on": true, "off": false, "yes": true, "no": false, "1": true, "0": false]

    /// Changes one of the shell's settings.
    /// - Returns: false if this is no command for a setting, or its words are wrong.
    func set(_ words: [String], _ shell: Shell) throws -> Bool {
        func isOn(_ use: (Bool) -> Void) -> Bool {
            guard words.count == 1, let isOn = Self.switches[words[0].lowercased()] else { return false }
            use(isOn)
            return true
        }
        switch (self, words.count) {
        case (.timer, _): return isOn { shell.showsTime = $0 }
        case (.headers, _): return isOn { shell.layout.hasHeader = $0 }
        case (.echo, _): return isOn { shell.echoes = $0 }
        case (.bail, _): return isOn { shell.stopsAtErrors = $0 }
        case (.changes, _): return isOn { shell.showsChanges = $0 }
        case (.nullvalue, 0), (.nullvalue, 1): shell.layout.null = words.first?.unquoted ?? ""
        case (.separator, 1), (.separator, 2):
            shell.layout.separator = words[0].unquoted.unescaped
            shell.layout.rowSeparator = words.count == 2 ? words[1].unquoted.unescaped : nil
        case (.mode, 0): Output.line("the format is \(shell.format.rawValue); there are \(OutputFormat.names)")
        case (.mode, 1), (.mode, 2):
            guard let format = OutputFormat(argument: words[0]) else {
                throw Failure("there is no format \(words[0]): there are \(OutputFormat.names)", status: .usage)
            }
            guard words.count == 1 || format == .insert else { return false }
            if format != shell.format { (shell.layout.separator, shell.layout.rowSeparator) = (nil, nil) }
            shell.format = format
            if words.count == 2 { shell.layout.table = words[1].unquoted }
        default: return false
        }
        return true
    }
}
