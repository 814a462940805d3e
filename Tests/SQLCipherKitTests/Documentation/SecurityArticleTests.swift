import Foundation
import Testing
import TestSupport

/// What the article on security says holds, is held by a test that is there.
@Suite struct SecurityArticleTests {
    @Test func eachTestThatItNamesExists() throws {
        let article = try String(contentsOf: Repository.file("Sources/SQLCipherKit/Documentation.docc/Security.md"),
            encoding: .utf8)
        let named = Set(article.matches(of: /`([A-Za-z]+Tests)`/).map { String($0.1) })
        let tests = FileManager.default.enumerator(at: Repository.file("Tests"), includingPropertiesForKeys: nil)
        let there = Set((tests?.allObjects ?? []).compactMap { ($0 as? URL)?.deletingPathExtension().lastPathComponent })
        #expect(named.count > 20)
        #expect(named.subtracting(there).isEmpty, "\(named.subtracting(there).sorted())")
    }

    @Test func eachPromiseNamesATest() throws {
        let article = try String(contentsOf: Repository.file("Sources/SQLCipherKit/Documentation.docc/Security.md"),
            encoding: .utf8)
        let table = try #require(article.components(separatedBy: "| promise | tests |\n").last?.components(separatedBy: "\n\n").first)
        let rows = table.split(separator: "\n").dropFirst()
        #expect(rows.count > 10)
        for row in rows { #expect(row.contains("Tests`"), "\(row)") }
    }
}
