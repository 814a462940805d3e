import Foundation
import Testing
import TestSupport

/// Every piece of Swift that the README and the articles show stands in a test as well, so that it is compiled and run.
///
/// For each page one test file has all lines of all its examples, in their order; other lines, which look at the results, may stand
/// between them. Blanks at the beginning of a line do not count. A block whose first line is ```` ```swift manifest ```` is part of
/// a package's manifest: ReleaseConsumerTests builds with these. A guide whose own blocks are compiled and run needs no such file:
/// those of PageProgramTests, and "In an app", which scripts/workshop/check-platforms runs.
@Suite struct ExampleTests {
    static let pages: [String] = {
        let modules = (try? FileManager.default.contentsOfDirectory(atPath: Repository.file("Sources").path)) ?? []
        return ["README.md"] + modules.sorted().flatMap { module in
            let catalogue = "Sources/\(module)/Documentation.docc"
            let names = (try? FileManager.default.contentsOfDirectory(atPath: Repository.file(catalogue).path)) ?? []
            return names.filter { $0.hasSuffix(".md") }.sorted().map { "\(catalogue)/\($0)" }
        }
    }()

    static let quotedPages = pages.filter { page in
        !page.hasSuffix("/InAnApp.md") && !PageProgramTests.guides.contains { $0.page == page }
    }

    /// The source of each test file, line by line.
    static let sources: [String: [Substring]] = {
        var sources: [String: [Substring]] = [:]
        // Code for Apple's platforms alone is compiled and run by scripts/workshop/check-platforms.
        // The macro is compiled and run by scripts/workshop/check-macros.
        let modules = (try? FileManager.default.contentsOfDirectory(atPath: Repository.file("Tests").path)) ?? []
        let folders = modules.filter { $0.hasPrefix("SQLCipherKit") }.map { "Tests/\($0)" }
            + ["Tests/AppleSecurity", "Tests/Macros/Tests", "Tests/PortTests"]
        for folder in folders.map(Repository.file) {
            let paths = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
            for path in paths where path.hasSuffix(".swift") {
                sources[path] = (try? String(contentsOf: folder.appendingPathComponent(path), encoding: .utf8)).map(lines)
            }
        }
        return sources
    }()

    /// The lines that are not empty, without indentation.
    static func lines(of text: String) -> [Substring] {
        text.split(separator: "\n").map { line in line.drop { $0 == " " } }.filter { !$0.isEmpty }
    }

    static func examples(in page: String) -> [Substring] {
        var isExample = false
        return lines(of: page).filter { line in
            if line.hasPrefix("```") {
                isExample = line == "```swift"
                return false
            }
            return isExample
        }
    }

    /// The number of `examples` that stand in `source`, in their order, before the first that does not.
    static func count(of examples: [Substring], in source: [Substring]) -> Int {
        var found = 0
        for line in source where found < examples.count && line == examples[found] { found += 1 }
        return found
    }

    @Test(arguments: quotedPages) func articleExamplesAppearInATest(_ page: String) throws {
        let examples = Self.examples(in: try String(contentsOf: Repository.file(page), encoding: .utf8))
        guard !examples.isEmpty else { return }
        let best = try #require(Self.sources.max { Self.count(of: examples, in: $0.value) < Self.count(of: examples, in: $1.value) })
        let count = Self.count(of: examples, in: best.value)
        #expect(count == examples.count, "\(page): no test has the line '\(examples[min(count, examples.count - 1)])' (nearest: \(best.key))")
    }

