/// The settings of a database's encryption (<https://www.zetetic.net/sqlcipher/sqlcipher-api/>).
///
/// They are not stored in the file: whoever opens it must give those it was made with. The defaults are SQLCipher 4's.
/// SQLCipher ignores most mistakes in them silently, so they are checked here before anything is opened.
public struct CipherConfiguration: Hashable, Sendable {
    /// The hash functions that SQLCipher knows, for page authentication and for key derivation.
    public enum Hash: String, Hashable, Sendable, CaseIterable {
        case sha1 = "SHA1"
        case sha256 = "SHA256"
        case sha512 = "SHA512"

        /// The number that the engine's key derivation gives the hash.
        var number: Int32 {
            switch self {
            case .sha1: 0
            case .sha256: 1
            case .sha512: 2
            }
        }
    }

    /// The size of a page in bytes: a power of two from 1,024 to 65,536. Default: 4,096.
    public var pageSize = 4096
    /// The rounds of PBKDF2 that turn a passphrase into a key. Default: 256,000. Raw keys use none.
    public var kdfIterations = 256_000
    /// The hash function of PBKDF2. Default: SHA-512.
    public var kdfAlgorithm = Hash.sha512
    /// The hash function of the code that authenticates each page. Default: SHA-512.
    public var hmacAlgorithm = Hash.sha512
    /// Whether pages are authenticated. Without it a damaged or forged page is not noticed. Default: yes.
    public var usesHMAC = true

    /// SQLCipher 4's settings.
    public init() {}

    /// Throws if SQLCipher would not do what the settings say.
    /// - Throws: ``DatabaseError/Reason/invalidKey``.
    public func validate() throws(DatabaseError) {
        guard (1024...65536).contains(pageSize), pageSize & (pageSize - 1) == 0 else {
            throw Self.invalid("the page size must be a power of two from 1024 to 65536 and is \(pageSize)")
        }
        guard kdfIterations > 0, kdfIterations <= Int(Int32.max) else {
            throw Self.invalid("the number of key derivation rounds must be from 1 to \(Int32.max) and is \(kdfIterations)")
        }
    }

    private static func invalid(_ message: String) -> DatabaseError {
        DatabaseError(code: .misuse, reason: .invalidKey, message: message)
    }

    /// The pragmas that make a newly keyed connection use these settings; only those that differ from SQLCipher 4's.
    /// - Parameter prefix: `cipher_default_` for the process-wide defaults that an attach takes its settings from.
    func pragmas(default isDefault: Bool = false, changedFrom other: CipherConfiguration = CipherConfiguration()) -> [String] {
        let cipher = isDefault ? "cipher_default" : "cipher"
        let kdf = isDefault ? "cipher_default_kdf_iter" : "kdf_iter"
        var pragmas: [String] = []
        if pageSize != other.pageSize { pragmas.append("\(cipher)_page_size = \(pageSize)") }
        if kdfIterations != other.kdfIterations { pragmas.append("\(kdf) = \(kdfIterations)") }
        if kdfAlgorithm != other.kdfAlgorithm {
            pragmas.append("\(cipher)_kdf_algorithm = PBKDF2_HMAC_\(kdfAlgorithm.rawValue)")
        }
        if hmacAlgorithm != other.hmacAlgorithm { pragmas.append("\(cipher)_hmac_algorithm = HMAC_\(hmacAlgorithm.rawValue)") }
        if usesHMAC != other.usesHMAC { pragmas.append("\(cipher)_use_hmac = \(usesHMAC ? "ON" : "OFF")") }
        return pragmas.map { "PRAGMA \($0)" }
    }
}
