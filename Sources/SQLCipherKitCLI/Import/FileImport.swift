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
        /// Rows that a mirror removed.
        var removed = 0
        var duration = Duration.zero
        /// How the file was read, and into what.
        var reading = ""
        var columns: [RowTable.Column] = []
        var warnings: [String] = []
    }

    let path: String
    let table: String
    let format: Format
    let encoding: TextEncoding?
    var plan: RowPlan
    /// How many records to read; nil for all.
    var limit: Int?
    /// Whether to import again what an earlier run imported.
    let again: Bool
    private let bytes: Int
    private let modified: Date
    /// Standard input or a pipe: it cannot be read twice.
    private let isStream: Bool

    init(_ path: String, table: String, format: Format, encoding: TextEncoding?, plan: RowPlan, again: Bool) throws {
        (self.path, self.table, self.format, self.encoding, self.plan) = (path, table, format, encoding, plan)
        // A mirror must see all of its input.
        self.again = again || plan.mode == .mirror
        var info = stat()
        guard path == "-" || stat(path, &info) == 0 else { throw Failure("\(path) cannot be read: \(systemMessage(errno))") }
        isStream = path == "-" || info.st_mode & S_IFMT != S_IFREG
        (bytes, modified) = isStream ? (0, Date(timeIntervalSince1970: 0)) : (Int(info.st_size), info.modified)
    }

    /// - Parameter isLast: whether this is the last file for the table. A mirror then removes rows that were in none of the files.
    func run(_ db: Connection, _ writer: BatchWriter, isLast: Bool) throws -> Report {
        let ledger = try ImportLedger(db)
        let source = ImportLedger.Source(path: path == "-" ? "-" : FilePath.absolute(path), bytes: bytes, modified: modified)
        var entry = isStream || again || plan.isFresh ? nil : try ledger.entry(source, table)
        if let found = entry, found.bytes != bytes || abs(found.modified.timeIntervalSince(modified)) >= 0.002 {
            guard plan.mode != .insert else {
                throw Failure(
                    "\(path) has changed since \(found.rows.counted("row")) of it went into \(table): "
                        + "--again imports all of it once more, --upsert and --mirror only the changes, --fresh makes the table "
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
        let reader = try makeReader()
        if let entry { try reader.resume(at: entry.offset, line: entry.line) }
        let start = reader.offset
        let records = SampledRecords(reader)
        try writer.write {
            if plan.isFresh { try dropTable(db, ledger) }
            let target = try at(max(1, records.place.began)) {
                try RowTable(
                    db, table, wasMade: try ledger.hasMade(table), plan: plan, keepsNumbersApart: reader.keepsNumbersApart,
                    columns: reader.columns ?? [], sample: records.sample)
            }
            var isFinished = false
            if !isStream {
                writer.beforeCommit = { rows in
                    try ledger.note(source, target, records.place, rows: report.earlier + rows, isFinished: isFinished)
                }
            }
            var last = start
            while limit.map({ report.rows < $0 }) ?? true, let record = try at(reader, { try records.next() }) {
                try at(records) { try target.insert(record, line: records.place.began) }
                report.rows += 1
                try writer.wrote(bytes: records.place.offset - last)
                last = records.place.offset
                if report.rows % 256 == 0 {
                    let speed = "\(rate.perSecond(report.rows).grouped) rows/s, \(rate.perSecond(last - start).bytes)/s"
                    let share = bytes > 0 && !records.isCompressed ? Double(last) / Double(bytes) : nil
                    bar.show(share, "\(report.rows.counted("row")), \(speed)")
                }
            }
            // The program that wrote it may have failed: even without rows, a file has column names or the brackets of an array.
            if plan.mode == .mirror, reader.offset == 0 {
                throw Failure("\(path) is empty: --mirror removes no rows of \(table) for an empty file")
            }
            if isLast { report.removed = try target.removeOthers() }
            isFinished = true
            report.columns = target.isMade ? target.columns : []
        }
        writer.beforeCommit = nil
        report.duration = rate.elapsed
        report.skipped = reader.skipped
        report.reading = reader.description
        report.warnings = reader.warnings
        return report
    }

    /// Drops the table that an earlier import has made, and what that import has noted.
    private func dropTable(_ db: Connection, _ ledger: ImportLedger) throws {
        guard try db.main.table(table) != nil else { return }
        guard try ledger.hasMade(table) else {
            throw Failure("the table \(table) was not made by an import: --fresh does not drop it", status: .usage)
        }
        for index in try db.main.fullTextIndexes() where index.name.sqlName == (table + "_search").sqlName {
            try db.execute(SQL(raw: "DROP TABLE \(index.name.quotedSQLIdentifier)"))
        }
        try db.execute(SQL(raw: "DROP TABLE \(table.quotedSQLIdentifier)"))
        try ledger.forget(table)
    }

    private func makeReader() throws -> any RecordReader {
        let bytes = try InputReader(path, encoding: encoding)
        switch format {
        case .csv(let options, let usual): return try at(1) { try CSVReader(bytes, options, usual: usual) }
        case .json(let hasLines): return try at(1) { try JSONReader(bytes, hasLines: hasLines) }
        }
    }

    /// Adds to an error where in the file it is: in the record that the reader has begun.
    private func at<R>(_ reader: any RecordReader, _ body: () throws -> R) throws -> R {
        do { return try body() } catch { throw located(error, SampledRecords.place(of: reader).name) }
    }

    private func at<R>(_ records: SampledRecords, _ body: () throws -> R) throws -> R {
        do { return try body() } catch { throw located(error, records.place.name) }
    }

    private func at<R>(_ line: Int, _ body: () throws -> R) throws -> R {
        do { return try body() } catch { throw located(error, "line \(line)") }
    }

    private func located(_ error: any Error, _ place: String) -> any Error {
        if Interruption.isWanted { return error }
        let failure = Failure(describing: error)
        let message = failure.status == .usage ? "\(path): \(failure.message)" : "\(path), \(place): \(failure.message)"
        return Failure(message, status: failure.status)
    }
}

extension FileImport.Report {
    /// What was done, for people.
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
        if removed > 0 { lines.append("removed \(removed.counted("row")) that the input does not contain") }
        return lines + self.reading(file)
    }

    /// How the file was read, for people.
    func reading(_ file: FileImport) -> [String] {
        let columns = columns.map(\.description).joined(separator: ", ")
        return ["read as " + reading] + (columns.isEmpty ? [] : ["columns: " + columns])
    }
}

extension FileImport.Report {
    /// What was done, for programs.
    func values(_ file: FileImport) -> [JSONValue] {
        [
            .string(file.path), .string(file.table), .integer(Int64(rows)), .integer(Int64(earlier)), .integer(Int64(removed)),
            .integer(Int64(skipped)), 0, .real(duration.roundedSeconds),
            .array(columns.map { ["name": .string($0.name), "type": .string($0.type.rawValue)] }),
        ]
    }
}

extension RowTable.Column {
    /// The column's name and type, and why it is text if it could have been numbers.
    fileprivate var description: String {
        var reason = ""
        if type == .text, let textLine { reason = " (a number would change line \(textLine.grouped))" }
        if type == .text, !missing.isEmpty {
            reason = " (numbers with --null '\(missing.sorted().joined(separator: ","))')"
        }
        return "\(name) \(type.rawValue)\(reason)"
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

    private static let records = 5000
    private static let byteLimit = 4 << 20

    private let reader: any RecordReader
    private var waiting: [(record: ImportRecord, place: Place)] = []
    private var position = 0
    /// The error that ended the sample, thrown after its records.
    private var error: (any Error)?
    private(set) var place: Place
    var sample: [(record: ImportRecord, line: Int)] { waiting.map { ($0.record, $0.place.began) } }
    var isCompressed: Bool { reader.isCompressed }

    init(_ reader: any RecordReader) {
        self.reader = reader
        place = Self.place(of: reader)
        let start = reader.offset
        do {
            while waiting.count < Self.records, reader.offset - start < Self.byteLimit, let record = try reader.next() {
                waiting.append((record, Self.place(of: reader)))
            }
        } catch {
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
        return row.map { Entry(bytes: $0.0, modified: $0.1, offset: $0.2, line: $0.3, rows: $0.4, isFinished: $0.5) }
    }

    /// Whether an import created the table.
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
