import Foundation
import SQLCipherKit

/// Reads the records of a file, or of standard input, into a table.
struct FileImport {
    enum Format {
        /// CSV, and the delimiter that the file's name suggests.
        case csv(CSVOptions, usual: UInt8)
        /// JSON, and whether each line is an object unless there is an array.
        case json(hasLines: Bool)
    }

    struct Report {
        var rows = 0
        /// Rows that an earlier run imported.
        var earlier = 0
        var isNothingNew = false
        var skipped = 0
        var duration = Duration.zero
        /// The way in which the file was read, and its target.
        var reading = ""
        var columns: [ImportColumns.Column] = []
    }

    let path: String
    let table: String
    var format: Format
    var plan: RowPlan
    /// True to import again what an earlier run imported.
    let again: Bool
    private let bytes: Int
    private let modified: Date
    /// Standard input or a pipe.
    let stream: StreamSpool?
    private var isStream: Bool { stream != nil }

    init(_ path: String, table: String, format: Format, plan: RowPlan, again: Bool) throws {
        (self.path, self.table, self.format, self.plan, self.again) = (path, table, format, plan, again)
        var info = stat()
        guard path == "-" || stat(path, &info) == 0 else { throw Failure("\(path) cannot be read: \(systemMessage(errno))") }
        stream = path == "-" || info.st_mode & S_IFMT != S_IFREG ? try StreamSpool(path) : nil
        (bytes, modified) = stream != nil ? (0, Date(timeIntervalSince1970: 0)) : (Int(info.st_size), info.modified)
    }

    func run(_ db: Connection, _ writer: BatchWriter, _ filling: inout TableImport.Filling) throws -> Report {
        let ledger = try ImportLedger(db)
        let source = ImportLedger.Source(path: path == "-" ? "-" : FilePath.absolute(path), bytes: bytes, modified: modified)
        var entry = isStream || again || plan.isFresh ? nil : try ledger.entry(source, table)
        if let found = entry, found.bytes != bytes || abs(found.modified.timeIntervalSince(modified)) >= 0.002 {
            guard plan.isUpsert else {
                throw Failure(
                    "\(path) has changed since \(found.rows.counted("row")) of it went into \(table): "
                        + "--again imports all of it once more, --upsert only the changes, --fresh makes the table "
                        + "again")
            }
            entry = nil
        }
        var report = Report(earlier: entry?.rows ?? 0)
        if let entry, entry.isFinished {
            report.isNothingNew = true
            return report
        }
        let rate = Rate()
        let bar = ProgressBar("Importing")
        stream?.folder = try db.main.path.map { ($0 as NSString).deletingLastPathComponent } ?? "."
        let reader = try makeReader()
        if let entry { try reader.resume(at: entry.offset, line: entry.line) }
        let start = reader.offset
        try writer.write {
            if plan.isFresh { try dropTable(db, ledger, isOwn: filling.isOwn) }
            let (target, records) = try target(db, ledger, reader, &filling)
            var isFinished = false
            if !isStream {
                writer.beforeCommit = { rows in
                    try ledger.note(source, target, records.place, rows: report.earlier + rows, isFinished: isFinished)
                }
            }
            var last = start
            while let record = try at(SampledRecords.place(of: reader).name, { try records.next() }) {
                try at(records.place.name) { try target.insert(record, line: records.place.began) }
                report.rows += 1
                try writer.wrote(bytes: records.place.offset - last)
                last = records.place.offset
                if report.rows % 256 == 0 {
                    show(bar, rate, report.rows, last, from: start, isCompressed: reader.isCompressed)
                }
            }
            isFinished = true
            filling.columns = target.columns
            report.columns = target.isMade ? target.columns.list : []
        }
        writer.beforeCommit = nil
        report.duration = rate.elapsed
        report.skipped = reader.skipped
        report.reading = reader.description
        return report
    }

    /// The table that the records go into, and the records.
    private func target(
        _ db: Connection, _ ledger: ImportLedger, _ reader: any RecordReader, _ filling: inout TableImport.Filling
    ) throws -> (RowTable, SampledRecords) {
        let found = try at("line 1") {
            try RowTable(db, existing: table, wasMade: ledger.hasMade(table) || filling.isOwn, plan: plan, noted: filling.columns)
        }
        if let found {
            // Nothing is read twice for it.
            if !filling.isOwn { stream?.keeps = false }
            try at("line 1") { try reader.takeNames(found.namesByPosition) }
            return (found, try at(SampledRecords.place(of: reader).name) { try SampledRecords(reader, 0) })
        }
        filling.isOwn = true
        var columns = ImportColumns(plan)
        try at("line 1") { try begin(&columns, reader) }
        let records = try at(SampledRecords.place(of: reader).name) { try SampledRecords(reader) }
        for (record, line) in records.sample { columns.note(record, line) }
        let made = try at("line \(max(1, records.place.began))") {
            try RowTable(db, creating: table, plan: plan, filling.known ?? columns)
        }
        return (made, records)
    }

