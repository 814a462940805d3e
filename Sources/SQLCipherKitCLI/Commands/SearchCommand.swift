import ArgumentParser
import Foundation
import SQLCipherKit

struct SearchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "search",
        abstract: "Search the documents of a database made by index.",
        discussion: """
            All words must be found, in any form of theirs (run finds running); the best hits come first. "two words" in double \
            quotes are a phrase, encr* is the beginning of a word, -word must not be found, one OR other, title:word and \
            path:word look only there. After -- words may begin with a dash.
            """)

    @Argument(help: ArgumentHelp("The database file.", valueName: "database"))
    var database: String

    @Argument(help: ArgumentHelp("What to search for.", valueName: "words"))
    var words: [String]

    @Option(name: .shortAndLong, help: ArgumentHelp("The number of hits to show.", valueName: "number"))
    var limit = 10

    @Flag(help: "Write one JSON object with the number of all hits and those shown.")
    var json = false

    @OptionGroup(title: "Key") var keyOptions: KeyOptions

    func validate() throws {
        if limit < 1 { throw ValidationError("--limit is a number from 1 on") }
    }

    func run() throws {
        let db = try Database.open(database, keyOptions, access: .readOnly)
        let (hits, total) = try DocumentStore(db, path: database).search(DocumentStore.query(words), limit: limit)
        if json {
            let object: JSONValue = ["total": .integer(Int64(total)), "hits": .array(hits.map(\.json))]
            Output.line(try object.line())
            return
        }
        let style = Terminal.style
        for (index, hit) in hits.enumerated() {
            for line in hit.lines(index + 1, style) { Output.line(line) }
        }
        let shown = hits.count < total ? "\(total.counted("hit")), the best \(hits.count.grouped) shown" : total.counted("hit")
        Output.line(style.dim(total == 0 ? "nothing found" : shown))
    }
}
