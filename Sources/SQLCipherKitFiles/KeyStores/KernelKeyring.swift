#if os(Linux)
    import CSQLCipher
    import Foundation
    import SQLCipherKitCore

    /// A keyring of the Linux kernel, which keeps keys in kernel memory: outside all processes, gone after a restart, and never in
    /// a file (<https://man7.org/linux/man-pages/man7/keyrings.7.html>).
    ///
    /// ```swift
    /// try KernelKeyring.session.add(Data(passphrase.utf8), as: "notes:key", expiresAfter: .seconds(3600))
    /// let db = try Connection(.file("notes.db"), key: .provided(by: .keyring("notes:key", in: .session)))
    /// ```
    /// Containers often forbid these system calls: there, every method throws ``DatabaseError/Reason/keyProvider`` with the
    /// system's reason.
    public enum KernelKeyring: Int32, Hashable, Sendable, CaseIterable {
        /// The calling thread's keyring.
        case thread = -1
        /// The keyring of this process.
        case process = -2
        /// The login session's keyring.
        case session = -3
        /// The user's keyring, shared by all sessions.
        case user = -4
        /// The user's default session keyring, for sessions without their own.
        case userSession = -5

        /// Adds a secret to the keyring, or replaces the secret with the same name.
        /// - Parameters:
        ///   - secret: 1 to 32,767 bytes, which are copied.
        ///   - name: the key's description. All programs that use the keyring share its names.
        ///   - expiration: the time after which the kernel discards the key, rounded up to whole seconds. Default: nil, never.
        /// - Throws: ``DatabaseError/Reason/keyProvider``, ``DatabaseError/Reason/emptyKey``.
        public func add(_ secret: some ContiguousBytes, as name: String, expiresAfter expiration: Duration? = nil)
            throws
        {
            try Self.validate(name)
            let key = try secret.withBytes { bytes throws -> Int64 in
                if bytes.isEmpty { throw DatabaseError.emptyKey }
                return try Self.check(
                    sqlcipherkit_keyring_add(rawValue, name, bytes.baseAddress, bytes.count), "the key \(name) cannot be added to")
            }
            guard let expiration else { return }
            let seconds = (UInt64(expiration.clampedMilliseconds) + 999) / 1000
            do {
                _ = try Self.check(
                    sqlcipherkit_keyring_set_timeout(key, UInt32(max(1, seconds))), "no timeout can be set for the key \(name) in")
            } catch {
                // A secret that should expire must not stay forever.
                sqlcipherkit_keyring_unlink(rawValue, key)
                throw error
            }
        }

        /// Removes a secret from the keyring.
        /// - Returns: true if there was a key of that name.
        /// - Throws: ``DatabaseError/Reason/keyProvider``.
        @discardableResult
        public func remove(_ name: String) throws -> Bool {
            guard let key = try find(name) else { return false }
            _ = try Self.check(sqlcipherkit_keyring_unlink(rawValue, key), "the key \(name) cannot be removed from")
            return true
        }

        /// The names of the keys in this keyring itself, without linked ones, that begin with a prefix.
        package func names(startingWith start: String) throws -> [String] {
            var keys = [Int32](repeating: 0, count: 4096)
            let size = try Self.check(
                keys.withUnsafeMutableBytes { sqlcipherkit_keyring_read(Int64(rawValue), $0.baseAddress, $0.count) },
                "the names cannot be read from")
            return keys.prefix(Int(size) / 4).compactMap { key in
                var text = [UInt8](repeating: 0, count: 4200)
                let count = text.withUnsafeMutableBytes { memory in
                    memory.withMemoryRebound(to: CChar.self) { sqlcipherkit_keyring_describe(Int64(key), $0.baseAddress, $0.count) }
                }
                guard count > 0, count <= Int64(text.count) else { return nil }
                let description = String(decoding: text.prefix { $0 != 0 }, as: UTF8.self)
                    .split(separator: ";", maxSplits: 4, omittingEmptySubsequences: false)
                guard description.count == 5, description[0] == "user", description[4].hasPrefix(start) else { return nil }
                return String(description[4])
            }
        }

        /// The secret's bytes; nil if there is no key of that name, or if it has expired or was revoked.
        func read(_ name: String) throws -> SecureBytes? {
            guard let key = try find(name) else { return nil }
            // It may go between the search and the read.
            var isGone = false
            let bytes = try SecureBytes(upTo: KeySource.maximumBytes) { memory in
                var result = sqlcipherkit_keyring_read(key, memory.baseAddress, memory.count)
                if result == -Int64(EACCES) {
                    // A session that is not linked to the user's keyring finds the key but does not possess it. Linking the key to
                    // the thread's own keyring for the duration of the read solves this.
                    let thread = Self.thread.rawValue
                    if sqlcipherkit_keyring_search(rawValue, name, thread) == key {
                        result = sqlcipherkit_keyring_read(key, memory.baseAddress, memory.count)
                        sqlcipherkit_keyring_unlink(thread, key)
                    }
                }
                isGone = Self.isGone(result)
                if isGone { return 0..<0 }
                let count = try Self.check(result, "the key \(name) cannot be read from")
                guard count <= Int64(memory.count) else {
                    throw DatabaseError.keyProvider("the key \(name) of the kernel is too large")
                }
                return 0..<Int(count)
            }
            if isGone { return nil }
            return bytes
        }

        private static func isGone(_ result: Int64) -> Bool {
            [ENOKEY, EKEYEXPIRED, EKEYREVOKED].contains { result == -Int64($0) }
        }

        private func find(_ name: String) throws -> Int64? {
            try Self.validate(name)
            let key = sqlcipherkit_keyring_search(rawValue, name, 0)
            if Self.isGone(key) { return nil }
            return try Self.check(key, "the key \(name) cannot be looked up in")
        }

        private static func validate(_ name: String) throws {
            guard (1...4095).contains(name.utf8.count), !name.utf8.contains(0) else {
                throw DatabaseError.keyProvider("the name of a key of the kernel has 1 to 4095 bytes, and none of them is NUL")
            }
        }

        private static func check(_ result: Int64, _ what: String) throws -> Int64 {
            guard result < 0 else { return result }
            throw DatabaseError.keyProvider(
                "\(what) the kernel's keyring: \(String(cString: strerror(Int32(truncatingIfNeeded: -result))))"
            )
        }
    }

    extension KeyProvider where Self == KeySource {
        /// A secret of type `user` in a keyring of the Linux kernel; nil if there is no secret of that name.
        /// - Parameters:
        ///   - name: the key's description.
        ///   - keyring: the keyring to search, including the keyrings linked to it. Default: the session's.
        ///   - encoding: the format of its bytes. Default: a passphrase.
        /// - Throws: ``DatabaseError/Reason/keyProvider`` if the kernel forbids it.
        public static func keyring(
            _ name: String, in keyring: KernelKeyring = .session, as encoding: KeyEncoding = .passphrase
        ) -> KeySource {
            KeySource("the kernel's key \(name)") {
                guard let bytes = try keyring.read(name) else { return nil }
                return try bytes.withUnsafeBytes { bytes in try encoding.key(bytes) }
            }
        }
    }
#endif

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
        public func addKey(of schema: Schema, as name: String, expiresAfter expiration: Duration? = nil) throws {
            let key = try DatabaseKey.derived(of: schema)
            if key.isPlaintext {
                throw DatabaseError(code: .misuse, reason: .notEncrypted, message: "the database is not encrypted")
            }
            try key.withUnsafeBytes { bytes in
                // The engine's format is x'…' around the key, usually the authentication key, which is derived from it, and the
                // salt.
                guard bytes.count >= 99 else { throw DatabaseError.keyProvider("the key of the database has an unknown form") }
                let digits = try SecureBytes(count: 96) { memory in
                    memory.copyBytes(from: bytes[2..<66])
                    UnsafeMutableRawBufferPointer(rebasing: memory[64...]).copyBytes(
                        from: bytes[(bytes.count - 33)..<(bytes.count - 1)])
                }
                try digits.withUnsafeBytes { digits in try add(digits, as: name, expiresAfter: expiration) }
            }
        }
    }
#endif
