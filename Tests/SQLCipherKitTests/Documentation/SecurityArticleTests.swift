import Foundation
import Testing
import TestSupport

/// Each promise of the page on the threat model names a test. check-prose finds a name that no test has.
@Suite struct SecurityArticleTests {
    @Test func securityArticlePromisesNameATest() throws {
        let article = try String(contentsOf: Repository.file("Sources/SQLCipherKit/Documentation.docc/ThreatModel.md"),
            encoding: .utf8)
        let table = try #require(article.components(separatedBy: "| promise | tests |\n").last?.components(separatedBy: "\n\n").first)
        let rows = table.split(separator: "\n").dropFirst()
        #expect(rows.count > 10)
        for row in rows { #expect(row.contains("Tests`"), "\(row)") }
    }
}
