import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// The aids to typing in the shell, on a pseudo-terminal.
@Suite struct ShellTypingTests {
    let folder: TemporaryFolder
    let database: String
    private static let prompt = "sqlcipherkit> "

    init() throws {
        folder = try TemporaryFolder()
        database = folder.path("a.db")
        let db = try Connection(.file(database), key: .raw([UInt8](repeating: 0xab, count: 32)))
        try db.execute("CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, \"birth day\" TEXT)")
        try db.execute("CREATE TABLE purchase(person INTEGER, total REAL)")
        try db.execute("INSERT INTO person(name) VALUES ('Ada')")
    }

    private func type(_ conversation: [(after: String, type: String)], _ options: [String] = []) throws -> Typist.Session {
        try Typist.run(
            ["shell", database, "--raw-key", "--key-env", "K"] + options, conversation: conversation,
            environment: ["K": String(repeating: "ab", count: 32), "NO_COLOR": "1"])
    }

    /// The text of the line after each of several texts was typed, in one shell.
    /// - Parameter typed: what is typed, with a tab where the rest is to come.
    private func completed(_ typed: [String]) throws -> [String] {
        var conversation: [(after: String, type: String)] = [], start = Self.prompt
        for text in typed {
            var after = start, isFirst = true
            for part in text.split(separator: "\t", omittingEmptySubsequences: false).map(String.init) {
                if !isFirst {
                    conversation.append((after, "\t"))
                    after = "\u{1b}[K"
                }
                isFirst = false
                guard !part.isEmpty else { continue }
                conversation.append((after, part))
                after = String(part.suffix(1))
            }
            conversation.append((after, "\u{01}\u{03}"))
            // The next line has begun: before, a ^C would be a signal.
            start = "^C\r\n\r" + Self.prompt
        }
        let session = try type(conversation + [(start, "\u{04}")])
        #expect(session.status == 0, "\(session.screen)")
        return session.screen.components(separatedBy: "^C").dropLast().map { screen in
            let lines = screen.components(separatedBy: "\r" + Self.prompt)
            return lines.last.map { $0.components(separatedBy: "\u{1b}[K")[0] } ?? ""
        }
    }

    private static let completions = [
        ("SEL\t", "SELECT "), ("sel\t", "select "), ("SELECT * FROM pe\t", "SELECT * FROM person "),
        ("SELECT * FROM main.pur\t", "SELECT * FROM main.purchase "), ("SELECT coal\t", "SELECT coalesce("),
        ("SELECT bir\t", "SELECT \"birth day\" "), ("SELECT 1 FROM person AS x WHERE x.na\t", "SELECT 1 FROM person AS x WHERE x.name "),
        ("SELECT 1 FROM purchase q, person x WHERE x.b\t", "SELECT 1 FROM purchase q, person x WHERE x.\"birth day\" "),
        ("SELECT 1 FROM person ORDER BY \"bi\t", "SELECT 1 FROM person ORDER BY \"birth day\" "),
        ("UPDATE person SET nam\t", "UPDATE person SET name "), ("SELECT 'sel\t", "SELECT 'sel"),
        (".ta\t", ".tables "), (".schema pu\t", ".schema purchase "), (".mode mark\t", ".mode markdown "), (".s\t\t", ".s"),
    ]

    @Test func tabCompletesCommandsTablesAndColumns() throws {
        #expect(try completed(Self.completions.map(\.0)) == Self.completions.map(\.1))
    }

    @Test func tabCompletesFilesAndListsChoices() throws {
        let path = folder.path("script one.sql"), other = folder.path("scripts.sql")
        for file in [path, other] { try Data().write(to: URL(fileURLWithPath: file)) }
        // The line is longer than the terminal, and so its end is what is seen.
        #expect(try completed([".read \(folder.path("scr"))\t"])[0].hasSuffix("/scripts.sql "))
        let session = try type([(Self.prompt, "SELECT * FROM p"), ("FROM p", "\t"), ("purchase", "\u{03}"), ("^C", "\u{04}")])
        #expect(session.screen.contains("\nperson    purchase\r\n"), "\(session.screen)")
    }

    @Test func shellSearchesHistory() throws {
        let session = try type(
            [
                (Self.prompt, "SELECT 'first' AS a;\r"), ("first\r\n", "SELECT 'other' AS b;\r"), ("other\r\n", "SELECT 'third' AS a;\r"),
                ("third\r\n", "\u{12}"), ("(search)", "AS A"), ("(search) AS A: SELECT 'third'", "\u{12}"), ("'first'", "\r"),
                ("first\r\n", "kept\u{12}"), ("(search)", "other"), ("'other'", "\u{07}"), (Self.prompt + "kept", "\u{03}"), ("^C", "\u{04}"),
            ], ["--format", "csv"])
        #expect(session.status == 0, "\(session.screen)")
        #expect(session.screen.components(separatedBy: "\r\na\r\nfirst\r\n").count == 3)
    }

    @Test func queryPlanIsPrintedAsTree() throws {
        let sql = "SELECT * FROM purchase p JOIN person ON person.id = p.person WHERE total IN (SELECT max(total) FROM purchase)"
        let session = try type([(Self.prompt, "EXPLAIN QUERY PLAN \(sql);\r"), ("└─ ", "\u{04}"), ("└─ ", "\u{04}")])
        #expect(session.status == 0, "\(session.screen)")
        let trees = session.screen.components(separatedBy: "\r\nplan\r\n").dropFirst().map { $0.components(separatedBy: Self.prompt)[0] }
        #expect(trees.count == 1, "\(session.screen)")
        let steps = trees.first?.components(separatedBy: "\r\n") ?? []
        #expect(steps.contains { $0.hasPrefix("├─ SCAN p") }, "\(steps)")
        #expect(steps.contains { $0.hasPrefix("│  └─ ") }, "\(steps)")
    }

    /// A program that leaves before the end of the rows ends the statement, and not the shell.
    @Test func programThatEndsStopsStatement() throws {
        let endless = "WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c) SELECT x FROM c;"
        let session = try type(
            [
                (Self.prompt, ".once |head -n 1501 | sed 's/^/page:/'\r"), (Self.prompt, endless + "\r"),
                ("page:1500\r\n", "SELECT 6 * 7;\r"), ("42\r\n", ".pager less\r"), (".pager: .once |less", "\u{04}"),
            ], ["--format", "csv"])
        #expect(session.status == 0, "\(session.screen.suffix(2000))")
        #expect(!session.screen.contains("page:1501\r\n"))
    }
}
