import Foundation
import TestSupport
import Testing

/// The documents and judged queries of `scripts/bench search`, of a package that the test writes.
@Suite struct BenchCorpusTests {
    struct Judged: Decodable {
        let `class`: String, query: String, targets: [Int]
    }

    /// Words that have other forms, and many of them together in few texts.
    private static func package(in folder: TemporaryFolder) throws -> String {
        let stems = """
            accept answer attach borrow bracket carpet collect combat comment connect correct deliver discover edit elevat extend filter
            garden harvest insert invent journey kindl launch matter narrat offer pattern question record scatter transport uncover visit
            """.split { " \n".contains($0) }
        let words = ["", "re", "un", "pre", "over", "inter"].flatMap { beginning in
            stems.flatMap { stem in ["ing", "ed", "or", "s"].map { beginning + stem + $0 } }
        }
        var state: UInt64 = 7
        func next(_ count: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % count
        }
        var text = ""
        for number in 0..<900 {
            let body = (0..<14).map { _ in words[next(words.count)] }.joined(separator: " ")
            text += "def task\(number)():\n    \"\"\"Text \(body).\"\"\"\n\n\n"
        }
        let package = folder.url.appendingPathComponent("networkx")
        try FileManager.default.createDirectory(at: package, withIntermediateDirectories: true)
        try text.write(to: package.appendingPathComponent("tasks.py"), atomically: true, encoding: .utf8)
        return folder.url.path
    }

    private func make(_ name: String, _ folder: TemporaryFolder, _ packages: String) throws {
        let outcome = try Command.run(
            Repository.file("scripts/bench").path,
            ["search", "--quick", "--documents", "1000", "--corpus", folder.path(name), "--packages", packages])
        try #require(outcome.status == 0, "\(outcome.errors)")
    }

    @Test func benchCorpusTargetsAreCorrectAndReproducible() throws {
        let folder = try TemporaryFolder(), source = try TemporaryFolder()
        let packages = try Self.package(in: source)
        for name in ["one", "two"] { try make(name, folder, packages) }
        func file(_ name: String) throws -> Data { try Data(contentsOf: folder.url.appendingPathComponent(name)) }
        for name in ["documents.tsv", "insert-0.tsv", "judged.json", "timed.json"] {
            #expect(try file("one/\(name)") == file("two/\(name)"))
        }
        var texts: [Int: Set<String>] = [:]
        for line in String(decoding: try file("one/documents.tsv"), as: UTF8.self).split(separator: "\n") {
            let parts = line.split(separator: "\t", omittingEmptySubsequences: false)
            try #require(parts.count == 5)
            let words = "\(parts[1]) \(parts[2])".lowercased().split { !$0.isLetter && !$0.isNumber }
            texts[try #require(Int(parts[0]))] = Set(words.map(String.init))
        }
        #expect(texts.count == 1_000)

        let judged = try JSONDecoder().decode([Judged].self, from: file("one/judged.json"))
        #expect(judged.allSatisfy { (1...5).contains($0.targets.count) && $0.targets.allSatisfy { texts[$0] != nil } })
        func having(_ words: [String], allBut missing: Int = 0) -> [Int] {
            texts.filter { text in words.count { !text.value.contains($0) } <= missing }.keys.sorted()
        }
        var seen: [String: Int] = [:]
        for each in judged {
            seen[each.class, default: 0] += 1
            let words = each.query.split(separator: " ").map(String.init)
            switch each.class {
            case "known": #expect(having(words) == each.targets)
            case "typo", "forms": #expect(having(words).isEmpty, "\(each)")
            case "extra":
                #expect(having(words).isEmpty)
                #expect(Set(each.targets).isSubset(of: having(words, allBut: 1)) && having(words, allBut: 1).count <= 5)
            default: break
            }
        }
        let classes = ["known", "typo", "letters", "forms", "extra", "ja", "zh", "ko", "de", "ru", "ar", "hi"]
        #expect(classes.allSatisfy { seen[$0] ?? 0 > 0 }, "\(seen)")
    }
}
