import ArgumentParser
import Foundation
import SQLCipherKit

struct EraseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase",
        abstract: "Make what was deleted from a database unrecoverable.",
        discussion: """
            Deleted rows stay in free pages, in indexes of full-text search, in the samples of analyze, and in the log or the \
            journal. All of it is rewritten or removed; rows keep their ids. Other programs must not use the database meanwhile. \
            Backups made before are other files, and are not touched. What the file system and the drive keep is out of reach: for \
            that, change the key. Status 4 says that something could not be erased; it is named.

            EXAMPLES
              sqlcipherkit erase notes.db

            \(form)
            """)

    private static let form = JSONForm.object(
        "file", "complete", "pages", "free_pages", "journal_bytes", "full_text_indexes", "r_trees", "analyzed_tables",
        "unmatched_indexes",
        "other_virtual_tables")

    @OptionGroup var file: FileOptions
    @OptionGroup var report: ReportOptions

    func run() throws {
        let db = try file.open(.readWrite)
        let erased = try db.main.erase(progress: ProgressBar.rewriting("Erasing"))
        let indexes = erased.fullTextIndexes.count, trees = erased.trees.count, samples = erased.analyzedTables.count
        let unmatched = erased.unmatchedIndexes.map {
            "\n\($0.onOneLine): holds other words than its content; rebuild it, and erase again"
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
        if !erased.isComplete { throw Failure("\(file.path) may still hold something that was deleted", status: .different) }
    }
}

struct ResidueCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "residue",
        abstract: "Say where texts still stand in a database's files, deleted or not.",
        discussion: """
            Every page is decrypted and looked at, those that are free among them, and so are the log, the journal, and what \
            interrupted work has left. A row of the output is a page where a text stands; "live" is content that is not deleted. \
            Texts are named by their number, from 1. Status 4 says that one stands where something was deleted.

            Arguments are seen by every user of the machine, and kept by the shell's history. Without a text it is asked for on \
            the terminal; - reads texts from standard input, a line each.

            EXAMPLES
              sqlcipherkit residue notes.db Foxes
              sqlcipherkit residue notes.db - < names.txt

            \(form)
            """)

    private static let form = JSONForm.rows("text", "state", "kind", "page", "object", "file")

    @OptionGroup var file: FileOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("What to look for; - for standard input. By default it is asked for.", valueName: "text"))
    var texts: [String] = []

    @Flag(help: "The texts are bytes in hexadecimal.")
    var hex = false

    func run() throws {
        try FileOptions.requireDatabase(file.path)
        let db = try file.open(.readOnly)
        let wanted = try wantedTexts()
        guard !wanted.isEmpty, !wanted.contains("") else { throw Failure("there is no text to look for", status: .usage) }
        let progress = ProgressBar.rewriting("Searching")
        let report =
            hex
            ? try db.main.residue(ofBytes: wanted.enumerated().map(Self.bytes), progress: progress)
            : try db.main.residue(of: wanted, progress: progress)
        let rows = report.places.map { place -> [SQLValue] in
            [
                .integer(Int64(place.target + 1)), .text(place.isLive ? "live" : "deleted"), .text(place.kind.rawValue),
                place.page.map { .integer(Int64($0)) } ?? .null, place.object.map { .text($0) } ?? .null,
                place.file.map { .text($0) } ?? .null,
            ]
        }
        if output.format != nil || !rows.isEmpty { try output.write(Self.form.keys, rows) }
        if report.unreadablePages > 0 {
            Output.error("\(report.unreadablePages.counted("page")) could not be decrypted with this key, and may hold anything")
        }
        guard report.isErased else {
            throw Failure("what was deleted is still there: sqlcipherkit erase \(file.path) removes it", status: .different)
        }
        if output.format == nil { Output.line("nothing deleted: \(report.pagesSearched.counted("page")) searched") }
    }

    private func wantedTexts() throws -> [String] {
        if texts.isEmpty { return [try KeyPrompt.text("Text to look for: ")] }
        guard texts == ["-"] else { return texts }
        return try StandardInput.text("what to look for").split(separator: "\n", omittingEmptySubsequences: true).map(String.init)
    }

    private static func bytes(number: Int, _ text: String) throws -> Data {
        let digits = Array(text.utf8)
        let bytes = stride(from: 0, to: digits.count - 1, by: 2).map {
            UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16)
        }
        guard digits.count % 2 == 0, !bytes.contains(nil) else {
            throw Failure("text \(number + 1) is not hexadecimal", status: .usage)
        }
        return Data(bytes.compactMap(\.self))
    }
}
