import ArgumentParser
import Foundation
import SQLCipherKit

extension DotCommand {
    /// Does what the commands for files do.
    /// - Returns: false if this is no such command, or its words are wrong.
    func useFile(_ words: [String], _ rest: String, _ shell: Shell) throws -> Bool {
        let words = words.map(\.unquoted)
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
        case (.save, 1): try copy("main", words[0], shell)
        case (.backup, 1): try copy("main", words[0], shell)
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
        let file = try options.file()
        let report = try file.run(shell.db, BatchWriter(shell.db, rowsPerBatch: 10_000), isLast: true)
        for line in report.lines(file) { Output.error(line.onOneLine) }
    }
}

/// What follows `.import`.
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
        let patterns = names.filter { $0.contains("%") || $0.contains("_") }
        var wanted = names.filter { !patterns.contains($0) }
        for pattern in patterns {
            let found = try SchemaText.tables(db, like: pattern)
            wanted += found.isEmpty ? [pattern] : found
        }
        let parts = try SchemaText.parts(db, wanted)
        for line in ["PRAGMA foreign_keys = OFF;", "BEGIN IMMEDIATE;"] { Output.line(line) }
        for part in parts where part.type == "table" {
            Output.data(part.statement)
            let source = "\(part.database.quotedSQLIdentifier).\(part.name.quotedSQLIdentifier)"
            // Generated columns are computed again, and a virtual table fills the tables that hold its content.
            let columns = try db.schema(part.database).columns(of: part.name).filter { $0.kind == .normal }.map(\.name)
            let list = columns.map(\.quotedSQLIdentifier).joined(separator: ", ")
            let writer = InsertWriter(columns, table: part.name)
            try db.forEach(SQL(raw: "SELECT \(list) FROM \(source)")) { row in
                try Interruption.check()
                try writer.write(row)
            }
        }
        for part in parts where part.type != "table" { Output.data(part.statement) }
        Output.line("COMMIT;")
    }
}
