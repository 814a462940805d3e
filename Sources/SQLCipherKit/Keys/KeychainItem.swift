#if canImport(Security)
    import Foundation
    import Security

    /// A database's key as a generic password of the Keychain
    /// (<https://developer.apple.com/documentation/security/keychain-items>): stored, read and deleted.
    /// ```swift
    /// let item = try KeychainItem(service: "com.example.notes", account: "notes.db")
    /// let db = try DatabasePool(.file(path), key: item.keyOrNewOne())
    /// ```
    /// Every call asks the Keychain, which is slow and can show the user a question: not for the main thread. Errors are
    /// ``DatabaseError/Reason/keyProvider`` with the Keychain's reason, unless a call says otherwise.
    public struct KeychainItem: KeyProvider, Hashable {
        /// The item's service (`kSecAttrService`): as a rule the application's identifier.
        public let service: String
        /// The item's account (`kSecAttrAccount`): as a rule the database's name.
        public let account: String
        /// The group of applications that share the item (`kSecAttrAccessGroup`); nil for the application's own
        /// (<https://developer.apple.com/documentation/security/sharing-access-to-keychain-items-among-a-collection-of-apps>).
        public let accessGroup: String?
        /// What the item's bytes are.
        public let encoding: KeyEncoding
        /// When the item can be read, and whether it can leave the device. Reading ignores it.
        public let accessibility: KeychainAccessibility
        /// Whether the iCloud Keychain takes the item to the user's other devices (`kSecAttrSynchronizable`): the key is then on
        /// all of them, and on servers, encrypted. An item that is synchronised and one that is not are two items.
        public let isSynchronized: Bool
        /// The key of the Secure Enclave that the item's bytes are encrypted with; nil for none.
        public let enclaveKey: EnclaveKey?
        /// Whether the item is in the data protection keychain (`kSecUseDataProtectionKeychain`); otherwise, on a Mac, in the login
        /// keychain, which knows neither accessibility nor groups.
        public let usesDataProtection: Bool

        /// An item, which may be there or not.
        /// - Parameters:
        ///   - service: the item's service.
        ///   - account: its account.
        ///   - accessGroup: the group that shares it; nil for the application's own.
        ///   - encoding: what its bytes are: unless said otherwise 32 random ones, which cost no derivation.
        ///   - accessibility: when a new item can be read.
        ///   - isSynchronized: whether the iCloud Keychain takes it to other devices. It needs an accessibility that is not
        ///     ``KeychainAccessibility/isThisDeviceOnly``, and no key of the Secure Enclave.
        ///   - enclaveKey: the key of the Secure Enclave that the bytes are encrypted with.
        ///   - usesDataProtection: false for a Mac's login keychain. A program for a Mac without an entitlement for a group, such
        ///     as a command-line tool, has no other
        ///     (<https://developer.apple.com/documentation/technotes/tn3137-on-mac-keychains>).
        /// - Throws: ``DatabaseError/Reason/invalidArgument`` for an empty name, and for what contradicts itself.
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
                if enclaveKey != nil { throw .invalidArgument("a key of the Secure Enclave opens nothing on another device") }
            }
            if !usesDataProtection, isSynchronized || accessGroup != nil || enclaveKey != nil {
                throw .invalidArgument("a group, synchronising and the Secure Enclave need the data protection keychain")
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

        /// What names the item, in a query as when it is made.
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
        /// An item of the Keychain, to stand among other sources.
        public static func keychain(_ item: KeychainItem) -> KeySource {
            KeySource("the Keychain's item \(item.service)") { try item.key() }
        }
    }
#endif
