#if canImport(Security)
    import Foundation
    import SQLCipherKitCore
    import Security

    /// A database's key as a generic password of the Keychain
    /// (<https://developer.apple.com/documentation/security/keychain-items>): stored, read and deleted.
    /// ```swift
    /// let item = try KeychainItem(service: "com.example.notes", account: "notes.db")
    /// let db = try DatabasePool(.file(path), key: item.loadOrCreateKey())
    /// ```
    /// Every call accesses the Keychain, which is slow and can prompt the user: do not call it on the main thread. Errors are
    /// ``DatabaseError/Reason/keyProvider`` with the Keychain's reason, unless a call says otherwise.
    public struct KeychainItem: KeyProvider, Hashable {
        /// The item's service (`kSecAttrService`), usually the application's identifier.
        public let service: String
        /// The item's account (`kSecAttrAccount`), usually the database's name.
        public let account: String
        /// The group of applications that share the item (`kSecAttrAccessGroup`); nil for the application's own group
        /// (<https://developer.apple.com/documentation/security/sharing-access-to-keychain-items-among-a-collection-of-apps>).
        public let accessGroup: String?
        /// The format of the item's bytes.
        public let encoding: KeyEncoding
        /// The condition for reading the item, and for moving it to another device. Reading ignores this value.
        public let accessibility: KeychainAccessibility
        /// True if iCloud Keychain synchronizes the item to the user's other devices (`kSecAttrSynchronizable`): the key is then on
        /// all of them and, encrypted, on servers. A synchronized item and an item of the same name that is not synchronized are
        /// different items.
        public let isSynchronized: Bool
        /// The Secure Enclave's key that encrypts the item's bytes; nil for none.
        public let enclaveKey: EnclaveKey?
        /// True if the item is in the data protection keychain (`kSecUseDataProtectionKeychain`). Otherwise, on a Mac, it is in the
        /// login keychain, which supports neither accessibility nor groups.
        public let usesDataProtection: Bool

        /// Describes an item, which need not exist yet.
        /// - Parameters:
        ///   - service: the item's service.
        ///   - account: its account.
        ///   - accessGroup: the group of applications that share it; nil for the application's own group.
        ///   - encoding: the format of its bytes. Default: a raw key, such as 32 random bytes, which needs no derivation.
        ///   - accessibility: when a new item can be read.
        ///   - isSynchronized: whether iCloud Keychain synchronizes it to other devices. This requires an accessibility that is not
        ///     ``KeychainAccessibility/isThisDeviceOnly``, and no Secure Enclave key.
        ///   - enclaveKey: the Secure Enclave's key that encrypts the bytes.
        ///   - usesDataProtection: false for a Mac's login keychain. A Mac program without an access group entitlement, such as a
        ///     command-line tool, can use only the login keychain
        ///     (<https://developer.apple.com/documentation/technotes/tn3137-on-mac-keychains>).
        /// - Throws: ``DatabaseError/Reason/invalidArgument`` for an empty service or account, and for arguments that contradict
        ///   each other.
        public init(
            service: String, account: String, accessGroup: String? = nil, as encoding: KeyEncoding = .raw,
            accessibility: KeychainAccessibility = .afterFirstUnlockThisDeviceOnly, isSynchronized: Bool = false,
            enclaveKey: EnclaveKey? = nil, usesDataProtection: Bool = true
        ) throws {
            if service.isEmpty || account.isEmpty {
                throw DatabaseError.invalidArgument("an item of the Keychain needs a service and an account")
            }
            if isSynchronized {
                if accessibility.isThisDeviceOnly {
                    throw DatabaseError.invalidArgument("an item that is for this device only cannot be synchronized")
                }
                if enclaveKey != nil {
                    throw DatabaseError.invalidArgument("a key of the Secure Enclave cannot be used on another device")
                }
            }
            if !usesDataProtection, isSynchronized || accessGroup != nil || enclaveKey != nil {
                throw DatabaseError.invalidArgument(
                    "a group, synchronization and the Secure Enclave need the data protection keychain"
                )
            }
            self.service = service
            self.account = account
            self.accessGroup = accessGroup
            self.encoding = encoding
            self.accessibility = accessibility
            self.isSynchronized = isSynchronized
            self.enclaveKey = enclaveKey
            self.usesDataProtection = usesDataProtection
        }

        /// Reads the item's key. With an ``enclaveKey``, the Secure Enclave decrypts it and may prompt the user.
        /// - Returns: the key; nil if there is no item.
        /// - Throws: ``DatabaseError/Reason/keyProvider`` if the Keychain or the Enclave refuses, for instance while the device is
        ///   locked; ``DatabaseError/Reason/invalidKey`` or ``DatabaseError/Reason/emptyKey`` for bytes that are not a key in this
        ///   encoding.
        public func key() throws -> DatabaseKey? {
            var query = attributes
            query[kSecMatchLimit as String] = kSecMatchLimitOne
            query[kSecReturnData as String] = true
            guard let data = try Keychain.copy(query, "the Keychain's item \(service)") as? Data else { return nil }
            guard let enclaveKey else {
                return try data.withBytes { bytes in try encoding.key(bytes) }
            }
            let bytes = try enclaveKey.decrypt(data)
            return try bytes.withUnsafeBytes { bytes in try encoding.key(bytes) }
        }

        /// The attributes that identify the item, both in a query and when it is created.
        var attributes: [String: Any] {
            var attributes: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
                kSecAttrAccount as String: account,
            ]
            if let accessGroup { attributes[kSecAttrAccessGroup as String] = accessGroup }
            if usesDataProtection {
                attributes[kSecUseDataProtectionKeychain as String] = true
                attributes[kSecAttrSynchronizable as String] = isSynchronized
            }
            return attributes
        }
    }

    extension KeyProvider where Self == KeySource {
        /// An item of the Keychain, for use in a list of sources.
        public static func keychain(_ item: KeychainItem) -> KeySource {
            KeySource("the Keychain's item \(item.service)") { try item.key() }
        }
    }

    extension EncryptionMark {
        /// A separate item of the Keychain, beside the key's item: the same service, with `.encrypted` after the account.
        /// - Parameter item: the item with the database's key.
        public static func keychain(_ item: KeychainItem) -> EncryptionMark {
            EncryptionMark(isSet: { try item.isMarked() }, set: { try item.setMark() })
        }
    }
