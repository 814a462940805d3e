import ArgumentParser
import Foundation
import SQLCipherKit

/// The settings of an encryption as options, and in profiles: files of options in the user's folder of configuration.
enum CipherOptions {
    static let versions: [(Int, CipherConfiguration)] = [(4, .sqlCipher4), (3, .sqlCipher3), (2, .sqlCipher2), (1, .sqlCipher1)]

    static func hash(_ name: String, _ option: String) throws -> CipherConfiguration.Hash {
        guard let hash = CipherConfiguration.Hash(rawValue: name.uppercased().filter { $0 != "-" }) else {
            let names = CipherConfiguration.Hash.allCases.map { $0.rawValue.lowercased() }.joined(separator: ", ")
            throw ValidationError("\(option) is one of \(names)" + (option == "--hmac" ? ", or none" : ""))
        }
        return hash
    }

    static func bytes(_ digits: String) throws -> [UInt8] {
        guard let bytes = [UInt8](hexadecimal: digits), bytes.count == 16 else {
            throw ValidationError("--salt has 32 hexadecimal digits")
        }
        return bytes
    }

    /// The options of a profile.
    static func profile(_ name: String) throws -> KeyOptions {
        let folder = HomeFolder.folder("XDG_CONFIG_HOME", or: ".config", Invocation.current.environment)
        guard !name.isEmpty, !name.hasPrefix("."), !name.contains("/") else {
            throw ValidationError("a profile has the name of a file in \(folder)/sqlcipherkit/profiles")
        }
        let path = "\(folder)/sqlcipherkit/profiles/\(name)"
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw ValidationError("there is no profile \(name): it is a file of options, \(path)")
        }
        let lines = text.split(whereSeparator: \.isNewline).filter { !$0.drop { $0 == " " }.hasPrefix("#") }
        do {
            let options = try KeyOptions.parse(lines.flatMap { $0.split(separator: " ").map(String.init) })
            guard options.profile == nil else { throw ValidationError("it names another profile") }
            return options
        } catch {
            throw ValidationError("the profile \(name) is not a list of options for keys: \(KeyOptions.message(for: error))")
        }
    }

    /// The settings that a word names: a version of SQLCipher, or a profile.
    static func settings(_ word: String) throws -> CipherConfiguration {
        if let number = Int(word) {
            guard let found = versions.first(where: { $0.0 == number }) else {
                throw ValidationError("SQLCipher has the versions 1 to 4, and not \(number)")
            }
            return found.1
        }
        guard let cipher = try profile(word).cipher else { throw ValidationError("the profile \(word) has no cipher settings") }
        return cipher
    }
}

extension KeyOptions {
    /// The cipher settings that the options name; nil if they name none.
    var cipher: CipherConfiguration? {
        get throws {
            let isGiven = compatibility != nil || pageSize != nil || kdfIterations != nil || kdfAlgorithm != nil || hmac != nil
                || plaintextHeader != nil || salt != nil
            guard isGiven else { return nil }
            var cipher = try compatibility.map { try CipherOptions.settings(String($0)) } ?? .sqlCipher4
            if let pageSize { cipher.pageSize = pageSize }
            if let kdfIterations { cipher.kdfIterations = kdfIterations }
            if let kdfAlgorithm { cipher.kdfAlgorithm = try CipherOptions.hash(kdfAlgorithm, "--kdf-algorithm") }
            if let hmac {
                cipher.usesHMAC = hmac != "none"
                if cipher.usesHMAC { cipher.hmacAlgorithm = try CipherOptions.hash(hmac, "--hmac") }
            }
            if let plaintextHeader { cipher.plaintextHeaderSize = plaintextHeader }
            if let salt {
                cipher.salt = try CipherOptions.bytes(salt)
                if plaintextHeader == nil { cipher.plaintextHeaderSize = 32 }
            }
            do { try cipher.validate() } catch let error as DatabaseError { throw ValidationError(error.message) }
            return cipher
        }
    }

    /// The options, with the profile's options where none is named.
    var withProfile: KeyOptions {
        get throws {
            guard let profile else { return self }
            var options = self
            let other = try CipherOptions.profile(profile)
            options.compatibility = compatibility ?? other.compatibility
            options.pageSize = pageSize ?? other.pageSize
            options.kdfIterations = kdfIterations ?? other.kdfIterations
            options.kdfAlgorithm = kdfAlgorithm ?? other.kdfAlgorithm
            options.hmac = hmac ?? other.hmac
            options.plaintextHeader = plaintextHeader ?? other.plaintextHeader
            options.salt = salt ?? other.salt
            options.isRaw = isRaw || other.isRaw
            if [file, variable, credential].allSatisfy({ $0 == nil }), descriptor == nil {
                (options.file, options.variable, options.descriptor) = (other.file, other.variable, other.descriptor)
                options.credential = other.credential
            }
            options.profile = nil
            return options
        }
    }
}

extension CipherConfiguration {
    /// The options that give these settings; empty for SQLCipher 4's.
    var options: String {
        var words: [String] = []
        var base = CipherConfiguration.sqlCipher4
        let version = CipherOptions.versions.first { _, cipher in
            cipher.kdfIterations == kdfIterations && cipher.kdfAlgorithm == kdfAlgorithm && cipher.usesHMAC == usesHMAC
                && (!usesHMAC || cipher.hmacAlgorithm == hmacAlgorithm)
        }
        if let version {
            base = version.1
            if version.0 != 4 { words.append("--compatibility \(version.0)") }
        }
        if pageSize != base.pageSize { words.append("--cipher-page-size \(pageSize)") }
        if kdfIterations != base.kdfIterations { words.append("--kdf-iterations \(kdfIterations)") }
        if kdfAlgorithm != base.kdfAlgorithm { words.append("--kdf-algorithm \(kdfAlgorithm.rawValue.lowercased())") }
        if !usesHMAC, base.usesHMAC {
            words.append("--hmac none")
        } else if usesHMAC, hmacAlgorithm != base.hmacAlgorithm {
            words.append("--hmac \(hmacAlgorithm.rawValue.lowercased())")
        }
        if plaintextHeaderSize > 0 { words.append("--plaintext-header \(plaintextHeaderSize)") }
        if let salt { words.append("--salt " + salt.hexadecimal) }
        return words.joined(separator: " ")
    }
}

extension DatabaseKey {
    /// Runs `body`, which opens the file. The engine takes a file with a plaintext header for a plaintext database: the error says
    /// what it is.
    func opening<R>(_ path: String, _ body: () throws -> R) throws -> R {
        do { return try body() } catch let error as DatabaseError
            where [.wrongKeyOrNotADatabase, .notEncrypted].contains(error.reason) || isPlaintext && error.reason != .cannotOpen
        {
            guard case .plaintextHeader? = try? DatabaseConverter.identify(fileAt: path, key: nil) else { throw error }
            throw Failure(
                "\(path) begins like a plaintext database, and is encrypted: give its key, and --plaintext-header 32 with the "
                    + "database's --salt, or a raw key with the salt in it", status: .key)
        }
    }
}
