import CSQLCipher
import Foundation
import SQLCipherKitCore

extension DatabaseConverter {
    /// The kind of a file, as determined with a key; see ``DatabaseConverter/identify(fileAt:key:limits:)``.
    ///
    /// New cases may be added in a minor version: switch over it with a `default`.
    public enum FileKind: Hashable, Sendable {
        /// An empty file, in which a database could be created.
        case empty
        /// A SQLite database that is not encrypted.
        case plaintext
        /// A database that SQLCipher has encrypted with this key. `settings` open it. `version`, from 2 to 4, is the version of
        /// SQLCipher that has these default settings, apart from the page size. It is nil for settings that are no version's
        /// defaults, and for pages without authentication (``CipherConfiguration/usesHMAC``), as in SQLCipher 1. A file without
        /// authentication may be of any version, and its authentication may have been removed without the key: do not open it only
        /// because this call has found settings.
        case encrypted(version: Int?, settings: CipherConfiguration)
        /// A database that SQLCipher has encrypted except for its header (``CipherConfiguration/plaintextHeaderSize``), if no key
        /// was given, or if the salt is missing, without which no passphrase opens the database.
        case plaintextHeader
        /// Neither a plaintext database nor a database that the key opens with any of the settings tried: the key is wrong, the
        /// settings are different, the first page is damaged, or the file is not a database.
        case unknown
    }
}

extension DatabaseConverter {
    /// Determines whether a file is a database, and which version of SQLCipher and which settings fit a key.
    ///
    /// ```swift
    /// switch try DatabaseConverter.identify(fileAt: "old.db", key: .passphrase("correct horse")) {
    /// case .plaintext: print("not encrypted")
    /// case .encrypted(let version?, _): print("SQLCipher \(version)")
    /// case .encrypted(nil, let settings): print(settings.usesHMAC)
    /// case .plaintextHeader: print("the salt is missing")
    /// case .empty, .unknown: print("wrong key, or no database")
    /// }
    /// ```
    /// The call tries the settings of `key`, if it has any, then the settings of SQLCipher 4, 3, 2 and 1, then the other
    /// combinations that SQLCipher can write: each page size, page authentication or none, and each hash function with the numbers
    /// of rounds of these versions. A passphrase costs up to nine key derivations. A file with a plaintext header needs a salt, in
    /// the settings of `key` or in a raw key. The first page decides if settings fit: by its authentication code or, if pages have
    /// no code, by its header. Only the first page is read, and nothing is written.
    /// - Parameters:
    ///   - path: the file.
    ///   - key: the key to try; nil to only tell plaintext databases from other files.
    ///   - limits: the time and memory that the call may use; the call ends between two key derivations. Default: nil, for the
    ///     defaults of ``ResourceLimits`` with a time of one minute.
    /// - Returns: the kind of the file, with its settings if it is encrypted.
    /// - Throws: ``DatabaseError/Reason/cannotOpen``, ``DatabaseError/Reason/timeout``, ``DatabaseError/Reason/limitExceeded``,
    ///   ``ResultCode/interrupted`` in a cancelled task, or the error that prevents the file from being read.
    public static func identify(
        fileAt path: String, key: DatabaseKey?, limits: ResourceLimits? = nil
    ) throws -> FileKind {
        try identify(Paths.file(path, of: "the database"), key, limits, versionsOnly: false)
    }

    /// - Parameter versionsOnly: whether to try only the versions' own ways to derive a key, each with the version's own page
    ///   authentication or with none, and no plaintext header.
    static func identify(
        _ path: String, _ key: DatabaseKey?, _ limits: ResourceLimits?, versionsOnly: Bool
    ) throws -> FileKind {
        var usual = ResourceLimits()
        usual.time = .seconds(60)
        let meter = WorkMeter(limits ?? usual)
        return try meter.run { try identify(path, key, meter, versionsOnly) }
    }

    private static func identify(
        _ path: String, _ key: DatabaseKey?, _ meter: WorkMeter, _ versionsOnly: Bool
    ) throws -> FileKind {
        var reading = DatabaseConfiguration()
        reading.access = .readOnly
        _ = try DatabaseFile.prepare(.file(path), reading)
        if DatabaseFile.isEmpty(path) { return .empty }
        guard let header = try DatabaseFile.header(at: .file(path)) else {
            // A shorter file is no database, and another one could not be opened.
            let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
            if size ?? 16 >= 16 { throw DatabaseFile.cannotOpen(path, "the system refuses to open it") }
            return .unknown
        }
        let key = try key?.resolved(for: .file(path), reading).key
        if let key, let own = key.cipher, !key.isPlaintext, try fits(path, key) {
            return .encrypted(version: version(own), settings: own)
        }
        guard header == DatabaseFile.plaintextHeader else {
            guard let key, !key.isPlaintext else { return .unknown }
            return try identity(path, key, meter, salt: header, versionsOnly) { cipher in
                pageSizes(cipher).flatMap { size in layouts(cipher).map { layout(cipher, pageSize: size, hmac: $0) } }
            }
        }
        // An encrypted file with a plaintext header begins like a SQLite file.
        let first = try plainPage(path)
        if let first, try isPlaintext(first, path, meter) { return .plaintext }
        guard let key, !key.isPlaintext, !versionsOnly, let salt = key.ownSalt ?? key.cipher?.salt else { return .plaintextHeader }
        let identity = try identity(path, key, meter, salt: salt, false) { cipher in withPlaintextHeader(cipher, salt, first) }
        return identity == .unknown ? .plaintextHeader : identity
    }

