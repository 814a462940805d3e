import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// `--json` and the exit status of every command. The commands are those that the tool's help lists: a new one without a line in
/// `cases` fails.
@Suite struct JSONOutputTests {
    /// A run of a command that succeeds; `DB` is the database, `@name` a file beside it.
    struct Case {
        let arguments: [String]
        /// The text on standard input.
        var input = ""
        /// Commands before it.
        var first: [[String]] = []
        var status: Int32 = 0
        /// The status where the database does not exist; nil where that is no error.
        var statusOfNoFile: Int32? = 1
        /// True if there must be rows.
        var hasRows = true
    }

    private static let raw = Tool.key
    private static let slot = ["--derivation", "pbkdf2:1000"]
    private static let slotKey = ["--key-env", "ONE"]
    private static let makeSlots = ["key", "init", "DB", "--label", "laptop", "--new-key", "env:ONE"] + slot + raw
    private static let addSlot = ["key", "add", "DB", "--label", "desk", "--new-key", "env:TWO"] + slot + slotKey

    private static let makeVectors = ["vectors", "create", "DB", "v", "--dimensions", "2"] + raw
    private static let log = ["query", "DB", "PRAGMA journal_mode = WAL", "--write"] + raw

    static let cases: [String: Case] = [
        "create": Case(arguments: ["create", "@new.db"] + raw, statusOfNoFile: nil),
        "import": Case(arguments: ["import", "DB", "@rows.csv", "@texts", "--search", "name"] + raw, statusOfNoFile: nil),
        "search": Case(arguments: ["search", "DB", "bread"] + raw),
        "query": Case(arguments: ["query", "DB", "SELECT title, 1 AS n FROM note"] + raw),
        "shell": Case(arguments: ["shell", "DB"] + raw, input: "SELECT title FROM note;\n"),
        "schema": Case(arguments: ["schema", "DB"] + raw),
        "vectors create": Case(arguments: makeVectors),
        "vectors import": Case(arguments: ["vectors", "import", "DB", "v", "@vectors.csv"] + raw, first: [makeVectors]),
        "vectors search": Case(
            arguments: ["vectors", "search", "DB", "v", "--like", "1"] + raw,
            first: [makeVectors, ["vectors", "import", "DB", "v", "@vectors.csv"] + raw]),
        "dump": Case(arguments: ["dump", "DB"] + raw),
        "key init": Case(arguments: makeSlots),
        "key list": Case(arguments: ["key", "list", "DB"], first: [makeSlots]),
        "key add": Case(arguments: addSlot, first: [makeSlots]),
        "key recovery": Case(arguments: ["key", "recovery", "DB", "--label", "safe"] + slot + slotKey, first: [makeSlots]),
        "key change": Case(arguments: ["key", "change", "DB", "laptop", "--new-key", "env:TWO"] + slotKey, first: [makeSlots]),
        "key revoke": Case(arguments: ["key", "revoke", "DB", "desk"] + slotKey, first: [makeSlots, addSlot]),
        "key rotate": Case(arguments: ["key", "rotate", "DB", "laptop"] + slotKey, first: [makeSlots, addSlot]),
        "rekey": Case(arguments: ["rekey", "DB", "--new-key", "env:ONE"] + raw),
        "encrypt": Case(arguments: ["encrypt", "@plain.db"] + raw, statusOfNoFile: nil),
        "decrypt": Case(arguments: ["decrypt", "DB"] + raw),
        "migrate": Case(arguments: ["migrate", "DB"] + raw),
        "info": Case(arguments: ["info", "DB"] + raw),
        "identify": Case(arguments: ["identify", "DB"] + raw),
        "verify": Case(arguments: ["verify", "DB"] + raw, hasRows: false),
        "recover": Case(arguments: ["recover", "DB", "@rescued.db"] + raw),
        "backup": Case(arguments: ["backup", "DB", "@copy.db"] + raw),
        "restore": Case(arguments: ["restore", "DB", "@copy.db"] + raw, first: [["backup", "DB", "@copy.db"] + raw], statusOfNoFile: nil),
        "vacuum": Case(arguments: ["vacuum", "DB"] + raw),
        "erase": Case(arguments: ["erase", "DB"] + raw),
        "space": Case(arguments: ["space", "DB"] + raw),
        "replicate": Case(arguments: ["replicate", "DB", "@store", "--once"] + raw, first: [log]),
        "replicas": Case(
            arguments: ["replicas", "@store"] + raw, first: [log, ["replicate", "DB", "@store", "--once"] + raw], statusOfNoFile: nil),
        "sync": Case(arguments: ["sync", "DB", "@store", "--table", "note"] + raw),
        "diff": Case(arguments: ["diff", "DB", "@plain.db", "--other-key", "none"] + raw, status: 4),
        "tour": Case(arguments: ["tour", "@texts", "--into", "@tour"], statusOfNoFile: nil),
        "version": Case(arguments: ["version"], statusOfNoFile: nil),
    ]

