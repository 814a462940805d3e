import ArgumentParser
import Foundation
import SQLCipherKit

/// Where a command gets the key from. There is no option for the key itself: arguments are seen by everyone who can list
/// processes, and kept by the shell's history.
struct KeyOptions: ParsableArguments {
    @Option(
        name: .customLong("key-file"),
        help: ArgumentHelp(
            "Read the key from a file that only its owner may read; a newline at its end does not count.", valueName: "file"),
        completion: .file())
    var file: String?

    @Option(name: .customLong("key-env"), help: ArgumentHelp("Read the key from an environment variable.", valueName: "name"))
    var variable: String?

    @Option(
        name: .customLong("key-fd"),
        help: ArgumentHelp(
            "Read the key from an open file descriptor, to its end; a newline there does not count.", valueName: "number"))
    var descriptor: Int32?

    @Option(
        name: .customLong("key-credential"),
        help: ArgumentHelp("Read the key from a credential that systemd gave to the service.", valueName: "name"))
    var credential: String?

    @Flag(
        name: .customLong("raw-key"),
        help: "The key is no passphrase but 64 hexadecimal digits, or 96 with the salt.")
    var isRaw = false

    @Flag(name: .customLong("recovery-key"), help: "The key is a recovery key of the database's key slots.")
    var isRecoveryKey = false

    @Flag(name: .customLong("no-key"), help: "The database is not encrypted.")
    var isPlain = false

    @Flag(
        name: .customLong("accept-rollback"),
        help: "Go on with key slots, or a database with key slots, that are not the latest, after a restore for instance.")
    var acceptsRollback = false

    func validate() throws {
        let given = [file != nil, variable != nil, descriptor != nil, credential != nil, isPlain].count { $0 }
        if given > 1 {
            throw ValidationError("only one of --key-file, --key-env, --key-fd, --key-credential and --no-key can be given")
        }
        if let descriptor, descriptor < 0 { throw ValidationError("--key-fd needs a descriptor's number, 0 or more") }
        if [isRaw, isRecoveryKey, isPlain].count(where: { $0 }) > 1 {
            throw ValidationError("only one of --raw-key, --recovery-key and --no-key can be given")
        }
    }

    /// Where the key is if no option says so: the file that the environment names, or the user's head. The environment holds no
    /// key by itself, as every program that is started from here inherits it.
    private static func usualPlace(_ isRecoveryKey: Bool) -> KeyReference.Place {
        let path = ProcessInfo.processInfo.environment["SQLCIPHERKIT_KEY_FILE"] ?? ""
        return path.isEmpty || isRecoveryKey ? .prompt : .file(path)
    }

    var reference: KeyReference {
        let place: KeyReference.Place =
            if let file { .file(file) } else if let variable { .variable(variable) } else if let descriptor {
                .descriptor(descriptor)
            } else if let credential { .credential(credential) } else { Self.usualPlace(isRecoveryKey) }
        return KeyReference(place: place, encoding: isRaw ? .hexadecimal : .passphrase)
    }

    /// The key for a new database; nil for a plaintext one.
    func newKey(for path: String) throws -> Encryption? {
        if isRecoveryKey {
            throw Failure("a new database has no recovery key yet: sqlcipherkit key recovery makes one", status: .usage)
        }
        return isPlain ? nil : try reference.key(for: path, isNew: true)
    }

    /// How an existing database is unlocked; nil for a plaintext one.
    /// - Parameter asking: whether the key is asked for even where the database is unlocked.
    func access(
        to path: String, _ configuration: DatabaseConfiguration = DatabaseConfiguration(), asking: Bool = false
    ) throws -> UnlockedKey? {
        if isPlain { return nil }
        return try UnlockedKey(
            reference, to: path, isRecoveryKey: isRecoveryKey, acceptsRollback: acceptsRollback, asking: asking, configuration)
    }

    /// What opens a slot of a database that has key slots.
    func secret(for path: String) throws -> SlotSecret {
        if isRaw || isPlain {
            throw Failure("key slots open with a passphrase or a recovery key: leave out --raw-key and --no-key", status: .usage)
        }
        let key = try reference.key(for: path)
        return try isRecoveryKey ? .recoveryKey(of: key) : .passphrase(of: key)
    }
}

/// Where a new key comes from, on commands that have an old one too.
struct NewKeyOptions: ParsableArguments {
    @Option(
        name: .customLong("new-key"),
        help: ArgumentHelp(
            "Where the new key comes from: \(KeyReference.grammar). By default it is asked for.", valueName: "source"))
    var source = "prompt"

    func validate() throws { _ = try reference }

    var reference: KeyReference { get throws { try KeyReference.parse(source, option: "--new-key") } }
}

/// The key of an existing database, or the key slots that hold it.
struct UnlockedKey {
    let key: Encryption
    let slots: KeySlots?

    /// Asks for the key, and opens the database's key slots with it if it has any. A raw key passes them by.
    /// - Parameter asking: whether it is asked for even where the database is unlocked.
    init(
        _ reference: KeyReference, to path: String, isRecoveryKey: Bool = false, acceptsRollback: Bool = false,
        asking: Bool = false,
        _ configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws {
        if !asking, !isRecoveryKey, reference == KeyReference(), let kept = UnlockedFiles.key(of: path) {
            (key, slots) = (kept, nil)
            return
        }
        let hasSlots = try Self.hasSlots(path)
        if isRecoveryKey, !hasSlots { throw Failure("the database \(path) has no key slots, and so no recovery key", status: .key) }
        let given = try reference.key(for: path)
        guard hasSlots, reference.encoding == .passphrase else {
            (key, slots) = (given, nil)
            return
        }
        let secret: SlotSecret = try isRecoveryKey ? .recoveryKey(of: given) : .passphrase(of: given)
        let slots = try Self.slots(secret, of: path, acceptingRollback: acceptsRollback, configuration)
        (key, self.slots) = (slots.key, slots)
    }

    /// The key slots of a database, opened, with a word about what was accepted or is unfinished.
    static func slots(
        _ secret: SlotSecret, of path: String, first label: String? = nil, acceptingRollback: Bool,
        _ configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws -> KeySlots {
        let slots: KeySlots
        do {
            slots = try KeySlots.unlock(
                secret, of: .file(path), first: label, acceptingRollback: acceptingRollback, configuration: configuration)
        } catch let error as DatabaseError where error.reason == .keySlotsRolledBack {
            let what = (error.underlyingError as? KeySlotsRollback)?.description ?? error.message
            throw Failure(
                "the key slots of \(path) are not the latest of their database: \(what). --accept-rollback goes on with them",
                status: .key)
        }
        if let rollback = slots.acceptedRollback { Output.error("accepted: \(rollback)") }
        if slots.isRotationUnfinished {
            let what = "a change of the key of \(path) was cut off, and something keeps it from being finished"
            // What would be written now would be written under the old key.
            if configuration.access != .readOnly { throw Failure("\(what): close other connections and try again") }
            Output.error(what)
        }
        return slots
    }

    static func hasSlots(_ path: String) throws -> Bool {
        do { return try !KeySlots.unverifiedList(of: .file(path)).isEmpty } catch let error as DatabaseError
            where error.reason == .cannotOpen
        {
            return false
        }
    }
}
