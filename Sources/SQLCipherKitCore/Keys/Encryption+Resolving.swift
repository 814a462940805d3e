/// A key that is determined when a database is opened.
package protocol DeferredKey: Sendable {
    /// The kind of key, which ``Encryption/description`` shows.
    var kind: String { get }

    /// Finds the key of a database that is about to be opened.
    func resolve(
        for location: DatabaseLocation, _ cipher: CipherConfiguration?, _ configuration: DatabaseConfiguration
    ) throws -> ResolvedKey

    /// Finds the key for a file that is about to be written.
    func resolveForNewFile() throws -> Encryption
}

/// A key that is fully determined, so that it can open a database.
package struct ResolvedKey {
    package let key: Encryption
    /// Runs once the database is open.
    var didOpen: ((Schema) throws -> Void)?

    package init(key: Encryption, didOpen: ((Schema) throws -> Void)? = nil) { (self.key, self.didOpen) = (key, didOpen) }
}

extension Encryption {
    /// The key to open a database with, its cipher settings validated.
    package func resolved(for location: DatabaseLocation, _ configuration: DatabaseConfiguration) throws -> ResolvedKey {
        try cipher?.validate()
        guard case .deferred(let deferred) = form else { return ResolvedKey(key: self) }
        let resolved = try deferred.resolve(for: location, cipher, configuration)
        try resolved.key.cipher?.validate()
        return resolved
    }

    /// The key to encrypt a new or rewritten file with. A provider is asked once, however often the file is opened.
    /// - Throws: ``DatabaseError/Reason/invalidKey`` for settings that SQLCipher would misinterpret, and for a passphrase that a
    ///   new file may not have; ``DatabaseError/Reason/misuse`` for key slots; and any error that a provider throws.
    package func resolvedForNewFile() throws -> Encryption {
        let key = try resolvedForRewriting()
        try key.requireFitForNewFile()
        return key
    }

    /// The current key of a file that is to be rewritten. It may be any key that a file can have.
    package func resolvedForRewriting() throws -> Encryption {
        guard case .deferred(let deferred) = form else {
            try cipher?.validate()
            return self
        }
        let key = try deferred.resolveForNewFile()
        return try key.with(cipher: cipher ?? key.cipher).resolvedForRewriting()
    }

    /// Throws for a passphrase with a NUL byte. HMAC, which PBKDF2 uses, pads a key with NUL bytes to a block of its hash function
    /// (RFC 2104): trailing NUL bytes therefore make no difference, and a passphrase of NUL bytes alone is as good as empty. NUL
    /// bytes elsewhere are refused as well, because many programs take them for the passphrase's end.
    func requireFitForNewFile() throws(DatabaseError) {
        guard case .passphrase(let bytes) = form, bytes.withUnsafeBytes({ $0.contains(0) }) else { return }
        throw CipherConfiguration.invalid(
            "a new passphrase cannot have NUL characters: at its end they make no difference, and other programs stop at the first")
    }

    /// Like ``resolvedForNewFile()``, but throws for plaintext.
    package func resolvedForNewKey() throws -> Encryption {
        try requireEncryption()
        return try resolvedForNewFile()
    }

    /// Like ``resolvedForRewriting()``, but throws for plaintext.
    package func resolvedForOldKey() throws -> Encryption {
        try requireEncryption()
        return try resolvedForRewriting()
    }

    private func requireEncryption() throws(DatabaseError) {
        guard isPlaintext else { return }
        throw CipherConfiguration.invalid("a key is needed here, and plaintext was given: DatabaseConverter decrypts a database")
    }

    /// The error for opening a database without the right key.
    /// - Parameters:
    ///   - path: the database.
    ///   - header: the first 16 bytes of its file, if it has any.
    package func refusal(by path: String, header: [UInt8]?, code: ResultCode = .notADatabase) -> DatabaseError {
        let message: String
        if isPlaintext {
            message = "\(path) is encrypted, or is not a database; no key was given"
        } else if case .raw(let bytes, salted: true) = form, settings.plaintextHeaderSize == 0, let header,
            bytes.withUnsafeBytes({ Array($0.suffix(16)) }) != header
        {
            message =
                "\(path) was not made with this raw key and salt: its own salt is another one; if it only shares a passphrase "
                + "with the database that the key is from, give the passphrase"
        } else {
            message = "the key or the cipher settings are wrong for \(path), or it is not a database"
        }
        return DatabaseError(code: code, reason: .wrongKeyOrNotADatabase, message: message, path: path)
    }

    /// Throws if a key was given and the file is plaintext.
    func refusePlaintext(_ header: [UInt8]?, _ location: DatabaseLocation) throws(DatabaseError) {
        guard !isPlaintext, settings.isPlaintext(header) else { return }
        let path = location.path ?? location.name
        throw DatabaseError(
            code: .notADatabase, reason: .notEncrypted,
            message: "a key was given, but \(path) is a plaintext SQLite database", path: path)
    }
}
