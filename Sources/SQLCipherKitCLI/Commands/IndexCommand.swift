import ArgumentParser
import Foundation
import SQLCipherKit

struct IndexCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "index",
        abstract: "Read a folder's text files into a new encrypted database with a full-text index.",
        discussion: """
            Every file of the folder, and of those in it, that is UTF-8 text becomes a row of the table document(id, path, \
            title, size, modified, meta, body); meta is JSON. Binary files, files over the size limit and hidden ones are left \
            out and counted, and symbolic links are not followed. Files that cannot be read are named on standard error.

            The database is written in one transaction: interrupted, the command leaves none behind.
            """)

    @Argument(help: ArgumentHelp("The folder to read.", valueName: "folder"))
    var folder: String

    @Argument(help: ArgumentHelp("The database file to make; it must not exist.", valueName: "database"))
    var database: String

    @Option(help: ArgumentHelp("The largest file that is read, in MiB.", valueName: "MiB"))
    var maxSize = 8

    @Flag(help: "Read hidden files and folders as well.")
    var hidden = false

    @OptionGroup(title: "Key") var keyOptions: KeyOptions

    func validate() throws {
        // SQLite's texts end at a thousand million bytes.
        guard (1...900).contains(maxSize) else { throw ValidationError("--max-size is a number from 1 to 900") }
    }

    func run() throws {
        var info = stat()
        if lstat(database, &info) == 0 { throw Failure("\(database) exists already: the index is made in a new file") }
        let indexer = try FolderIndexer(folder, includesHidden: hidden, limit: maxSize << 20)
        let (_, report) = try indexer.index(into: database, key: keyOptions.key(for: database, isNew: true))
        report.warn()
        Output.line(
            "indexed \(report.documents.counted("file")) (\(report.textSize.bytes) of text) in \(report.duration.readable)")
        if let omissions = report.omissions { Output.line(omissions) }
        Output.line("database \(database.onOneLine), \(report.databaseSize.bytes), encrypted")
    }
}