    private static func identity(
        _ path: String, _ key: DatabaseKey, _ meter: WorkMeter, salt: [UInt8], _ versionsOnly: Bool,
        _ layouts: (CipherConfiguration) -> [CipherConfiguration]
    ) throws -> FileKind {
        var keys: [[Int]: DatabaseKey] = [:]
        func identity(_ cipher: CipherConfiguration, _ isWanted: (CipherConfiguration) -> Bool) throws -> FileKind? {
            try meter.use()
            let derivation = [Int(cipher.kdfAlgorithm.number), cipher.kdfIterations]
            let derived = try keys[derivation] ?? key.derived(cipher, salt: salt)
            keys[derivation] = derived
            for settings in layouts(cipher) where try isWanted(settings) && fits(path, derived.adopting(settings)) {
                return .encrypted(version: version(settings), settings: settings)
            }
            return nil
        }
        func isOfVersion(_ settings: CipherConfiguration, _ cipher: CipherConfiguration) -> Bool {
            settings.usesHMAC == cipher.usesHMAC && (!cipher.usesHMAC || settings.hmacAlgorithm == cipher.hmacAlgorithm)
        }
        // Settings that fit a version may fit other combinations too: with a raw key, pages without authentication need no
        // derivation.
        for (_, cipher) in versions { if let found = try identity(cipher, { isOfVersion($0, cipher) }) { return found } }
        for cipher in versionsOnly ? versions.map(\.1) : derivations(key.cipher) {
            if let found = try identity(cipher, { !versionsOnly || !$0.usesHMAC }) { return found }
        }
        return .unknown
    }

    // MARK: What SQLCipher can write

    /// Each way to derive a key: those of the versions first.
    private static func derivations(_ own: CipherConfiguration?) -> [CipherConfiguration] {
        var all = versions.map(\.1)
        var rounds = [256_000, 64_000, 4_000]
        if let own { rounds.insert(own.kdfIterations, at: 0) }
        for iterations in rounds {
            for algorithm in [CipherConfiguration.Hash.sha512, .sha256, .sha1] {
                var cipher = CipherConfiguration()
                (cipher.kdfAlgorithm, cipher.kdfIterations, cipher.hmacAlgorithm) = (algorithm, iterations, algorithm)
                all.append(cipher)
            }
        }
        var seen: Set<[Int]> = []
        // Versions 2 and 1 differ in their pages alone, which are all tried.
        return all.filter { seen.insert([Int($0.kdfAlgorithm.number), $0.kdfIterations]).inserted }
    }

    private static func pageSizes(_ cipher: CipherConfiguration) -> [Int] {
        [cipher.pageSize] + [1024, 4096, 2048, 8192, 16384, 32768, 65536].filter { $0 != cipher.pageSize }
    }

    /// Each way to authenticate pages; nil is none.
    private static func layouts(_ cipher: CipherConfiguration) -> [CipherConfiguration.Hash?] {
        [cipher.hmacAlgorithm, nil] + CipherConfiguration.Hash.allCases.filter { $0 != cipher.hmacAlgorithm }
    }

    private static func layout(
        _ cipher: CipherConfiguration, pageSize: Int, hmac: CipherConfiguration.Hash?
    ) -> CipherConfiguration {
        var settings = cipher
        (settings.pageSize, settings.usesHMAC) = (pageSize, hmac != nil)
        if let hmac { settings.hmacAlgorithm = hmac }
        return settings
    }

    /// A header of 32 bytes or more shows the page size and the number of bytes that each page reserves.
    private static func withPlaintextHeader(
        _ cipher: CipherConfiguration, _ salt: [UInt8], _ first: [UInt8]?
    ) -> [CipherConfiguration] {
        var all: [CipherConfiguration] = []
        func add(_ size: Int, _ layout: CipherConfiguration) {
            var settings = layout
            (settings.plaintextHeaderSize, settings.salt) = (size, salt)
            if (try? settings.validate()) != nil { all.append(settings) }
        }
        if let first {
            for size in stride(from: 32, through: 512, by: 16) {
                for hmac in layouts(cipher) {
                    let settings = layout(cipher, pageSize: first.count, hmac: hmac)
                    if settings.reservedBytes <= Int(first[20]) { add(size, settings) }
                }
            }
        }
        for size in pageSizes(cipher) { for hmac in layouts(cipher) { add(16, layout(cipher, pageSize: size, hmac: hmac)) } }
        return all
    }

