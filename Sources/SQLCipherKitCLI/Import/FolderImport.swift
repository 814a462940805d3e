import Foundation
import SQLCipherKit

/// Reads the text files of a folder, or a single one, into the table of documents.
struct FolderImport {
    /// The path that was given: the folder, or a single file in it.
    let path: String
    let folder: String
    private let scan: FolderScan
    private let isFolder: Bool
    /// The largest file that is read, in bytes.
    private let limit: Int
    /// True to remove documents whose files are gone.
    private let isMirror: Bool
    private let tokenizer: ImportCommand.Tokenizer

    /// - Parameter path: the folder or the file.
    init(
        _ path: String, includesHidden: Bool, limit: Int, isMirror: Bool = false, tokenizer: ImportCommand.Tokenizer = .multilingual
    ) throws {
        (self.path, self.limit, self.isMirror, self.tokenizer) = (path, limit, isMirror, tokenizer)
        var info = stat()
        if stat(path, &info) == 0, info.st_mode & S_IFMT == S_IFREG {
            scan = FolderScan(file: path, info)
            isFolder = false
            folder = path.parentFolder
        } else {
            scan = try FolderScan(path, includesHidden: includesHidden)
            isFolder = true
            folder = path
        }
        if scan.files.isEmpty {
            throw Failure(
                "there is no file to import in \(folder)" + (FolderReport(scan, limit: limit).omissions.map { ": " + $0 } ?? ""))
        }
    }

    /// Adds the files that are new or have changed. Unchanged files are not opened.
    /// - Throws: ``Failure`` if no file is text.
    func run(_ db: Connection, _ writer: BatchWriter) throws -> FolderReport {
        let rate = Rate()
        let table = try DocumentTable(in: db, source: FilePath.absolute(folder), tokenizer)
        var report = FolderReport(scan, limit: limit)
        let bar = ProgressBar("Importing")
        try writer.write {
            for (number, file) in scan.files.enumerated() {
                try Interruption.check()
                let share = Double(number) / Double(scan.files.count)
                bar.show(
                    share,
                    "\(number.grouped) of \(scan.files.count.counted("file")), "
                        + "\(rate.perSecond(report.textSize).bytes)/s  \(file.name)")
                if table.has(file.name, size: file.size, modified: file.modified) {
                    report.unchanged += 1
                    continue
                }
                try add(file, to: table, writer, &report)
            }
            bar.show(1, "finishing")
            if isMirror { report.removed = try removeGone(table, report) }
            if report.documents + report.unchanged == 0 {
                throw Failure("there is no text file to import" + (report.omissions.map { ": " + $0 } ?? ""))
            }
        }
        report.duration = rate.elapsed
        return report
    }

    /// Removes the documents whose files are no longer in the folder. Throws if a part of the folder could not be read.
    private func removeGone(_ table: DocumentTable, _ report: FolderReport) throws -> Int {
        guard isFolder else { throw Failure("--mirror needs a folder: \(folder) may have other files", status: .usage) }
        guard report.unreadable.isEmpty else { throw Failure("--mirror removes nothing, as a part of \(folder) cannot be read") }
        return try table.remove(allBut: Set(scan.files.map { $0.name.bytes }))
    }

    private func add(_ file: FolderScan.File, to table: DocumentTable, _ writer: BatchWriter, _ report: inout FolderReport) throws {
        switch TextFile.read(file.path, limit: limit) {
        case .text(let text, let modified):
            try table.put(Document(path: file.name, body: text, modified: modified))
            report.documents += 1
            report.textSize += text.utf8.count
            try writer.wrote(bytes: text.utf8.count)
        case .binary: report.binaryFiles += 1
        case .tooLarge: report.tooLargeFiles += 1
        case .unreadable(let reason): report.unreadable.append(.init(name: file.name, reason: reason))
        }
    }
}

/// The report about a folder's files.
struct FolderReport {
    /// Documents that were added or replaced.
    var documents = 0
    /// Files that the database already has.
    var unchanged = 0
    /// Documents that a mirror removed.
    var removed = 0
    /// In bytes.
    var textSize = 0
    var binaryFiles = 0
    var tooLargeFiles = 0
    var unreadable: [FolderScan.Unreadable]
    var duration = Duration.zero
    private let scan: FolderScan
    private let limit: Int

    init(_ scan: FolderScan, limit: Int) {
        self.scan = scan
        self.limit = limit
        unreadable = scan.unreadable
    }

    /// The report, in a line.
    var summary: String {
        let before = unchanged == 0 ? "" : "; \(unchanged.counted("file")) already there"
        let gone = removed == 0 ? "" : "; \(removed.counted("document")) removed"
        return "imported \(documents.counted("file")) (\(textSize.bytes) of text) in \(duration.readable)" + before + gone
    }

    /// Returns the report, for programs.
    func values(_ source: FolderImport) -> [JSONValue] {
        let left = binaryFiles + tooLargeFiles + scan.symbolicLinks + scan.specialFiles + scan.hidden
        return [
            .string(source.path), "document", .integer(Int64(documents)), .integer(Int64(unchanged)), .integer(Int64(removed)),
            .integer(Int64(left)), .integer(Int64(unreadable.count)), .real(duration.roundedSeconds), [],
        ]
    }

