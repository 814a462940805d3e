import Foundation
import SQLCipherKit
import Testing
import TestSupport

@Suite struct SearchTests {
    let sample: SampleFolder

    init() throws {
        sample = try SampleFolder()
        try sample.index()
    }

    private func search(_ words: String...) throws -> Command.Outcome { try search(words) }
    private func search(_ words: [String]) throws -> Command.Outcome { try Tool.run(["search"] + Tool.key + [sample.database] + words) }

    @Test func searchPrintsRankedHitsWithMarkedWords() throws {
        let outcome = try search("bread")
        #expect(outcome.status == 0)
        let lines = outcome.output.split(separator: "\n")
        #expect(lines.count == 5)
        // The title counts more than the text.
        #expect(lines.first == "1.  deep/er/note.txt  [Bread] needs flour, water and salt.")
        #expect(lines[2] == "2.  plan.md  The grand plan")
        #expect(lines[3].contains("First we bake [bread], then we sell the loaves."))
        #expect(lines.last == "2 hits")
    }

    @Test func searchFindsFormsAccentsAndOperators() throws {
        try search("xylophone").expectFailure(1, "nothing found")
        #expect(try search("baking", "loaf*").output.contains("plan.md"))
        let fewer = try search("baking", "xylophone").output
        #expect(fewer.contains("plan.md") && fewer.contains("nothing has all words; "))
        // A text that has all words in other forms, apart, has all words.
        let forms = try search("baking", "breads").output
        #expect(forms.contains("plan.md") && !forms.contains("nothing has all words"))
        #expect(try search("baking", "loav*").output.hasSuffix("1 hit\n"))
        #expect(try search("cafe").output.contains("[café]"))
        #expect(try search("bread -flour").output.contains("plan.md"))
        #expect(try search("title:plan").output.hasSuffix("1 hit\n"))
        #expect(try search("\"flour water\"").output.hasSuffix("1 hit\n"))
        try search("--", "-", "\"").expectFailure(1, "nothing found")
    }

    @Test func searchFindsFormsOfANamedLanguage() throws {
        let file = sample.folder.path("haus.csv")
        try Data("name,note\nHaus,klein\nBaum,groß\n".utf8).write(to: URL(fileURLWithPath: file))
        try Tool.run(["import", sample.database, file, "--search", "name,note"] + Tool.key).expectSuccess()
        try search("Häusern", "--in", "haus_search").expectFailure(1, "nothing found")
        for language in [["german"], ["english", "german"]] {
            let outcome = try search(["Häusern", "--in", "haus_search"] + language.flatMap { ["--language", $0] })
            #expect(outcome.output.contains("[Haus]"), "\(outcome.errors)")
        }
        try search("Haus", "--in", "haus_search", "--language", "klingon").expectFailure(64, "klingon", "german")
    }

    @Test func searchPrintsJSONLinesAndCSV() throws {
        let line = try search("bread", "--format", "jsonl", "--limit", "1").output
        let hit = try JSONValue(text: line.trimmingCharacters(in: .newlines))
        #expect(hit["path"] == "deep/er/note.txt")
        #expect(hit["title"] == "Bread needs flour, water and salt.")
        #expect(hit["snippet"] == "[Bread] needs flour, water and salt.\nEnough café.\n")
        guard case .real(let score)? = hit["score"] else { throw CocoaError(.coderInvalidValue) }
        #expect(score > 0)
        let csv = try search("plan", "--format", "csv").output.split(separator: "\n")
        #expect(csv.first == "score,path,title,snippet")
        #expect(csv.count >= 2 && csv[1].contains(",plan.md,The grand plan,"))
    }

    @Test func searchHighlightsWordsOnTerminal() throws {
        let session = try Typist.run(["search", sample.database, "bread"] + Tool.key, conversation: [], environment: ["NO_COLOR": ""])
        #expect(session.screen.contains("\u{1b}[1;33mBread\u{1b}[0m"), "\(session.screen)")
        #expect(!session.screen.contains("[Bread]"))
    }

    @Test func searchSelectsIndexByName() throws {
        let file = sample.folder.path("cake.csv")
        try Data("name,note\nSponge,light as air\nBread pudding,not light\n".utf8).write(to: URL(fileURLWithPath: file))
        #expect(try Tool.run(["import", sample.database, file, "--search", "name,note"] + Tool.key).status == 0)
        try search("light").expectFailure(64, "--in", "cake_search, document_search")
        let outcome = try search("light", "--in", "cake_search")
        #expect(outcome.output.contains("row 1  Sponge\n"), "\(outcome.errors)")
        #expect(outcome.output.hasSuffix("2 hits\n"))
        try search("light", "--in", "nope").expectFailure(1, "no full-text table nope")
    }

    @Test func searchWithoutIndexFails() throws {
        let path = sample.folder.path("other.db")
        do {
            let bytes = (0..<32).map { index in UInt8(index % 8 * 0x22 + 1) }
            let db = try Connection(.file(path), key: .raw(bytes))
            try db.execute("CREATE TABLE t(x)")
        }
        let hex = (0..<32).map { String(format: "%02x", $0 % 8 * 0x22 + 1) }.joined()
        try Tool.run(["search", path, "x"] + Tool.key, environment: ["TEST_KEY": hex]).expectFailure(1, "no full-text index", "import")
    }

    @Test func searchOutputHasNoControlCharacters() throws {
        try sample.write("evil.txt", "evil \u{1b}[2Jclear \u{9b}31m here")
        try FileManager.default.removeItem(atPath: sample.database)
        try sample.index()
        let outcome = try search("evil")
        #expect(outcome.output.contains("1 hit"))
        #expect(!outcome.output.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || (0x7f..<0xa0).contains($0.value) })
        let json = try search("evil", "--format", "json").output
        #expect(!json.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || (0x7f..<0xa0).contains($0.value) })
    }
}
