import Foundation
import SQLCipherKit

/// Reads the text files of a folder into a new database.
struct FolderIndexer {
    let folder: String
    private let scan: FolderScan
    /// The largest file that is read, in bytes.
    private let limit: Int

    init(_ folder: String, includesHidden: Bool, limit: Int) throws {
        self.folder = folder
        self.limit = limit
        scan = try FolderScan(folder, includesHidden: includesHidden)
        if scan.files.isEmpty {
            throw Failure("there is no file to index in \(folder)" + (IndexReport(scan, limit: limit).omissions.map { ": " + $0 } ?? ""))
        }
    }

    /// Makes the database.
    /// - Throws: ``Failure`` if no file is text; no database is left then.
    func index(into database: String, key: EncryptionKey) throws -> (db: Connection, report: IndexReport) {
        let start = ContinuousClock.now
        return try Interruption.cleaningUp {
            var (db, report) = try DocumentStore.make(database, key: key) { writer in try fill(writer) }
            report.duration = start.duration(to: .now)
            report.databaseSize = try db.fetchOne(Int.self, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size") ?? 0
            return (db, report)
        }
    }

    private func fill(_ writer: DocumentStore.Writer) throws -> IndexReport {
        var report = IndexReport(scan, limit: limit)
        var bar = ProgressBar("Indexing", total: scan.files.count)
        for (number, file) in scan.files.enumerated() {
            try Interruption.check()
            bar.show(number, "\(number.grouped) of \(scan.files.count.counted("file"))  \(file.name)")
            switch TextFile.read(file.path, limit: limit) {
            case .text(let text, let modified):
                try writer.add(Document(path: file.name, body: text, modified: modified))
                report.documents += 1
                report.textSize += text.utf8.count
            case .binary: report.binaryFiles += 1
            case .tooLarge: report.tooLargeFiles += 1
            case .unreadable(let reason): report.unreadable.append(.init(name: file.name, reason: reason))
            }
        }
        bar.show(scan.files.count, "finishing")
        if report.documents == 0 {
            throw Failure("there is no text file to index" + (report.omissions.map { ": " + $0 } ?? ""))
        }
        return report
    }
}

/// What became of a folder's files.
struct IndexReport {
    var documents = 0
    /// In bytes.
    var textSize = 0
    var binaryFiles = 0
    var tooLargeFiles = 0
    var unreadable: [FolderScan.Unreadable]
    var duration = Duration.zero
    /// In bytes.
    var databaseSize = 0
    private let scan: FolderScan
    private let limit: Int

    init(_ scan: FolderScan, limit: Int) {
        self.scan = scan
        self.limit = limit
        unreadable = scan.unreadable
    }

    /// What was left out, in a line; nil if nothing was.
    var omissions: String? {
        var parts: [String] = []
        if binaryFiles > 0 { parts.append(binaryFiles.counted("binary file")) }
        if tooLargeFiles > 0 { parts.append("\(tooLargeFiles.counted("file")) larger than \(limit.bytes)") }
        if scan.symbolicLinks > 0 { parts.append(scan.symbolicLinks.counted("symbolic link")) }
        if scan.specialFiles > 0 { parts.append(scan.specialFiles.counted("pipe, socket or device", plural: "pipes, sockets or devices")) }
        if scan.hidden > 0 { parts.append("\(scan.hidden.grouped) hidden") }
        if !unreadable.isEmpty { parts.append("\(unreadable.count.grouped) unreadable") }
        return parts.isEmpty ? nil : parts.joined(separator: ", ") + " left out"
    }

    /// Names the files that could not be read, the first of them.
    func warn() {
        for file in unreadable.prefix(10) { Output.error("cannot read \(file.name.onOneLine): \(file.reason)") }
        if unreadable.count > 10 { Output.error("… and \((unreadable.count - 10).grouped) more") }
    }
}