    /// The omitted files, in a line; nil if there are none.
    var omissions: String? {
        var parts: [String] = []
        if binaryFiles > 0 { parts.append(binaryFiles.counted("binary file")) }
        if tooLargeFiles > 0 { parts.append("\(tooLargeFiles.counted("file")) larger than \(limit.bytes)") }
        if scan.symbolicLinks > 0 { parts.append(scan.symbolicLinks.counted("symbolic link")) }
        if scan.specialFiles > 0 {
            parts.append(scan.specialFiles.counted("pipe, socket or device", plural: "pipes, sockets or devices"))
        }
        if scan.hidden > 0 { parts.append("\(scan.hidden.grouped) hidden") }
        if !unreadable.isEmpty { parts.append("\(unreadable.count.grouped) unreadable") }
        return parts.isEmpty ? nil : parts.joined(separator: ", ") + " left out"
    }

    /// Reports the first ten files that could not be read, and the number of others.
    func warn() {
        for file in unreadable.prefix(10) { Output.error("cannot read \(file.name.onOneLine): \(file.reason)") }
        if unreadable.count > 10 { Output.error("… and \((unreadable.count - 10).grouped) more") }
    }
}

/// The files in a folder and its subfolders, found without opening any of them.
struct FolderScan {
    struct File {
        let path: FilePath
        /// The path below the folder.
        let name: String
        /// In bytes.
        let size: Int
        let modified: Date
    }

    /// A file or folder that could not be read, and why.
    struct Unreadable {
        let name: String
        let reason: String
    }

    /// Regular files, in the order of their paths' bytes within each folder.
    private(set) var files: [File] = []
    private(set) var unreadable: [Unreadable] = []
    private(set) var symbolicLinks = 0
    /// Hidden files and folders that were left out, each folder counted once.
    private(set) var hidden = 0
    /// Sockets, pipes, devices.
    private(set) var specialFiles = 0
    private let root: FilePath
    private let includesHidden: Bool

    /// - Parameters:
    ///   - folder: where to begin; only this one may be a symbolic link.
    ///   - includesHidden: whether to look at names that begin with a dot.
    init(_ folder: String, includesHidden: Bool) throws {
        root = FilePath(folder)
        self.includesHidden = includesHidden
        try Self.check(folder)
        // A list in place of recursion: deeply nested folders would overflow the stack.
        var folders = [root]
        while let next = folders.popLast() {
            folders += scan(next).reversed()
            try Interruption.check()
        }
    }

    /// Holds a single file in place of a folder.
    init(file path: String, _ info: stat) {
        root = FilePath(path.parentFolder)
        includesHidden = true
        files = [
            File(path: FilePath(path), name: path.lastName, size: Int(info.st_size), modified: info.modified)
        ]
    }

    private static func check(_ folder: String) throws {
        var info = stat()
        guard stat(folder, &info) == 0 else { throw Failure("\(folder) cannot be read: \(systemMessage(errno))") }
        guard info.st_mode & S_IFMT == S_IFDIR else { throw Failure("\(folder) is not a folder") }
        guard let stream = opendir(folder) else { throw Failure("\(folder) cannot be read: \(systemMessage(errno))") }
        closedir(stream)
    }

    /// Adds one folder's files, and returns the folders in it.
    private mutating func scan(_ folder: FilePath) -> [FilePath] {
        guard let names = names(in: folder) else { return [] }
        var folders: [FilePath] = []
        for name in names {
            if name[0] == CChar(bitPattern: UInt8(ascii: ".")), !includesHidden {
                hidden += 1
                continue
            }
            let path = folder.appending(name)
            var info = stat()
            guard path.withCString({ lstat($0, &info) }) == 0 else {
                note(path, errno)
                continue
            }
            switch info.st_mode & S_IFMT {
            case S_IFDIR: folders.append(path)
            case S_IFLNK: symbolicLinks += 1
            case S_IFREG:
                files.append(File(path: path, name: path.text(below: root), size: Int(info.st_size), modified: info.modified))
            default: specialFiles += 1
            }
        }
        return folders
    }

    private mutating func names(in folder: FilePath) -> [[CChar]]? {
        guard let stream = folder.withCString({ opendir($0) }) else {
            note(folder, errno)
            return nil
        }
        defer { closedir(stream) }
        var names: [[CChar]] = []
        while let entry = readdir(stream) {
            let offset = MemoryLayout<dirent>.offset(of: \.d_name)!
            let start = (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self)
            let name = Array(UnsafeBufferPointer(start: start, count: strlen(start) + 1))
            if name != [0x2e, 0] && name != [0x2e, 0x2e, 0] { names.append(name) }
        }
        return names.sorted { a, b in a.lexicographicallyPrecedes(b) { UInt8(bitPattern: $0) < UInt8(bitPattern: $1) } }
    }

    private mutating func note(_ path: FilePath, _ number: Int32) {
        unreadable.append(Unreadable(name: path.text(below: root), reason: systemMessage(number)))
    }
}
