#if os(Linux)
    import SQLCipherKitCore

    extension KernelKeyring {
        /// Adds the key of an open database to the keyring, so that other processes can open the database for a while without a
        /// prompt.
        ///
        /// The keyring gets the raw key with its salt, in hexadecimal, and not the passphrase: a passphrase may open other things
        /// as well, and deriving the key again takes time. Read it with `.keyring(name, in: .user, as: .hexadecimal)`, and with the
        /// database's cipher settings if they are not the defaults.
        /// ```swift
        /// try KernelKeyring.user.addKey(of: db.main, as: "notes", expiresAfter: .seconds(900))
        /// let second = try Connection(.file("notes.db"), key: .provided(by: .keyring("notes", in: .user, as: .hexadecimal)))
        /// ```
        /// - Parameters:
        ///   - schema: the open database.
        ///   - name: the key's description.
        ///   - expiration: the time after which the kernel discards the key, rounded up to whole seconds. Default: nil, never.
        /// - Throws: ``DatabaseError/Reason/keyProvider``; ``DatabaseError/Reason/notEncrypted`` for a plaintext database.
        public func addKey(of schema: Schema, as name: String, expiresAfter expiration: Duration? = nil) throws(DatabaseError) {
            let key = try Encryption.derived(of: schema)
            if key.isPlaintext {
                throw DatabaseError(code: .misuse, reason: .notEncrypted, message: "the database is not encrypted")
            }
            try key.withUnsafeBytes { bytes throws(DatabaseError) in
                // The engine's format is x'…' around the key, usually the authentication key, which is derived from it, and the
                // salt.
                guard bytes.count >= 99 else { throw .keyProvider("the key of the database has an unknown form") }
                let digits = try SecureBytes(count: 96) { memory throws(DatabaseError) in
                    memory.copyBytes(from: bytes[2..<66])
                    UnsafeMutableRawBufferPointer(rebasing: memory[64...]).copyBytes(
                        from: bytes[(bytes.count - 33)..<(bytes.count - 1)])
                }
                try digits.withUnsafeBytes { digits throws(DatabaseError) in try add(digits, as: name, expiresAfter: expiration) }
            }
        }
    }
#endif
