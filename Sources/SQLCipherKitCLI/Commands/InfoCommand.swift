import ArgumentParser
import Foundation
import SQLCipherKit

struct InfoCommand: ReadingCommand {
    static let configuration = CommandConfiguration(
        commandName: "info",
        abstract: "Show a database's size, encryption, key slots and contents.",
        discussion: """
            EXAMPLES
              sqlcipherkit info notes.db
              sqlcipherkit info notes.db --json

            \(form)
            """)

    private static let form = JSONForm.rows(
        "file", "bytes", "pages", "page_size", "free_pages", "cipher", "sqlcipher", "key_derivation", "page_authentication",
        "key_slots",
        "journal_mode", "encoding", "user_version", "application_id", "tables", "full_text_tables")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @OptionGroup(title: "Key") var settings: SettingsSearch
    @OptionGroup var output: OutputOptions

    func run() throws {
        let db = try file.open(.readOnly)
        var members: [(String, SQLValue)] = [("file", .text(file.path))]
        // For an encrypted database the pragma returns text.
        let pageSize = try Int64(db.main.pageSize)
        let pages = try db.main.pragma("page_count", as: Int64.self) ?? 0
        members += [
            ("bytes", .integer(pages * pageSize)), ("pages", .integer(pages)), ("page_size", .integer(pageSize)),
            ("free_pages", .integer(try db.main.pragma("freelist_count", as: Int64.self) ?? 0)),
        ]
        let info = try db.main.cipher, settings = info?.settings
        let derivation = settings.map { "PBKDF2-HMAC-\($0.kdfAlgorithm.rawValue), \($0.kdfIterations.grouped) rounds" }
        let authentication = settings.map { $0.usesHMAC ? "HMAC-\($0.hmacAlgorithm.rawValue)" : "none" }
        members += [
            ("cipher", .text(info?.cipher ?? "none: plaintext")), ("sqlcipher", info.map { .text($0.version) } ?? .null),
            ("key_derivation", derivation.map { .text($0) } ?? .null),
            ("page_authentication", authentication.map { .text($0) } ?? .null),
        ]
        let slots = try UnlockedKey.hasSlots(file.path) ? KeySlots.unverifiedSlots(of: .file(file.path)) : []
        members.append(
            ("key_slots", .text(slots.isEmpty ? "none" : slots.map { "\($0.label) (\($0.kind))" }.joined(separator: ", "))))
        members += [
            ("journal_mode", .text(try db.main.pragma("journal_mode", as: String.self) ?? "")),
            ("encoding", .text(try db.main.pragma("encoding", as: String.self) ?? "")),
            ("user_version", .integer(try db.main.pragma("user_version", as: Int64.self) ?? 0)),
            ("application_id", .integer(try db.main.pragma("application_id", as: Int64.self) ?? 0)),
            ("tables", .text(try SchemaListing.tables(db).joined(separator: ", "))),
            ("full_text_tables", .text(try db.main.fullTextIndexes().map(\.name).joined(separator: ", "))),
        ]
        try output.write(members.map(\.0), [members.map(\.1)], default: .lines)
    }
}
