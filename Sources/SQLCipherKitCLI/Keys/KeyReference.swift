import ArgumentParser
import Foundation
import SQLCipherKit

/// Where a key comes from. In an option it is written `prompt`, `file:PATH`, `env:NAME`, `fd:NUMBER` or `credential:NAME`, with
/// `raw:` before it for a raw key in hexadecimal, and `cipher:VERSION:` before that for another version's settings.
struct KeyReference: Equatable {
    enum Place: Equatable {
        case prompt
        case file(String)
        case variable(String)
        case descriptor(Int32)
        case credential(String)
    }

    static let grammar = "prompt, file:PATH, env:NAME, fd:NUMBER or credential:NAME, raw: before it for 64 hexadecimal digits, and "
        + "cipher:VERSION: before that for the settings of a version of SQLCipher"

    var place = Place.prompt
    var encoding = KeyEncoding.passphrase
    /// The cipher settings; nil for SQLCipher 4's, or those that the file has.
    var cipher: CipherConfiguration?

    /// True if nothing says where the key is.
    var isUsual: Bool { place == .prompt && encoding == .passphrase }

    /// Parses the value of an option.
    /// - Throws: an error that does not repeat the text, as it may be a key that was given by mistake.
    static func parse(_ text: String, option: String) throws -> KeyReference {
        var rest = text[...]
        var reference = KeyReference()
        if rest.hasPrefix("cipher:") {
            let parts = rest.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else {
                throw ValidationError("\(option) needs the key's place after cipher:VERSION:, such as cipher:3:prompt")
            }
            reference.cipher = try CipherOptions.settings(parts[1])
            rest = parts[2]
        }
        if rest.hasPrefix("raw:") {
            reference.encoding = .hexadecimal
            rest = rest.dropFirst(4)
        }
        if rest == "prompt" { return reference }
        let parts = rest.split(separator: ":", maxSplits: 1).map(String.init)
        guard parts.count == 2 else {
            throw ValidationError("\(option) says where the key is (\(grammar)), and is not the key itself")
        }
        switch parts[0] {
        case "file": reference.place = .file(parts[1])
        case "env": reference.place = .variable(parts[1])
        case "credential": reference.place = .credential(parts[1])
        case "fd":
            guard let number = Int32(parts[1]), number >= 0 else {
                throw ValidationError("\(option) needs the number of a file descriptor after fd:")
            }
            reference.place = .descriptor(number)
        default: throw ValidationError("\(option) says where the key is (\(grammar)), and is not the key itself")
        }
        return reference
    }

    private var canBeAskedAgain: Bool { place == .prompt && KeyPrompt.hasTerminal }

    /// Runs `body`, which uses the key, and again if a wrong key was typed, three times in all.
    func retrying<R>(_ body: () throws -> R) throws -> R {
        var triesLeft = canBeAskedAgain ? 3 : 1
        while true {
            do { return try body() } catch let error as DatabaseError
                where [.wrongKeyOrNotADatabase, .noSlotOpens].contains(error.reason) && triesLeft > 1
            {
                Output.error(
                    encoding == .passphrase ? "wrong passphrase, or not a database; try again" : "wrong key; try again")
                triesLeft -= 1
            }
        }
    }

    /// Gets the key, and asks for it on the terminal if it comes from there.
    /// - Parameters:
    ///   - subject: what the prompt says the key is for.
    ///   - isNew: whether the key will be set. It is then asked for twice, as a typing mistake would lock the user out.
    func key(for subject: String, isNew: Bool = false) throws -> DatabaseKey {
        let (source, missing): (KeySource, String?) =
            switch place {
            case .prompt:
                (
                    try KeyPrompt.ask(
                        "\(encoding == .passphrase ? "Passphrase" : "Raw key") for \(subject): ",
                        again: isNew ? "The same again: " : nil, encoding), nil
                )
            case .file(let path): (.file(path, as: encoding), "there is no key file \(path)")
            case .variable(let name):
                (
                    KeySource { [encoding, run = Invocation.current] in try run.key(inVariable: name, as: encoding) },
                    "the environment variable \(name), which should hold the key, is not set"
                )
            case .descriptor(let number): (.fileDescriptor(number, as: encoding), nil)
            case .credential(let name):
                (
                .systemdCredential(name, as: encoding),
                "there is no credential \(name): systemd's LoadCredential= gives it to a service")
            }
        guard let key = try source.key() else { throw Failure(missing ?? "there is no key", status: .key) }
        guard var cipher else { return key }
        // A raw key with a salt needs no other.
        if encoding == .hexadecimal, cipher.salt != nil, key.description.contains("salt") { cipher.salt = nil }
        return key.with(cipher: cipher)
    }
}
