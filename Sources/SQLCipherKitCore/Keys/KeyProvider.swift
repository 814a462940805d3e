import Foundation

/// Provides the key of a database on request.
///
/// ``KeySource`` has the usual providers. For another source of keys, conform your own type:
/// ```swift
/// let sources: [KeySource] = [.systemdCredential("notes-key"), .file("/etc/notes/key")]
/// let db = try Connection(.file("notes.db"), key: .provided(by: .first(sources)))
/// ```
public protocol KeyProvider: Sendable {
    /// Returns a passphrase or a raw key, or nil if this provider has none and the next one may be asked.
    ///
    /// - Throws: an error for a key that exists but must not be used, such as a file that anyone can read: going on to the next
    ///   provider would hide it. A ``DatabaseError`` reaches the caller as it is, any other error as
    ///   ``DatabaseError/underlyingError``.
    func key() throws -> DatabaseKey?
}

/// The format of the bytes that a ``KeySource`` finds.
public enum KeyEncoding: Hashable, Sendable {
    /// A passphrase. One line break at its end (LF or CR LF) is ignored, because text files end with a line break.
    case passphrase
    /// A raw key in hexadecimal: 64 digits, or 96 including the salt at the end. The digits stand alone, in SQLCipher's form
    /// `x'…'`, or after `0x`. One line break at its end is ignored.
    case hexadecimal
    /// A raw key in binary: 32 bytes, or 48 including the salt at the end. A line break at its end is not ignored.
    case raw

    /// Reads a key from bytes.
    package func key(_ bytes: UnsafeRawBufferPointer) throws -> DatabaseKey {
        switch self {
        case .passphrase: return try .passphrase(bytes: Self.line(bytes))
        case .raw: return try .raw(bytes: bytes)
        case .hexadecimal:
            let digits = Self.digits(Self.line(bytes))
            if digits.isEmpty { throw DatabaseError.emptyKey }
            guard digits.count == 64 || digits.count == 96 else {
                throw CipherConfiguration.invalid(
                    "a raw key has 64 hexadecimal digits, or 96 with its salt, and \(digits.count) characters were given")
            }
            let raw = try SecureBytes(count: digits.count / 2) { raw in
                for index in raw.indices {
                    guard let high = digits[2 * index].hexDigit, let low = digits[2 * index + 1].hexDigit else {
                        throw CipherConfiguration.invalid("a raw key has a character that is not a hexadecimal digit")
                    }
                    raw[index] = high << 4 | low
                }
            }
            return try raw.withUnsafeBytes { raw in try .raw(bytes: raw) }
        }
    }

    /// The digits of a key without what SQLCipher or a programming language writes around them.
    private static func digits(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        func isX(_ byte: UInt8) -> Bool { byte | 0x20 == UInt8(ascii: "x") }
        let quote = UInt8(ascii: "'")
        if text.count > 2, isX(text[0]), text[1] == quote, text[text.count - 1] == quote {
            return UnsafeRawBufferPointer(rebasing: text[2..<text.count - 1])
        }
        guard text.count > 2, text[0] == UInt8(ascii: "0"), isX(text[1]) else { return text }
        return UnsafeRawBufferPointer(rebasing: text[2...])
    }

    private static func line(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard bytes.last == 10 else { return bytes }
        let line = UnsafeRawBufferPointer(rebasing: bytes.dropLast())
        return line.last == 13 ? UnsafeRawBufferPointer(rebasing: line.dropLast()) : line
    }
}

/// The key providers that come with this package.
public struct KeySource: KeyProvider, CustomStringConvertible {
    /// The largest number of bytes that a file, a descriptor or a key of the kernel may have: 64 KiB.
    package static let maximumBytes = 65_536

    /// A description of the source, without the key.
    public let description: String
    private let read: @Sendable () throws -> DatabaseKey?

    /// A source that calls your closure, which returns the key or nil.
    /// ```swift
    /// let db = try Connection(location, key: .provided(by: KeySource { try askTheServer() }))
    /// ```
    public init(_ body: @escaping @Sendable () throws -> DatabaseKey?) { self.init("a closure", body) }

