import Foundation
import Testing
import TestSupport

/// The articles on moving from another system have a table each, of what its users do. For each row there is a program in this
/// folder, which has the row's number and the short name of what it does.
@Suite struct PortListingTests {
    struct Listing: Sendable, CustomTestStringConvertible {
        let article: String
        let suite: String
        /// The rows that run.
        let run: [Port]
        /// The number of rows that begin with each letter.
        let counts: [Character: Int]
        var testDescription: String { article }
        var numbers: Set<String> { Set(counts.flatMap { letter, count in (1...count).map { "\(letter)\($0)" } }) }
    }

    static let listings = [
        Listing(article: "FromSQLiteInC", suite: "SQLiteInCPorts", run: SQLiteInCPorts.programs, counts: ["B": 66]),
        Listing(article: "FromGRDB", suite: "GRDBPorts", run: GRDBPorts.programs, counts: ["G": 52]),
        Listing(article: "FromSQLiteSwift", suite: "SQLiteSwiftPorts", run: SQLiteSwiftPorts.programs, counts: ["Q": 39]),
    ]

    /// The programs of a suite, by their numbers: their names and their lines.
    static func programs(in source: String) -> [String: [(name: String, lines: [Substring])]] {
        var programs: [String: [(name: String, lines: [Substring])]] = [:]
        for part in source.components(separatedBy: "\n    /// ").dropFirst() {
            guard let title = part.firstMatch(of: #/^([A-Z]\d+) ([^\n]+)\n    func [a-z]\d+\(\)/#) else { continue }
            let lines = part.split(separator: "\n").filter { $0.contains("#expect") || $0.contains("try ") }
            programs["\(title.1)", default: []].append(("\(title.2)", lines))
        }
        return programs
    }

    /// The rows of an article's tables, by their numbers: what is done there, and the sentence for it here.
    static func rows(in article: String) -> [String: [(there: String, here: String)]] {
        var rows: [String: [(there: String, here: String)]] = [:]
        for line in article.split(separator: "\n") {
            guard let row = line.firstMatch(of: #/^\| ([A-Z]\d+) \| (.+?) \| (.+) \|$/#) else { continue }
            rows["\(row.1)", default: []].append(("\(row.2)", "\(row.3)"))
        }
        return rows
    }

    @Test(arguments: listings) func eachRowHasAProgramAndASentence(_ listing: Listing) throws {
        let articles = "Sources/SQLCipherKit/Documentation.docc"
        let rows = Self.rows(in: try String(contentsOf: Repository.file("\(articles)/\(listing.article).md"), encoding: .utf8))
        let source = try String(contentsOf: Repository.file("Tests/PortTests/\(listing.suite).swift"), encoding: .utf8)
        let programs = Self.programs(in: source)
        #expect(listing.numbers.subtracting(programs.keys).sorted() == [], "without a program")
        #expect(listing.run.map(\.number).sorted() == programs.keys.sorted(), "each runs once")
        #expect(listing.numbers.subtracting(rows.keys).sorted() == [], "without a sentence")
        #expect(Set(programs.keys).union(rows.keys).subtracting(listing.numbers).sorted() == [], "in no listing")
        for (number, found) in programs {
            // A program that expects nothing could not fail.
            let isChecked = found[0].lines.contains { $0.contains("#expect") || $0.contains("#require") }
            #expect(found.count == 1 && !found[0].name.isEmpty && isChecked, "\(number)")
        }
        for (number, found) in rows {
            // The sentence names the call, as code or as a link that building the documentation checks.
            #expect(found.count == 1 && found[0].here.contains("`"), "\(number)")
        }
    }

    @Test func whatIsMissingIsFound() {
        let programs = Self.programs(in: "{\n    /// S1 one\n    func s1() {\n        #expect(1 == 1)\n    }\n")
        #expect(programs.keys.sorted() == ["S1"] && programs["S1"]?.first?.lines.count == 1)
        #expect(Self.rows(in: "| | there | here |\n|---|---|---|\n| S1 | `a` | ``b`` |\nS2\n").keys.sorted() == ["S1"])
    }
}