    /// The first page of a file as it is, if its header shows a page size.
    private static func plainPage(_ path: String) throws -> [UInt8]? {
        guard let pages = try? PageReader(immutable(path), key: .plaintext, access: .readOnly) else { return nil }
        defer { pages.connection.close() }
        guard let first = try pages.page(1), first.isDatabaseHeader(of: pages) else { return nil }
        return first
    }

    /// Returns whether what follows the header is plaintext: 20 bytes that SQLite leaves zero, the kind of the schema's first page,
    /// and the schema, if each page reserves room as encryption does (<https://sqlite.org/fileformat2.html#the_database_header>).
    private static func isPlaintext(_ first: [UInt8], _ path: String, _ meter: WorkMeter) throws -> Bool {
        guard first[72..<92].allSatisfy({ $0 == 0 }), [5, 13].contains(first[100]) else { return false }
        if first[20] < 16 { return true }
        var reading = DatabaseConfiguration()
        reading.access = .readOnly
        reading.safeguards = .limited(to: meter.remaining)
        do { try Connection(immutable(path), key: .plaintext, configuration: reading).close() } catch let error as DatabaseError
            where [.corrupt, .notADatabase].contains(error.code.primary)
        {
            return false
        }
        return true
    }

    /// The versions of SQLCipher, the newest first.
    static let versions: [(Int, CipherConfiguration)] = [(4, .sqlCipher4), (3, .sqlCipher3), (2, .sqlCipher2), (1, .sqlCipher1)]

    private static func version(_ settings: CipherConfiguration) -> Int? {
        versions.first { version in
            guard settings.usesHMAC else { return false }
            var other = version.1
            other.pageSize = settings.pageSize
            return other.isSameFormat(as: settings)
        }?.0
    }

    /// Returns whether the first page is that of a database with this key.
    private static func fits(_ path: String, _ key: DatabaseKey) throws -> Bool {
        let pages: PageReader
        do { pages = try PageReader(immutable(path), key: key, access: .readOnly) } catch let error as DatabaseError
            where error.reason == .notEncrypted
        {
            return false
        }
        defer { pages.connection.close() }
        guard let first = try pages.page(1) else { return false }
        // A matching authentication code is proof. Without one, check that the page begins like a database.
        if key.settings.usesHMAC { return true }
        // With the vector from the wrong place, the first encrypted block alone is wrong: the schema's format is in it, or the
        // text's encoding, or zeros are (https://sqlite.org/fileformat2.html#the_database_header).
        return first.isDatabaseHeader(of: pages) && [5, 13].contains(first[100]) && first[72..<92].allSatisfy { $0 == 0 }
            && first.bigEndian(at: 44, bytes: 4) ?? 5 <= 4 && first.bigEndian(at: 56, bytes: 4) ?? 4 <= 3
    }

    /// The file as an immutable one: opened without locks, journals or a log, all of which could write.
    private static func immutable(_ path: String) -> DatabaseLocation {
        let allowed = CharacterSet.urlPathAllowed.subtracting(CharacterSet(charactersIn: "?#"))
        return .uri("file://\(path.addingPercentEncoding(withAllowedCharacters: allowed) ?? path)?immutable=1")
    }
}

extension DatabaseKey {
    /// The salt of a raw key that includes it.
    fileprivate var ownSalt: [UInt8]? {
        guard case .raw(let bytes, salted: true) = form else { return nil }
        return bytes.withUnsafeBytes { Array($0.suffix(16)) }
    }

    /// The raw key and salt derived from a passphrase, so that several settings can be tried with a single derivation.
    fileprivate func derived(_ cipher: CipherConfiguration, salt: [UInt8]) throws -> DatabaseKey {
        guard case .passphrase = form else { return with(cipher: nil) }
        let bytes = try withUnsafeBytes { passphrase in
            try SecureBytes(count: 48) { raw in
                let rc = sqlcipherkit_derive_key(
                    cipher.kdfAlgorithm.number, passphrase.baseAddress, Int32(passphrase.count), salt, 16,
                    Int32(cipher.kdfIterations), raw.baseAddress, 32)
                if rc != SQLITE_OK { throw DatabaseError(code: ResultCode(rawValue: rc), message: "the key could not be derived") }
                UnsafeMutableRawBufferPointer(rebasing: raw[32...]).copyBytes(from: salt)
            }
        }
        return try bytes.withUnsafeBytes { bytes in try DatabaseKey.raw(bytes: bytes) }
    }
}
