import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// The manual's table of the commands of SQLite's shell and of ours: each row is typed.
@Suite struct ShellTableTests {
    private let folder: TemporaryFolder
    private let database: String

    init() throws {
        folder = try TemporaryFolder()
        database = folder.path("a.db")
        let db = try Connection(.file(database))
        try db.execute(SQLScript("CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT); CREATE INDEX by_name ON t(name)"))
        try db.execute("INSERT INTO t VALUES (1, 'one'), (2, NULL)")
        try db.main.backup(toFileAt: folder.path("copy.db"))
        try Data("a title\nx,y\n1,2\n".utf8).write(to: URL(fileURLWithPath: folder.path("rows.csv")))
        try Data("SELECT 'read';\n".utf8).write(to: URL(fileURLWithPath: folder.path("script.sql")))
    }

    /// The lines typed for a command, and a part of the screen after them; nil if it shows nothing.
    private static let typed: [String: (lines: String, shows: String?)] = [
        ".backup": (".backup NEW", nil), ".restore": (".restore COPY", nil), ".save": (".save NEW", nil),
        ".open": (".open COPY none\nSELECT count(*) FROM t;", "2"),
        ".bail": (".bail on", nil), ".changes": (".changes on", nil), ".headers": (".headers off\nSELECT 'x' AS heading;", "x"),
        ".echo": (".echo on\nSELECT 5 + 6;", "SELECT 5 + 6;"), ".timer": (".timer on", nil),
        ".databases": (".databases", "a.db"), ".tables": (".tables", "t"), ".indexes": (".indexes t", "by_name"),
        ".schema": (".schema t", "CREATE TABLE t("), ".dump": (".dump t", "'one'"),
        ".exit": (".exit", nil), ".quit": (".quit", nil), "exit": ("exit", nil), "quit": ("quit", nil),
        ".help": (".help", ".tables"), "help": ("help", ".tables"),
        ".import": (".import --csv --skip 1 CSV imported\nSELECT count(*) FROM imported;", "1"),
        ".mode": (".mode list", nil), ".nullvalue": (".nullvalue nothing\nSELECT NULL;", "nothing"),
        ".separator": (".mode list\n.separator ==\nSELECT 1, 2;", "1==2"),
        ".once": (".once NEW\nSELECT 1;\nSELECT 'after';", "after"),
        ".output": (".output NEW\nSELECT 1;\n.output\nSELECT 'after';", "after"),
        ".parameter": (".parameter init\n.parameter set :a 7\nSELECT :a * 6;", "42"), ".print": (".print some words", "some words"),
        ".read": (".read SCRIPT", "read"),
        ".shell": (".shell echo said", "said"), ".system": (".system echo said", "said"),
        ".attach": (".attach other=COPY none\nSELECT count(*) FROM other.t;", "2"),
    ]

    private func fill(_ lines: String) -> String {
        [("NEW", "new"), ("COPY", "copy.db"), ("CSV", "rows.csv"), ("SCRIPT", "script.sql")].reduce(lines) {
            $0.replacingOccurrences(of: $1.0, with: folder.path($1.1))
        }
    }

    private func type(_ lines: String, in database: String? = nil) throws -> Command.Outcome {
        try? FileManager.default.removeItem(atPath: folder.path("new"))
        return try Tool.run(["shell", database ?? self.database, "--no-key"], input: fill(lines) + "\n")
    }

    /// The rows of the table, as the manual has them.
    private func rows() throws -> [(theirs: String, ours: String)] {
        let help = try Tool.output("help", "shell")
        let table = try #require(help.components(separatedBy: "FROM SQLITE'S SHELL\n").last?.components(separatedBy: "\n\n").first)
        let rows = table.split(separator: "\n").map { line in
            let parts = line.components(separatedBy: "  ").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
            return (theirs: parts.first ?? "", ours: parts.last ?? "")
        }
        try #require(rows.count > 20)
        return rows
    }

    private static func words(_ text: String) -> [String] {
        text.split { $0 == " " || $0 == "," }.map(String.init).filter { $0.hasPrefix(".") || ["exit", "quit", "help"].contains($0) }
    }

    @Test func shellCommandTableRowsWork() throws {
        for (theirs, ours) in try rows() {
            let words = Self.words(ours == "the same" ? theirs : ours)
            for word in words {
                guard let (lines, shows) = Self.typed[word] else {
                    Issue.record("nothing is typed for \(word)")
                    continue
                }
                let outcome = try type(lines)
                #expect(outcome.status == 0 && (outcome.errors.isEmpty || [".import", ".open"].contains(word)), "\(word): \(outcome)")
                if let shows { #expect(outcome.output.contains(shows), "\(word): \(outcome)") }
            }
            if ours == "the same", theirs.hasPrefix(".mode ") {
                for format in theirs.split(separator: " ").dropFirst() {
                    let outcome = try type(".mode \(format)\nSELECT 'one' AS name;")
                    #expect(outcome.status == 0 && outcome.errors.isEmpty && outcome.output.contains("one"), "\(format): \(outcome)")
                }
            }
            for command in ours.split(separator: ",").map({ $0.trimmingCharacters(in: .whitespaces) }) where command.hasPrefix("sqlcipherkit ") {
                let name = command.split(separator: " ")[1]
                try Tool.run("help", String(name)).expectSuccess()
            }
            if ours.hasPrefix("PRAGMA") { #expect(try type(ours.replacingOccurrences(of: "MS", with: "100")).status == 0) }
        }
    }

    /// Commands that the table calls the same work in SQLite's shell too; and it has no command that the table leaves out.
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/sqlite3"))) func shellCommandTableMatchesSQLiteShell() throws {
        func sqlite(_ lines: String) throws -> Command.Outcome {
            try? FileManager.default.removeItem(atPath: folder.path("new"))
            try Data((fill(lines) + "\n").utf8).write(to: URL(fileURLWithPath: folder.path("typed")))
            return try Command.run("/bin/sh", ["-c", "exec sqlite3 \"$0\" < \"$1\"", database, folder.path("typed")])
        }
        let rows = try rows()
        for (theirs, ours) in rows where ours == "the same" {
            for word in Self.words(theirs) where word.hasPrefix(".") {
                guard let (lines, shows) = Self.typed[word] else { continue }
                // Only an encrypted session has to say that a file is not.
                let outcome = try sqlite(lines.replacing(" none\n", with: "\n"))
                #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(word): \(outcome)")
                if let shows { #expect(outcome.output.contains(shows), "\(word): \(outcome)") }
            }
        }
        let listed = Set(rows.flatMap { Self.words($0.theirs) })
        // For SQLite's developers.
        let others: Set = [
            ".auth", ".check", ".connection", ".dbconfig", ".filectrl", ".imposter", ".limit", ".scanstats", ".selftest", ".testcase",
            ".testctrl", ".vfsinfo", ".vfslist", ".vfsname",
        ]
        for line in try sqlite(".help").output.split(separator: "\n") where line.hasPrefix(".") {
            let word = String(line.prefix { $0 != " " })
            #expect(listed.contains(word) || others.contains(word), "\(word)")
        }
    }
}
