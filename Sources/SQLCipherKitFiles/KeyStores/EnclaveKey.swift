#if canImport(Security)
    import Foundation
    import SQLCipherKitCore
    import Security

    /// A key that the Secure Enclave creates and never releases, used to encrypt a database's key
    /// (<https://developer.apple.com/documentation/security/protecting-keys-with-the-secure-enclave>).
    /// ```swift
    /// let item = try KeychainItem(
    ///     service: "com.example.notes", account: "notes.db",
    ///     enclaveKey: EnclaveKey(tag: "com.example.notes.wrapping", requires: .userPresence))
    /// let db = try DatabasePool(.file(path), key: item.loadOrCreateKey())
    /// ```
    /// The Enclave only holds elliptic-curve keys, and SQLCipher needs 32 bytes in memory. Those bytes are therefore encrypted for
    /// a key in the Enclave (ECIES on P-256 with AES-GCM), and only this device can decrypt them, after asking its user if
    /// required. While a database is open, its key is in the process's memory, as always.
    public struct EnclaveKey: Hashable, Sendable {
        /// The user's action that the Enclave requires before it decrypts
        /// (<https://developer.apple.com/documentation/security/secaccesscontrolcreateflags>).
        public enum AccessControl: Hashable, Sendable, CaseIterable {
            /// Nothing.
            case none
            /// Face ID, Touch ID or the passcode.
            case userPresence
            /// Face ID or Touch ID as enrolled when the key was created: enrolling another face or finger makes the key unusable.
            case biometryCurrentSet
            /// The passcode.
            case devicePasscode
        }

        /// The key's tag (`kSecAttrApplicationTag`), which identifies it.
        public let tag: String
        /// The group of applications that share the key; nil for the application's own group.
        public let accessGroup: String?
        /// The time at which a new key can be used. A key of the Enclave never leaves its device.
        public let accessibility: KeychainAccessibility
        /// The user's action that a new key requires.
        public let accessControl: AccessControl

        /// Describes a key. The first encryption creates the key.
        /// - Parameters:
        ///   - tag: a name that you choose.
        ///   - accessGroup: the group of applications that share the key; nil for the application's own group.
        ///   - accessibility: when the key can be used. Default: after the first unlock, on this device only.
        ///   - accessControl: the user's action that each use requires. Default: none.
        /// - Throws: ``DatabaseError/Reason/invalidArgument`` for an empty tag, and for an accessibility that is not
        ///   ``KeychainAccessibility/isThisDeviceOnly``.
        public init(
            tag: String, accessGroup: String? = nil, accessibility: KeychainAccessibility = .afterFirstUnlockThisDeviceOnly,
            requires accessControl: AccessControl = .none
        ) throws {
            if tag.isEmpty { throw DatabaseError.invalidArgument("a key of the Secure Enclave needs a tag") }
            if !accessibility.isThisDeviceOnly {
                throw DatabaseError.invalidArgument("a key of the Secure Enclave is for this device only")
            }
            self.tag = tag
            self.accessGroup = accessGroup
            self.accessibility = accessibility
            self.accessControl = accessControl
        }

        /// Encrypts bytes for this key and creates the key if it does not exist. This never prompts the user.
        /// - Throws: ``DatabaseError/Reason/keyProvider``, for instance if the device has no Secure Enclave.
        public func encrypt(_ bytes: some ContiguousBytes) throws -> Data {
            let key = if let key = try keys().first { key } else { try make() }
            guard let publicKey = SecKeyCopyPublicKey(key) else {
                throw DatabaseError.keyProvider("the Secure Enclave's key \(tag) has no public key")
            }
            let secret = bytes.withUnsafeBytes { Keychain.secret($0) }
            var error: Unmanaged<CFError>?
            guard let encrypted = SecKeyCreateEncryptedData(publicKey, Self.algorithm, secret as CFData, &error) else {
                throw Keychain.error(error, "the Secure Enclave's key \(tag) does not encrypt")
            }
            return encrypted as Data
        }

        /// Decrypts the result of ``encrypt(_:)``. The Enclave prompts the user for the action that the key requires.
        /// - Throws: ``DatabaseError/Reason/keyProvider`` if there is no such key, if the user declines, or if the bytes were not
        ///   encrypted for this key.
        public func decrypt(_ encrypted: Data) throws -> SecureBytes {
            var error: Unmanaged<CFError>?
            // Two processes that created a key at the same time leave two with the same tag.
            for key in try keys() {
                error?.release()
                error = nil
                guard let bytes = SecKeyCreateDecryptedData(key, Self.algorithm, encrypted as CFData, &error) else { continue }
                let data = bytes as Data
                return try SecureBytes(count: data.count) { memory in _ = data.copyBytes(to: memory) }
            }
            if error == nil { throw DatabaseError.keyProvider("there is no key \(tag) of the Secure Enclave") }
            throw Keychain.error(error, "the Secure Enclave's key \(tag) does not decrypt")
        }

        /// Deletes the key. All data encrypted for it is lost.
        /// - Returns: true if there was a key.
        /// - Throws: ``DatabaseError/Reason/keyProvider`` if the Keychain refuses.
        @discardableResult public func delete() throws -> Bool {
            try Keychain.delete(attributes, "the Secure Enclave's key \(tag)")
        }

        private static let algorithm = SecKeyAlgorithm.eciesEncryptionCofactorVariableIVX963SHA256AESGCM

        private var attributes: [String: Any] {
            var attributes: [String: Any] = [
                kSecClass as String: kSecClassKey, kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom,
                kSecAttrApplicationTag as String: Data(tag.utf8), kSecUseDataProtectionKeychain as String: true,
            ]
            if let accessGroup { attributes[kSecAttrAccessGroup as String] = accessGroup }
            return attributes
        }

        private func keys() throws -> [SecKey] {
            var query = attributes
            query[kSecMatchLimit as String] = kSecMatchLimitAll
            query[kSecReturnRef as String] = true
            return try Keychain.copy(query, "the Secure Enclave's key \(tag)") as? [SecKey] ?? []
        }

        private func make() throws -> SecKey {
            let flags: SecAccessControlCreateFlags =
                switch accessControl {
                case .none: .privateKeyUsage
                case .userPresence: [.privateKeyUsage, .userPresence]
                case .biometryCurrentSet: [.privateKeyUsage, .biometryCurrentSet]
                case .devicePasscode: [.privateKeyUsage, .devicePasscode]
                }
            var error: Unmanaged<CFError>?
            guard let control = SecAccessControlCreateWithFlags(nil, accessibility.attribute, flags, &error) else {
                throw Keychain.error(error, "a key of the Secure Enclave cannot have this protection")
            }
            var lasting: [String: Any] = [
                kSecAttrIsPermanent as String: true, kSecAttrApplicationTag as String: Data(tag.utf8),
                kSecAttrAccessControl as String: control,
            ]
            if let accessGroup { lasting[kSecAttrAccessGroup as String] = accessGroup }
            let parameters: [String: Any] = [
                kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom, kSecAttrKeySizeInBits as String: 256,
                kSecAttrTokenID as String: kSecAttrTokenIDSecureEnclave, kSecUseDataProtectionKeychain as String: true,
                kSecPrivateKeyAttrs as String: lasting,
            ]
            guard let key = SecKeyCreateRandomKey(parameters as CFDictionary, &error) else {
                throw Keychain.error(error, "the Secure Enclave cannot create a key")
            }
            return key
        }
    }
#endif