    /// Takes the names that a file begins with.
    private func begin(_ columns: inout ImportColumns, _ reader: any RecordReader) throws {
        guard columns.list.isEmpty else { return try reader.takeNames(columns.list.map(\.name)) }
        guard let names = reader.columns else { return }
        try RowTable.requireDistinct(names)
        for name in names { columns.add(name) }
        // The names in JSON lines are known only at the end; those of CSV are all in its header.
        if let missing = plan.typedNames.first(where: { columns.place(of: $0) == nil }) {
            throw Failure("--types names \(missing), but \(table) gets no such column", status: .usage)
        }
    }

    /// Reads the whole file, and adds what its columns need.
    func note(in columns: inout ImportColumns) throws -> Report {
        var report = Report()
        let reader = try makeReader(), rate = Rate(), bar = ProgressBar("Reading")
        try at("line 1") { try begin(&columns, reader) }
        while let record = try at(SampledRecords.place(of: reader).name, { try reader.next() }) {
            columns.note(record, reader.line)
            report.rows += 1
            if report.rows % 256 == 0 {
                try Interruption.check()
                show(bar, rate, report.rows, reader.offset, from: 0, isCompressed: reader.isCompressed)
            }
        }
        report.skipped = reader.skipped
        report.reading = reader.description
        return report
    }

    private func show(_ bar: ProgressBar, _ rate: Rate, _ rows: Int, _ offset: Int, from start: Int, isCompressed: Bool) {
        let share = bytes > 0 && !isCompressed ? Double(offset) / Double(bytes) : nil
        bar.show(
            share,
            "\(rows.counted("row")), \(rate.perSecond(rows).grouped) rows/s, \(rate.perSecond(offset - start).bytes)/s")
    }

    /// Drops the table that an import has made, and what that import has noted.
    private func dropTable(_ db: Connection, _ ledger: ImportLedger, isOwn: Bool) throws {
        guard try db.main.table(table) != nil else { return }
        guard try isOwn || ledger.hasMade(table) else {
            throw Failure("the table \(table) was not made by an import: --fresh does not drop it", status: .usage)
        }
        for index in try db.main.fullTextIndexes() where index.name.sqlName == (table + "_search").sqlName {
            try db.execute(SQL(raw: "DROP TABLE \(index.name.quotedSQLIdentifier)"))
        }
        try db.execute(SQL(raw: "DROP TABLE \(table.quotedSQLIdentifier)"))
        try ledger.forget(table)
    }

    private func makeReader() throws -> any RecordReader {
        let bytes = try InputReader(path, stream: stream)
        switch format {
        case .csv(let options, let usual): return try at("line 1") { try CSVReader(bytes, options, usual: usual) }
        case .json(let hasLines): return try at("line 1") { try JSONReader(bytes, hasLines: hasLines) }
        }
    }

    /// Adds to an error where in the file it is.
    private func at<R>(_ place: @autoclosure () -> String, _ body: () throws -> R) throws -> R {
        do { return try body() } catch { throw located(error, place()) }
    }

    private func located(_ error: any Error, _ place: String) -> any Error {
        if Interruption.isWanted { return error }
        if let narrow = error as? RowTable.TooNarrow {
            return RowTable.TooNarrow(failure: located(narrow.failure, place) as? Failure ?? narrow.failure)
        }
        let failure = Failure(describing: error)
        let message = failure.status == .usage ? "\(path): \(failure.message)" : "\(path), \(place): \(failure.message)"
        return Failure(message, status: failure.status)
    }
}

extension FileImport.Report {
    /// Returns the report, for people.
    func lines(_ file: FileImport) -> [String] {
        if isNothingNew {
            return [
                "\(file.path) was imported before, \(earlier.counted("row")): --again imports it once more, --fresh makes the "
                    + "table again, with other options perhaps",
            ]
        }
        let before = earlier == 0 ? "" : ", after \(earlier.grouped) of an earlier run"
        var lines = ["imported \(rows.counted("row")) into \(file.table) in \(duration.readable)" + before]
        if skipped > 0 { lines.append("left out \(skipped.counted("line")) with a different number of fields") }
        return lines + self.reading(file)
    }

    /// Returns the way in which the file was read, for people.
    func reading(_ file: FileImport) -> [String] {
        let columns = columns.map(\.description).joined(separator: ", ")
        return ["read as " + reading] + (columns.isEmpty ? [] : ["columns: " + columns])
    }
}

extension FileImport.Report {
    /// Returns the report, for programs.
    func values(_ file: FileImport) -> [JSONValue] {
        [
            .string(file.path), .string(file.table), .integer(Int64(rows)), .integer(Int64(earlier)), 0,
            .integer(Int64(skipped)), 0, .real(duration.roundedSeconds),
            .array(columns.map { ["name": .string($0.name), "type": .string($0.type.rawValue)] }),
        ]
    }
}

