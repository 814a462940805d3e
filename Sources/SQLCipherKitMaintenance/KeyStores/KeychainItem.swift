#if canImport(Security)
    import Foundation
    import SQLCipherKitCore
    import Security

    /// A database's key as a generic password of the Keychain
    /// (<https://developer.apple.com/documentation/security/keychain-items>): stored, read and deleted.
    /// ```swift
    /// let item = try KeychainItem(service: "com.example.notes", account: "notes.db")
    /// let db = try DatabasePool(.file(path), key: item.keyOrNewOne())
    /// ```
    /// Every call accesses the Keychain, which is slow and can prompt the user: do not call it on the main thread. Errors are
    /// ``DatabaseError/Reason/keyProvider`` with the Keychain's reason, unless a call says otherwise.
    public struct KeychainItem: KeyProvider, Hashable {
        /// The item's service (`kSecAttrService`), usually the application's identifier.
        public let service: String
        /// The item's account (`kSecAttrAccount`), usually the database's name.
        public let account: String
        /// The group of applications that share the item (`kSecAttrAccessGroup`); nil for the application's own
        /// (<https://developer.apple.com/documentation/security/sharing-access-to-keychain-items-among-a-collection-of-apps>).
        public let accessGroup: String?
        /// The format of the item's bytes.
        public let encoding: KeyEncoding
        /// When the item can be read, and whether it can leave the device. Reading ignores it.
        public let accessibility: KeychainAccessibility
        /// Whether iCloud Keychain synchronises the item to the user's other devices (`kSecAttrSynchronizable`): the key is then on
        /// all of them and, encrypted, on servers. A synchronised item and one that is not are two different items.
        public let isSynchronized: Bool
        /// The Secure Enclave's key that encrypts the item's bytes; nil for none.
        public let enclaveKey: EnclaveKey?
        /// Whether the item is in the data protection keychain (`kSecUseDataProtectionKeychain`). Otherwise, on a Mac, it is in the
        /// login keychain, which supports neither accessibility nor groups.
        public let usesDataProtection: Bool

        /// Describes an item, which need not exist yet.
        /// - Parameters:
        ///   - service: the item's service.
        ///   - account: its account.
        ///   - accessGroup: the group that shares it; nil for the application's own.
        ///   - encoding: the format of its bytes. Default: a raw key, such as 32 random bytes, which needs no derivation.
        ///   - accessibility: when a new item can be read.
        ///   - isSynchronized: whether iCloud Keychain synchronises it to other devices. This requires an accessibility that is not
        ///     ``KeychainAccessibility/isThisDeviceOnly``, and no Secure Enclave key.
        ///   - enclaveKey: the Secure Enclave's key that encrypts the bytes.
        ///   - usesDataProtection: false for a Mac's login keychain. A Mac program without an access group entitlement, such as a
        ///     command-line tool, can use no other (<https://developer.apple.com/documentation/technotes/tn3137-on-mac-keychains>).
        /// - Throws: ``DatabaseError/Reason/invalidArgument`` for an empty service or account, and for arguments that contradict
        ///   each other.
        public init(
            service: String, account: String, accessGroup: String? = nil, as encoding: KeyEncoding = .raw,
            accessibility: KeychainAccessibility = .afterFirstUnlockThisDeviceOnly, isSynchronized: Bool = false,
            enclaveKey: EnclaveKey? = nil, usesDataProtection: Bool = true
        ) throws(DatabaseError) {
            if service.isEmpty || account.isEmpty {
                throw .invalidArgument("an item of the Keychain needs a service and an account")
            }
            if isSynchronized {
                if accessibility.isThisDeviceOnly {
                    throw .invalidArgument("an item that is for this device only cannot be synchronised")
                }
                if enclaveKey != nil { throw .invalidArgument("a key of the Secure Enclave cannot be used on another device") }
            }
            if !usesDataProtection, isSynchronized || accessGroup != nil || enclaveKey != nil {
                throw .invalidArgument("a group, synchronisation and the Secure Enclave need the data protection keychain")
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

        /// The item's key; nil if there is no item.
        public func key() throws -> Encryption? {
            var query = attributes
            query[kSecMatchLimit as String] = kSecMatchLimitOne
            query[kSecReturnData as String] = true
            guard let data = try Keychain.copy(query, "the Keychain's item \(service)") as? Data else { return nil }
            guard let enclaveKey else {
                return try data.withBytes { bytes throws(DatabaseError) in try encoding.key(bytes) }
            }
            let bytes = try enclaveKey.decrypt(data)
            return try bytes.withUnsafeBytes { bytes throws(DatabaseError) in try encoding.key(bytes) }
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
#endif
