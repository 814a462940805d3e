import Foundation
import Testing
import TestSupport

/// The guides that a reader follows from the first block to the last. Their blocks, in order, are one program, or one for each
/// section. Each program is compiled with warnings as errors, and run in an empty folder. Its output is compared with the comments
/// at its prints, such as `print(titles)  // ["Flour"]`.
@Suite(.timeLimit(.minutes(60))) struct PageProgramTests {
    struct Guide: CustomTestStringConvertible {
        var name: String
        /// The start of a line at which another program begins.
        var separator: String?
        /// By the heading of a section: what the reader already has, and a look at the result.
        var surroundings: [String: (before: String, after: String)] = [:]

        var testDescription: String { name }
        var page: String { "Sources/SQLCipherKit/Documentation.docc/\(name).md" }
    }

    static let guides = [
        Guide(name: "GettingStarted"),
        Guide(name: "Search"),
        Guide(name: "FromGRDB", separator: "### ", surroundings: [
            "The file": (
                """
                let path = "players.db"
                let made = try Connection(.file(path))
                try made.execute(SQLScript(\"""
                    CREATE TABLE grdb_migrations(identifier TEXT NOT NULL PRIMARY KEY);
                    INSERT INTO grdb_migrations VALUES ('v1');
                    CREATE TABLE player(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
                    \"""))
                made.close()
                var migrator = Migrator()
                migrator.add("v1") { db in try db.execute("CREATE TABLE player(id INTEGER PRIMARY KEY)") }
                migrator.add("v2") { db in try db.main.addColumn(SQLColumn("team", .text), to: "player") }
                """,
                #"print(try pool.read { db in try db.main.columns(of: "player").map(\.name) })  // ["id", "name", "team"]"#),
            "One program with both": ("let path = \"teams.db\"", ""),
        ]),
        Guide(name: "Migrating", separator: "## ", surroundings: [
            "From a plaintext file": (
                """
                let path = "notes.db"
                let made = try Connection(.file(path))
                try made.execute(SQLScript("CREATE TABLE note(title); INSERT INTO note VALUES ('Mill')"))
                made.close()
                struct Item {
                    func loadOrCreateKey() throws -> DatabaseKey { try .passphrase("correct horse") }
                }
                extension EncryptionMark {
                    static func keychain(_ item: Item) -> EncryptionMark { .file("keys/mark") }
                }
                try FileManager.default.createDirectory(atPath: "keys", withIntermediateDirectories: false)
                let item = Item()
                """,
                """
                db.close()
                for _ in 1...2 {
                    // ["Mill"], ["Mill"]
                    print(try open().read { db in try db.fetchAll(String.self, "SELECT title FROM note") })
                }
                """),
            "From SQLCipher 1 to 3": (
                """
                let path = "notes.db", oldPath = "old.db"
                for (path, cipher) in [(path, CipherConfiguration.sqlCipher3), (oldPath, .sqlCipher1)] {
                    let made = try Connection(.file(path), key: .passphrase("correct horse", cipher: cipher))
                    try made.execute(SQLScript("CREATE TABLE note(title); INSERT INTO note VALUES ('Mill')"))
                    made.close()
                }
                """,
                """
                print(version ?? 0)      // 3
                // ["Mill"]
                print(try open(passphrase).read { db in try db.fetchAll(String.self, "SELECT title FROM note") })
                // ["Mill"]
                print(try Connection(.file(oldPath), key: passphrase).fetchAll(String.self, "SELECT title FROM note"))
                """),
            "From another package": (
                database("note(id INTEGER PRIMARY KEY, title TEXT)", "(1, 'Bakery'), (2, 'Mill')")
                    + "let pattern = \"B%\"\nstruct Note: Decodable { var id: Int; var title: String }",
                #"print(notes.map(\.title))     // ["Bakery"]"#),
            "From GRDB": (
                database("note(id BLOB, created DATETIME)", "(x'\(hexadecimal)', '2020-11-21 08:30:00.250')"),
                "print(count ?? 0)      // 1"),
            "From SQLite.swift": (
                database("note(id TEXT, created TEXT)", "('\(uuid)', '2020-11-21T08:30:00.250')"),
                "print(db.changes)      // 1"),
            "From SkipSQL": (
                database("VISIT(ID TEXT PRIMARY KEY, ARRIVED REAL, LEFT_AT TEXT)", "('\(uuid)', 1795249000.5, NULL)"),
                #"print(try db.fetchOne(String.self, "SELECT LEFT_AT FROM VISIT") ?? "")      // 2026-11-21T08:30:00Z"#),
            "From SAP's SecureDatabaseStore": ("let path = \"visits.db\"\n\(values)", "print(changes)     // 0"),
            "From DataLiteCore": (
                database("visit(id TEXT, arrived TEXT)", "('\(uuid)', '2026-11-21T08:29:59Z')"),
                "print(ids == [uuid])      // true"),
        ]),
    ]

    private static let uuid = "0F1E2D3C-4B5A-4978-8796-A5B4C3D2E1F0"
    private static let hexadecimal = uuid.replacing("-", with: "")
    private static let values = """
        let uuid = UUID(uuidString: "\(uuid)")!, now = Date(timeIntervalSince1970: 1_795_249_800)

        """

    /// The beginning of a program: a file with a table.
    private static func database(_ table: String, _ rows: String) -> String {
        """
        let path = "notes.db"
        let made = try Connection(.file(path), key: .passphrase("correct horse"))
        try made.execute("CREATE TABLE \(table)")
        try made.execute("INSERT INTO \(table.prefix { $0 != "(" }) VALUES \(rows)")
        made.close()
        \(values)
        """
    }

    @Test(arguments: guides) func guideIsOneProgram(_ guide: Guide) throws {
        let text = try String(contentsOf: Repository.file(guide.page), encoding: .utf8)
        let sections = guide.separator.map { text.components(separatedBy: "\n\($0)") } ?? [text]
        var left = Set(guide.surroundings.keys)
        for section in sections {
            let blocks = section.components(separatedBy: "\n```swift\n").dropFirst().map { $0.components(separatedBy: "\n```")[0] }
            guard !blocks.isEmpty else { continue }
            let heading = guide.separator == nil ? "" : section.components(separatedBy: "\n")[0]
            let (before, after) = guide.surroundings[heading] ?? ("", "")
            left.remove(heading)
            let used = ExampleTests.undeclared(in: blocks.flatMap(ExampleTests.lines), declaredIn: ExampleTests.lines(of: before))
            let missing = used.subtracting(ExampleTests.named(in: text))
            #expect(missing.isEmpty, "\(guide.name) does not say what these are: \(missing.sorted())")
            let imports = before.isEmpty ? "" : "import Foundation\nimport SQLCipherKit\n"
            let source = ([imports + before] + blocks + [after]).joined(separator: "\n")
            let output = try Self.output(of: source)
            #expect(Self.firstMissing(of: Self.comments(in: source), in: output) == nil, "\(guide.name), \(heading): \(output)")
        }
        #expect(left.isEmpty, "\(guide.name) has no program under: \(left.sorted())")
    }

    /// The lines that a program prints.
    private static func output(of source: String) throws -> [Substring] {
        let folder = try TemporaryFolder(), empty = try TemporaryFolder()
        let file = folder.path("main.swift"), program = folder.path("program")
        try source.write(toFile: file, atomically: true, encoding: .utf8)
        let options = ["-swift-version", "6", "-warnings-as-errors", file, "-o", program]
        let compiling = try Command.run("swiftc", options + Typecheck.modules() + Typecheck.objects())
        try #require(compiling.status == 0, "\(compiling.errors)\n\(source)")
        let run = try Command.run("sh", ["-c", "cd \"$0\" && exec \"$1\"", empty.path(""), program])
        try #require(run.status == 0, "\(run.errors)\n\(source)")
        return run.output.split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// The expected output of a program: a comment at the end of a line that prints, or on a line before it.
    static func comments(in source: String) -> [Substring] {
        let lines = ExampleTests.lines(of: source)
        return zip(lines, lines.dropFirst() + [""]).compactMap { line, next in
            if line.hasPrefix("// ") { return next.hasPrefix("print(") ? line.dropFirst(3) : nil }
            return line.hasPrefix("print(") ? line.firstMatch(of: #/ +// (.+)/#)?.1 : nil
        }
    }

    /// The first comment that is no line of the output after the earlier ones, nor several lines with commas between them.
    static func firstMissing(of comments: [Substring], in output: [Substring]) -> Substring? {
        var rest = output[...]
        return comments.first { comment in
            for start in rest.indices {
                for end in start..<rest.endIndex where rest[start...end].joined(separator: ", ") == comment {
                    rest = rest[(end + 1)...]
                    return false
                }
            }
            return true
        }
    }

    @Test func otherOutputThanTheCommentsSayIsDetected() {
        let comments = Self.comments(in: "print(a)  // 1\n// b, c\nprint(b)\n// Not printed.\nlet c = 2  // 3\nprint(d)")
        #expect(comments == ["1", "b, c"])
        #expect(Self.firstMissing(of: ["1", "b, c"], in: ["0", "1", "b", "c"]) == nil)
        #expect(Self.firstMissing(of: ["1", "b, c"], in: ["b", "c", "1"]) == "b, c")
        #expect(Self.firstMissing(of: ["1"], in: ["11"]) == "1")
    }
}
