import ArgumentParser
import SQLCipherKit

struct KeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Manage key slots: several passphrases and recovery keys for one database.",
        discussion: """
            A database with key slots has a random key. A small file beside the database (the same name with .keys at the end) \
            holds that key once for each slot, encrypted with the slot's passphrase or recovery key. Any of these opens the \
            database, in every command. Keep the .keys file with the database: without it, no passphrase opens the database.

            EXAMPLES
              sqlcipherkit key init notes.db --label laptop
              sqlcipherkit key add notes.db --label desktop
              sqlcipherkit key recovery notes.db --label safe
              sqlcipherkit query notes.db "SELECT 1" --recovery-key
              sqlcipherkit key revoke notes.db laptop
            """,
        subcommands: [
            KeyInit.self, KeyList.self, KeyAdd.self, KeyRecovery.self, KeyChange.self, KeyRevoke.self, KeyRotate.self,
        ])
}

/// A new slot's name, and its key derivation, which sets the cost of guessing its passphrase.
struct NewSlotOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The slot's name. It can be read without a key.", valueName: "name"))
    var label: String
    @Option(
        help: ArgumentHelp(
            "How the slot's key is derived: argon2id, argon2id:KIB,PASSES,LANES or pbkdf2:ROUNDS. By default "
                + "\(KeySlots.Derivation.standard).",
            valueName: "algorithm"),
        transform: KeySlots.Derivation.parse)
    var derivation = KeySlots.Derivation.standard
}

extension KeySlots.Derivation {
    /// Parses a derivation as the option writes it.
    static func parse(_ text: String) throws -> KeySlots.Derivation {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        let numbers = parts.dropFirst().first?.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) } ?? []
        switch (parts[0], parts.count, numbers) {
        case ("pbkdf2", 2, let numbers): if numbers.count == 1, let rounds = numbers[0] { return .pbkdf2(iterations: rounds) }
        case ("argon2id", 1, _): return .standard
        case ("argon2id", 2, let numbers):
            if numbers.count == 3, let memory = numbers[0], let passes = numbers[1], let lanes = numbers[2] {
                return .argon2id(memory: memory, passes: passes, lanes: lanes)
            }
        default: break
        }
        throw ValidationError("a key derivation is argon2id, argon2id:KIB,PASSES,LANES or pbkdf2:ROUNDS, not \(text)")
    }
}

extension FileOptions {
    /// The key slots of an existing database, opened. From then on a signal waits for the change, except at a prompt.
    fileprivate func slots(first label: String? = nil) throws -> (slots: KeySlots, secret: KeySlots.Secret) {
        try Self.requireDatabase(path)
        guard try UnlockedKey.hasSlots(path) else { throw Failure("\(path) has no key slots: sqlcipherkit key init creates them") }
        let secret = try key.secret(for: path)
        defer { Interruption.catchSignals() }
        return (try UnlockedKey.slots(secret, of: path, first: label, acceptingRollback: key.acceptsRollback), secret)
    }
}

struct KeyInit: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Add key slots to a database.",
        discussion: """
            The key options give the key that the database has now. A random key takes the place of a passphrase, which rewrites \
            the database; a raw key stays.

            \(form)
            """)

    private static let form = JSONForm.object("file", "slot_file", "label")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @OptionGroup var new: NewKeyOptions
    @OptionGroup var slot: NewSlotOptions
    @OptionGroup var report: ReportOptions

    func run() throws {
        try FileOptions.requireDatabase(file.path)
        if try UnlockedKey.hasSlots(file.path) {
            throw Failure("\(file.path) already has key slots: sqlcipherkit key add adds one")
        }
        guard let key = try file.unlock() else {
            throw Failure("a plaintext database cannot have key slots: encrypt it first with sqlcipherkit encrypt", status: .usage)
        }
        let secret = try KeySlots.Secret.passphrase(of: new.reference.key(for: "the slot \(slot.label)", isNew: true))
        _ = try KeySlots.create(
            secret, label: slot.label, for: .file(file.path), existingKey: key, derivation: slot.derivation,
            progress: ProgressBar.rewriting("Encrypting again"))
        try report.write(
            Self.form, [.string(file.path), .string(file.path + ".keys"), .string(slot.label)],
            "\(file.path.onOneLine) has key slots now, in \(file.path.onOneLine).keys; the first is \(slot.label)")
        Output.error("sqlcipherkit key recovery creates a recovery key, in case the passphrase is forgotten")
    }
}

