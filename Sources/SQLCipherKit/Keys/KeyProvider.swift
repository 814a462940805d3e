import Foundation

/// Gives the key of a database when it is asked.
///
/// ``KeySource`` has the usual ones; conform a type of your own for another:
/// ```swift
/// let db = try Connection(.file("notes.db"), key: .provided(by: .first([.credential("notes-key"), .file("/etc/notes/key")])))
/// ```
public protocol KeyProvider: Sendable {
    /// A passphrase or a raw key, or nil if there is none here and another provider may be asked.
    ///
    /// A key that is there but must not be used, a file that anyone can read for instance, is an error: going on to the
    /// next provider would hide it.
    func key() throws -> Encryption?
}

/// What the bytes that a ``KeySource`` finds are.
public enum KeyEncoding: Hashable, Sendable {
    /// A passphrase. One line break at its end (LF or CR LF) is not part of it, as text files end with one.
    case passphrase
    /// A raw key in hexadecimal: 64 digits, or 96 followed by the salt. One line break at its end does not count.
    case hexadecimal
    /// A raw key as it is: 32 bytes, or 48 with the salt at their end. Nothing at its end is left out.
    case raw

    /// The key in some bytes.
    func key(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) -> Encryption {
        switch self {
        case .passphrase: return try .passphrase(bytes: Self.line(bytes))
        case .raw: return try .raw(bytes: bytes)
        case .hexadecimal:
            let digits = Self.line(bytes)
            if digits.isEmpty { throw .emptyKey }
            guard digits.count == 64 || digits.count == 96 else {
                throw CipherConfiguration.invalid(
                    "a raw key has 64 hexadecimal digits, or 96 with its salt, and \(digits.count) characters were given")
            }
            let raw = try SecureBytes(count: digits.count / 2) { raw throws(DatabaseError) in
                for index in raw.indices {
                    guard let high = Self.digit(digits[2 * index]), let low = Self.digit(digits[2 * index + 1]) else {
                        throw CipherConfiguration.invalid("a raw key has a character that is no hexadecimal digit")
                    }
                    raw[index] = high << 4 | low
                }
            }
            return try raw.withUnsafeBytes { raw throws(DatabaseError) in try .raw(bytes: raw) }
        }
    }

    private static func line(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard bytes.last == 10 else { return bytes }
        let line = UnsafeRawBufferPointer(rebasing: bytes.dropLast())
        return line.last == 13 ? UnsafeRawBufferPointer(rebasing: line.dropLast()) : line
    }

    private static func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

/// Where a key comes from: the providers that come with this package.
public struct KeySource: KeyProvider, CustomStringConvertible {
    /// The largest number of bytes that a file, a descriptor or a key of the kernel may have: 64 KiB.
    public static let maximumBytes = 65_536

    /// What kind of source it is.
    public let description: String
    private let read: @Sendable () throws -> Encryption?

    /// A closure of your own, which gives the key or nil.
    /// ```swift
    /// let db = try Connection(location, key: .provided(by: KeySource { try askTheServer() }))
    /// ```
    public init(_ body: @escaping @Sendable () throws -> Encryption?) { self.init("a closure", body) }

    init(_ description: String, _ read: @escaping @Sendable () throws -> Encryption?) {
        self.description = description
        self.read = read
    }

    public func key() throws -> Encryption? { try read() }
}

extension KeyProvider where Self == KeySource {
    /// The first of several providers that has a key. An error of one ends the search: the next ones are not asked.
    public static func first(_ sources: [KeySource]) -> KeySource {
        KeySource("the first of: " + sources.map(\.description).joined(separator: ", ")) {
            for source in sources {
                if let key = try source.key() { return key }
            }
            return nil
        }
    }

    /// A provider of another type, to stand among these.
    public static func provider(_ provider: any KeyProvider) -> KeySource {
        KeySource("\(type(of: provider))") { try provider.key() }
    }

    /// The key of slots that are unlocked.
    public static func slots(_ slots: KeySlots) -> KeySource { KeySource("key slots") { slots.key } }

    /// An environment variable, which is wiped and removed by being read: a program that this process starts later does not get
    /// it, nor does `/proc/self/environ` show it. A second reading finds nothing.
    ///
    /// To be used at the start of a program: like `setenv`, it is not safe while other threads look at the environment. And
    /// until then the environment can be read by every program of the same user.
    /// - Parameters:
    ///   - name: the variable's name. Nil if it is not set; ``DatabaseError/Reason/emptyKey`` if it is empty.
    ///   - encoding: a passphrase unless said otherwise; not ``KeyEncoding/raw``, as a variable cannot hold every byte.
    public static func environment(_ name: String, as encoding: KeyEncoding = .passphrase) -> KeySource {
        KeySource("the environment variable \(name)") {
            guard encoding != .raw else {
                throw DatabaseError.keyProvider("an environment variable cannot hold every byte of a raw key")
            }
            guard !name.isEmpty, !name.utf8.contains(0), !name.utf8.contains(UInt8(ascii: "=")) else {
                throw DatabaseError.keyProvider("an environment variable cannot have the name \(name)")
            }
            guard let value = getenv(name) else { return nil }
            let count = strlen(value)
            defer {
                wipe(value, count)
                unsetenv(name)
            }
            return try encoding.key(UnsafeRawBufferPointer(start: value, count: count))
        }
    }
}

extension Encryption {
    /// The key that a provider gives when a database is opened, and at no other time.
    /// ```swift
    /// let db = try Connection(.file("notes.db"), key: .provided(by: .environment("NOTES_PASSPHRASE")))
    /// ```
    /// Opening throws ``DatabaseError/Reason/keyProvider`` if the provider has no key, or one that is neither a passphrase nor a
    /// raw key, and what the provider throws.
    /// - Parameters:
    ///   - provider: what is asked.
    ///   - cipher: the cipher settings; nil for those that the provider's key has.
    public static func provided(by provider: some KeyProvider, cipher: CipherConfiguration? = nil) -> Encryption {
        Encryption(.deferred(ProvidedKey(provider: provider)), cipher: cipher)
    }
}

/// The key of a provider.
private struct ProvidedKey: DeferredKey {
    let provider: any KeyProvider

    var kind: String { "provided" }

    func resolve(
        for location: DatabaseLocation, _ cipher: CipherConfiguration?, _ configuration: DatabaseConfiguration
    ) throws -> ResolvedKey {
        let key = try resolveForNewFile()
        return ResolvedKey(key: key.with(cipher: cipher ?? key.cipher))
    }

    func resolveForNewFile() throws -> Encryption {
        let name = (provider as? KeySource)?.description ?? "\(type(of: provider))"
        guard let key = try provider.key() else { throw DatabaseError.keyProvider("there is no key: asked was \(name)") }
        switch key.form {
        case .passphrase, .raw, .derived: return key
        case .plaintext, .deferred: throw DatabaseError.keyProvider("\(name) gave neither a passphrase nor a raw key, but \(key)")
        }
    }
}

extension DatabaseError {
    static func keyProvider(_ message: String, code: ResultCode = .authorization, path: String? = nil) -> DatabaseError {
        DatabaseError(code: code, reason: .keyProvider, message: message, path: path)
    }
}
