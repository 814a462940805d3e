#if canImport(Security)
    import Foundation
    import Security

    extension KeyProvider where Self == KeySource {
        /// A generic password in the Keychain (<https://developer.apple.com/documentation/security/keychain-items>). Nil if there is
        /// none.
        /// - Parameters:
        ///   - service: the item's service.
        ///   - account: its account; nil takes any.
        ///   - accessGroup: the group that shares it; nil for the application's own.
        ///   - encoding: what its bytes are.
        /// - Throws: ``DatabaseError/Reason/keyProvider`` with the Keychain's reason.
        public static func keychain(
            service: String, account: String? = nil, accessGroup: String? = nil, as encoding: KeyEncoding = .passphrase
        ) -> KeySource {
            KeySource("the Keychain's item \(service)") {
                var query: [String: Any] = [
                    kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
                    kSecMatchLimit as String: kSecMatchLimitOne, kSecReturnData as String: true,
                ]
                if let account { query[kSecAttrAccount as String] = account }
                if let accessGroup { query[kSecAttrAccessGroup as String] = accessGroup }
                var item: CFTypeRef?
                let status = SecItemCopyMatching(query as CFDictionary, &item)
                if status == errSecItemNotFound { return nil }
                guard status == errSecSuccess, let data = item as? Data else {
                    let reason = SecCopyErrorMessageString(status, nil) as String? ?? "error \(status)"
                    throw DatabaseError.keyProvider("the Keychain's item \(service) cannot be read: \(reason)")
                }
                return try data.withBytes { bytes throws(DatabaseError) in try encoding.key(bytes) }
            }
        }
    }
#endif
