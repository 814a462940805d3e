#if canImport(Security)
    import Foundation
    import SQLCipherKitCore
    import Security

    extension KeyProvider where Self == KeySource {
        /// A generic password in the Keychain (<https://developer.apple.com/documentation/security/keychain-items>). The source
        /// gives nil if there is no such item. On a Mac it searches the login keychain. ``KeychainItem`` can also store a key.
        /// - Parameters:
        ///   - service: the item's service.
        ///   - account: its account. Default: nil, for any account.
        ///   - accessGroup: the group of applications that share the item. Default: nil, for the application's own group.
        ///   - encoding: the format of its bytes. Default: a passphrase.
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
                guard let data = try Keychain.copy(query, "the Keychain's item \(service)") as? Data else { return nil }
                return try data.withBytes { bytes in try encoding.key(bytes) }
            }
        }
    }

    /// Wraps Keychain calls and converts their errors to this package's errors.
    enum Keychain {
        /// The item that a query finds, or nil if there is none.
        static func copy(_ query: [String: Any], _ what: String) throws -> AnyObject? {
            var item: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &item)
            if status == errSecItemNotFound { return nil }
            guard status == errSecSuccess else { throw error(status, "\(what) cannot be read") }
            return item
        }

        static func delete(_ query: [String: Any], _ what: String) throws -> Bool {
            let status = SecItemDelete(query as CFDictionary)
            if status == errSecItemNotFound { return false }
            guard status == errSecSuccess else { throw error(status, "\(what) cannot be deleted") }
            return true
        }

        /// A copy of bytes for the Keychain, wiped when it is released.
        static func secret(_ bytes: UnsafeRawBufferPointer) -> Data {
            if bytes.isEmpty { return Data() }
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
            copy.copyMemory(from: bytes)
            guard let base = copy.baseAddress else { return Data() }
            return Data(bytesNoCopy: base, count: bytes.count, deallocator: .custom { base, count in
                wipe(base, count)
                base.deallocate()
            })
        }

        static func error(_ status: OSStatus, _ what: String) -> DatabaseError {
            .keyProvider("\(what): \(SecCopyErrorMessageString(status, nil) as String? ?? "error") (\(status))")
        }

        static func error(_ error: Unmanaged<CFError>?, _ what: String) -> DatabaseError {
            .keyProvider("\(what): \(error.map { "\($0.takeRetainedValue())" } ?? "no reason is given")")
        }
    }
#endif