/// The records of a reader. The first ones are read ahead, as they decide the columns.
final class SampledRecords {
    /// Where a record ends, so that another run can continue there.
    struct Place {
        var began: Int
        var offset: Int
        var resumeLine: Int
        /// The number of the element of an array of JSON; nil where the line tells more.
        var element: Int?

        /// The place, for people.
        var name: String { "line \(began)" + (element.map { ", element \($0.grouped)" } ?? "") }
    }

    private static let byteLimit = 4 << 20

    private let reader: any RecordReader
    private var waiting: [(record: ImportRecord, place: Place)] = []
    private var position = 0
    /// The error that ended the sample, thrown after its records.
    private var error: (any Error)?
    private(set) var place: Place
    var sample: [(record: ImportRecord, line: Int)] { waiting.map { ($0.record, $0.place.began) } }

    /// - Parameter limit: how many records to read ahead.
    /// - Throws: what is wrong with the first record.
    init(_ reader: any RecordReader, _ limit: Int = 5000) throws {
        self.reader = reader
        place = Self.place(of: reader)
        let start = reader.offset
        do {
            while waiting.count < limit, reader.offset - start < Self.byteLimit, let record = try reader.next() {
                waiting.append((record, Self.place(of: reader)))
            }
        } catch where !waiting.isEmpty {
            self.error = error
        }
    }

    static func place(of reader: any RecordReader) -> Place {
        Place(began: reader.line, offset: reader.offset, resumeLine: reader.resumeLine, element: reader.element)
    }

    func next() throws -> ImportRecord? {
        if position < waiting.count {
            defer { position += 1 }
            place = waiting[position].place
            return waiting[position].record
        }
        waiting = []
        position = 0
        if let error { throw error }
        guard let record = try reader.next() else { return nil }
        place = Self.place(of: reader)
        return record
    }
}

/// Records how far each file has been imported. It is written in the same transaction as the rows, so that the two always agree.
struct ImportLedger {
    /// A file that rows come from.
    struct Source {
        /// The absolute path.
        let path: String
        let bytes: Int
        let modified: Date
    }

    struct Entry {
        let bytes: Int
        let modified: Date
        let offset: Int
        let line: Int
        let rows: Int
        let isFinished: Bool
    }

    private let db: Connection

    init(_ db: Connection) throws {
        self.db = db
        try db.execute(
            """
            CREATE TABLE IF NOT EXISTS sqlcipherkit_import(
                source TEXT NOT NULL,           -- the file's absolute path
                target TEXT NOT NULL,           -- the table
                bytes INTEGER NOT NULL,         -- the file's size and time when the import began
                modified TEXT NOT NULL,
                position INTEGER NOT NULL,      -- where the next record begins, in bytes
                line INTEGER NOT NULL,          -- and in which line
                rows INTEGER NOT NULL,          -- the rows that are in the table
                is_finished INTEGER NOT NULL,
                made_table INTEGER NOT NULL,    -- whether the import has made the table
                PRIMARY KEY (source, target)
            ) STRICT, WITHOUT ROWID
            """)
    }

    func entry(_ source: Source, _ table: String) throws -> Entry? {
        let row: (Int, Date, Int, Int, Int, Bool)? = try db.fetchOne(
            """
            SELECT bytes, modified, position, line, rows, is_finished FROM sqlcipherkit_import
            WHERE source = \(source.path) AND target = \(table)
            """)
        guard let row else { return nil }
        // The numbers are part of a file: no sum with them may overflow.
        guard [row.0, row.2, row.3, row.4].allSatisfy((0...1 << 48).contains) else {
            throw Failure(
                "the table sqlcipherkit_import has impossible numbers for \(source.path): --again imports all of it once more")
        }
        return Entry(bytes: row.0, modified: row.1, offset: row.2, line: row.3, rows: row.4, isFinished: row.5)
    }

    /// Returns whether an import created the table.
    func hasMade(_ table: String) throws -> Bool {
        try db.fetchOne(Bool.self, "SELECT max(made_table) FROM sqlcipherkit_import WHERE target = \(table) HAVING count(*) > 0")
            ?? false
    }

    /// Forgets what was imported into a table.
    func forget(_ table: String) throws { try db.execute("DELETE FROM sqlcipherkit_import WHERE target = \(table) COLLATE NOCASE") }

    func note(_ source: Source, _ table: RowTable, _ place: SampledRecords.Place, rows: Int, isFinished: Bool) throws {
        try db.execute(
            """
            INSERT OR REPLACE INTO sqlcipherkit_import
            VALUES (\(source.path), \(table.name), \(source.bytes), \(source.modified), \(place.offset), \(place.resumeLine),
                \(rows), \(isFinished), \(table.isMade))
            """)
    }
}
