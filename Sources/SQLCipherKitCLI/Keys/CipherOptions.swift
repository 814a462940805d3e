import ArgumentParser
import Foundation
import SQLCipherKit

/// The settings of an encryption as options.
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

    /// The settings of a version of SQLCipher.
    static func settings(_ version: some StringProtocol) throws -> CipherConfiguration {
        guard let found = versions.first(where: { String($0.0) == version }) else {
            throw ValidationError("SQLCipher has the versions 1 to 4")
        }
        return found.1
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
