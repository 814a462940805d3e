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
        try input(for: database, isNew: isNew).key(isRaw: isRaw)
    }

    private func input(for database: String, isNew: Bool) throws -> KeyInput {
        if let file { return try KeyInput(file: file) }
        if let variable { return try KeyInput(variable: variable) }
        if let descriptor { return try KeyInput(descriptor: descriptor) }
        return try KeyPrompt.ask(
            "\(isRaw ? "Raw key" : "Passphrase") for \(database): ", again: isNew ? "The same again: " : nil)
    }
}
