#if canImport(Security)
    import Foundation
    import SQLCipherKitCore
    import Security

    extension KeychainItem {
        /// Returns the item's key. If there is no item, creates one with a new random key first. If several processes do so at the
        /// same time, one of them creates the item and all get the same key.
        ///
        /// An item can be lost while its database still exists, for instance when a backup is restored. The new key then does not
        /// open the database: opening throws ``DatabaseError/Reason/wrongKeyOrNotADatabase``.
        /// - Parameter withSalt: whether a new key includes 16 random bytes for the file's salt, which a file with a plaintext
        ///   header needs (``CipherConfiguration/plaintextHeaderSize``).
        /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the item holds a passphrase.
        public func keyOrNewOne(withSalt: Bool = false) throws -> Encryption {
            if let key = try key() { return key }
            if encoding == .passphrase {
                throw DatabaseError.invalidArgument("a new key is made of random bytes, and the item is for a passphrase")
            }
            let random = try SecureBytes.random(count: withSalt ? 48 : 32)
            let isNew = try random.withUnsafeBytes { bytes in
                guard encoding == .hexadecimal else { return try add(bytes) }
                let digits = try SecureBytes(count: 2 * bytes.count) { memory throws(DatabaseError) in
                    for (index, byte) in bytes.enumerated() {
                        memory[2 * index] = Self.digit(byte >> 4)
                        memory[2 * index + 1] = Self.digit(byte & 15)
                    }
                }
                return try digits.withUnsafeBytes { bytes in try add(bytes) }
            }
            if let key = try key() { return key }
            throw DatabaseError.keyProvider(
                "the Keychain's item \(service) was \(isNew ? "created" : "there") and is gone: a process may have deleted it")
        }

        /// Stores a key in a new item.
        /// - Parameter bytes: a passphrase, a raw key or its hexadecimal digits, according to ``encoding``.
        /// - Throws: ``DatabaseError/Reason/keyProvider`` if there is an item already, as its key may be a database's only one.
        ///   ``DatabaseError/Reason/invalidKey`` or ``DatabaseError/Reason/emptyKey`` for bytes that are not a key in this
        ///   encoding. ``DatabaseError/Reason/invalidArgument`` for a passphrase that ends with a line break, which reading would
        ///   drop.
        public func store(_ bytes: some ContiguousBytes) throws {
            guard try bytes.withUnsafeBytes({ try add(try checked($0)) }) else {
                throw DatabaseError.keyProvider("the Keychain has an item \(service) already: replace or delete it")
            }
        }

        /// Replaces the item's key, which is lost, or creates the item if there is none. The item gets this ``accessibility``.
        /// - Parameter bytes: as for ``store(_:)``.
        public func replace(with bytes: some ContiguousBytes) throws {
            try bytes.withUnsafeBytes { bytes in
                let bytes = try checked(bytes)
                var change: [String: Any] = [kSecValueData as String: try stored(bytes)]
                if usesDataProtection { change[kSecAttrAccessible as String] = accessibility.attribute }
                // A single update call, so that the item never disappears for other processes. Another process can delete or create
                // the item between attempts.
                var status = errSecItemNotFound
                for _ in 0..<10 where status == errSecItemNotFound {
                    status = SecItemUpdate(attributes as CFDictionary, change as CFDictionary)
                    if status == errSecItemNotFound, try add(bytes) { return }
                }
                if status != errSecSuccess { throw Keychain.error(status, "the Keychain's item \(service) cannot be replaced") }
            }
        }

        /// Deletes the item: a database that has no other key is lost. The Secure Enclave's key is kept, as other items may need it
        /// (``EnclaveKey/delete()``).
        /// - Returns: whether there was one.
        @discardableResult public func delete() throws -> Bool {
            try Keychain.delete(attributes, "the Keychain's item \(service)")
        }

        /// Adds an item. Returns false if there already is one, which stays unchanged.
        private func add(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
            var item = attributes
            item[kSecValueData as String] = try stored(bytes)
            if usesDataProtection { item[kSecAttrAccessible as String] = accessibility.attribute }
            let status = SecItemAdd(item as CFDictionary, nil)
            if status == errSecDuplicateItem { return false }
            guard status == errSecSuccess else { throw Keychain.error(status, "the Keychain's item \(service) cannot be created") }
            return true
        }

        private func stored(_ bytes: UnsafeRawBufferPointer) throws -> Data {
            guard let enclaveKey else { return Keychain.secret(bytes) }
            return try enclaveKey.encrypt(bytes)
        }

        private func checked(_ bytes: UnsafeRawBufferPointer) throws -> UnsafeRawBufferPointer {
            _ = try encoding.key(bytes)
            if encoding == .passphrase, bytes.last == 10 {
                throw DatabaseError.invalidArgument("a passphrase of the Keychain cannot end with a line break")
            }
            return bytes
        }

        private static func digit(_ value: UInt8) -> UInt8 { value + (value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10) }
    }
#endif