#endif

#if canImport(Security)
    import Foundation
    import SQLCipherKitCore
    import Security

    extension KeychainItem {
        /// Returns the item's key. If there is no item, creates it first, with a new random key. If several processes call this at
        /// the same time, all get the same key.
        ///
        /// An item can be lost while its database still exists, for instance when a backup is restored. The new key then does not
        /// open the database: opening throws ``DatabaseError/Reason/wrongKeyOrNotADatabase``.
        /// - Parameter withSalt: whether a new key includes 16 random bytes for the file's salt, which a file with a plaintext
        ///   header needs (``CipherConfiguration/plaintextHeaderSize``).
        /// - Throws: ``DatabaseError/Reason/invalidArgument`` if the item is for a passphrase and does not exist; and the errors of
        ///   ``key()``.
        public func loadOrCreateKey(withSalt: Bool = false) throws -> DatabaseKey {
            if let key = try key() { return key }
            if encoding == .passphrase {
                throw DatabaseError.invalidArgument("a new key has random bytes, but the item is for a passphrase")
            }
            let random = try SecureBytes.random(count: withSalt ? 48 : 32)
            let isNew = try random.withUnsafeBytes { bytes in
                guard encoding == .hexadecimal else { return try add(bytes) }
                let digits = try SecureBytes(count: 2 * bytes.count) { memory in
                    for (index, byte) in bytes.enumerated() {
                        memory[2 * index] = Self.digit(byte >> 4)
                        memory[2 * index + 1] = Self.digit(byte & 15)
                    }
                }
                return try digits.withUnsafeBytes { bytes in try add(bytes) }
            }
            if let key = try key() { return key }
            throw DatabaseError.keyProvider(
                "the Keychain's item \(service) was \(isNew ? "created" : "found") and is gone: a process may have deleted it")
        }

        /// Stores a key in a new item.
        /// - Parameter bytes: a passphrase, a raw key or its hexadecimal digits, according to ``encoding``.
        /// - Throws: ``DatabaseError/Reason/keyProvider`` if there is an item already, as its key may be the only key of a
        ///   database. ``DatabaseError/Reason/invalidKey`` or ``DatabaseError/Reason/emptyKey`` for bytes that are not a key in
        ///   this encoding. ``DatabaseError/Reason/invalidArgument`` for a passphrase that ends with a line break, because reading
        ///   would drop the line break.
        public func store(_ bytes: some ContiguousBytes) throws {
            guard try bytes.withUnsafeBytes({ try add(try checked($0)) }) else {
                throw DatabaseError.keyProvider("the Keychain has an item \(service) already: replace or delete it")
            }
        }

        /// Replaces the item's key, or creates the item if there is none. The former key is lost. The item gets this
        /// ``accessibility``.
        /// - Parameter bytes: as for ``store(_:)``.
        /// - Throws: the errors of ``store(_:)`` for bytes that are not a key; ``DatabaseError/Reason/keyProvider`` if the Keychain
        ///   refuses.
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
        /// - Returns: true if there was an item.
        /// - Throws: ``DatabaseError/Reason/keyProvider`` if the Keychain refuses.
        @discardableResult public func delete() throws -> Bool {
            try Keychain.delete(attributes, "the Keychain's item \(service)")
        }

        /// Returns whether there is an item beside this one, on this device, that says that the database was encrypted.
        func isMarked() throws -> Bool {
            var query = mark
            query[kSecMatchLimit as String] = kSecMatchLimitOne
            query[kSecReturnData as String] = true
            return try Keychain.copy(query, "the mark of the Keychain's item \(service)") != nil
        }

        /// Adds the item that ``isMarked()`` looks for. One that is there stays.
        func setMark() throws {
            var item = mark
            item[kSecValueData as String] = [UInt8(1)].withUnsafeBytes { Keychain.secret($0) }
            if usesDataProtection { item[kSecAttrAccessible as String] = accessibility.attribute }
            let status = SecItemAdd(item as CFDictionary, nil)
            guard status == errSecSuccess || status == errSecDuplicateItem else {
                throw Keychain.error(status, "the mark of the Keychain's item \(service) cannot be created")
            }
        }

        /// Never synchronized: another device has a file of its own.
        private var mark: [String: Any] {
            var attributes = attributes
            attributes[kSecAttrAccount as String] = account + ".encrypted"
            if usesDataProtection { attributes[kSecAttrSynchronizable as String] = false }
            return attributes
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

#if canImport(Security)
    import Security

    /// The condition for reading an item of the Keychain, and for moving it to another device
    /// (<https://developer.apple.com/documentation/security/restricting-keychain-item-accessibility>).
    public enum KeychainAccessibility: Hashable, Sendable, CaseIterable {
        /// While the device is unlocked (`kSecAttrAccessibleWhenUnlocked`). Included in encrypted backups.
        case whenUnlocked
        /// While the device is unlocked (`kSecAttrAccessibleWhenUnlockedThisDeviceOnly`).
        case whenUnlockedThisDeviceOnly
        /// Once the device has been unlocked after a restart (`kSecAttrAccessibleAfterFirstUnlock`). Included in encrypted backups.
        case afterFirstUnlock
        /// Once the device has been unlocked after a restart (`kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`): for background
        /// work, such as in an extension.
        case afterFirstUnlockThisDeviceOnly
        /// While the device is unlocked, and only where it has a passcode (`kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly`). The
        /// system deletes the item when the passcode is removed.
        case whenPasscodeSetThisDeviceOnly

        /// True if the item can only be read on this device: it is not restored to another device from a backup, and never
        /// synchronized.
        public var isThisDeviceOnly: Bool {
            switch self {
            case .whenUnlocked, .afterFirstUnlock: false
            case .whenUnlockedThisDeviceOnly, .afterFirstUnlockThisDeviceOnly, .whenPasscodeSetThisDeviceOnly: true
            }
        }

        var attribute: CFString {
            switch self {
            case .whenUnlocked: kSecAttrAccessibleWhenUnlocked
            case .whenUnlockedThisDeviceOnly: kSecAttrAccessibleWhenUnlockedThisDeviceOnly
            case .afterFirstUnlock: kSecAttrAccessibleAfterFirstUnlock
            case .afterFirstUnlockThisDeviceOnly: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
            case .whenPasscodeSetThisDeviceOnly: kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly
            }
        }
    }
#endif
