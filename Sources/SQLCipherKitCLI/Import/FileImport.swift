import Foundation
import SQLCipherKit

/// Reads the records of a file, or of standard input, into a table.
struct FileImport {
    enum Format { case csv(CSVReader.Options), jsonLines }

    struct Report {
        var rows = 0
        /// Rows that an earlier run has imported.
        var earlier = 0
        var isNothingNew = false
        var duration = Duration.zero
    }

    let path: String
    let table: String
    let format: Format
    /// Whether what an earlier run has imported is imported once more.
    let again: Bool
    private let bytes: Int
    private let modified: Date

    init(_ path: String, table: String, format: Format, again: Bool) throws {
        (self.path, self.table, self.format, self.again) = (path, table, format, again)
        if path == "-" {
            (bytes, modified) = (0, Date(timeIntervalSince1970: 0))
            return
        }
        var info = stat()
        guard stat(path, &info) == 0 else { throw Failure("\(path) cannot be read: \(systemMessage(errno))") }
        (bytes, modified) = (Int(info.st_size), info.modified)
    }

    func run(_ db: Connection, _ writer: BatchWriter) throws -> Report {
        let ledger = try ImportLedger(db)
        let source = ImportLedger.Source(path: path == "-" ? "-" : FilePath.absolute(path), bytes: bytes, modified: modified)
        let entry = path == "-" || again ? nil : try ledger.entry(source, table)
        var report = Report(earlier: entry?.rows ?? 0)
        if let entry {
            guard entry.bytes == bytes, abs(entry.modified.timeIntervalSince(modified)) < 0.002 else {
                throw Failure(
                    "\(path) has changed since \(entry.rows.counted("row")) of it went into \(table): --again imports all of it once more")
            }
            if entry.isFinished {
                report.isNothingNew = true
                return report
            }
        }
        let rate = Rate()
        let bar = ProgressBar("Importing")
        let reader = try makeReader()
        if let entry { try reader.resume(at: entry.offset, line: entry.line) }
        let start = reader.offset
        try writer.write {
            let target = try atLine(reader) { try RowTable(db, table, wasMade: try ledger.hasMade(table), columns: reader.columns ?? []) }
            var isFinished = false
            if path != "-" {
                writer.beforeCommit = { rows in
                    try ledger.note(source, target, reader, rows: report.earlier + rows, isFinished: isFinished)
                }
            }
            var last = reader.offset
            while let record = try atLine(reader, { try reader.next() }) {
                try atLine(reader) { try target.insert(record) }
                report.rows += 1
                try writer.wrote(bytes: reader.offset - last)
                last = reader.offset
                if report.rows % 256 == 0 {
                    let speed = "\(rate.perSecond(report.rows).grouped) rows/s, \(rate.perSecond(last - start).bytes)/s"
                    bar.show(bytes > 0 ? Double(last) / Double(bytes) : nil, "\(report.rows.counted("row")), \(speed)")
                }
            }
            isFinished = true
        }
        writer.beforeCommit = nil
        report.duration = rate.elapsed
        return report
    }

    private func makeReader() throws -> any RecordReader {
        let reader = try ByteReader(path)
        switch format {
        case .csv(let options):
            do { return try CSVReader(reader, options) } catch let failure as Failure where failure.status == .failed {
                throw Failure("\(path), line 1: \(failure.message)")
            }
        case .jsonLines: return JSONLinesReader(reader)
        }
    }

    /// Says where in the file an error is.
    private func atLine<R>(_ reader: any RecordReader, _ body: () throws -> R) throws -> R {
        do { return try body() } catch {
            if Interruption.isWanted { throw error }
            throw Failure("\(path), line \(reader.line): \(Failure(describing: error).message)")
        }
    }
}
