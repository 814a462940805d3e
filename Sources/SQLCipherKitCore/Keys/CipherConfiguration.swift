import CSQLCipher

/// The settings of a database's encryption (<https://www.zetetic.net/sqlcipher/sqlcipher-api/>).
///
/// The settings are not stored in the file: to open it, give the settings that it was created with. The defaults are SQLCipher 4's.
/// SQLCipher silently ignores most invalid settings, so this package checks them before it opens anything.
/// ```swift
/// let old = try Connection(.file("old.db"), key: .passphrase("correct horse", cipher: .sqlCipher3))
/// ```
public struct CipherConfiguration: Hashable, Sendable {
    /// The hash functions that SQLCipher supports for page authentication and key derivation.
    public struct Hash: RawRepresentable, Hashable, Sendable, CaseIterable, CustomStringConvertible {
        /// SQLCipher's name of the function: `SHA1`, `SHA256` or `SHA512`.
        public let rawValue: String
        /// The engine's number for the hash in key derivation.
        package let number: Int32
        /// The size of the hash's authentication code in bytes.
        let size: Int
        /// The minimum number of PBKDF2 rounds recommended for passphrases with this hash function: 1,300,000 with SHA-1, 600,000
        /// with SHA-256, 210,000 with SHA-512 (OWASP, Password Storage Cheat Sheet,
        /// <https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#pbkdf2>).
        ///
        /// NIST SP 800-132 (5.2) requires at least 1,000, and as many as users can tolerate.
        package let recommendedIterations: Int

        /// The function with this name; nil if there is none.
        public init?(rawValue: String) {
            guard let hash = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
            self = hash
        }

        private init(_ name: String, _ number: Int32, size: Int, rounds: Int) {
            (rawValue, self.number, self.size, recommendedIterations) = (name, number, size, rounds)
        }

        public static let allCases: [Hash] = [.sha1, .sha256, .sha512]

        /// SHA-1 (FIPS 180-4), which SQLCipher 1 to 3 used.
        public static let sha1 = Hash("SHA1", 0, size: 20, rounds: 1_300_000)
        /// SHA-256 (FIPS 180-4).
        public static let sha256 = Hash("SHA256", 1, size: 32, rounds: 600_000)
        /// SHA-512 (FIPS 180-4), which SQLCipher 4 uses.
        public static let sha512 = Hash("SHA512", 2, size: 64, rounds: 210_000)

        public var description: String { rawValue }
    }

    /// The size of a page in bytes: a power of two from 1,024 to 65,536. Default: 4,096.
    public var pageSize = 4096
    /// The number of PBKDF2 rounds that turn a passphrase into a key. Default: 256,000. Raw keys use no rounds.
    /// `iterations(taking:hash:)` finds the number for a given time, and `weaknesses` reports a low number.
    public var kdfIterations = 256_000
    /// The hash function of PBKDF2. Default: SHA-512.
    public var kdfAlgorithm = Hash.sha512
    /// The hash function of the code that authenticates each page. Default: SHA-512.
    public var hmacAlgorithm = Hash.sha512
    /// True if pages are authenticated. Otherwise a damaged or forged page goes undetected. Default: true.
    public var usesHMAC = true
    /// The number of bytes at the start of the file that are not encrypted: a multiple of 16, less than the usable size of a page.
    /// Default: 0.
    ///
    /// Apple's systems look for SQLite's header in a file that applications share; 32 bytes are enough. Such a file has no room for
    /// its ``salt``, which must be kept elsewhere.
    public var plaintextHeaderSize = 0
    /// The 16 bytes of salt of a database with a plaintext header, which must be kept outside the file. The salt is not secret, but
    /// without it no passphrase opens the database. Nil, the default, for all other databases.
    ///
    /// Create a salt with ``randomSalt()``. A raw key that includes its salt needs no salt here.
    public var salt: [UInt8]?
    /// True if SQLCipher locks and wipes all memory that SQLite uses, not only the memory of its keys. Default: false.
    ///
    /// The setting applies to the whole process: it cannot be turned off again, slows down all databases, and has no effect beyond
    /// the system's limit for locked memory. ``SQLCipherEngine/lockedMemory`` reports how much was actually locked.
    public var usesMemorySecurity = false

    /// SQLCipher 4's settings.
    public init() {}

