#if canImport(Security)
    import Security

    /// When an item of the Keychain can be read, and whether it can leave the device
    /// (<https://developer.apple.com/documentation/security/restricting-keychain-item-accessibility>).
    public enum KeychainAccessibility: Hashable, Sendable, CaseIterable {
        /// While the device is unlocked (`kSecAttrAccessibleWhenUnlocked`). Included in encrypted backups.
        case whenUnlocked
        /// While the device is unlocked (`kSecAttrAccessibleWhenUnlockedThisDeviceOnly`).
        case whenUnlockedThisDeviceOnly
        /// After the device was first unlocked since a restart (`kSecAttrAccessibleAfterFirstUnlock`). Included in encrypted
        /// backups.
        case afterFirstUnlock
        /// After the device was first unlocked since a restart (`kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`): for background
        /// work, such as in an extension.
        case afterFirstUnlockThisDeviceOnly
        /// While the device is unlocked, and only where it has a passcode (`kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly`). The
        /// system deletes the item when the passcode is removed.
        case whenPasscodeSetThisDeviceOnly

        /// Whether the item can only be read on this device: it is not restored to another device from a backup, and never
        /// synchronised.
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
