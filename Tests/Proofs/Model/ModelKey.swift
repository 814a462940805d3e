import Foundation
import SQLCipherKit

/// A key as the model sees it.
struct ModelKey: Hashable, Sendable, CustomStringConvertible {
    enum Form: Hashable, Sendable {
        case plaintext
        case passphrase(String)
        /// 32 bytes made from a number; with a salt made from another.
        case raw(UInt8, salt: UInt8?)
    }

    /// Cheap variants of cipher settings.
    enum Settings: Int, Hashable, Sendable, CaseIterable {
        case quick, smallPages, sha1, unauthenticated, header
    }

    var form: Form
    var settings = Settings.quick
    /// Of a file: its salt, if the model knows it.
    var fileSalt: UInt8?

    static let plaintext = ModelKey(form: .plaintext)

    var isPlaintext: Bool { form == .plaintext }

    static func cipher(_ settings: Settings) -> CipherConfiguration {
        var cipher = CipherConfiguration()
        cipher.kdfIterations = 10
        switch settings {
        case .quick: break
        case .smallPages: cipher.pageSize = 1024
        case .sha1: (cipher.kdfAlgorithm, cipher.hmacAlgorithm) = (.sha1, .sha1)
        case .unauthenticated: cipher.usesHMAC = false
        case .header:
            cipher.plaintextHeaderSize = 32
            cipher.salt = [UInt8](repeating: 7, count: 16)
        }
        return cipher
    }

    func encryption() throws -> DatabaseKey {
        var cipher = Self.cipher(settings)
        switch form {
        case .plaintext: return .plaintext
        case .passphrase(let text): return try .passphrase(text, cipher: cipher)
        case .raw(let seed, nil): return try .raw([UInt8](repeating: seed, count: 32), cipher: cipher)
        case .raw(let seed, let salt?):
            cipher.salt = nil
            return try .raw([UInt8](repeating: seed, count: 32), salt: [UInt8](repeating: salt, count: 16), cipher: cipher)
        }
    }

    /// The salt that a file gets from this key; nil if it is random.
    private var ownSalt: UInt8? {
        if case .raw(_, let salt?) = form { return salt }
        return settings == .header ? 7 : nil
    }

    /// The key of a file that is made with it.
    var ofNewFile: ModelKey {
        var key = self
        key.fileSalt = ownSalt
        return key
    }

    /// The key of a file whose pages are encrypted with it in place: the salt stays if the key brings none.
    func inPlace(of old: ModelKey) -> ModelKey {
        var key = self
        key.fileSalt = ownSalt ?? old.fileSalt
        return key
    }

    /// True if this key opens a file with the key `file`. A random salt belongs to no key.
    func opens(_ file: ModelKey) -> Bool {
        let fitsSalt = ownSalt == nil || ownSalt == file.fileSalt
        // Only a passphrase and an authentication code need the salt.
        let needsSalt = settings != .unauthenticated
        return switch (form, file.form) {
        case (.plaintext, .plaintext): true
        case (.passphrase(let a), .passphrase(let b)): settings == file.settings && Array(a.utf8) == Array(b.utf8) && fitsSalt
        case (.raw(let a, _), .raw(let b, _)): a == b && settings == file.settings && (fitsSalt || !needsSalt)
        default: false
        }
    }

    /// The outcome of opening a file with this key.
    func opening(_ file: ModelKey) -> Outcome {
        if opens(file) { return .done }
        // A plaintext header looks like the header of a plaintext database.
        if settings == .header || file.settings == .header { return .error }
        return .refused(file.isPlaintext ? .notEncrypted : .wrongKeyOrNotADatabase)
    }

    var description: String {
        switch form {
        case .plaintext: ".plaintext"
        case .passphrase(let text): ".passphrase(\(show(text)), cipher: .\(settings))"
        case .raw(let seed, let salt): ".raw(32 × \(seed)\(salt.map { ", salt: 16 × \($0)" } ?? ""), cipher: .\(settings))"
        }
    }
}

extension Dice {
    mutating func key() -> ModelKey {
        let form: ModelKey.Form = switch below(8) {
        case 0: .plaintext
        case 1, 2: .passphrase(pick(["a", "b", "x'00'", "é", "e\u{301}", String(repeating: "long", count: 40)]))
        case 3: .raw(UInt8(below(2)), salt: UInt8(below(2) + 1))
        default: .raw(UInt8(below(3)), salt: nil)
        }
        if form == .plaintext { return .plaintext }
        return ModelKey(form: form, settings: oneIn(3) ? pick(ModelKey.Settings.allCases) : .quick)
    }
}
