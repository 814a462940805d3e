import ArgumentParser
import Foundation
import SQLCipherKit

struct EraseCommand: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase",
        abstract: "Make deleted data unrecoverable.",
        discussion: """
            Deleted rows remain in free pages, in full-text indexes, in the samples that ANALYZE takes, and in the write-ahead log \
            or the journal. erase rewrites or removes all of these; rows keep their ids. Other programs must not use the database \
            meanwhile. Earlier backups are separate files and are not touched. Copies that the file system and the drive keep are \
            out of reach: change the key for those. The status is 4 if something could not be erased, and the output names it.

            EXAMPLES
              sqlcipherkit erase notes.db

            \(form)
            """)

    private static let form = JSONForm.object(
        "file", "complete", "pages", "free_pages", "journal_bytes", "full_text_indexes", "r_trees", "analyzed_tables",
        "unmatched_indexes",
        "other_virtual_tables")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @OptionGroup var report: ReportOptions

    func run() throws {
        let db = try file.open(.readWrite)
        try ForeignName.requireNone(in: db.main, for: "erase")
        let erased = try db.main.eraseDeletedContent(progress: ProgressBar.rewriting("Erasing"))
        let indexes = erased.fullTextIndexes.count, trees = erased.trees.count, samples = erased.analyzedTables.count
        let unmatched = erased.unmatchedIndexes.map {
            "\n\($0.onOneLine): its words do not match its content; rebuild it, and erase again"
        }
        let others = erased.otherVirtualTables.map {
            "\n\($0.onOneLine): a virtual table of an unknown module, whose data was copied as it is"
        }
        try report.write(
            Self.form,
            [
                .string(file.path), .bool(erased.isComplete), .integer(Int64(erased.pages)), .integer(Int64(erased.freePages)),
                .integer(Int64(erased.journalBytes)), .strings(erased.fullTextIndexes), .strings(erased.trees),
                .strings(erased.analyzedTables), .strings(erased.unmatchedIndexes), .strings(erased.otherVirtualTables),
            ],
            "rewrote \(erased.pages.counted("page")), \(indexes.counted("full-text index", plural: "full-text indexes")), "
                + "\(trees.counted("R-Tree")) and the samples of \(samples.counted("table"))",
            "removed \(erased.freePages.counted("free page")) and \(erased.journalBytes.bytes) of log or journal"
                + (unmatched + others).joined())
        if !erased.isComplete { throw Failure("\(file.path) may still hold deleted data", status: .different) }
    }
}

struct ResidueCommand: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "residue",
        abstract: "Find texts in a database's files, deleted or not.",
        discussion: """
            Decrypts and searches every page, including free pages, and the write-ahead log, the journal and files left by \
            interrupted work. Each row of the output is a page that contains a text; "live" means content that is not deleted. \
            Texts are identified by their number, from 1. The status is 4 if a text was found in deleted content.

            Arguments are visible to every user of the machine, and stay in the shell's history. Without an argument, you type \
            the text on the terminal; - reads texts from standard input, one per line.

            EXAMPLES
              sqlcipherkit residue notes.db Foxes
              sqlcipherkit residue notes.db - < names.txt

            \(form)
            """)

    private static let form = JSONForm.rows("text", "state", "kind", "page", "object", "file")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("The text to look for; - for standard input. By default you are asked for it.", valueName: "text"))
    var texts: [String] = []

    func run() throws {
        try FileOptions.requireDatabase(file.path)
        let db = try file.open(.readOnly)
        let wanted = try wantedTexts()
        guard !wanted.isEmpty, !wanted.contains("") else { throw Failure("there is no text to look for", status: .usage) }
        let report = try db.main.findRemnants(of: wanted, progress: ProgressBar.rewriting("Searching"))
        let rows = report.places.map { place -> [SQLValue] in
            [
                .integer(Int64(place.target + 1)), .text(place.isLive ? "live" : "deleted"), .text(place.kind.description),
                place.page.map { .integer(Int64($0)) } ?? .null, place.object.map { .text($0) } ?? .null,
                place.file.map { .text($0) } ?? .null,
            ]
        }
        if output.format != nil || !rows.isEmpty { try output.write(Self.form.keys, rows) }
        if report.unreadablePages > 0 {
            Output.error("\(report.unreadablePages.counted("page")) could not be decrypted with this key, and may hold anything")
        }
        guard report.isErased else {
            throw Failure("deleted data is still there: sqlcipherkit erase \(file.path) removes it", status: .different)
        }
        if output.format == nil { Output.line("not found in deleted content: \(report.pagesSearched.counted("page")) searched") }
    }

    private func wantedTexts() throws -> [String] {
        if texts.isEmpty { return [try KeyPrompt.text("Text to look for: ")] }
        guard texts == ["-"] else { return texts }
        return try StandardInput.text("what to look for").split(separator: "\n", omittingEmptySubsequences: true).map(String.init)
    }
}