    /// SQLCipher 1's settings: pages of 1,024 bytes without authentication, 4,000 rounds, SHA-1.
    public static let sqlCipher1 = earlier(iterations: 4000, usesHMAC: false)
    /// SQLCipher 2's settings: pages of 1,024 bytes, 4,000 rounds, SHA-1.
    public static let sqlCipher2 = earlier(iterations: 4000, usesHMAC: true)
    /// SQLCipher 3's settings: pages of 1,024 bytes, 64,000 rounds, SHA-1.
    public static let sqlCipher3 = earlier(iterations: 64000, usesHMAC: true)
    /// SQLCipher 4's settings, which are the defaults.
    public static let sqlCipher4 = CipherConfiguration()

    private static func earlier(iterations: Int, usesHMAC: Bool) -> CipherConfiguration {
        var cipher = CipherConfiguration()
        cipher.pageSize = 1024
        cipher.kdfIterations = iterations
        cipher.kdfAlgorithm = .sha1
        cipher.hmacAlgorithm = .sha1
        cipher.usesHMAC = usesHMAC
        return cipher
    }
}

extension CipherConfiguration {
    /// Measures how many rounds of PBKDF2 take a given time on this machine, for ``kdfIterations``.
    ///
    /// ```swift
    /// var cipher = CipherConfiguration()
    /// cipher.kdfIterations = try CipherConfiguration.iterations(taking: .milliseconds(500))
    /// ```
    /// Measuring takes some hundredths of a second, and is less accurate while the machine is busy. An attacker who guesses
    /// passphrases is slowed down by the same factor as you. The number is not stored in the file: keep it, because you need it
    /// each time you open the database. Opening the file on a slower machine takes longer.
    /// - Parameters:
    ///   - duration: how long deriving the key may take.
    ///   - hash: the hash function of PBKDF2. Default: SHA-512.
    /// - Returns: a multiple of 1,000, never less than OWASP recommends for the hash, however short the duration.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` for a duration that is not positive or is longer than an hour.
    public static func iterations(taking duration: Duration, hash: Hash = .sha512) throws -> Int {
        guard duration > .zero, duration <= .seconds(3600) else {
            throw DatabaseError.invalidArgument(
                "the time for a key derivation must be positive and at most an hour, and is \(duration)"
            )
        }
        let clock = ContinuousClock()
        var rounds = 4_000, elapsed = Duration.zero
        while elapsed < .milliseconds(15), rounds < 1 << 24 {
            rounds *= 2
            // Take the fastest of three runs, which was disturbed least.
            elapsed = .seconds(3600)
            for _ in 0..<3 {
                let start = clock.now
                try derive(rounds, hash)
                elapsed = min(elapsed, clock.now - start)
            }
        }
        let wished = Double(rounds) * (duration / max(elapsed, .nanoseconds(1)))
        let whole = wished >= Double(Int32.max) ? Int(Int32.max) / 1000 * 1000 : Int(wished) / 1000 * 1000
        return max(whole, hash.recommendedIterations)
    }

    /// Derives a key as SQLCipher does for a passphrase.
    private static func derive(_ rounds: Int, _ hash: Hash) throws {
        var key = [UInt8](repeating: 0, count: 32)
        let passphrase = [UInt8](repeating: 0x61, count: 16), salt = [UInt8](repeating: 0, count: 16)
        let rc = sqlcipherkit_derive_key(hash.number, passphrase, 16, salt, 16, Int32(rounds), &key, 32)
        if rc != SQLITE_OK { throw DatabaseError(rc: rc, database: nil) }
    }

    /// A way in which cipher settings are weaker than recommended today. Weak settings are accepted, since existing files use them.
    ///
    /// New cases may be added in a minor version: switch over it with a `default`.
    public enum Weakness: Hashable, Sendable, CustomStringConvertible {
        /// Fewer rounds of PBKDF2 than OWASP recommends for the hash. Irrelevant for raw keys and key slots.
        case keyDerivation(rounds: Int, recommended: Int)
        /// Pages are not authenticated, so tampering with the file goes undetected.
        case noAuthentication

        public var description: String {
            switch self {
            case .keyDerivation(let rounds, let recommended):
                "a passphrase is derived with \(rounds) rounds of PBKDF2, and \(recommended) are recommended"
            case .noAuthentication: "pages are not authenticated: changes to the file are not detected"
            }
        }
    }

