#if canImport(Security)
    import Foundation
    import Security

    extension KeychainItem {
        /// The item's key; if there is no item, one with a new random key, made at once. Of several processes that do so at the
        /// same time one makes it, and all get the same key.
        ///
        /// An item can be lost while its database is not, by a restored backup for instance: the new key then opens nothing, and
        /// opening throws ``DatabaseError/Reason/wrongKeyOrNotADatabase``.
        /// - Parameter withSalt: also 16 random bytes for the salt of the file, as one with a plaintext header needs it
        ///   (``CipherConfiguration/plaintextHeaderSize``).
        /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the item holds a passphrase.
        public func keyOrNewOne(withSalt: Bool = false) throws -> Encryption {
            if let key = try key() { return key }
            if encoding == .passphrase {
                throw DatabaseError.invalidArgument("a new key is random bytes, and the item holds a passphrase")
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
                "the Keychain's item \(service) was \(isNew ? "made" : "there") and is gone: another process may have deleted it")
        }

        /// Stores a key in a new item.
        /// - Parameter bytes: what ``encoding`` says: a passphrase, a raw key or its digits.
        /// - Throws: ``DatabaseError/Reason/keyProvider`` if there is an item: its key may be the only one of a database. What the
        ///   encoding throws for bytes that are no key; a passphrase that ends with a line break, which reading leaves out, is one.
        public func store(_ bytes: some ContiguousBytes) throws {
            guard try bytes.withUnsafeBytes({ try add(try checked($0)) }) else {
                throw DatabaseError.keyProvider("the Keychain has an item \(service) already: replace or delete it")
            }
        }

        /// Stores a key in the place of the item's own, which is lost; makes the item if there is none. The item gets this
        /// ``accessibility``.
        /// - Parameter bytes: as for ``store(_:)``.
        public func replace(with bytes: some ContiguousBytes) throws {
            try bytes.withUnsafeBytes { bytes in
                let bytes = try checked(bytes)
                var change: [String: Any] = [kSecValueData as String: try stored(bytes)]
                if usesDataProtection { change[kSecAttrAccessible as String] = accessibility.attribute }
                // One call, so that no process finds neither key. Another process can delete the item, or make it, in between.
                var status = errSecItemNotFound
                for _ in 0..<10 where status == errSecItemNotFound {
                    status = SecItemUpdate(attributes as CFDictionary, change as CFDictionary)
                    if status == errSecItemNotFound, try add(bytes) { return }
                }
                if status != errSecSuccess { throw Keychain.error(status, "the Keychain's item \(service) cannot be replaced") }
            }
        }

        /// Deletes the item: a database that has no other key is lost. The key of the Secure Enclave stays, as other items may need
        /// it (``EnclaveKey/delete()``).
        /// - Returns: whether there was one.
        @discardableResult public func delete() throws -> Bool {
            try Keychain.delete(attributes, "the Keychain's item \(service)")
        }

        /// Whether the item is new; false if there is one already, which stays as it is.
        private func add(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
            var item = attributes
            item[kSecValueData as String] = try stored(bytes)
            if usesDataProtection { item[kSecAttrAccessible as String] = accessibility.attribute }
            let status = SecItemAdd(item as CFDictionary, nil)
            if status == errSecDuplicateItem { return false }
            guard status == errSecSuccess else { throw Keychain.error(status, "the Keychain's item \(service) cannot be made") }
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
