import ArgumentParser
import Foundation
import SQLCipherKit

struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Read text files, folders, CSV and JSON lines into a database.",
        discussion: """
            The database is made if it does not exist. Each batch of rows is a transaction: interrupted or failed, the command \
            leaves what is complete, and the same command goes on from there. What was imported before and has not changed is \
            not imported again, so that a command can be repeated when there are new files.

            A folder's text files become rows of the table document(id, source, path, title, size, modified, meta, body), with \
            a full-text index; meta is JSON. So does a single file that is neither CSV nor JSON lines. A file that was changed \
            since replaces its row. Only UTF-8 is text; binary files, large and hidden ones are left out and counted, and \
            symbolic links are not followed.

            The rows of a CSV file (.csv, .tsv) and the objects of JSON lines (.jsonl, .ndjson) go into a table named like the \
            file, which is made if it is not there, with a column for each name. CSV: the first line has the names; a field \
            that is a number becomes one, unless it has leading zeros or the like; an empty field is NULL, and an empty one in \
            quotes empty text. JSON: objects and arrays in an object become JSON text, true and false 1 and 0.

            EXAMPLES
              sqlcipherkit import notes.db ~/Documents
              sqlcipherkit import shop.db orders.csv customers.jsonl --search name,comment
              zcat log.jsonl.gz | sqlcipherkit import log.db - --as jsonl --table log
            """)

    enum SourceFormat: String, CaseIterable, ExpressibleByArgument { case csv, jsonl, text }

    @OptionGroup var file: FileOptions

    @Argument(help: ArgumentHelp("Files and folders to read; - is standard input.", valueName: "source"), completion: .file())
    var sources: [String]

    @Option(name: .customLong("as"), help: "What the files are: csv, jsonl or text. By default their names tell.")
    var format: SourceFormat?

    @Option(help: ArgumentHelp("The table for rows of CSV and JSON lines. By default it is named like the file.", valueName: "name"))
    var table: String?

    @Option(help: ArgumentHelp("Make a full-text index of these columns of the table.", valueName: "columns"))
    var search: String?

    @Option(help: ArgumentHelp("What stands between CSV fields: a character or tab.", valueName: "character"))
    var delimiter: String?

    @Flag(help: "The first line of CSV has values and no names: the columns are column1, column2 and so on.")
    var noHeader = false

    @Flag(help: "Keep every CSV field as the text that it is.")
    var keepText = false

    @Flag(help: "Import files that were imported before, or have changed since, once more.")
    var again = false

    @Option(help: ArgumentHelp("The rows in a transaction.", valueName: "rows"))
    var batch = 10_000

    @Option(help: ArgumentHelp("The largest text file that is read, in MiB.", valueName: "MiB"))
    var maxSize = 8

    @Flag(help: "Read hidden files and folders as well.")
    var hidden = false

    private var path: String { file.path }

    func validate() throws {
        // SQLite's texts end at a thousand million bytes.
        guard (1...900).contains(maxSize) else { throw ValidationError("--max-size is a number from 1 to 900") }
        guard batch >= 1 else { throw ValidationError("--batch is a number from 1 on") }
        if sources.contains("-"), format == nil || format == .text || table == nil {
            throw ValidationError("standard input has no name: --as csv or --as jsonl, and --table, are needed")
        }
        _ = try delimiterByte(for: "")
    }

    func run() throws {
        // What is wrong with the sources is said before anybody types a key.
        let imports = try sources.map(source)
        let isNew = !FileOptions.exists(path)
        let db = try isNew ? Connection(.file(path), key: file.key.newKey(for: path)) : file.open(.readWrite)
        try Interruption.stop(db)
        // Room for what the index holds before it is written, so that pages are encrypted once and not over and over.
        try db.execute("PRAGMA cache_size = -65536")
        var committed = 0
        do {
            for source in imports {
                let writer = BatchWriter(db, rowsPerBatch: batch)
                defer { committed += writer.committed }
                try run(source, db, writer)
            }
            try requireIndexes(imports, db)
        } catch {
            if isNew, committed == 0 { remove(db) }
            guard Interruption.isWanted else {
                let failure = Failure(describing: error)
                let there = "\(committed.counted("row")) before it are in the database, and the same command goes on behind them"
                let rest = committed == 0 ? "" : "; " + there
                throw Failure(failure.message + rest, status: failure.status)
            }
            throw Failure(
                committed == 0 ? "interrupted: nothing was imported"
                    : "interrupted: \(committed.counted("row")) are in the database, and the same command goes on from there",
                status: .interrupted)
        }
        let size = try db.fetchOne(Int.self, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size") ?? 0
        Output.line("database \(path.onOneLine), \(size.bytes), \(file.key.isPlain ? "not encrypted" : "encrypted")")
    }

    // MARK: Sources

    private enum Source { case folder(FolderImport), file(FileImport) }

    private func source(_ name: String) throws -> Source {
        let kind: SourceFormat
        switch (name as NSString).pathExtension.lowercased() {
        case "csv", "tsv": kind = format ?? .csv
        case "jsonl", "ndjson": kind = format ?? .jsonl
        default: kind = format ?? .text
        }
        var info = stat()
        if kind == .text || (stat(name, &info) == 0 && info.st_mode & S_IFMT == S_IFDIR) {
            return .folder(try FolderImport(name, includesHidden: hidden, limit: maxSize << 20))
        }
        var options = CSVReader.Options()
        options.delimiter = try delimiterByte(for: name)
        options.hasHeader = !noHeader
        options.readsNumbers = !keepText
        return .file(
            try FileImport(name, table: table ?? Self.tableName(name), format: kind == .csv ? .csv(options) : .jsonLines, again: again))
    }

    private func delimiterByte(for name: String) throws -> UInt8 {
        guard let delimiter else { return name.lowercased().hasSuffix(".tsv") ? 0x09 : UInt8(ascii: ",") }
        if delimiter == "tab" { return 0x09 }
        guard delimiter.utf8.count == 1, let byte = delimiter.utf8.first, byte < 0x80, ![0x22, 0x0a, 0x0d].contains(byte) else {
            throw ValidationError("--delimiter is one ASCII character, or tab")
        }
        return byte
    }

    /// The file's name without its extension, with letters, digits and underscores only.
    private static func tableName(_ path: String) -> String {
        let base = ((path as NSString).lastPathComponent as NSString).deletingPathExtension
        let name = String(base.map { $0.isLetter || $0.isNumber ? $0 : "_" })
        // SQLite keeps names that begin so for itself.
        return name.lowercased().hasPrefix("sqlite_") || name.isEmpty ? "_" + name : name
    }

    // MARK: Running

    private func run(_ source: Source, _ db: Connection, _ writer: BatchWriter) throws {
        switch source {
        case .folder(let folder):
            let report = try folder.run(db, writer)
            report.warn()
            Output.line(report.summary)
            if let omissions = report.omissions { Output.line(omissions) }
        case .file(let file):
            let report = try file.run(db, writer)
            try index(file.table, db)
            if report.isNothingNew {
                Output.line("\(file.path.onOneLine) was imported before, \(report.earlier.counted("row")): --again imports it once more")
                return
            }
            let earlier = report.earlier == 0 ? "" : ", after \(report.earlier.grouped) of an earlier run"
            Output.line(
                "imported \(report.rows.counted("row")) into \(file.table.onOneLine) in \(report.duration.readable)" + earlier)
        }
    }

    /// The full-text index that `--search` asks for, of a table that has the columns; triggers keep one that is there up to date.
    private func index(_ table: String, _ db: Connection) throws {
        guard let search else { return }
        let names = search.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        let name = table + "_search"
        let present = Set(try db.main.columns(of: table).map(\.name.sqlName))
        guard names.allSatisfy({ present.contains($0.sqlName) }),
            try !db.main.fullTextIndexes().contains(where: { $0.name.sqlName == name.sqlName })
        else { return }
        let columns = names.map { FTS5Table.Column($0) }
        let bar = ProgressBar("Indexing")
        try db.create(
            FTS5Table(name, columns: columns, content: .external(table: table), tokenizer: .porter(.unicode61()), prefixes: [2, 3])
        ) { progress in
            let share = Double(progress.indexed) / Double(max(1, progress.total))
            bar.show(share, "\(progress.indexed.grouped) of \(progress.total.counted("row"))")
        }
        Output.line("made the full-text index \(name.onOneLine)")
    }

    /// A misspelt column should not go unnoticed.
    private func requireIndexes(_ sources: [Source], _ db: Connection) throws {
        guard let search else { return }
        let indexes = try db.main.fullTextIndexes().map(\.name)
        let tables = sources.compactMap { source in if case .file(let file) = source { file.table } else { nil } }
        guard tables.contains(where: { indexes.contains($0 + "_search") }) else {
            throw Failure("no table of this import has the columns \(search) that --search names", status: .usage)
        }
    }

    /// Removes the database that this command has made, for nothing as it turned out.
    private func remove(_ db: Connection) {
        db.close()
        for suffix in ["", "-journal"] { unlink(path + suffix) }
    }
}
