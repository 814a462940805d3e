import ArgumentParser
import Foundation

struct TourCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tour",
        abstract: "Show the package at work, step by step, on the text files of a folder.",
        discussion: """
            Creates an encrypted database of the folder's text files, searches it, queries JSON, attaches a second database, \
            changes the key and looks at the bytes on disk. The databases are kept, with their random keys in files beside them \
            that only you can read; the next tour into the same folder replaces them. The folder's own files are only read.

            \(form)
            """)

    private static let form = JSONForm.object("database", "key_file", "words", "seconds")

    @Argument(help: ArgumentHelp("The folder to read.", valueName: "folder"))
    var folder = "."

    @Option(help: ArgumentHelp("The folder to create the databases in.", valueName: "folder"))
    var into = "sqlcipherkit-tour"

    @Option(help: ArgumentHelp("What to search for; by default the tour chooses words itself.", valueName: "words"))
    var words: String?

    @OptionGroup var report: ReportOptions

    func run() throws {
        let start = ContinuousClock.now
        let source = try FolderImport(folder, includesHidden: false, limit: 8 << 20)
        let files = TourFiles(folder: into)
        try files.prepare()
        var tour = Tour(source, into: files, words: words.map { [$0] } ?? [])
        if report.json { try Output.redirect(to: "/dev/null") }
        try tour.run()
        if report.json {
            try Output.redirect(to: nil)
            let seconds = start.duration(to: .now).roundedSeconds
            return try report.write(
                Self.form, [.string(files.database), .string(files.keyFile), .strings(tour.words), .real(seconds)])
        }
        Output.line("The whole tour took \(start.duration(to: .now).readable). The database is \(files.database)")
        Output.line("Next, try")
        let program = Invocation.current.arguments[0].shellQuoted
        let access = "\(files.database.shellQuoted) --key-file \(files.keyFile.shellQuoted)"
        Output.line("  \(program) search \(access) \(tour.words.joined(separator: " ").shellQuoted)")
        Output.line(
            "  \(program) query \(access) \"SELECT path, meta->>'$.words' AS words FROM document ORDER BY words DESC LIMIT 10\"")
    }
}

extension String {
    /// The text, quoted so that a shell reads it as one word.
    fileprivate var shellQuoted: String {
        let isPlain = !isEmpty && utf8.allSatisfy { byte in
            let character = Character(Unicode.Scalar(byte))
            return character.isASCII && (character.isLetter || character.isNumber || "/._-+,:@%".contains(character))
        }
        return isPlain ? self : "'" + replacing("'", with: "'\\''") + "'"
    }
}
