import ArgumentParser
import Foundation
import SQLCipherKit

struct ImportCommand: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Read text files, folders, CSV and JSON into a database.",
        discussion: """
            Creates the database if it does not exist. Each batch of rows is one transaction: if the command fails or is \
            interrupted, the complete batches stay, and the same command continues from there. Files that were imported before \
            and have not changed are not imported again: repeat the command when there are new files.

            The text files of a folder become rows of the table document(id, source, path, title, size, modified, meta, body), \
            with a full-text index; meta is JSON. So does a single file that is neither CSV nor JSON rows. If a file has changed \
            since the last import, it replaces its row. Only UTF-8 counts as text. Binary, large and hidden files are left out \
            and counted, and symbolic links are not followed.

            The rows of a CSV file (.csv, .tsv, .tab, .psv) and the objects of JSON lines (.jsonl, .ndjson) or of a JSON array \
            (.json), or of any JSON with --table, go into a table named after the file, with a column for each name. The table is \
            created if it does not exist, with these columns and no others: --pk names its key, and --search adds a key id (or \
            row_id, if there is a column id) where it has none, because a full-text index needs one. With --again, the rows of a \
            file are added once more. The system's gzip unpacks a file that gzip has compressed.

            Files are read as UTF-8; the program iconv converts others. The form of a CSV file (its delimiter, and whether the \
            first line has names) is detected and reported; options override the detection. --dry-run shows how each file is \
            read, and writes nothing. An empty field is NULL, as is an empty line in a file of one column, and an empty field in \
            quotes is empty text.

            A CSV column is numeric if each of its fields, in all files for the table, is a number and loses nothing as a \
            number. With 01067, +1, a field in quotes, or more digits than a number holds, the column is text, and each \
            field is as it was written. 1.10 and 1e5 return as 1.1 and 100000.0, unless --types says text, or --text for all \
            columns. In JSON, objects and arrays inside an object become JSON text, and true and false become 1 and 0; a \
            column with texts and numbers keeps both. A table that has other rows already gets a wider column only if they \
            return unchanged; otherwise the import stops there. A CSV file without names fills the columns of a table that exists \
            in their order.

            EXAMPLES
              sqlcipherkit import notes.db ~/Documents
              sqlcipherkit import shop.db orders.csv customers.jsonl --search name,comment
              sqlcipherkit import shop.db orders-*.csv --table orders --types sum=real
              sqlcipherkit import shop.db customers.csv --fresh
              curl … | sqlcipherkit import log.db - --as jsonl --table log

            \(form), where sources is an array of objects: \(sourceForm.keys.joined(separator: ", "))
            """)

    private static let form = JSONForm.object("file", "bytes", "encrypted", "rows", "indexes", "sources")
    private static let sourceForm = JSONForm.object(
        "source", "table", "rows", "earlier", "removed", "left_out", "unreadable", "seconds", "columns")

    enum Tokenizer: String, CaseIterable, ExpressibleByArgument {
        case multilingual, porter, unicode61, trigram

        var engine: FTS5Tokenizer {
            switch self {
            case .multilingual: .multilingual()
            case .porter: .porter(.unicode61())
            case .unicode61: .unicode61()
            case .trigram: .trigram()
            }
        }

        /// The lengths of the word prefixes to index, for other programs: this package's search needs none.
        var prefixes: [Int] { self == .porter || self == .unicode61 ? [2, 3] : [] }
    }

    enum SourceFormat: String, CaseIterable, ExpressibleByArgument {
        case csv, json, jsonl, text

        /// The format of the rows that a file has by its name and, for JSON, by its beginning; nil if it has none.
        /// - Parameter isTable: whether the user has named a table for it.
        init?(ofRowsIn name: String, isTable: Bool = true) throws {
            let base = name.lowercased().hasSuffix(".gz") ? String(name.dropLast(3)) : name
            switch (base as NSString).pathExtension.lowercased() {
            case "csv", "tsv", "tab", "psv": self = .csv
            case "jsonl", "ndjson": self = .jsonl
            case "json":
                var info = stat()
                guard stat(name, &info) == 0, info.st_mode & S_IFMT == S_IFREG else { return nil }
                let start = try InputReader(name).sample
                // One object alone is a text like any other, unless it is meant for a table.
                guard isTable || JSONReader.isArray(start) || JSONReader.hasLines(start) else { return nil }
                self = .json
            default: return nil
            }
        }
    }

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions

    @Argument(help: ArgumentHelp("Files and folders to read; - is standard input.", valueName: "source"), completion: .file())
    var sources: [String]

    @Option(name: .customLong("as"), help: "The format of the files: csv, json, jsonl or text. By default their names decide.")
    var format: SourceFormat?

    @OptionGroup var rows: RowOptions

    @Option(help: ArgumentHelp("Create a full-text index over these columns of the table.", valueName: "columns"))
    var search: String?

    @Option(
        help: """
            How a new full-text index splits texts: multilingual (words of every script; SQLCipherKit alone can read the index), \
            porter (English words by their stems), unicode61 (words between spaces) or trigram (parts of words).
            """)
    var tokenizer = Tokenizer.multilingual

    @Flag(help: "Import files again, even those that were imported before or have changed since.")
    var again = false

    @Flag(help: "Drop the tables that an earlier import made for these files, and import the files from scratch.")
    var fresh = false

    @Flag(help: "Show how each file is read and the columns, and write nothing.")
    var dryRun = false

    @Option(help: ArgumentHelp("The number of rows in a transaction.", valueName: "rows"))
    var batch = 10_000

    @Option(help: ArgumentHelp("The size of the largest text file to read, in MiB.", valueName: "MiB"))
    var maxSize = 8

    @Flag(help: "Read hidden files and folders as well.")
    var hidden = false

    @Flag(help: "Remove the documents of a folder whose files are gone.")
    var mirror = false

    @OptionGroup var report: ReportOptions

    private var path: String { file.path }

    func validate() throws {
        // SQLite's texts have at most 1,000,000,000 bytes.
        guard (1...900).contains(maxSize) else { throw ValidationError("--max-size takes a number from 1 to 900") }
        guard batch >= 1 else { throw ValidationError("--batch takes a number, 1 or more") }
        if mirror, rows.table != nil { throw ValidationError("--mirror is for folders: --fresh makes a table again") }
        if sources.contains("-"), format == nil || format == .text || rows.table == nil {
            throw ValidationError("standard input has no file name: use --as (csv, json or jsonl) and --table")
        }
    }

    func run() throws {
        // Problems with the sources are reported before the user types a key.
        var imports: [Source] = []
        for name in sources { try add(name, to: &imports) }
        if dryRun { return try preview(imports) }
        let isNew = !FileOptions.exists(path)
        // A process that was killed in its first batch leaves an empty file.
        let db = try isNew || FileOptions.isEmpty(path)
            ? Connection(.file(path), key: file.key.newKey(for: path)) : file.open(.readWrite)
        let created = isNew ? try NewDatabase(db, at: path) : nil
        try Interruption.stop(db)
        // A cache large enough for what the index collects before it writes: each page is encrypted once, not repeatedly.
        try db.execute("PRAGMA cache_size = -65536")
        var committed = 0
        var done = Done()
        do {
            for source in imports { try run(source, db, &committed, &done) }
            try requireIndexes(imports, db)
        } catch {
            if committed == 0 { created?.remove() }
            guard Interruption.isWanted else {
                let failure = Failure(describing: error)
                let there = "the same command continues after the \(committed.counted("row")) already imported"
                let rest = committed == 0 ? "" : "; " + there
                throw Failure(failure.message + rest, status: failure.status)
            }
            throw Failure(
                committed == 0 ? "interrupted: nothing was imported"
                    : "interrupted after \(committed.counted("row")): the same command continues from there",
                status: .interrupted)
        }
        let size = try db.fetchOne(Int.self, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size") ?? 0
        try report.write(
            Self.form,
            [
                .string(path), .integer(Int64(size)), .bool(!file.key.isPlain), .integer(Int64(committed)), .strings(done.indexes),
                .array(done.sources),
            ],
            "database \(path.onOneLine), \(size.bytes), \(file.key.isPlain ? "not encrypted" : "encrypted")")
    }

    // MARK: Sources

    private enum Source { case folder(FolderImport), table(TableImport) }

    private func add(_ name: String, to imports: inout [Source]) throws {
        let base = name.lowercased().hasSuffix(".gz") ? String(name.dropLast(3)) : name
        let kind = try format ?? SourceFormat(ofRowsIn: name, isTable: rows.table != nil) ?? .text
        var info = stat()
        let isThere = stat(name, &info) == 0
        if kind == .text || (isThere && info.st_mode & S_IFMT == S_IFDIR) {
            if isThere, ![S_IFDIR, S_IFREG].contains(info.st_mode & S_IFMT) {
                throw Failure("\(name) is a pipe or a device: use --as to give its format: csv, json or jsonl")
            }
            let folder = try FolderImport(
                name, includesHidden: hidden, limit: maxSize << 20, isMirror: mirror, tokenizer: tokenizer)
            return imports.append(.folder(folder))
        }
        var file = try rows.file(name, table: rows.table ?? Self.tableName(base), kind, again: again)
        file.plan.isFresh = fresh
        file.plan.needsKey = search != nil
        for case .table(let table) in imports where table.table.sqlName == file.table.sqlName { return table.add(file) }
        imports.append(.table(TableImport(file)))
    }

    /// The file's name without its extension, with letters, digits and underscores only.
    static func tableName(_ path: String) -> String {
        let base = ((path as NSString).lastPathComponent as NSString).deletingPathExtension
        let name = String(base.map { $0.isLetter || $0.isNumber ? $0 : "_" })
        // SQLite reserves names with this prefix.
        return name.lowercased().hasPrefix("sqlite_") || name.isEmpty ? "_" + name : name
    }

    // MARK: Running

    /// Shows the columns that all values decide.
    private func preview(_ imports: [Source]) throws {
        var done: [JSONValue] = []
        for source in imports {
            switch source {
            case .folder(let folder):
                if !report.json { Output.line("\(folder.path.onOneLine): its text files become rows of document") }
            case .table(let table):
                for file in table.files { file.stream?.keeps = false }
                let (columns, reports) = try table.columns()
                for (file, found) in zip(table.files, reports) { try show(file, found, columns, &done) }
            }
        }
        guard report.json else { return }
        try report.write(
            Self.form, [.string(path), 0, .bool(!file.key.isPlain), 0, .strings([]), .array(done)])
    }

    private func show(_ file: FileImport, _ report: FileImport.Report, _ columns: ImportColumns, _ done: inout [JSONValue]) throws {
        // The key and the types are checked.
        _ = try RowTable(Connection(.memory), creating: file.table, plan: file.plan, columns)
        var found = report
        found.columns = columns.list
        done.append(Self.sourceForm.object(found.values(file)))
        if self.report.json { return }
        Output.line("\(file.path), into the table \(file.table)".onOneLine)
        for line in found.reading(file) { Output.line(line.onOneLine) }
    }

    /// The report, for `--json`.
    private struct Done {
        var sources: [JSONValue] = []
        var indexes: [String] = []
    }

    private func run(_ source: Source, _ db: Connection, _ committed: inout Int, _ done: inout Done) throws {
        switch source {
        case .folder(let folder):
            let writer = BatchWriter(db, rowsPerBatch: batch)
            defer { committed += writer.committed }
            let found = try folder.run(db, writer)
            found.warn()
            done.sources.append(Self.sourceForm.object(found.values(folder)))
            if report.json { return }
            Output.line(found.summary)
            if let omissions = found.omissions { Output.line(omissions) }
        case .table(let table):
            defer { committed += table.committed }
            try table.run(db, rowsPerBatch: batch) { file, found in
                done.sources.append(Self.sourceForm.object(found.values(file)))
                if !report.json { for line in found.lines(file) { Output.line(line.onOneLine) } }
            }
            if let name = try index(table.table, db) { done.indexes.append(name) }
        }
    }

    /// Creates the full-text index that `--search` asks for, if the table has the columns. Triggers keep an existing index up to
    /// date.
    /// - Returns: the name of the new index; nil if none was created.
    private func index(_ table: String, _ db: Connection) throws -> String? {
        guard let search else { return nil }
        let names = RowOptions.list(search)
        let name = table + "_search"
        let present = Set(try db.main.columns(of: table).map(\.name.sqlName))
        guard names.allSatisfy({ present.contains($0.sqlName) }),
            try !db.main.fullTextIndexes().contains(where: { $0.name.sqlName == name.sqlName })
        else { return nil }
        let columns = names.map { FTS5Table.Column($0) }
        let bar = ProgressBar("Indexing")
        try db.create(
            FTS5Table(
                name, columns: columns, content: .external(table: table), tokenizer: tokenizer.engine, prefixes: tokenizer.prefixes)
        ) { progress in
            bar.show(progress.fractionCompleted, "\(progress.completed.grouped) of \(progress.total.counted("row"))")
        }
        if !report.json { Output.line("created the full-text index \(name.onOneLine)") }
        return name
    }

    /// Throws if no table has the index that `--search` asks for: a misspelled column should not go unnoticed.
    private func requireIndexes(_ sources: [Source], _ db: Connection) throws {
        guard let search else { return }
        let indexes = try db.main.fullTextIndexes().map(\.name)
        let tables = sources.compactMap { source in if case .table(let table) = source { table.table } else { nil } }
        guard tables.contains(where: { indexes.contains($0 + "_search") }) else {
            throw Failure("no table of this import has the columns \(search) that --search names", status: .usage)
        }
    }
}
