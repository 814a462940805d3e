#if canImport(Security)
    import Security

    /// When an item of the Keychain can be read, and whether it can leave the device
    /// (<https://developer.apple.com/documentation/security/restricting-keychain-item-accessibility>).
    public enum KeychainAccessibility: Hashable, Sendable, CaseIterable {
        /// While the device is unlocked (`kSecAttrAccessibleWhenUnlocked`). Part of backups that are encrypted.
        case whenUnlocked
        /// While the device is unlocked (`kSecAttrAccessibleWhenUnlockedThisDeviceOnly`).
        case whenUnlockedThisDeviceOnly
        /// From the first unlocking after a restart on (`kSecAttrAccessibleAfterFirstUnlock`). Part of backups that are encrypted.
        case afterFirstUnlock
        /// From the first unlocking after a restart on (`kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`): for what works in the
        /// background, such as an extension.
        case afterFirstUnlockThisDeviceOnly
        /// While the device is unlocked, and only where it has a passcode (`kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly`). The
        /// system deletes the item when the passcode is removed.
        case whenPasscodeSetThisDeviceOnly

        /// Whether the item can be read on this device alone: it is no part of a backup that another device takes, and never
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
