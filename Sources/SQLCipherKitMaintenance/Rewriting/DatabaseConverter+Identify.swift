import CSQLCipher
import Foundation
import SQLCipherKitCore

/// The kind of a file, as determined with a key; see ``DatabaseConverter/identify(fileAt:key:)``.
public enum DatabaseIdentity: Hashable, Sendable {
    /// An empty file, in which a database could be created.
    case empty
    /// A SQLite database that is not encrypted.
    case plaintext
    /// A database that SQLCipher has encrypted with this key. `settings` open it. `version`, from 1 to 4, is the version of
    /// SQLCipher with these defaults, apart from the page size; nil if they are not the defaults of any version.
    case encrypted(version: Int?, settings: CipherConfiguration)
    /// Neither a plaintext database nor one that the key opens with any of the settings tried: the key is wrong, the settings are
    /// different, the first page is damaged, or the file is not a database.
    case unknown
}

extension DatabaseConverter {
    /// Determines whether a file is a database, and which version of SQLCipher and which settings fit a key.
    ///
    /// ```swift
    /// switch try DatabaseConverter.identify(fileAt: "old.db", key: .passphrase("correct horse")) {
    /// case .plaintext: print("not encrypted")
    /// case .encrypted(let version, let settings): print(version ?? 0, settings.pageSize)
    /// case .empty, .unknown: print("wrong key, or no database")
    /// }
    /// ```
    /// This tries the settings of `key`, if it has any, then the defaults of SQLCipher 4, 3, 2 and 1 with each page size. A
    /// passphrase costs one key derivation for each version. Whether settings fit is determined from the first page: from its
    /// authentication code or, if pages have none, its header. Nothing else is read, and nothing is written.
    /// - Parameters:
    ///   - path: the file.
    ///   - key: the key to try; nil to only tell plaintext databases from other files.
    /// - Returns: what the file is.
    /// - Throws: ``DatabaseError/Reason/cannotOpen``, or the error that prevents the file from being read.
    public static func identify(fileAt path: String, key: Encryption?) throws -> DatabaseIdentity {
        var reading = DatabaseConfiguration()
        reading.access = .readOnly
        _ = try DatabaseFile.prepare(.file(path), reading)
        if DatabaseFile.isEmpty(path) { return .empty }
        let header = try DatabaseFile.header(at: .file(path))
        // An encrypted file with a plaintext header begins like a SQLite file.
        if header == DatabaseFile.plaintextHeader, try fits(path, .plaintext) { return .plaintext }
        guard let key = try key?.resolved(for: .file(path), reading).key, !key.isPlaintext else { return .unknown }
        if let own = key.cipher, try fits(path, key) { return .encrypted(version: version(own), settings: own) }
        guard let header, header != DatabaseFile.plaintextHeader else { return .unknown }
        for (_, cipher) in versions {
            let derived = try key.derived(cipher, salt: header)
            for pageSize in [cipher.pageSize, 1024, 4096, 2048, 8192, 16384, 32768, 65536] {
                var settings = cipher
                settings.pageSize = pageSize
                guard try fits(path, derived.with(cipher: settings)) else { continue }
                return .encrypted(version: version(settings), settings: settings)
            }
        }
        return .unknown
    }

    /// The versions of SQLCipher, the newest first.
    static let versions: [(Int, CipherConfiguration)] = [(4, .sqlCipher4), (3, .sqlCipher3), (2, .sqlCipher2), (1, .sqlCipher1)]

    private static func version(_ settings: CipherConfiguration) -> Int? {
        versions.first { version in
            var other = version.1
            other.pageSize = settings.pageSize
            return other.isSameFormat(as: settings)
        }?.0
    }

    /// Whether the first page is that of a database with this key. The file is opened as immutable: without locks, journals or a
    /// log, all of which could write.
    private static func fits(_ path: String, _ key: Encryption) throws -> Bool {
        let allowed = CharacterSet.urlPathAllowed.subtracting(CharacterSet(charactersIn: "?#"))
        let absolute = URL(fileURLWithPath: path).path
        guard let escaped = absolute.addingPercentEncoding(withAllowedCharacters: allowed) else { return false }
        let pages: PageReader
        let location = DatabaseLocation.uri("file://\(escaped)?immutable=1")
        do { pages = try PageReader(location, key: key, access: .readOnly) } catch let error as DatabaseError
            where error.reason == .notEncrypted
        {
            return false
        }
        defer { pages.connection.close() }
        guard let first = try pages.page(1) else { return false }
        // A matching authentication code is proof. Without one, check that the page begins like a database.
        return !key.isPlaintext && key.settings.usesHMAC || first.isDatabaseHeader(of: pages)
    }
}

extension Encryption {
    /// The raw key and salt derived from a passphrase, so that several settings can be tried with a single derivation.
    fileprivate func derived(_ cipher: CipherConfiguration, salt: [UInt8]) throws(DatabaseError) -> Encryption {
        guard case .passphrase = form else { return self }
        let bytes = try withUnsafeBytes { passphrase throws(DatabaseError) in
            try SecureBytes(count: 48) { raw throws(DatabaseError) in
                let rc = sqlcipherkit_derive_key(
                    cipher.kdfAlgorithm.number, passphrase.baseAddress, Int32(passphrase.count), salt, 16,
                    Int32(cipher.kdfIterations), raw.baseAddress, 32)
                if rc != SQLITE_OK { throw DatabaseError(code: ResultCode(rawValue: rc), message: "the key could not be derived") }
                UnsafeMutableRawBufferPointer(rebasing: raw[32...]).copyBytes(from: salt)
            }
        }
        return try bytes.withUnsafeBytes { bytes throws(DatabaseError) in try Encryption.raw(bytes: bytes) }
    }
}
