import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// Every command that takes a database and its key, on a file whose page authentication was taken off without the key.
@Suite struct StrippedFileTests {
    /// Commands that take a key, and no database that exists.
    static let others: Set<String> = ["create", "replicas", "tour"]
    static let names = Set(JSONOutputTests.cases.keys).subtracting(others).sorted()

    let folder: TemporaryFolder
    private var database: String { folder.path("a.db") }

    init() throws { folder = try TemporaryFolder() }

    private func run(_ arguments: [String], isRaw: Bool, input: String = "") async throws -> Command.Outcome {
        let words = arguments.filter { isRaw || $0 != "--raw-key" }.map { word in
            word.hasPrefix("@") ? folder.path(String(word.dropFirst())) : word.replacingOccurrences(of: "DB", with: database)
        }
        let environment = ["TEST_KEY": Tool.rawKey, "ONE": "correct horse", "TWO": "battery staple"]
        return try await Tool.runAside(words, environment: environment, input: input)
    }

    private func make(isRaw: Bool) throws {
        let key = (0..<4).flatMap { _ in [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef] as [UInt8] }
        try JSONOutputTests.fill(folder, key: isRaw ? .raw(key) : .passphrase(Tool.rawKey))
    }

    /// What stands in the place of the database. Every command refuses them.
    enum Substitute: CaseIterable { case stripped, plaintext, foreign }

    /// Every command with a raw key; with a passphrase, which costs derivations each time, only with long tests.
    static let cases: [(name: String, isRaw: Bool)] = names.map { ($0, true) } + (LongTests.areOn ? names.map { ($0, false) } : [])

    @Test(arguments: cases, Substitute.allCases)
    func everyCommandRefusesSubstitutedFile(_ command: (name: String, isRaw: Bool), _ substitute: Substitute) async throws {
        let (name, isRaw) = command
        let leaf = try #require(try JSONOutputTests.tree.get().leaves.first { $0.name == name })
        guard leaf.takesKey else { return }
        let item = try #require(JSONOutputTests.cases[name])
        try make(isRaw: isRaw)
        for command in item.first { try #require(try await run(command, isRaw: isRaw).status == 0, "\(command)") }
        for name in ["a.db", "copy.db"] where FileManager.default.fileExists(atPath: folder.path(name)) {
            try replace(name, by: substitute)
        }
        let forged = try Data(contentsOf: URL(fileURLWithPath: database))
        let outcome = try await run(item.arguments.map { name == "encrypt" && $0 == "@plain.db" ? "DB" : $0 }, isRaw: isRaw, input: item.input)
        if substitute == .plaintext, name == "encrypt" {
            // What it is for.
            #expect(outcome.status == 0)
        } else if substitute == .plaintext, name == "identify" {
            #expect(outcome.output == "plaintext SQLite database\n")
        } else {
            #expect([1, 3, 4].contains(outcome.status), "\(outcome)")
            #expect(!outcome.output.contains("Bakery") && !outcome.output.contains("Fakery"), "\(outcome)")
            #expect(try Data(contentsOf: URL(fileURLWithPath: database)) == forged)
        }
    }

    private func replace(_ name: String, by substitute: Substitute) throws {
        switch substitute {
        case .stripped: try folder.stripAuthentication(name)
        case .plaintext, .foreign:
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: folder.path(name + suffix)) }
            let db = try Connection(
                .file(folder.path(name)), key: substitute == .plaintext ? .plaintext : .raw([UInt8](repeating: 9, count: 32)))
            try db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, created TEXT)")
            try db.execute("INSERT INTO note(title) VALUES ('Fakery')")
        }
    }

    @Test(arguments: LongTests.areOn ? [true, false] : [true]) func unauthenticatedFileIsAcceptedOnRequest(isRaw: Bool) async throws {
        try make(isRaw: isRaw)
        try folder.stripAuthentication("a.db")
        let query = ["query", "DB", "SELECT title FROM note", "--format", "list"] + Tool.key
        let refused = try await run(query, isRaw: isRaw)
        refused.expectFailure(3, "sqlcipherkit identify \(database) tells")
        let source = "x=\(isRaw ? "raw:" : "")env:TEST_KEY"
        let attached = try await run(["query", "@plain.db", "SELECT 1", "--no-key", "--attach", "x=DB", "--attach-key", source], isRaw: true)
        attached.expectFailure(3, "sqlcipherkit identify")
        for command in [".attach x=DB \(source.dropFirst(2))", ".open DB \(source.dropFirst(2))"] {
            let input = command.replacingOccurrences(of: "DB", with: database) + "\nSELECT count(*) FROM x.note;\n"
            let outcome = try await run(["shell", "@plain.db", "--no-key"], isRaw: true, input: input)
            #expect(outcome.status != 0 && outcome.output == "", "\(command): \(outcome)")
        }
        let identified = try await run(["identify", "DB"] + Tool.key, isRaw: isRaw)
        #expect(identified.status == 4 && identified.errors.contains("authentication is missing"), "\(identified)")
        #expect(!identified.output.contains("version") && !identified.output.contains("options"), "\(identified)")
        #expect(identified.output.contains("page_authentication none: authentication is missing\n"))
        let rows = try await run(["identify", "DB", "--json"] + Tool.key, isRaw: isRaw)
        #expect(rows.status == 4 && rows.output.contains(#""version":null"#) && rows.output.contains(#""options":null"#), "\(rows)")
        let migrated = try await run(["migrate", "DB"] + Tool.key, isRaw: isRaw)
        migrated.expectFailure(3, "no page authentication", "--accept-unauthenticated")

        // Only what reads has the option, and it says what is missing.
        let before = try Data(contentsOf: URL(fileURLWithPath: database))
        let search = try await run(query + ["--search-settings"], isRaw: isRaw)
        #expect(search.expectSuccess().output == "title\nBakery, bread\n" && search.errors.contains("is opened for reading, with the settings"), "\(search)")
        #expect(search.errors.contains("pages are not authenticated"), "\(search)")
        try await run(query + ["--search-settings", "--write"], isRaw: isRaw).expectFailure(64, "for reading only")
        for command in ["backup", "rekey", "vacuum", "decrypt", "recover", "migrate", "shell", "unlock", "erase", "adopt", "restore"] {
            let item = try #require(JSONOutputTests.cases[command])
            try await run(item.arguments + ["--search-settings"], isRaw: isRaw).expectFailure(64, "--search-settings")
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: database)) == before)

        let none = ["--hmac", "none"]
        #expect(try await run(query + none, isRaw: isRaw).output == "title\nBakery, bread\n")
        #expect(try await run(["identify", "DB"] + none + Tool.key, isRaw: isRaw).status == 0)
        let verified = try await run(["verify", "DB"] + none + Tool.key, isRaw: isRaw)
        #expect(verified.status == 4 && verified.output.contains("authentication is missing"), "\(verified)")
        try await run(["migrate", "DB", "--accept-unauthenticated"] + Tool.key, isRaw: isRaw).expectSuccess()
        #expect(try await run(query, isRaw: isRaw).output == "title\nBakery, bread\n")
    }
}
