import ArgumentParser
import Foundation
import SQLCipherKit

/// Where a command gets the key from. There is no option for the key itself: arguments are seen by everyone who can list
/// processes, and kept by the shell's history.
struct KeyOptions: ParsableArguments {
    @Option(
        name: .customLong("key-file"),
        help: ArgumentHelp(
            "Read the key from a file that only its owner may read; a newline at its end does not count.", valueName: "file"))
    var file: String?

    @Option(name: .customLong("key-env"), help: ArgumentHelp("Read the key from an environment variable.", valueName: "name"))
    var variable: String?

    @Option(
        name: .customLong("key-fd"),
        help: ArgumentHelp("Read the key from an open file descriptor, to its end; a newline there does not count.", valueName: "number"))
    var descriptor: Int32?

    @Flag(
        name: .customLong("raw-key"),
        help: "The key is no passphrase but 64 hexadecimal digits, or 96 with the salt.")
    var isRaw = false

    func validate() throws {
        let given = [file != nil, variable != nil, descriptor != nil].count { $0 }
        if given > 1 { throw ValidationError("only one of --key-file, --key-env and --key-fd can be given") }
        if let descriptor, descriptor < 0 { throw ValidationError("--key-fd needs a descriptor's number, 0 or more") }
    }

    /// The key for a database; asked for on the terminal if no option says where else it is.
    /// - Parameters:
    ///   - database: what the prompt names.
    ///   - isNew: whether the key will be set, so that a slip of the finger would lock the user out: it is asked for twice.
    func key(for database: String, isNew: Bool = false) throws -> EncryptionKey {
        let encoding = isRaw ? KeyEncoding.hexadecimal : .passphrase
        if let file {
            guard let key = try KeySource.file(file, as: encoding).encryptionKey() else {
                throw Failure("there is no key file \(file)", status: .key)
            }
            return key
        }
        if let variable {
            guard let key = try KeySource.environment(variable, as: encoding).encryptionKey() else {
                throw Failure("the environment variable \(variable), which should hold the key, is not set", status: .key)
            }
            return key
        }
        let source: KeySource
        if let descriptor { source = .descriptor(descriptor, as: encoding) } else {
            let what = isRaw ? "Raw key" : "Passphrase"
            source = try KeyPrompt.ask("\(what) for \(database): ", again: isNew ? "The same again: " : nil, encoding)
        }
        guard let key = try source.encryptionKey() else { throw Failure("there is no key", status: .key) }
        return key
    }
}
