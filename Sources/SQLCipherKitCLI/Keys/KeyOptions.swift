import ArgumentParser
import Foundation
import SQLCipherKit

/// Where a command gets the key from. There is no option for the key itself: arguments are visible to anyone who can list
/// processes, and stay in the shell's history.
struct KeyOptions: ParsableArguments {
    @Option(
        name: .customLong("key-file"),
        help: ArgumentHelp(
            "Read the key from a file that only its owner may read; a newline at its end is ignored.", valueName: "file"),
        completion: .file())
    var file: String?

    @Option(name: .customLong("key-env"), help: ArgumentHelp("Read the key from an environment variable.", valueName: "name"))
    var variable: String?

    @Option(
        name: .customLong("key-fd"),
        help: ArgumentHelp(
            "Read the key from an open file descriptor, to its end; a newline there is ignored.", valueName: "number"))
    var descriptor: Int32?

    @Option(
        name: .customLong("key-credential"),
        help: ArgumentHelp("Read the key from a credential that systemd gave to the service.", valueName: "name"))
    var credential: String?

    @Flag(
        name: .customLong("raw-key"),
        help: "The key is not a passphrase but 64 hexadecimal digits, or 96 with the salt; x'…' and 0x… are the same.")
    var isRaw = false

    @Flag(name: .customLong("recovery-key"), help: "The key is a recovery key of the database's key slots.")
    var isRecoveryKey = false

    @Flag(name: .customLong("no-key"), help: "The database is not encrypted.")
    var isPlain = false

    @Flag(
        name: .customLong("accept-rollback"),
        help: "Continue if key slots, or a database with key slots, are not the latest, for instance after a restore.")
    var acceptsRollback = false

    @Option(
        help: ArgumentHelp(
            "The settings of this version of SQLCipher, 1 to 4; the options below change them.", valueName: "version"))
    var compatibility: Int?

    @Option(
        name: .customLong("cipher-page-size"),
        help: ArgumentHelp("The size of an encrypted page, in bytes.", valueName: "bytes"))
    var pageSize: Int?

    @Option(help: ArgumentHelp("The rounds of PBKDF2 that turn the passphrase into a key.", valueName: "rounds"))
    var kdfIterations: Int?

    @Option(help: ArgumentHelp("The hash function of PBKDF2: sha1, sha256 or sha512.", valueName: "hash"))
    var kdfAlgorithm: String?

    @Option(help: ArgumentHelp("The hash function of the pages' authentication: sha1, sha256, sha512 or none.", valueName: "hash"))
    var hmac: String?

    @Option(help: ArgumentHelp("The number of bytes at the start of the file that are not encrypted.", valueName: "bytes"))
    var plaintextHeader: Int?

    @Option(
        help: ArgumentHelp(
            "The salt of a file with a plaintext header, of 32 bytes if --plaintext-header is not given: 32 hexadecimal digits.",
            valueName: "digits"))
    var salt: String?

    func validate() throws {
        _ = try cipher
        let given = [file != nil, variable != nil, descriptor != nil, credential != nil, isPlain].count { $0 }
        if given > 1 {
            throw ValidationError("only one of --key-file, --key-env, --key-fd, --key-credential and --no-key can be given")
        }
        if let descriptor, descriptor < 0 { throw ValidationError("--key-fd takes the number of a file descriptor, 0 or more") }
        if [isRaw, isRecoveryKey, isPlain].count(where: { $0 }) > 1 {
            throw ValidationError("only one of --raw-key, --recovery-key and --no-key can be given")
        }
    }

    /// Where the key is if no option says so: in the file that the environment names, or else the user types it. The environment
    /// variable does not hold the key itself, as every child process inherits it.
    private static func usualPlace(_ isRecoveryKey: Bool) -> KeyReference.Place {
        let path = Invocation.current.environment["SQLCIPHERKIT_KEY_FILE"] ?? ""
        return path.isEmpty || isRecoveryKey ? .prompt : .file(path)
    }

    var reference: KeyReference {
        get throws { KeyReference(place: place, encoding: isRaw ? .hexadecimal : .passphrase, cipher: try cipher) }
    }

    private var place: KeyReference.Place {
        if let file { return .file(file) }
        if let variable { return .variable(variable) }
        if let descriptor { return .descriptor(descriptor) }
        return credential.map { .credential($0) } ?? Self.usualPlace(isRecoveryKey)
    }

    /// The key for a new database; nil for a plaintext one.
    func newKey(for path: String) throws -> DatabaseKey? {
        if isRecoveryKey {
            throw Failure("a new database has no recovery key yet: sqlcipherkit key recovery creates one", status: .usage)
        }
        return isPlain ? nil : try reference.key(for: path, isNew: true)
    }

    /// Unlocks an existing database; nil for a plaintext one.
    func access(to path: String, _ configuration: DatabaseConfiguration = DatabaseConfiguration()) throws -> UnlockedKey? {
        if isPlain { return nil }
        return try UnlockedKey(
            reference, to: path, isRecoveryKey: isRecoveryKey, acceptsRollback: acceptsRollback, configuration)
    }

