import Foundation

/// Gives the key of a database when it is asked.
///
/// ``KeySource`` has the usual ones; conform a type of your own for another:
/// ```swift
/// let db = try Connection(.file("notes.db"), keyProvider: .first([.credential("notes-key"), .file("/etc/notes/key")]))
/// ```
public protocol KeyProvider: Sendable {
    /// The key, or nil if there is none here and another provider may be asked.
    ///
    /// A key that is there but must not be used, a file that everybody can read for instance, is an error: going on to the
    /// next provider would hide it.
    func encryptionKey() throws -> EncryptionKey?
}

/// What the bytes that a ``KeySource`` finds are.
public enum KeyEncoding: Hashable, Sendable {
    /// A passphrase. One line break at its end (LF or CR LF) is not part of it, as text files end with one.
    case passphrase
    /// A raw key in hexadecimal: 64 digits, or 96 with the salt behind it. One line break at its end does not count.
    case hexadecimal
    /// A raw key as it is: 32 bytes, or 48 with the salt behind it. Nothing at its end is left out.
    case raw

    /// The key in some bytes.
    func key(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) -> EncryptionKey {
        switch self {
        case .passphrase: return try .passphrase(bytes: Self.line(bytes))
        case .raw: return try .raw(bytes: bytes)
        case .hexadecimal:
            let digits = Self.line(bytes)
            if digits.isEmpty { throw .emptyKey }
            guard digits.count == 64 || digits.count == 96 else {
                throw DatabaseError(
                    code: .misuse, reason: .invalidKey,
                    message: "a raw key has 64 hexadecimal digits, or 96 with its salt, and \(digits.count) characters were given")
            }
            let raw = try SecureBytes(count: digits.count / 2) { raw throws(DatabaseError) in
                for index in raw.indices {
                    guard let high = Self.digit(digits[2 * index]), let low = Self.digit(digits[2 * index + 1]) else {
                        throw DatabaseError(code: .misuse, reason: .invalidKey, message: "a raw key has a character that is no hexadecimal digit")
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
    private let read: @Sendable () throws -> EncryptionKey?

    /// A closure of your own, which gives the key or nil.
    /// ```swift
    /// let db = try Connection(location, keyProvider: KeySource { try askTheServer() })
    /// ```
    public init(_ body: @escaping @Sendable () throws -> EncryptionKey?) { self.init("a closure", body) }

    init(_ description: String, _ read: @escaping @Sendable () throws -> EncryptionKey?) {
        self.description = description
        self.read = read
    }

    public func encryptionKey() throws -> EncryptionKey? { try read() }
}

extension KeyProvider where Self == KeySource {
    /// The first of several providers that has a key. An error of one is the end: those behind it are not asked.
    public static func first(_ sources: [KeySource]) -> KeySource {
        KeySource("the first of: " + sources.map(\.description).joined(separator: ", ")) {
            for source in sources {
                if let key = try source.encryptionKey() { return key }
            }
            return nil
        }
    }

    /// A provider of another type, to stand among these.
    public static func provider(_ provider: any KeyProvider) -> KeySource {
        KeySource("\(type(of: provider))") { try provider.encryptionKey() }
    }

    /// Slots of the database, unlocked before.
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
            guard encoding != .raw else { throw DatabaseError.keyProvider("an environment variable cannot hold every byte of a raw key") }
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

extension Connection {
    /// Opens a database with the key that a provider gives.
    /// ```swift
    /// let db = try Connection(.file("notes.db"), keyProvider: .environment("NOTES_PASSPHRASE"))
    /// ```
    /// - Throws: ``DatabaseError/Reason/keyProvider`` if the provider has no key, what it throws, and what opening with a key throws.
    public convenience init(
        _ location: DatabaseLocation, keyProvider: some KeyProvider, configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws {
        guard let key = try keyProvider.encryptionKey() else {
            throw DatabaseError.keyProvider("there is no key: asked was \((keyProvider as? KeySource)?.description ?? "\(type(of: keyProvider))")")
        }
        try self.init(location, key: key, configuration: configuration)
    }
}

extension DatabaseError {
    static func keyProvider(_ message: String, code: ResultCode = .authorization, path: String? = nil) -> DatabaseError {
        DatabaseError(code: code, reason: .keyProvider, message: message, path: path)
    }
}