    package init(_ description: String, _ read: @escaping @Sendable () throws -> DatabaseKey?) {
        self.description = description
        self.read = read
    }

    /// Asks the source for the key; nil if it has none.
    /// - Throws: ``DatabaseError/Reason/keyProvider`` for a key that must not be used or cannot be read, or the error of the
    ///   closure of ``init(_:)``.
    public func key() throws -> DatabaseKey? { try read() }
}

extension KeyProvider where Self == KeySource {
    /// Asks several sources in order and takes the first key. If a source throws, the search ends with that error.
    public static func first(_ sources: [KeySource]) -> KeySource {
        KeySource("the first of: " + sources.map(\.description).joined(separator: ", ")) {
            for source in sources {
                if let key = try source.key() { return key }
            }
            return nil
        }
    }

    /// Wraps a provider of another type, for use in a list of sources.
    public static func provider(_ provider: any KeyProvider) -> KeySource {
        KeySource("\(type(of: provider))") { try provider.key() }
    }

    /// An environment variable, which is wiped and removed when it is read: programs that this process starts later do not inherit
    /// it, and `/proc/self/environ` no longer shows it. A second read finds nothing.
    ///
    /// Use it at the start of a program: like `setenv`, it is not safe while other threads access the environment. Until it is
    /// read, every program of the same user can read the variable.
    /// - Parameters:
    ///   - name: the variable's name. The source gives nil if the variable is not set, and throws ``DatabaseError/Reason/emptyKey``
    ///     if it is empty.
    ///   - encoding: the format of its value. Default: a passphrase. ``KeyEncoding/raw`` throws: a variable cannot hold every byte.
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

extension DatabaseKey {
    /// A key that a provider gives when a database is opened; the provider is not asked at any other time.
    /// ```swift
    /// let db = try Connection(.file("notes.db"), key: .provided(by: .environment("NOTES_PASSPHRASE")))
    /// ```
    /// Opening throws ``DatabaseError/Reason/keyProvider`` if the provider has no key, or a key that is neither a passphrase nor a
    /// raw key. A ``DatabaseError`` of the provider is passed on; another error is in ``DatabaseError/underlyingError``.
    /// - Parameters:
    ///   - provider: the provider to ask.
    ///   - cipher: the cipher settings. Default: nil, for the settings of the provider's key.
    public static func provided(by provider: some KeyProvider, cipher: CipherConfiguration? = nil) -> DatabaseKey {
        DatabaseKey(.deferred(ProvidedKey(provider: provider)), cipher: cipher)
    }
}

/// A key that a provider gives when a database is opened.
private struct ProvidedKey: DeferredKey {
    let provider: any KeyProvider

    var kind: String { "provided" }

    func resolve(
        for location: DatabaseLocation, _ cipher: CipherConfiguration?, _ configuration: DatabaseConfiguration
    ) throws -> ResolvedKey {
        let key = try resolveForNewFile()
        return ResolvedKey(key: key.with(cipher: cipher ?? key.cipher))
    }

    func resolveForNewFile() throws -> DatabaseKey {
        let name = (provider as? KeySource)?.description ?? "\(type(of: provider))"
        let answer: DatabaseKey?
        do { answer = try provider.key() } catch let error as DatabaseError { throw error } catch {
            let message = DatabaseError(thrownBy: name, error).message
            throw DatabaseError(code: .authorization, reason: .keyProvider, message: message, underlying: error)
        }
        guard let key = answer else { throw DatabaseError.keyProvider("there is no key: \(name) returned none") }
        switch key.form {
        case .passphrase, .raw, .derived: return key
        case .plaintext, .deferred: throw DatabaseError.keyProvider("\(name) returned no passphrase and no raw key, but \(key)")
        }
    }
}

extension DatabaseError {
    package static func keyProvider(_ message: String, code: ResultCode = .authorization, path: String? = nil) -> DatabaseError {
        DatabaseError(code: code, reason: .keyProvider, message: message, path: path)
    }
}
