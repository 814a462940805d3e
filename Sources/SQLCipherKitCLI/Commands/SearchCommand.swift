import ArgumentParser
import Foundation
import SQLCipherKit

struct SearchCommand: ReadingCommand {
    static let configuration = CommandConfiguration(
        commandName: "search",
        abstract: "Search the full text of a database.",
        discussion: """
            Words are found in their other forms (run finds running) and with one or two typing errors; the best hits come first. \
            If few texts contain all words, texts without one of the words follow. "two words" in double quotes finds a phrase, \
            encr* finds words that begin with encr, -word excludes a word, one OR other finds either, and title:word looks only in \
            that column. After --, words may begin with a hyphen.

            The format table is for people: a numbered list with the words marked. The other formats put the words in brackets. \
            The status is 1 if nothing is found.

            EXAMPLES
              sqlcipherkit search notes.db baking bread
              sqlcipherkit search notes.db 'title:plan OR "first steps"' --limit 3
              sqlcipherkit search notes.db bread --format jsonl | head
              sqlcipherkit search notes.db Haus --language german

            \(form)
            """)

    private static let form = JSONForm.rows(
        with: "score, path (row in tables other than document), the first indexed column if there are several, snippet")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @OptionGroup(title: "Key") var settings: SettingsSearch

    @Argument(help: ArgumentHelp("What to search for.", valueName: "words"))
    var words: [String]

    @Option(name: .shortAndLong, help: ArgumentHelp("The number of hits to show.", valueName: "number"))
    var limit = 10

    @Option(
        name: .customLong("in"), help: ArgumentHelp("The full-text table; needed only if there are several.", valueName: "table"))
    var table: String?

    @Option(help: ArgumentHelp(
        "A language of the texts: its words are found in their other forms. Repeatable.", valueName: "language"))
    var language: [FullTextSearch.Language] = [.english]

    @OptionGroup var output: OutputOptions

    func validate() throws {
        if limit < 1 { throw ValidationError("--limit takes a number, 1 or more") }
    }

    func run() throws {
        let db = try file.open(.readOnly)
        let index = try SearchedTable(db, named: table, path: file.path)
        let result = try index.search(words, languages: Set(language), limit: limit)
        let (hits, total) = (result.hits, result.total.count)
        let isForPeople = output.format == nil || output.format == .table
        if !isForPeople { try output.write(index.rowColumns, hits.map(\.row)) }
        if total == 0 { throw Failure("nothing found") }
        guard isForPeople else { return }
        let style = Terminal.style
        for (index, hit) in hits.enumerated() {
            for line in hit.lines(index + 1, style) { Output.line(line) }
        }
        let shown = hits.count < total ? "\(result.counted), the best \(hits.count.grouped) shown" : result.counted
        Output.line(style.dim([result.note, shown].compactMap(\.self).joined(separator: "; ")))
    }
}

extension FullTextSearch.Language: ExpressibleByArgument {}