    /// The ways in which these settings are weaker than recommended today; empty for SQLCipher 4's defaults.
    /// ```swift
    /// for weakness in try db.main.cipher?.settings.weaknesses ?? [] { log.warning("\(weakness)") }
    /// ```
    public var weaknesses: [Weakness] {
        var weaknesses: [Weakness] = []
        if kdfIterations < kdfAlgorithm.recommendedIterations {
            weaknesses.append(.keyDerivation(rounds: kdfIterations, recommended: kdfAlgorithm.recommendedIterations))
        }
        if !usesHMAC { weaknesses.append(.noAuthentication) }
        return weaknesses
    }
}

extension CipherConfiguration {
    /// 16 random bytes for the ``salt`` of a new database with a plaintext header, from the crypto provider.
    /// - Throws: ``DatabaseError/Reason/noRandomBytes`` if the system refuses random bytes.
    public static func randomSalt() throws -> [UInt8] {
        var salt = [UInt8](repeating: 0, count: 16)
        let rc = sqlcipherkit_random(&salt, 16)
        if rc != SQLITE_OK { throw DatabaseError(rc: rc, database: nil) }
        return salt
    }

    /// The number of bytes that SQLCipher reserves at the end of each page for an initialization vector and the authentication
    /// code, rounded up to a multiple of 16.
    package var reservedBytes: Int { (16 + (usesHMAC ? hmacAlgorithm.size : 0) + 15) / 16 * 16 }

    /// Throws if SQLCipher would not follow these settings.
    ///
    /// Opening and attaching validate the settings before they touch any file.
    /// - Throws: ``DatabaseError/Reason/invalidKey``; the message names the setting and its valid values.
    public func validate() throws {
        guard (1024...65536).contains(pageSize), pageSize & (pageSize - 1) == 0 else {
            throw Self.invalid("the page size must be a power of two from 1024 to 65536 and is \(pageSize)")
        }
        guard kdfIterations > 0, kdfIterations <= Int(Int32.max) else {
            throw Self.invalid("the number of key derivation rounds must be from 1 to \(Int32.max) and is \(kdfIterations)")
        }
        // The engine interprets a header that fills the page as a request to continue after damage.
        let room = pageSize - reservedBytes
        guard plaintextHeaderSize >= 0, plaintextHeaderSize % 16 == 0, plaintextHeaderSize < room else {
            throw Self.invalid(
                "the plaintext header must be a multiple of 16 bytes and shorter than \(room), and is \(plaintextHeaderSize)")
        }
        if let salt {
            guard salt.count == 16 else { throw Self.invalid("a salt has 16 bytes, and \(salt.count) were given") }
            guard plaintextHeaderSize > 0 else {
                throw Self.invalid("give a salt only for a database with a plaintext header: other files contain their salt")
            }
        }
    }

    /// Returns whether a file that begins with these bytes is a plaintext database. With a plaintext header this cannot be known,
    /// as an encrypted file then begins with the same bytes.
    package func isPlaintext(_ header: [UInt8]?) -> Bool { plaintextHeaderSize == 0 && header == DatabaseFile.plaintextHeader }

    /// Returns whether a file with these settings can also be read with `other`, given its salt.
    package func isSameFormat(as other: CipherConfiguration) -> Bool {
        var (own, other) = (self, other)
        (own.salt, own.usesMemorySecurity, other.salt, other.usesMemorySecurity) = (nil, false, nil, false)
        return own == other
    }

    package static func invalid(_ message: String) -> DatabaseError {
        DatabaseError(code: .misuse, reason: .invalidKey, message: message)
    }

    /// All settings, in the form that the engine takes.
    var engineSettings: sqlcipherkit_cipher_settings {
        sqlcipherkit_cipher_settings(
            page_size: Int32(clamping: pageSize), kdf_iterations: Int32(clamping: kdfIterations),
            kdf_algorithm: kdfAlgorithm.number, hmac_algorithm: hmacAlgorithm.number, uses_hmac: usesHMAC ? 1 : 0,
            plaintext_header_size: Int32(clamping: plaintextHeaderSize), uses_memory_security: usesMemorySecurity ? 1 : 0)
    }
}