    /// A first index is right for every script: each one that a page or a sample creates names its tokenizer.
    @Test func fullTextExamplesNameMultilingual() throws {
        let samples = ["Examples/Notes/Sources", "Examples/SearchServer/Sources"].flatMap { folder in
            let paths = FileManager.default.enumerator(atPath: Repository.file(folder).path)?.compactMap { $0 as? String } ?? []
            return paths.filter { $0.hasSuffix(".swift") }.map { "\(folder)/\($0)" }
        }
        var found: Set<String> = []
        for page in Self.pages + samples {
            let text = try String(contentsOf: Repository.file(page), encoding: .utf8)
            for part in text.components(separatedBy: "FTS5Table(").dropFirst() {
                var depth = 1
                let call = part.prefix { character in
                    depth += character == "(" ? 1 : character == ")" ? -1 : 0
                    return depth > 0
                }
                guard call.contains("columns:") else { continue }
                found.insert(page)
                let isOfCode = call.contains(#"tokenizer: .custom("code")"#)
                #expect(isOfCode || call.contains("tokenizer: .multilingual()"), "\(page): FTS5Table(\(call))")
            }
        }
        let names = Set(found.map { ($0 as NSString).lastPathComponent })
        #expect(names.isSuperset(of: ["README.md", "InAnApp.md", "Search.md", "GettingStarted.md", "Notebook.swift", "Notes.swift"]))
    }

    /// The page must name everything that the test declares around the examples and that they use: a reader has to know what `db`
    /// is.
    @Test(arguments: quotedPages) func articleNamesEverythingItsExamplesUse(_ page: String) throws {
        let text = try String(contentsOf: Repository.file(page), encoding: .utf8)
        let examples = Self.examples(in: text)
        guard !examples.isEmpty else { return }
        let best = try #require(Self.sources.max { Self.count(of: examples, in: $0.value) < Self.count(of: examples, in: $1.value) })
        var found = 0
        let others = best.value.filter { line in
            guard found < examples.count, line == examples[found] else { return true }
            found += 1
            return false
        }
        let missing = Self.undeclared(in: examples, declaredIn: others).subtracting(Self.named(in: text))
        #expect(missing.isEmpty, "\(page) does not say what these are: \(missing.sorted())")
    }

    /// The names that `examples` use and only `others` declare.
    static func undeclared(in examples: [Substring], declaredIn others: [Substring]) -> Set<String> {
        func declared(_ lines: [Substring]) -> Set<String> {
            let forms = [#/\b(?:let|var|func|struct|class|enum|for(?: try)?(?: await)?) +(\w+)/#, #/(?:, |\()(\w+)(?:, \w+)*\)? = /#, #/\b_ (\w+):/#]
            return Set(forms.flatMap { form in lines.flatMap { line in line.matches(of: form).map { String($0.1) } } })
        }
        // Text has no names, but what is interpolated.
        let code = examples.map { line in
            line.replacing(#/ *//.*/#, with: "").replacing(#/"(?:[^"\\]|\\[^(])*"/#, with: "").replacing(#/^[A-Z ]{4,}.*/#, with: "")
        }
        let used = Set(code.flatMap { line in line.matches(of: #/(?:^|[^\w.])([A-Za-z]\w*)(?![\w:])/#).map { String($0.1) } })
        return declared(others).subtracting(declared(examples)).intersection(used)
    }

    /// The words that stand in code spans of a page's prose.
    static func named(in page: String) -> Set<String> {
        let prose = page.components(separatedBy: "\n```").enumerated().filter { $0.offset % 2 == 0 }.map(\.element).joined(separator: "\n")
        return Set(prose.matches(of: #/`+([^`\n]+)`+/#).flatMap { $0.1.matches(of: #/\w+/#).map { String($0.0) } })
    }

    @Test func undeclaredExampleNameIsDetected() {
        let examples: [Substring] = ["let a = try db.f(path)", "print(a, \"title\", b.title) // c"]
        let others: [Substring] = ["let db = 1, path = 2", "let title = 3, b = 4", "let c = 5"]
        #expect(Self.undeclared(in: examples, declaredIn: others) == ["db", "path", "b"])
        #expect(Self.named(in: "The `path` and `note(id)`.\n```swift\nlet `db` = 1\n```\n").sorted() == ["id", "note", "path"])
    }

    /// The pages that must have examples, so that a change of how they are marked is noticed.
    @Test func expectedPagesHaveExamples() throws {
        let catalogues = ["SQLCipherKit": "JSON", "SQLCipherKitReplication": "Replication", "SQLCipherKitSync": "Changesets", "SQLCipherKitVectors": "Vectors"]
        for page in ["README.md"] + catalogues.map({ "Sources/\($0)/Documentation.docc/\($1).md" }) {
            #expect(Self.pages.contains(page))
            let text = try String(contentsOf: Repository.file(page), encoding: .utf8)
            #expect(Self.examples(in: text).count >= 10, "\(page)")
        }
    }

    @Test func changedExampleLineIsDetected() {
        let examples = Self.examples(in: "text\n```swift\nlet a = 1\n    let b = 2\n```\n```sh\nrun\n```\n```swift\nprint(a)\n```\n")
        #expect(examples == ["let a = 1", "let b = 2", "print(a)"])
        #expect(Self.count(of: examples, in: Self.lines(of: "  let a = 1\n#expect(a == 1)\n  let b = 2\nprint(a)\n")) == 3)
        #expect(Self.count(of: examples, in: Self.lines(of: "let a = 1\nprint(a)\nlet b = 2\n")) == 2)
        #expect(Self.count(of: examples, in: Self.lines(of: "let a = 1\nlet b = 3\nprint(a)\n")) == 1)
    }
}
