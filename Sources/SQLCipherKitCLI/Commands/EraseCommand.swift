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