struct KeyList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show the key slots of a database.",
        discussion: """
            No key is needed, so the list is not authenticated: anyone who can write to the .keys file could have changed it.

            \(form)
            """)

    private static let form = JSONForm.rows("label", "kind", "derivation", "created", "changed")

    @Argument(help: ArgumentHelp("The database file.", valueName: "database"), completion: .file())
    var path: String
    @OptionGroup var output: OutputOptions

    func run() throws {
        try FileOptions.requireDatabase(path)
        try output.write(
            Self.form.keys,
            KeySlots.unverifiedSlots(of: .file(path)).map { slot in
                [
                    .text(slot.label), .text(slot.kind.description), .text(slot.derivation.description),
                    .text(slot.createdAt.minute), .text(slot.changedAt.minute),
                ]
            })
    }
}

struct KeyAdd: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add a key slot with a passphrase of its own.", discussion: "\(form)")

    private static let form = JSONForm.object("file", "label")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @OptionGroup var new: NewKeyOptions
    @OptionGroup var slot: NewSlotOptions
    @OptionGroup var report: ReportOptions

    func run() throws {
        let slots = try file.slots().slots
        let secret = try KeySlots.Secret.passphrase(of: new.reference.key(for: "the slot \(slot.label)", isNew: true))
        try slots.add(secret, label: slot.label, derivation: slot.derivation)
        try report.write(Self.form, [.string(file.path), .string(slot.label)], "added the slot \(slot.label)")
    }
}

struct KeyRecovery: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "recovery",
        abstract: "Add a key slot with a new recovery key, and show that key once.",
        discussion: """
            Only the recovery key is written to standard output. It is not stored anywhere: print it and keep it in a safe place.

            \(form)
            """)

    private static let form = JSONForm.object("file", "label", "recovery_key")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @OptionGroup var slot: NewSlotOptions
    @OptionGroup var report: ReportOptions

    func run() throws {
        let key = try file.slots().slots.addRecoveryKey(label: slot.label, derivation: slot.derivation)
        try report.write(Self.form, [.string(file.path), .string(slot.label), .string(key.text)], key.text)
        Output.error("this recovery key opens the database with --recovery-key; it is not shown again")
    }
}

struct KeyChange: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "change",
        abstract: "Change the passphrase of a key slot.",
        discussion: """
            The key options give the passphrase or recovery key that opens the slot now. The database is not rewritten.

            \(form)
            """)

    private static let form = JSONForm.object("file", "label")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @Argument(help: ArgumentHelp("The slot's name.", valueName: "label"))
    var label: String
    @OptionGroup var new: NewKeyOptions
    @OptionGroup var report: ReportOptions

    func run() throws {
        let (slots, secret) = try file.slots(first: label)
        let changed = try KeySlots.Secret.passphrase(of: new.reference.key(for: "the slot \(label) (new)", isNew: true))
        try slots.changePassphrase(label, from: secret, to: changed)
        try report.write(
            Self.form, [.string(file.path), .string(label)], "the slot \(label.onOneLine) has the new passphrase")
    }
}

struct KeyRevoke: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Remove a key slot.",
        discussion: """
            The slot's passphrase or recovery key no longer opens the database. It still works with an older copy of the .keys \
            file, until key rotate gives the database a new key.

            \(form)
            """)

    private static let form = JSONForm.object("file", "label")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @Argument(help: ArgumentHelp("The slot's name.", valueName: "label"))
    var label: String
    @OptionGroup var report: ReportOptions

    func run() throws {
        try file.slots().slots.revoke(label)
        try report.write(Self.form, [.string(file.path), .string(label)], "revoked the slot \(label.onOneLine)")
    }
}

struct KeyRotate: FileCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Give a database with key slots a new random key.",
        discussion: """
            The database is rewritten. The slot that the key options open stays. All others are removed, as each could be kept \
            only with its own passphrase or recovery key; add them again with key add.

            \(form)
            """)

    private static let form = JSONForm.object("file", "label", "removed")

    @OptionGroup var database: DatabaseArgument
    @OptionGroup(title: "Key") var keyOptions: KeyOptions
    @Argument(help: ArgumentHelp("The name of the slot to keep.", valueName: "label"))
    var label: String
    @OptionGroup var report: ReportOptions

    func run() throws {
        var (slots, secret) = try file.slots(first: label)
        let others = try slots.slots().filter { $0.label != label }
        let db = try Connection(slots.location, key: .slots(slots))
        try slots.rotateKey(
            of: db, keeping: [label: secret], droppingOthers: true, progress: ProgressBar.rewriting("Encrypting again"))
        try report.write(
            Self.form, [.string(file.path), .string(label), .strings(others.map(\.label))],
            "\(file.path.onOneLine) has a new key, and \(label.onOneLine) opens it; other slots removed: \(others.count.grouped)")
    }
}
