import ArgumentParser
import Foundation
import SQLCipherKit

struct BackupCommand: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy a database into a file while other programs use it.",
        discussion: """
            The copy holds one snapshot of the committed data, and has the key of the database unless --new-key gives it another. \
            It is checked page by page and written to disk before it gets its name. If the database has key slots, its key is in \
            the .keys file: copy that file too, or give the backup a key of its own.

            EXAMPLES
              sqlcipherkit backup notes.db monday.db
              sqlcipherkit backup notes.db handover.db --new-key prompt

            \(form)
            """)

    private static let form = JSONForm.object("file", "backup")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions

    @Argument(help: ArgumentHelp("The file to create.", valueName: "backup"), completion: .file())
    var target: String

    @Flag(help: "Replace an existing file of that name, once the backup is complete.")
    var replace = false

    @Flag(help: "Also write DATABASE-recovery, with which recover needs no first page.")
    var recoveryCopy = false

    @OptionGroup var new: NewKeyOptions
    @OptionGroup var report: ReportOptions

    func run() throws {
        if !replace, FileOptions.exists(target) {
            throw Failure("\(target) already exists: use --replace to replace it")
        }
        let db = try file.open(.readOnly)
        let encryption = try new.given.map { try $0.key(for: "the backup \(target)", isNew: true) }
        var options = Schema.BackupOptions()
        (options.replacesFile, options.writesRecoveryCopy) = (replace, recoveryCopy)
        try db.main.backup(toFileAt: target, key: encryption, options: options, progress: ProgressBar.rewriting("Copying"))
        try report.write(
            Self.form, [.string(file.path), .string(target)], "copied \(file.path.onOneLine) to \(target.onOneLine)")
        if encryption == nil, try UnlockedKey.hasSlots(file.path) {
            Output.error("the backup needs \(target.onOneLine).keys beside it: copy \(file.path.onOneLine).keys to that name")
        }
    }
}

struct VacuumCommand: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "vacuum",
        abstract: "Rewrite a database without its free pages.",
        discussion: """
            Runs in one transaction: if interrupted, the database is unchanged. The new content is collected in an unnamed \
            temporary file, encrypted with the same key. Rows keep their ids. --into writes a compact copy instead. vacuum does \
            not guarantee that deleted data is gone: sqlcipherkit erase does.

            EXAMPLES
              sqlcipherkit vacuum notes.db
              sqlcipherkit vacuum notes.db --into compact.db

            \(form)
            """)

    private static let form = JSONForm.object("file", "free_pages")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions

    @Option(help: ArgumentHelp("Write a compact copy with the same key into a new file.", valueName: "file"), completion: .file())
    var into: String?

    @OptionGroup var report: ReportOptions

    func run() throws {
        let db = try file.open(into == nil ? .readWrite : .readOnly)
        if let into {
            try db.main.backup(toFileAt: into, options: .compact, progress: ProgressBar.rewriting("Copying"))
            let free = try db.freePages
            try report.write(
                Self.form, [.string(into), .integer(Int64(free))], "wrote \(into.onOneLine), \(free.counted("free page")) fewer")
            return
        }
        let free = try db.freePages
        do { try db.main.vacuum() } catch let error as DatabaseError where ForeignName(error.message) != nil {
            try ForeignName.requireNone(in: db.main, for: "vacuum", advice: "--into FILE writes a compact copy without it")
            throw error
        }
        try report.write(
            Self.form, [.string(file.path), .integer(Int64(free))],
            "\(file.path.onOneLine) is compact, \(free.counted("free page")) fewer")
    }
}

struct SpaceCommand: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "space",
        abstract: "Show what takes up space in a database.",
        discussion: """
            Shows a row for each table and index, the largest first: its bytes, its share of the file, its pages and entries, and \
            how full its pages are.

            EXAMPLES
              sqlcipherkit space notes.db
              sqlcipherkit space notes.db --format csv

            \(form)
            """)

    private static let form = JSONForm.rows("name", "kind", "table", "bytes", "percent", "pages", "entries", "fill")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let report = try file.open(.readOnly).main.spaceReport()
        let rows = report.objects.sorted { ($1.bytes, $0.name) < ($0.bytes, $1.name) }.map { object -> [SQLValue] in
            [
                .text(object.name), .text(object.kind.rawValue), .text(object.table), .integer(Int64(object.bytes)),
                .real((Double(object.bytes) / Double(max(1, report.bytes)) * 1000).rounded() / 10), .integer(Int64(object.pages)),
                .integer(Int64(object.entries)), .real((object.fill * 1000).rounded() / 10),
            ]
        }
        try output.write(Self.form.keys, rows)
        if output.format == nil || output.format == .table {
            Output.line(
                "\(report.bytes.bytes) in \(report.pageCount.counted("page")) of \(report.pageSize.bytes), "
                    + "\(report.freePages.grouped) of them free; \(report.reservedBytes.bytes) for encryption")
        }
    }
}

extension Connection {
    fileprivate var freePages: Int { get throws { try fetchOne(Int.self, "PRAGMA freelist_count") ?? 0 } }
}