    static let tree = Result { try CommandTree() }

    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try Self.fill(folder, key: .raw((0..<4).flatMap { _ in [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef] as [UInt8] }))
    }

    /// Makes the files that the cases name.
    static func fill(_ folder: TemporaryFolder, key: DatabaseKey) throws {
        for (name, encryption) in [("a.db", key), ("plain.db", .plaintext)] {
            let db = try Connection(.file(folder.path(name)), key: encryption)
            try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, created TEXT)")
            if name == "plain.db" { continue }
            try db.execute("INSERT INTO note(title, created) VALUES ('Bakery, bread', '2026-11-21 08:30:00')")
            try db.create(FTS5Table("note_fts", columns: ["title"], content: .external(table: "note")))
        }
        try Data("1,1,0\n2,1,1\n".utf8).write(to: URL(fileURLWithPath: folder.path("vectors.csv")))
        try Data("name,zip\nMill,01067\n".utf8).write(to: URL(fileURLWithPath: folder.path("rows.csv")))
        try FileManager.default.createDirectory(atPath: folder.path("texts"), withIntermediateDirectories: true)
        for name in ["a.md", "b.md"] {
            try Data("# Bread\n\nBaking bread needs flour, water and salt.\n".utf8).write(to: URL(fileURLWithPath: folder.path("texts/" + name)))
        }
    }

    private func run(
        _ arguments: [String], input: String = "", replacing database: String? = nil, _ key: String = Tool.rawKey
    ) async throws -> Command.Outcome {
        let words = arguments.map { word in
            word == "DB" ? database ?? folder.path("a.db") : word.hasPrefix("@") ? folder.path(String(word.dropFirst())) : word
        }
        let environment = ["TEST_KEY": key, "ONE": "correct horse", "TWO": "battery staple"]
        return try await Tool.runAside(words, environment: environment, input: input)
    }

    @Test func everyCommandDescribesItsJSONOutput() throws {
        let leaves = try Self.tree.get().leaves
        #expect(leaves.count > 30)
        #expect(Set(leaves.map(\.name)) == Set(Self.cases.keys))
        for leaf in leaves {
            #expect(leaf.options.contains("json"), "\(leaf.name)")
            #expect(leaf.json.hasPrefix("One object: ") || leaf.isArray, "\(leaf.name): \(leaf.json)")
        }
    }

    @Test(arguments: LongTests.sample(20, of: cases.keys.sorted())) func jsonOutputHasKeysListedInHelp(_ name: String) async throws {
        let leaf = try #require(try Self.tree.get().leaves.first { $0.name == name })
        let item = try #require(Self.cases[name])
        for command in item.first {
            let outcome = try await run(command)
            try #require(outcome.status == 0, "\(command) \(outcome.errors)")
        }
        let outcome = try await run(item.arguments + ["--json"], input: item.input)
        try #require(outcome.status == item.status, "\(outcome.errors)")
        let value = try JSONValue(text: outcome.output.trimmingCharacters(in: .newlines))
        let objects: [JSONValue]
        switch value {
        case .array(let rows):
            #expect(leaf.isArray)
            objects = rows
            #expect(rows.isEmpty != item.hasRows)
        default:
            #expect(!leaf.isArray)
            objects = [value]
        }
        for object in objects {
            guard case .object(let members) = object else { throw CocoaError(.coderInvalidValue) }
            if let keys = leaf.keys { #expect(members.map(\.key) == keys, "\(name)") } else { #expect(!members.isEmpty) }
            for name in members.map(\.key) where leaf.keys != nil { #expect(name.wholeMatch(of: /[a-z_]+/) != nil, "\(name)") }
        }
    }

    /// With `--json` as without it, an error is a line on standard error and the status that the help lists; what is written is
    /// nothing or JSON.
    @Test(arguments: LongTests.sample(6, of: cases.keys.sorted())) func failuresExitWithStatusListedInHelp(_ name: String) async throws {
        let tree = try Self.tree.get()
        let leaf = try #require(tree.leaves.first { $0.name == name })
        let item = try #require(Self.cases[name])
        #expect(tree.statuses == [0, 1, 3, 4, 5, 6, 64, 130])
        func expect(_ outcome: Command.Outcome, _ status: Int32, sourceLocation: SourceLocation = #_sourceLocation) throws {
            #expect(outcome.status == status, "\(outcome.errors)", sourceLocation: sourceLocation)
            #expect(outcome.errors.hasPrefix("sqlcipherkit: ") && outcome.errorLines.count == 1, "\(outcome.errors)", sourceLocation: sourceLocation)
            let text = outcome.output.trimmingCharacters(in: .newlines)
            if !text.isEmpty { _ = try JSONValue(text: text) }
        }
        for options in [["--json"], []] {
            try await expect(run(item.arguments + options + ["--frobnicate"], input: item.input), 64)
            if let status = item.statusOfNoFile {
                try await expect(run(item.arguments + options, input: item.input, replacing: folder.path("none.db")), status)
            }
            guard leaf.takesKey, item.first.isEmpty, item.statusOfNoFile != nil else { continue }
            try await expect(run(item.arguments + options, input: item.input, String(repeating: "ef", count: 32)), 3)
            try await expect(run(item.arguments + options, input: item.input, "no digits"), 3)
        }
    }

    @Test func statementWithoutColumnsPrintsEmptyJSONArray() async throws {
        let outcome = try await run(["query", "DB", "DELETE FROM note", "--write", "--json"] + Tool.key)
        #expect(outcome.output == "[]\n" && outcome.status == 0 && outcome.errors == "1 row changed\n")
    }

    @Test func searchWithoutHitsPrintsEmptyJSONArray() async throws {
        let outcome = try await run(["search", "DB", "zeppelin", "--json"] + Tool.key)
        #expect(outcome.output == "[]\n" && outcome.status == 1)
    }

    @Test func jsonImportReportDescribesEachSource() async throws {
        let outcome = try await run(["import", "DB", "@rows.csv", "@texts", "--search", "name", "--json"] + Tool.key)
        let value = try JSONValue(text: outcome.output.trimmingCharacters(in: .newlines))
        #expect(value["rows"] == 3 && value["encrypted"] == true && value["indexes"] == ["rows_search"], "\(outcome.output)")
        guard case .array(let sources)? = value["sources"] else { throw CocoaError(.coderInvalidValue) }
        #expect(sources.map { $0["table"] } == ["rows", "document"] && sources.map { $0["rows"] } == [1, 2])
        #expect(sources[0]["columns"] == [["name": "name", "type": "text"], ["name": "zip", "type": "text"]])
    }
}
