/// The settings of a database's encryption (<https://www.zetetic.net/sqlcipher/sqlcipher-api/>).
///
/// They are not stored in the file: to open it, give the settings that it was created with. The defaults are SQLCipher 4's.
/// SQLCipher silently ignores most invalid settings, so this package checks them before it opens anything.
/// ```swift
/// let old = try Connection(.file("old.db"), key: .passphrase("correct horse", cipher: .sqlCipher3))
/// ```
public struct CipherConfiguration: Hashable, Sendable {
    /// The hash functions that SQLCipher supports for page authentication and key derivation.
    public enum Hash: String, Hashable, Sendable, CaseIterable {
        /// SHA-1 (FIPS 180-4), which SQLCipher 1 to 3 used.
        case sha1 = "SHA1"
        /// SHA-256 (FIPS 180-4).
        case sha256 = "SHA256"
        /// SHA-512 (FIPS 180-4), which SQLCipher 4 uses.
        case sha512 = "SHA512"

        /// The engine's number for the hash in key derivation.
        package var number: Int32 {
            switch self {
            case .sha1: 0
            case .sha256: 1
            case .sha512: 2
            }
        }

        /// The size of the hash's authentication code in bytes.
        var size: Int {
            switch self {
            case .sha1: 20
            case .sha256: 32
            case .sha512: 64
            }
        }
    }

    /// The size of a page in bytes: a power of two from 1,024 to 65,536. Default: 4,096.
    public var pageSize = 4096
    /// The number of PBKDF2 rounds that turn a passphrase into a key. Default: 256,000. Raw keys use none.
    /// `iterations(taking:hash:)` finds the number for a given time, and `weaknesses` reports a low one.
    public var kdfIterations = 256_000
    /// The hash function of PBKDF2. Default: SHA-512.
    public var kdfAlgorithm = Hash.sha512
    /// The hash function of the code that authenticates each page. Default: SHA-512.
    public var hmacAlgorithm = Hash.sha512
    /// Whether pages are authenticated. Otherwise a damaged or forged page goes undetected. Default: true.
    public var usesHMAC = true
    /// The number of bytes at the start of the file that are not encrypted: a multiple of 16, less than the usable size of a page.
    /// Default: 0.
    ///
    /// Apple's systems look for SQLite's header in a file that applications share; 32 bytes satisfy them. Such a file has no room
    /// for its ``salt``, which must be kept elsewhere.
    public var plaintextHeaderSize = 0
    /// The 16 bytes of salt of a database with a plaintext header, which must be kept outside the file. The salt is not secret, but
    /// without it no passphrase opens the database. Nil, the default, for all other databases.
    ///
    /// Make one with ``randomSalt()``. A raw key that includes its salt needs none here.
    public var salt: [UInt8]?
    /// Whether SQLCipher locks and wipes all memory that SQLite uses, not only the memory of its keys. Default: false.
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
