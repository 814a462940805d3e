#if os(Linux)
    import CSQLCipher
    import Foundation

    /// A keyring of the Linux kernel, which keeps keys in its own memory: outside of every process, gone with a restart, and never
    /// in a file (<https://man7.org/linux/man-pages/man7/keyrings.7.html>).
    ///
    /// ```swift
    /// try KernelKeyring.session.add(Data(passphrase.utf8), as: "notes:key", expiresAfter: .seconds(3600))
    /// let db = try Connection(.file("notes.db"), key: .provided(by: .keyring("notes:key", in: .session)))
    /// ```
    /// Containers often forbid the system calls: every call here then throws ``DatabaseError/Reason/keyProvider`` with the system's
    /// reason.
    public enum KernelKeyring: Int32, Hashable, Sendable, CaseIterable {
        /// Of the calling thread alone.
        case thread = -1
        /// Of this process.
        case process = -2
        /// Of the login session.
        case session = -3
        /// Of the user, in all sessions.
        case user = -4
        /// Of the user, as sessions without one of their own have it.
        case userSession = -5

        /// Puts a secret into the keyring, in place of one of the same name.
        /// - Parameters:
        ///   - secret: from 1 to 32,767 bytes; they are copied.
        ///   - name: the key's description. Other programs share the names.
        ///   - expiration: after how long the kernel forgets it, in whole seconds, rounded up; nil never.
        /// - Throws: ``DatabaseError/Reason/keyProvider``, ``DatabaseError/Reason/emptyKey``.
        public func add(_ secret: some ContiguousBytes, as name: String, expiresAfter expiration: Duration? = nil)
            throws(DatabaseError)
        {
            try Self.validate(name)
            let key = try secret.withBytes { bytes throws(DatabaseError) -> Int64 in
                if bytes.isEmpty { throw .emptyKey }
                return try Self.check(
                    sqlcipherkit_keyring_add(rawValue, name, bytes.baseAddress, bytes.count), "the key \(name) cannot be added to")
            }
            guard let expiration else { return }
            let seconds = (UInt64(expiration.clampedMilliseconds) + 999) / 1000
            do throws(DatabaseError) {
                _ = try Self.check(
                    sqlcipherkit_keyring_set_timeout(key, UInt32(max(1, seconds))), "the key \(name) cannot be given an end in")
            } catch {
                // A secret that was to be forgotten must not stay.
                sqlcipherkit_keyring_unlink(rawValue, key)
                throw error
            }
        }

        /// Takes a secret out of the keyring.
        /// - Returns: whether there was one of that name.
        /// - Throws: ``DatabaseError/Reason/keyProvider``.
        @discardableResult
        public func remove(_ name: String) throws(DatabaseError) -> Bool {
            guard let key = try find(name) else { return false }
            _ = try Self.check(sqlcipherkit_keyring_unlink(rawValue, key), "the key \(name) cannot be removed from")
            return true
        }

        /// The names of the keys in this keyring itself that begin with a text.
        package func names(startingWith start: String) throws(DatabaseError) -> [String] {
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

        /// The secret's bytes; nil if there is none of that name, or if it has expired or was revoked.
        func read(_ name: String) throws(DatabaseError) -> SecureBytes? {
            guard let key = try find(name) else { return nil }
            return try SecureBytes(upTo: KeySource.maximumBytes) { memory throws(DatabaseError) in
                var result = sqlcipherkit_keyring_read(key, memory.baseAddress, memory.count)
                if result == -Int64(EACCES) {
                    // A session that is not linked to the user's keyring finds the key there and does not possess it. Linked to
                    // the thread's own keyring for a moment, it does.
                    let thread = Self.thread.rawValue
                    if sqlcipherkit_keyring_search(rawValue, name, thread) == key {
                        result = sqlcipherkit_keyring_read(key, memory.baseAddress, memory.count)
                        sqlcipherkit_keyring_unlink(thread, key)
                    }
                }
                let count = try Self.check(result, "the key \(name) cannot be read from")
                guard count <= Int64(memory.count) else { throw .keyProvider("the key \(name) of the kernel is too large") }
                return 0..<Int(count)
            }
        }

        private func find(_ name: String) throws(DatabaseError) -> Int64? {
            try Self.validate(name)
            let key = sqlcipherkit_keyring_search(rawValue, name, 0)
            if [ENOKEY, EKEYEXPIRED, EKEYREVOKED].contains(where: { key == -Int64($0) }) { return nil }
            return try Self.check(key, "the key \(name) cannot be looked for in")
        }

        private static func validate(_ name: String) throws(DatabaseError) {
            guard (1...4095).contains(name.utf8.count), !name.utf8.contains(0) else {
                throw .keyProvider("the name of a key of the kernel has 1 to 4095 bytes, and none of them is NUL")
            }
        }

        private static func check(_ result: Int64, _ what: String) throws(DatabaseError) -> Int64 {
            guard result < 0 else { return result }
            throw .keyProvider("\(what) the kernel's keyring: \(String(cString: strerror(Int32(truncatingIfNeeded: -result))))")
        }
    }

    extension KeyProvider where Self == KeySource {
        /// A secret in a keyring of the Linux kernel, of the type `user`. Nil if there is none of that name.
        /// - Parameters:
        ///   - name: its description.
        ///   - keyring: where it is searched, with the keyrings linked there. Default: the session's.
        ///   - encoding: what its bytes are.
        /// - Throws: ``DatabaseError/Reason/keyProvider`` if the kernel forbids it.
        public static func keyring(
            _ name: String, in keyring: KernelKeyring = .session, as encoding: KeyEncoding = .passphrase
        ) -> KeySource {
            KeySource("the kernel's key \(name)") {
                guard let bytes = try keyring.read(name) else { return nil }
                return try bytes.withUnsafeBytes { bytes throws(DatabaseError) in try encoding.key(bytes) }
            }
        }
    }
#endif
