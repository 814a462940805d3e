import ArgumentParser
import Foundation
import SQLCipherKit

struct RekeyCommand: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "rekey",
        abstract: "Re-encrypt a database with a new key.",
        discussion: """
            The database is written to a new file, which replaces the old file once it is complete and on disk; --in-place \
            rewrites the old file in one transaction. If interrupted, the database keeps the old key. Other programs must not \
            have it open. Without --new-key, you are asked for the new key.

            EXAMPLES
              sqlcipherkit rekey notes.db
              sqlcipherkit rekey notes.db --key-file old.key --new-key file:new.key

            \(form)
            """)

    private static let form = JSONForm.object("file", "encrypted")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @OptionGroup var new: NewKeyOptions
    @Flag(help: "Rewrite the file itself; its journal needs as much room as a second file would.")
    var inPlace = false
    @OptionGroup var report: ReportOptions

    func run() throws {
        try FileOptions.requireDatabase(file.path)
        if try UnlockedKey.hasSlots(file.path) {
            throw Failure(
                "\(file.path) has key slots: sqlcipherkit key rotate gives it a new key, key change gives a slot a new passphrase"
            )
        }
        let db = try file.open(.readWrite)
        let key = try new.reference.key(for: "\(file.path) (new)", isNew: true)
        // Only the rewrite's own progress handler may interrupt it: the connection's would stop it halfway.
        try db.settings.setProgressHandler(nil)
        try db.changeKey(to: key, mode: inPlace ? .inPlace : .newFile, progress: ProgressBar.rewriting("Encrypting again"))
        try report.write(Self.form, [.string(file.path), true], "\(file.path.onOneLine) has the new key")
    }
}

struct EncryptCommand: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "encrypt",
        abstract: "Encrypt a plaintext SQLite database.",
        discussion: """
            The encrypted file replaces the plaintext file once it is complete and on disk. Plaintext may remain in free blocks of \
            the disk. Pages keep their size if SQLCipher allows it, from 1,024 bytes on.

            EXAMPLES
              sqlcipherkit encrypt notes.db
              sqlcipherkit encrypt notes.db --key-file notes.key

            \(form)
            """)

    private static let form = JSONForm.object("file", "encrypted", "options")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @OptionGroup var report: ReportOptions

    func run() throws {
        try FileOptions.requireDatabase(file.path)
        guard let key = try file.key.newKey(for: file.path) else {
            throw Failure("encrypt needs a key, and --no-key says there is none", status: .usage)
        }
        let settings: CipherConfiguration
        do {
            settings = try DatabaseConverter.encrypt(
                fileAt: file.path, key: key, configuration: .ofRewriting, progress: ProgressBar.rewriting("Encrypting"))
        } catch let error as DatabaseError where error.reason == .wrongKeyOrNotADatabase {
            throw Failure(
                "\(file.path) is not a plaintext database: it is encrypted already, or another kind of file "
                    + "(sqlcipherkit identify tells)",
                status: .key)
        }
        try report.write(
            Self.form, [.string(file.path), true, .string(settings.options)],
            "\(file.path.onOneLine) is encrypted" + (settings.options.isEmpty ? "" : "; open it with " + settings.options))
    }
}

struct DecryptCommand: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "decrypt",
        abstract: "Turn an encrypted database into a plaintext database.",
        discussion: """
            Afterwards anyone who can read the file can read its content. The plaintext file replaces the encrypted file once it \
            is complete and on disk.

            EXAMPLES
              sqlcipherkit decrypt notes.db

            \(form)
            """)

    private static let form = JSONForm.object("file", "encrypted")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @Option(help: ArgumentHelp("The size of the plaintext file's pages; by default it stays.", valueName: "bytes"))
    var pageSize: Int?

    @OptionGroup var report: ReportOptions

    func run() throws {
        guard let key = try file.unlock() else {
            throw Failure("decrypt needs the key, and --no-key says there is none", status: .usage)
        }
        try DatabaseConverter.convert(
            fileAt: file.path, from: key, to: .plaintext, pageSize: pageSize, configuration: .ofRewriting,
            progress: ProgressBar.rewriting("Decrypting"))
        try report.write(Self.form, [.string(file.path), false], "\(file.path.onOneLine) is plaintext")
        if try UnlockedKey.hasSlots(file.path) {
            Output.error("the key slots in \(file.path.onOneLine).keys no longer open anything; you can delete that file")
        }
    }
}

struct MigrateCommand: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Convert a database of SQLCipher 3, 2 or 1, or with given settings, to SQLCipher 4.",
        discussion: """
            Tries the settings that the options give, then the settings of SQLCipher 4, 3 and 2 with each page size; the key stays \
            the same. The new file replaces the old file once it is complete and on disk. Without page authentication, as in \
            SQLCipher 1, nothing shows whether a file was changed without the key: it is refused unless you accept that.

            EXAMPLES
              sqlcipherkit migrate old.db --key-env OLD_KEY

            \(form)
            """)

    private static let form = JSONForm.object("file", "former_version", "version")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @Flag(
        name: .customLong("accept-unauthenticated"),
        help: "Accept a file without page authentication too, which could have been changed without the key.")
    var acceptsUnauthenticated = false

    @OptionGroup var report: ReportOptions

    func run() throws {
        guard let key = try file.unlock() else {
            throw Failure("migrate needs the key, and --no-key says there is none", status: .usage)
        }
        let version = try DatabaseConverter.migrate(
            fileAt: file.path, key: key, acceptingUnauthenticated: acceptsUnauthenticated, configuration: .ofRewriting,
            progress: ProgressBar.rewriting("Migrating"))
        let said = version == 4 ? "has the settings of SQLCipher 4"
            : version.map { "was converted from SQLCipher \($0) to 4" } ?? "was converted to the settings of SQLCipher 4"
        try report.write(
            Self.form, [.string(file.path), version.map { .integer(Int64($0)) } ?? .null, 4], "\(file.path.onOneLine) \(said)")
    }
}

extension DatabaseConfiguration {
    /// Keeps schemas in which double quotes stand around strings, as older engines allow.
    fileprivate static var ofRewriting: Self {
        var configuration = Self()
        configuration.allowsDoubleQuotedStrings = true
        return configuration
    }
}
