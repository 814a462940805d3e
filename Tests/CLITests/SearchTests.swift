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

    private func search(_ words: String...) throws -> Command.Outcome { try Tool.run(["search"] + Tool.key + [sample.database] + words) }

    @Test func rankedHitsWithMarkedWords() throws {
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

    @Test func wordFormsAccentsAndOperators() throws {
        #expect(try search("baking", "loaf*").output.hasSuffix("nothing found\n"))
        #expect(try search("baking", "loav*").output.hasSuffix("1 hit\n"))
        #expect(try search("cafe").output.contains("[café]"))
        #expect(try search("bread -flour").output.contains("plan.md"))
        #expect(try search("title:plan").output.hasSuffix("1 hit\n"))
        #expect(try search("\"flour water\"").output.hasSuffix("1 hit\n"))
        #expect(try search("--", "-", "\"").output == "nothing found\n")
    }

    @Test func asJSON() throws {
        let text = try search("bread", "--json", "--limit", "1").output
        let object = try JSONValue(text: text.trimmingCharacters(in: .newlines))
        #expect(object["total"] == 2)
        let hit = object["hits"]?[0]
        #expect(hit?["path"] == "deep/er/note.txt")
        #expect(hit?["matches"] == ["Bread"])
        guard case .array(let hits)? = object["hits"] else { throw CocoaError(.coderInvalidValue) }
        #expect(hits.count == 1)
    }

    @Test func aDatabaseOfAnotherKind() throws {
        let path = sample.folder.path("other.db")
        do {
            let bytes = (0..<32).map { index in UInt8(index % 8 * 0x22 + 1) }
            let db = try Connection(.file(path), key: .raw(bytes))
            try db.execute("CREATE TABLE t(x)")
        }
        let hex = (0..<32).map { String(format: "%02x", $0 % 8 * 0x22 + 1) }.joined()
        try Tool.run(["search", path, "x"] + Tool.key, environment: ["TEST_KEY": hex]).expectFailure(1, "no indexed documents")
    }

    @Test func controlCharactersOfADocumentDoNotReachTheTerminal() throws {
        try sample.write("evil.txt", "evil \u{1b}[2Jclear \u{9b}31m here")
        try FileManager.default.removeItem(atPath: sample.database)
        try sample.index()
        let outcome = try search("evil")
        #expect(outcome.output.contains("1 hit"))
        #expect(!outcome.output.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || (0x7f..<0xa0).contains($0.value) })
        let json = try search("evil", "--json").output
        #expect(!json.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || (0x7f..<0xa0).contains($0.value) })
    }
}
