/// A key that is found out when a database is opened.
protocol DeferredKey: Sendable {
    /// What ``Encryption/description`` shows of it.
    var kind: String { get }

    /// Finds the key of a database that is about to be opened.
    func resolve(
        for location: DatabaseLocation, _ cipher: CipherConfiguration?, _ configuration: DatabaseConfiguration
    ) throws -> ResolvedKey

    /// Finds the key for a file that is about to be written.
    func resolveForNewFile() throws -> Encryption
}

/// A key with which a database can be opened: nothing is left to be found out.
struct ResolvedKey {
    let key: Encryption
    /// What has to be done once the database is open.
    var didOpen: ((Schema) throws -> Void)?
}

extension Encryption {
    /// What a database is opened with. The cipher settings have been validated.
    func resolved(for location: DatabaseLocation, _ configuration: DatabaseConfiguration) throws -> ResolvedKey {
        try cipher?.validate()
        guard case .deferred(let deferred) = form else { return ResolvedKey(key: self) }
        let resolved = try deferred.resolve(for: location, cipher, configuration)
        try resolved.key.cipher?.validate()
        return resolved
    }

    /// What a new or rewritten file is encrypted with. A provider is asked once, however often the file is opened.
    /// - Throws: ``DatabaseError/Reason/invalidKey`` for settings that SQLCipher would misunderstand, and for a passphrase that no
    ///   new file may have; ``DatabaseError/Reason/misuse`` for key slots, and what a provider throws.
    func resolvedForNewFile() throws -> Encryption {
        let key = try resolvedForRewriting()
        try key.requireFitForNewFile()
        return key
    }

    /// The key that a file has already, as it is needed to rewrite it: any that a file can have.
    func resolvedForRewriting() throws -> Encryption {
        guard case .deferred(let deferred) = form else {
            try cipher?.validate()
            return self
        }
        let key = try deferred.resolveForNewFile()
        return try key.with(cipher: cipher ?? key.cipher).resolvedForRewriting()
    }

    /// Throws for a passphrase with a NUL byte. PBKDF2 hands it to HMAC, which fills it up with NUL bytes to a block of its hash
    /// function (RFC 2104): one that ends with such bytes is the same key as one without them, and one of nothing else is as good
    /// as empty. Elsewhere in it NUL is refused as well, since many programs take it for the passphrase's end.
    func requireFitForNewFile() throws(DatabaseError) {
        guard case .passphrase(let bytes) = form, bytes.withUnsafeBytes({ $0.contains(0) }) else { return }
        throw CipherConfiguration.invalid(
            "a new passphrase cannot have NUL characters: at its end they make no difference, and other programs stop at the first")
    }

    /// As ``resolvedForNewFile()``, for what must not become plaintext.
    func resolvedForNewKey() throws -> Encryption {
        try requireEncryption()
        return try resolvedForNewFile()
    }

    /// As ``resolvedForRewriting()``, for a file that is encrypted.
    func resolvedForOldKey() throws -> Encryption {
        try requireEncryption()
        return try resolvedForRewriting()
    }

    private func requireEncryption() throws(DatabaseError) {
        guard isPlaintext else { return }
        throw CipherConfiguration.invalid("a key is needed here, and plaintext was given: DatabaseConverter decrypts a database")
    }

    /// What opening a database without the right key throws.
    /// - Parameters:
    ///   - path: the database.
    ///   - header: the first 16 bytes of its file, if it has any.
    func refusal(by path: String, header: [UInt8]?, code: ResultCode = .notADatabase) -> DatabaseError {
        let message: String
        if isPlaintext {
            message = "\(path) is encrypted or no database; no key was given"
        } else if case .raw(let bytes, salted: true) = form, settings.plaintextHeaderSize == 0, let header,
            bytes.withUnsafeBytes({ Array($0.suffix(16)) }) != header
        {
            message =
                "\(path) was not made with this raw key and salt: its own salt is another one; if it only shares a passphrase "
                + "with the database that the key is from, give the passphrase"
        } else {
            message = "the key or the cipher settings are wrong for \(path), or it is no database"
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
