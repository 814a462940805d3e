#if os(Linux)
    extension KernelKeyring {
        /// Puts the key of an open database into the keyring, so that other processes can open it for a while without asking.
        ///
        /// What is kept is the raw key with its salt, in hexadecimal, and no passphrase: a passphrase may open other things as
        /// well, and deriving the key again would cost time. Read it with `.keyring(name, in: .user, as: .hexadecimal)`, and with
        /// the cipher settings that the database has, where they are not SQLCipher's own.
        /// ```swift
        /// try KernelKeyring.user.addKey(of: db.main, as: "notes", expiresAfter: .seconds(900))
        /// let second = try Connection(.file("notes.db"), key: .provided(by: .keyring("notes", in: .user, as: .hexadecimal)))
        /// ```
        /// - Parameters:
        ///   - schema: the open database.
        ///   - name: the key's description.
        ///   - expiration: after how long the kernel forgets it, in whole seconds, rounded up; nil never.
        /// - Throws: ``DatabaseError/Reason/keyProvider``; ``DatabaseError/Reason/notEncrypted`` for a plaintext database.
        public func addKey(of schema: Schema, as name: String, expiresAfter expiration: Duration? = nil) throws(DatabaseError) {
            let key = try Encryption.derived(of: schema)
            if key.isPlaintext {
                throw DatabaseError(code: .misuse, reason: .notEncrypted, message: "the database is not encrypted")
            }
            try key.withUnsafeBytes { bytes throws(DatabaseError) in
                // As the engine spells it: x'…' around the key, mostly the key of the authentication, which follows from the
                // other, and the salt.
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
