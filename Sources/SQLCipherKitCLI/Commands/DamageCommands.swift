import ArgumentParser
import Foundation
import SQLCipherKit

struct RecoverCommand: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "recover",
        abstract: "Copy the readable part of a damaged database into a new one.",
        discussion: """
            Copies every row that is on an intact page. The output has a row for each finding; the status is 4 if rows, tables or \
            other objects are lost, and not if the pages held only indexes or nothing. Rows of an unknown table are put into \
            the table lost_and_found, and the remains of a lost row, such as the columns that an index has, into \
            lost_and_found_TABLE. The damaged file is never written to. A lost first page and a lost schema are taken from the \
            file DATABASE-recovery, if backup has made it. Other programs must not use the damaged file. The new file has the same \
            key unless --new-key gives it another.

            EXAMPLES
              sqlcipherkit recover notes.db rescued.db
              sqlcipherkit recover notes.db rescued.db --key-file notes.key
              sqlcipherkit recover notes.db rescued.db --json

            \(form)
            """)

    private static let form = JSONForm.rows("what", "name", "rows", "lost_rows", "lost_pages", "message")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("The file to create.", valueName: "new-database"), completion: .file())
    var target: String

    @OptionGroup var new: NewKeyOptions

    func run() throws {
        try FileOptions.requireDatabase(file.path)
        try FileOptions.requireNothing(at: target)
        let key = try file.unlock(.readOnly) ?? .plaintext
        let newKey = try new.given.map { try $0.key(for: "the database \(target)", isNew: true) }
        var configuration = DatabaseConfiguration()
        configuration.safeguards = .ofTheTool(for: file.path)
        let report = try DatabaseConverter.salvage(
            fileAt: file.path, key: key, to: target, newKey: newKey, configuration: configuration,
            progress: ProgressBar.rewriting("Recovering"))
        try write(report)
        guard report.isComplete else {
            throw Failure("\(file.path) has lost data; everything else is in \(target)", status: .different)
        }
    }

    /// Writes a row for each finding.
    private func write(_ report: DatabaseConverter.SalvageReport) throws {
        func pages(_ numbers: [Int]) -> SQLValue { .text(numbers.map(String.init).joined(separator: " ")) }
        var rows = report.tables.map { table -> [SQLValue] in
            [
                "table", .text(table.name), .integer(Int64(table.rows)), .integer(Int64(table.lostRows)), pages(table.lostPages),
                table.partialRows == 0 ? .null : .text(table.partialRows.counted("other row") + " in part"),
            ]
        }
        if report.unassignedRows > 0 {
            rows.append(["unassigned", .null, .integer(Int64(report.unassignedRows)), .null, .null, .null])
        }
        rows += report.lostObjects.map {
            [report.hasPart(of: $0) ? "made in part" : "not made", .text($0.name), .null, .null, .null, .text($0.message)]
        }
        rows += report.rebuiltIndexes.map { ["built again", .text($0), .null, .null, .null, .null] }
        if !report.lostSchemaPages.isEmpty { rows.append(["schema", .null, .null, .null, pages(report.lostSchemaPages), .null]) }
        rows.append(["all", .null, .null, .null, pages(report.lostPages), .null])
        try output.write(Self.form.keys, rows)
    }
}

extension DatabaseConverter.SalvageReport {
    /// True of a table that is there without what only another program has.
    fileprivate func hasPart(of object: LostObject) -> Bool { tables.contains { $0.name == object.name } }
}

struct IdentifyCommand: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "identify",
        abstract: "Tell whether a file is a database, and with which settings of SQLCipher the key opens it.",
        discussion: """
            Tries all settings that SQLCipher can write: versions 1 to 4, each page size, with and without page authentication, \
            and with a plaintext header if --salt or a raw key gives the salt. Prints the options for the other commands. The file \
            is only read. The status is 3 if the file is not plaintext and the key does not open it, and 4 if it opens only \
            without page authentication, and no option asks for that.

            EXAMPLES
              sqlcipherkit identify old.db
              sqlcipherkit identify old.db --no-key
              sqlcipherkit identify old.db --json

            \(form)
            """)

    private static let form = JSONForm.rows(
        "kind", "version", "page_size", "kdf_algorithm", "kdf_rounds", "hmac_algorithm", "plaintext_header", "options")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let key = try file.unlock(.readOnly)
        switch try DatabaseConverter.identify(fileAt: file.path, key: key, limits: .ofTheTool(for: file.path)) {
        case .empty: try show("empty")
        case .plaintext: try show("plaintext")
        case .encrypted(let version, let settings):
            // Scripts pass the options on: for a forged file they would be the forger's.
            let isAskedFor = settings.usesHMAC || key?.cipher?.usesHMAC == false
            try show("encrypted", version.map { "\($0)" }, settings, isAskedFor ? settings.options : nil)
            for weakness in settings.weaknesses {
                if case .keyDerivation = weakness, file.key.isRaw { continue }
                if isAskedFor { Output.error("\(file.path.onOneLine): \(weakness)") }
            }
            guard isAskedFor else {
                throw Failure(
                    "authentication is missing: the key opens \(file.path) only without it, and anyone who can write to the file "
                        + "can remove it and change the content without the key. Restore a backup, unless you know that the "
                        + "file was made without authentication; such a file has the options \(settings.options)",
                    status: .different)
            }
        case .plaintextHeader:
            throw Failure(
                "\(file.path) begins like a plaintext database, and is encrypted by SQLCipher with a plaintext header: "
                    + (key == nil ? "give its key, and its salt with --salt"
                        : "the key does not open it, or its salt is missing (--salt, or a raw key with the salt in it)"),
                status: .key)
        case .unknown:
            throw Failure(
                "\(file.path) is not a plaintext database, and the key opens it with no settings of SQLCipher "
                    + "1 to 4: the key is wrong, or the file is not a database, or one of another format, such as SQLCipher 5",
                status: .key)
        }
    }

    private func show(
        _ kind: String, _ version: String? = nil, _ settings: CipherConfiguration? = nil, _ options: String? = nil
    ) throws {
        let values: [SQLValue] = [
            .text(kind), version.map { .text($0) } ?? .null, settings.map { .integer(Int64($0.pageSize)) } ?? .null,
            settings.map { .text($0.kdfAlgorithm.rawValue) } ?? .null, settings.map { .integer(Int64($0.kdfIterations)) } ?? .null,
            settings.map { $0.usesHMAC ? .text($0.hmacAlgorithm.rawValue) : .null } ?? .null,
            settings.map { .integer(Int64($0.plaintextHeaderSize)) } ?? .null, options.map { .text($0) } ?? .null,
        ]
        // A person needs no names of what the file does not have.
        let shown = zip(Self.form.keys, values).filter { output.format != nil || !$1.isNull }
        try output.write(shown.map(\.0), [shown.map(\.1)], default: .lines)
    }
}
