import ArgumentParser
import Foundation
import SQLCipherKit

struct RecoverCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recover",
        abstract: "Copy what can be read of a damaged database into a new one.",
        discussion: """
            Every row on a page that is whole is copied. What is lost is listed, and the status is 4 then. The damaged file is \
            never written; other programs must not have it open. The new one has its key unless --new-key gives it another.

            EXAMPLES
              sqlcipherkit recover notes.db rescued.db
              sqlcipherkit recover notes.db rescued.db --key-file notes.key
            """)

    @OptionGroup var file: FileOptions

    @Argument(help: ArgumentHelp("The file to make.", valueName: "new-database"), completion: .file())
    var target: String

    @Option(
        name: .customLong("new-key"),
        help: ArgumentHelp("Where the new file's own key comes from: \(KeyReference.grammar).", valueName: "source"))
    var source: String?

    func validate() throws { _ = try reference }

    private var reference: KeyReference? { get throws { try source.map { try KeyReference.parse($0, option: "--new-key") } } }

    func run() throws {
        try FileOptions.requireDatabase(file.path)
        try FileOptions.requireNothing(at: target)
        let key = try file.unlock(.readOnly) ?? .plaintext
        let newKey = try reference.map { try $0.key(for: "the database \(target)", isNew: true) }
        let report = try DatabaseConverter.salvage(
            fileAt: file.path, key: key, to: target, newKey: newKey, progress: ProgressBar.rewriting("Recovering"))
        for table in report.tables { Output.line(describe(table)) }
        for object in report.lostObjects { Output.line("\(object.name.onOneLine): not made, \(object.message.onOneLine)") }
        for name in report.rebuiltIndexes { Output.line("\(name.onOneLine): index built again") }
        if !report.lostSchemaPages.isEmpty {
            Output.line("schema: lost pages \(list(report.lostSchemaPages)), tables may be missing")
        }
        Output.line("lost pages: \(report.lostPages.isEmpty ? "none" : list(report.lostPages))")
        guard report.isComplete else {
            throw Failure("\(file.path) has lost something, and the rest is in \(target)", status: .different)
        }
    }

    private func describe(_ table: SalvageReport.Table) -> String {
        var text = "\(table.name.onOneLine): \(table.rows) row\(table.rows == 1 ? "" : "s")"
        if !table.lostPages.isEmpty { text += ", lost pages \(list(table.lostPages))" }
        if table.lostRows > 0 { text += ", \(table.lostRows) lost row\(table.lostRows == 1 ? "" : "s")" }
        return text
    }

    private func list(_ pages: [Int]) -> String { pages.map(String.init).joined(separator: ", ") }
}

struct IdentifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "identify",
        abstract: "Say whether a file is a database, and which version of SQLCipher fits the key.",
        discussion: """
            The file is only read. The status is 3 if it is neither plaintext nor opens with the key.

            EXAMPLES
              sqlcipherkit identify old.db
              sqlcipherkit identify old.db --no-key
            """)

    @OptionGroup var file: FileOptions

    func run() throws {
        let key = try file.unlock(.readOnly)
        switch try DatabaseConverter.identify(fileAt: file.path, key: key) {
        case .empty: Output.line("empty")
        case .plaintext: Output.line("plaintext SQLite database")
        case .encrypted(let version, let settings):
            Output.line("encrypted by SQLCipher\(version.map { ", with the settings of version \($0)" } ?? "")")
            Output.line("page_size \(settings.pageSize)")
            Output.line("key_derivation PBKDF2-HMAC-\(settings.kdfAlgorithm.rawValue), \(settings.kdfIterations) rounds")
            Output.line("page_authentication \(settings.usesHMAC ? "HMAC-\(settings.hmacAlgorithm.rawValue)" : "none")")
            for weakness in settings.weaknesses {
                if case .keyDerivation = weakness, file.key.isRaw { continue }
                Output.line("weakness \(weakness)")
            }
        case .unknown:
            throw Failure(
                "\(file.path) is no plaintext database, and the key fits no version of SQLCipher: it is wrong, or no database",
                status: .key)
        }
    }
}
