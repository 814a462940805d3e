import ArgumentParser
import Foundation
import SQLCipherKit

struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Read text files, folders, CSV and JSON into a database.",
        discussion: """
            The database is made if it does not exist. Each batch of rows is a transaction: interrupted or failed, the command \
            leaves what is complete, and the same command goes on from there. What was imported before and has not changed is \
            not imported again: repeat the command when there are new files.

            A folder's text files become rows of the table document(id, source, path, title, size, modified, meta, body), with \
            a full-text index; meta is JSON. So does a single file that is neither CSV nor JSON rows. A file that was changed \
            since replaces its row. Only UTF-8 is text; binary files, large and hidden ones are left out and counted, and \
            symbolic links are not followed.

            The rows of a CSV file (.csv, .tsv) and the objects of JSON lines (.jsonl, .ndjson) or of a JSON array (.json) go \
            into a table named like the file, which is made if it is not there, with a column for each name. A file that gzip \
            has compressed is unpacked by the system's gzip.

            How CSV is written (what stands between and around fields, whether the first line has names, the encoding) is found \
            out and said; options say it better. An empty field is NULL, and an empty one in quotes empty text.

            A column of CSV is of numbers only if each of its fields is the number's usual form: with 01067, 1.10, +1 or 1e5 in \
            it, it is text and nothing is lost; so is what stands in quotes. A later value that a column of numbers \
            would change makes the column text. --types says otherwise. In JSON, objects and arrays in an object become JSON \
            text, true and false 1 and 0; a column with texts and numbers keeps both.

            EXAMPLES
              sqlcipherkit import notes.db ~/Documents
              sqlcipherkit import shop.db orders.csv customers.jsonl --search name,comment
              sqlcipherkit import shop.db 'orders-*.csv' --table orders --types sum=real
              sqlcipherkit import shop.db customers.csv --pk number --mirror
              curl … | sqlcipherkit import log.db - --as jsonl --table log

            \(form), where sources is an array of objects: \(sourceForm.keys.joined(separator: ", "))
            """)

    private static let form = JSONForm.object("file", "bytes", "encrypted", "rows", "indexes", "sources")
    private static let sourceForm = JSONForm.object(
        "source", "table", "rows", "earlier", "removed", "left_out", "unreadable", "seconds", "columns")

    enum Tokenizer: String, CaseIterable, ExpressibleByArgument {
        case porter, unicode61, trigram

        var engine: FTS5Tokenizer {
            switch self {
            case .porter: .porter(.unicode61())
            case .unicode61: .unicode61()
            case .trigram: .trigram()
            }
        }

        /// The beginnings of words that are indexed; of three letters there are none.
        var prefixes: [Int] { self == .trigram ? [] : [2, 3] }
    }

    enum SourceFormat: String, CaseIterable, ExpressibleByArgument { case csv, json, jsonl, text }

    @OptionGroup var file: FileOptions

    @Argument(help: ArgumentHelp("Files and folders to read; - is standard input.", valueName: "source"), completion: .file())
    var sources: [String]

    @Option(name: .customLong("as"), help: "What the files are: csv, json, jsonl or text. By default their names tell.")
    var format: SourceFormat?

    @OptionGroup var rows: RowOptions

    @Option(help: ArgumentHelp("Make a full-text index of these columns of the table.", valueName: "columns"))
    var search: String?

    @Option(
        help: """
            How a new full-text index takes texts apart: porter (English words by their stems), unicode61 (words as they are) or \
            trigram (parts of words, for any language).
            """)
    var tokenizer = Tokenizer.porter

    @Flag(help: "Import files again that were imported before or have changed since.")
    var again = false

    @Option(help: ArgumentHelp("The rows in a transaction.", valueName: "rows"))
    var batch = 10_000

    @Option(help: ArgumentHelp("The largest text file that is read, in MiB.", valueName: "MiB"))
    var maxSize = 8

    @Flag(help: "Read hidden files and folders as well.")
    var hidden = false

    @OptionGroup var report: ReportOptions

    private var path: String { file.path }

    func validate() throws {
        // SQLite's texts end at a thousand million bytes.
        guard (1...900).contains(maxSize) else { throw ValidationError("--max-size is a number from 1 to 900") }
        guard batch >= 1 else { throw ValidationError("--batch is a number from 1 on") }
        if sources.contains("-"), format == nil || format == .text || rows.table == nil {
            throw ValidationError("standard input has no name: --as csv, json or jsonl, and --table, are needed")
        }
    }

    func run() throws {
        // What is wrong with the sources is said before a key is typed.
        let imports = try sources.flatMap(FilePattern.files).map(source)
        let isNew = !FileOptions.exists(path)
        let db = try isNew ? Connection(.file(path), key: file.key.newKey(for: path)) : file.open(.readWrite)
        try Interruption.stop(db)
        // Room for what the index holds before it is written, so that pages are encrypted once and not over and over.
        try db.execute("PRAGMA cache_size = -65536")
        var committed = 0
        var done = Done()
        do {
            for (number, source) in imports.enumerated() {
                let writer = BatchWriter(db, rowsPerBatch: batch)
                defer { committed += writer.committed }
                try run(source, db, writer, before: imports[(number + 1)...], &done)
            }
            try requireIndexes(imports, db)
        } catch {
            if isNew, committed == 0 { remove(db) }
            guard Interruption.isWanted else {
                let failure = Failure(describing: error)
                let there = "\(committed.counted("row")) before it are in the database, and the same command goes on after them"
                let rest = committed == 0 ? "" : "; " + there
                throw Failure(failure.message + rest, status: failure.status)
            }
            throw Failure(
                committed == 0 ? "interrupted: nothing was imported"
                    : "interrupted: \(committed.counted("row")) are in the database, and the same command goes on from there",
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

    private enum Source { case folder(FolderImport), file(FileImport) }

    private func source(_ name: String) throws -> Source {
        let base = name.lowercased().hasSuffix(".gz") ? String(name.dropLast(3)) : name
        let kind: SourceFormat
        switch (base as NSString).pathExtension.lowercased() {
        case "csv", "tsv": kind = format ?? .csv
        case "jsonl", "ndjson": kind = format ?? .jsonl
        case "json": kind = try format ?? (holdsArray(name) ? .json : .text)
        default: kind = format ?? .text
        }
        var info = stat()
        let isThere = stat(name, &info) == 0
        if kind == .text || (isThere && info.st_mode & S_IFMT == S_IFDIR) {
            if isThere, ![S_IFDIR, S_IFREG].contains(info.st_mode & S_IFMT) {
                throw Failure("\(name) is a pipe or a device: --as csv, json or jsonl says what comes out of it")
            }
            return .folder(
                try FolderImport(name, includesHidden: hidden, limit: maxSize << 20, isMirror: rows.mirror, tokenizer: tokenizer))
        }
        let usual: UInt8 = base.lowercased().hasSuffix(".tsv") ? 0x09 : UInt8(ascii: ",")
        let written: FileImport.Format = kind == .csv ? .csv(try rows.options(for: name), usual: usual) : .json
        return .file(
            try FileImport(
                name, table: rows.table ?? Self.tableName(base), format: written,
                encoding: rows.encoding, plan: rows.plan(), again: again))
    }

    /// Whether a file begins with the bracket of a JSON array.
    private func holdsArray(_ name: String) throws -> Bool {
        var info = stat()
        guard stat(name, &info) == 0, info.st_mode & S_IFMT == S_IFREG else { return false }
        return JSONReader.isArray(try ByteReader(name).sample)
    }

    /// The file's name without its extension, with letters, digits and underscores only.
    static func tableName(_ path: String) -> String {
        let base = ((path as NSString).lastPathComponent as NSString).deletingPathExtension
        let name = String(base.map { $0.isLetter || $0.isNumber ? $0 : "_" })
        // SQLite keeps names that begin so for itself.
        return name.lowercased().hasPrefix("sqlite_") || name.isEmpty ? "_" + name : name
    }

    // MARK: Running

    /// What was done, for `--json`.
    private struct Done {
        var sources: [JSONValue] = []
        var indexes: [String] = []
    }

    private func run(
        _ source: Source, _ db: Connection, _ writer: BatchWriter, before rest: ArraySlice<Source>, _ done: inout Done
    ) throws {
        switch source {
        case .folder(let folder):
            let found = try folder.run(db, writer)
            found.warn()
            done.sources.append(Self.sourceForm.object(found.values(folder)))
            if report.json { return }
            Output.line(found.summary)
            if let omissions = found.omissions { Output.line(omissions) }
        case .file(let file):
            let isLast = !rest.contains { other in
                if case .file(let other) = other { other.table.sqlName == file.table.sqlName } else { false }
            }
            let found = try file.run(db, writer, isLast: isLast)
            if let name = try index(file.table, db) { done.indexes.append(name) }
            done.sources.append(Self.sourceForm.object(found.values(file)))
            if !report.json { for line in found.lines(file) { Output.line(line.onOneLine) } }
        }
    }

    /// The full-text index that `--search` asks for, of a table that has the columns; triggers keep one that is there up to date.
    /// - Returns: the name of an index that was made.
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
            let share = Double(progress.indexed) / Double(max(1, progress.total))
            bar.show(share, "\(progress.indexed.grouped) of \(progress.total.counted("row"))")
        }
        if !report.json { Output.line("made the full-text index \(name.onOneLine)") }
        return name
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
