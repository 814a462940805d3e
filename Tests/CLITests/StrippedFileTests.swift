import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

/// Every command that takes a database and its key, where another file was put in the place of the right one, without the key.
@Suite struct StrippedFileTests {
    /// Commands that take a key, and no database that exists.
    static let others: Set<String> = ["create", "replicas", "tour"]
    static let names = Set(JSONOutputTests.cases.keys).subtracting(others).sorted()

    let folder: TemporaryFolder
    private var database: String { folder.path("a.db") }

    init() throws { folder = try TemporaryFolder() }

    private static let environment = ["TEST_KEY": Tool.rawKey, "ONE": "correct horse", "TWO": "battery staple"]

    private func words(_ arguments: [String], isRaw: Bool) -> [String] {
        arguments.filter { isRaw || $0 != "--raw-key" }.map { word in
            word.hasPrefix("@") ? folder.path(String(word.dropFirst())) : word.replacingOccurrences(of: "DB", with: database)
        }
    }

    private func run(_ arguments: [String], isRaw: Bool, input: String = "") async throws -> Command.Outcome {
        try await Tool.runAside(words(arguments, isRaw: isRaw), environment: Self.environment, input: input)
    }

    private func key(isRaw: Bool) throws -> DatabaseKey {
        let key = (0..<4).flatMap { _ in [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef] as [UInt8] }
        return try isRaw ? .raw(key) : .passphrase(Tool.rawKey)
    }

    /// The key of a file, to which `key init` may have given another.
    private func key(of file: String, isRaw: Bool) throws -> DatabaseKey {
        let path = folder.path(file)
        guard !isRaw, FileManager.default.fileExists(atPath: path + ".keys") else { return try key(isRaw: isRaw) }
        return .slots(try KeySlots.unlock(.passphrase("correct horse"), of: .file(path)))
    }

    private func make(isRaw: Bool) throws { try JSONOutputTests.fill(folder, key: key(isRaw: isRaw)) }

    /// The file in the place of the database. Every command refuses the first three.
    enum Substitute: CaseIterable {
        case stripped, plaintext, foreign
        /// The page of the notes, in the file or in its log: a command that reads it fails, or names it.
        case strippedPage, strippedFrame
        /// A former state, from before the key slots.
        case older
    }

    /// Returns whether a command does not read the page of the notes; replicas have it as it is in the file, and refuse it when it
    /// is restored. `key init` rewrites a database with a passphrase.
    private static func isBlind(_ name: String, isRaw: Bool) -> Bool {
        let names: Set = [
            "identify", "import", "info", "key add", "key change", "key init", "key recovery", "key revoke", "migrate", "replicate",
            "schema", "vectors create", "vectors import", "vectors search",
        ]
        return names.contains(name) && (isRaw || name != "key init")
    }
    /// Commands that refuse a former state: those that know the key slots, and the one that takes nothing encrypted.
    static let refusing: Set<String> = ["encrypt", "key add", "key change", "key recovery", "key revoke", "key rotate"]
    /// The values of the rows, and their values once a bit of their page was changed without the key.
    static let time = "2026-11-21 08:30:00", changedTime = "2026-11-21 08:30:09"

    /// Every command with a raw key; with a passphrase, which costs derivations each time, only with long tests.
    static let cases: [(name: String, isRaw: Bool)] = names.map { ($0, true) } + (LongTests.areOn ? names.map { ($0, false) } : [])

    @Test(arguments: cases) func everyCommandRefusesSubstitutedFile(_ name: String, isRaw: Bool) async throws {
        let leaf = try #require(try JSONOutputTests.tree.get().leaves.first { $0.name == name })
        guard leaf.takesKey else { return }
        let item = try #require(JSONOutputTests.cases[name])
        try make(isRaw: isRaw)
        let older = try bytes("a.db")
        for command in item.first { try #require(try await run(command, isRaw: isRaw).status == 0, "\(command)") }
        let arguments = item.arguments.map { name == "encrypt" && $0 == "@plain.db" ? "DB" : $0 }
        let parsed = try Tool.Parsed(words(arguments, isRaw: isRaw))
        let files = FileManager.default, outside = try TemporaryFolder()
        try files.copyItem(atPath: folder.url.path, toPath: outside.path("files"))
        for substitute in Substitute.allCases {
            for file in try folder.names() { try files.removeItem(atPath: folder.path(file)) }
            for file in try files.contentsOfDirectory(atPath: outside.path("files")) {
                try files.copyItem(atPath: outside.path("files/" + file), toPath: folder.path(file))
            }
            for file in ["a.db", "copy.db"] where files.fileExists(atPath: folder.path(file)) {
                try replace(file, by: substitute, older, key(of: file, isRaw: isRaw))
            }
            let forged = try bytes("a.db")
            let outcome = try await Tool.runAside(parsed, environment: Self.environment, input: item.input)
            try check(outcome, of: name, isRaw: isRaw, substitute, forged)
        }
    }

    private func check(
        _ outcome: Command.Outcome, of name: String, isRaw: Bool, _ substitute: Substitute, _ forged: Data
    ) throws {
        let comment: Comment = "\(name) \(substitute): \(outcome)"
        if substitute == .plaintext, name == "encrypt" {
            // The purpose of the command.
            #expect(outcome.status == 0, comment)
        } else if substitute == .plaintext, name == "identify" {
            #expect(outcome.output == "kind  plaintext\n")
        } else if substitute == .older {
            // Nothing but the slots tells it from the right one.
            #expect(Self.refusing.contains(name) ? outcome.status == 3 : [0, 1, 4].contains(outcome.status), comment)
        } else if [.strippedPage, .strippedFrame].contains(substitute) {
            let isNamed = [1, 3, 4].contains(outcome.status) || outcome.errors.contains("1 page could not be decrypted")
            #expect(Self.isBlind(name, isRaw: isRaw) ? outcome.status == 0 : isNamed, comment)
            #expect(!outcome.output.contains(Self.changedTime), comment)
        } else {
            #expect([1, 3, 4].contains(outcome.status), comment)
            #expect(!outcome.output.contains("Bakery") && !outcome.output.contains("Fakery"), comment)
            #expect(try bytes("a.db") == forged, comment)
        }
    }

    private func bytes(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: folder.path(name))) }

    private func replace(_ name: String, by substitute: Substitute, _ older: Data, _ key: DatabaseKey) throws {
        // The last byte of the second page, in a block that depends on the one before it.
        let change = (offset: 4096 - 80 - 17, bits: UInt8(0x09))
        switch substitute {
        case .stripped: try folder.stripAuthentication(name)
        case .strippedPage: try folder.stripAuthentication(name, pages: 2...2, flipping: (4096 + change.offset, change.bits))
        case .strippedFrame:
            let db = try Connection(.file(folder.path(name)), key: key)
            try db.main.setJournalMode(.wal)
            for time in ["", Self.time] { try db.execute("UPDATE note SET created = \(time)") }
            let file = try bytes(name)
            var log = WriteAheadLog(try bytes(name + "-wal"), pageSize: 4096)
            db.close()
            log.strip(page: 2, flipping: change)
            log.sign()
            try file.write(to: URL(fileURLWithPath: folder.path(name)))
            try log.bytes.write(to: URL(fileURLWithPath: folder.path(name + "-wal")))
        case .older:
            for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: folder.path(name + suffix)) }
            try older.write(to: URL(fileURLWithPath: folder.path(name)))
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
        #expect(!identified.output.contains("hmac_algorithm"))
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
        for command in ["backup", "rekey", "vacuum", "decrypt", "recover", "migrate", "shell", "erase", "restore"] {
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