    /// The secret that opens a slot of a database that has key slots.
    func secret(for path: String) throws -> KeySlots.Secret {
        if isRaw || isPlain {
            throw Failure("key slots open with a passphrase or a recovery key: leave out --raw-key and --no-key", status: .usage)
        }
        let key = try reference.key(for: path)
        return try isRecoveryKey ? .recoveryKey(of: key) : .passphrase(of: key)
    }
}

extension UnlockedKey {
    /// The key with the settings that fit the file, after saying what these are and what they lack; nil if none fit.
    func searched(_ path: String, _ access: DatabaseConfiguration.Access, isRaw: Bool) throws -> UnlockedKey? {
        guard access == .readOnly else {
            throw Failure("--search-settings opens a file for reading only: leave out --write", status: .usage)
        }
        let kind = try DatabaseConverter.identify(fileAt: path, key: key, limits: .ofTheTool(for: path))
        guard case .encrypted(_, let settings) = kind else { return nil }
        let options = settings.options, weaknesses = settings.weaknesses.filter { !isRaw || $0 == .noAuthentication }
        if options.isEmpty, weaknesses.isEmpty { return self }
        Output.error("\(path.onOneLine) is opened for reading, with the settings " + (options.isEmpty ? "of SQLCipher 4" : options))
        for weakness in weaknesses { Output.error("\(path.onOneLine): \(weakness)") }
        return UnlockedKey(key: key.with(cipher: settings))
    }

    private init(key: DatabaseKey) { (self.key, slots) = (key, nil) }
}

/// Where a new key comes from, for commands that take the old one too.
struct NewKeyOptions: ParsableArguments {
    @Option(
        name: .customLong("new-key"),
        help: ArgumentHelp("Where the new key comes from: \(KeyReference.grammar).", valueName: "source"))
    var source: String?

    func validate() throws { _ = try given }

    /// The place that is given; nil if none is.
    var given: KeyReference? { get throws { try source.map { try KeyReference.parse($0, option: "--new-key") } } }

    /// The place, which by default is the terminal.
    var reference: KeyReference { get throws { try given ?? KeyReference() } }
}

/// The key of an existing database, or the key slots that hold it.
struct UnlockedKey {
    let key: DatabaseKey
    let slots: KeySlots?

    /// Gets the key, and opens the database's key slots with it if there are any. A raw key bypasses the slots.
    init(
        _ reference: KeyReference, to path: String, isRecoveryKey: Bool = false, acceptsRollback: Bool = false,
        _ configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws {
        let hasSlots = try Self.hasSlots(path)
        if isRecoveryKey, !hasSlots { throw Failure("the database \(path) has no key slots, and so no recovery key", status: .key) }
        if reference.isUsual, Self.isPlaintext(path) {
            throw Failure("\(path) is not encrypted: --no-key opens it, and sqlcipherkit encrypt gives it a key", status: .key)
        }
        let given = try reference.key(for: path)
        guard hasSlots, reference.encoding == .passphrase else {
            (key, slots) = (given, nil)
            return
        }
        let secret: KeySlots.Secret = try isRecoveryKey ? .recoveryKey(of: given) : .passphrase(of: given)
        let slots = try Self.slots(secret, of: path, acceptingRollback: acceptsRollback, configuration)
        (key, self.slots) = (slots.key, slots)
    }

    /// Opens the key slots of a database, and reports a rollback that was accepted or a key change that is unfinished.
    static func slots(
        _ secret: KeySlots.Secret, of path: String, first label: String? = nil, acceptingRollback: Bool,
        _ configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws -> KeySlots {
        let slots: KeySlots
        do {
            slots = try KeySlots.unlock(
                secret, of: .file(path), preferredSlot: label, acceptingRollback: acceptingRollback, configuration: configuration)
        } catch let error as DatabaseError where error.reason == .keySlotsRolledBack {
            let what = (error.underlyingError as? KeySlots.Rollback)?.description ?? error.message
            throw Failure(
                "the key slots of \(path) and their database are not both up to date: \(what); --accept-rollback continues with "
                    + "them",
                status: .key)
        }
        if let rollback = slots.acceptedRollback { Output.error("accepted: \(rollback)") }
        if slots.isRotationUnfinished {
            let what = "a change of the key of \(path) was interrupted, and cannot be finished now"
            // Anything written now would be encrypted with the old key.
            if configuration.access != .readOnly { throw Failure("\(what): close other connections and try again") }
            Output.error(what)
        }
        return slots
    }

    /// Returns whether a file is a database that is not encrypted: then no one is asked for a key.
    static func isPlaintext(_ path: String) -> Bool {
        if case .plaintext? = try? DatabaseConverter.identify(fileAt: path, key: nil) { true } else { false }
    }

    static func hasSlots(_ path: String) throws -> Bool {
        do {
            return try !KeySlots.unverifiedSlots(of: .file(path)).isEmpty
        } catch let error as DatabaseError where error.reason == .cannotOpen {
            return false
        }
    }
}
