// A module called Security with those declarations of Apple's that Sources/SQLCipherKitCore/Keys uses, written from Apple's
// documentation (https://developer.apple.com/documentation/security), and a Keychain in memory behind them. It shows that the
// package's code fits what Apple has written down, and asks the Keychain for what it should; it does not show what Apple's
// Keychain does.
// scripts/workshop/check-platforms compiles it, on Linux alone.
@_exported import Foundation

public typealias CFString = NSString
public typealias CFData = NSData
public typealias CFDictionary = NSDictionary
public typealias CFTypeRef = AnyObject
public typealias CFAllocator = NSObject
public typealias CFError = NSError
public typealias OSStatus = Int32

public let errSecSuccess: OSStatus = 0
public let errSecParam: OSStatus = -50
public let errSecDuplicateItem: OSStatus = -25299
public let errSecItemNotFound: OSStatus = -25300
public let errSecInteractionNotAllowed: OSStatus = -25308
public let errSecMissingEntitlement: OSStatus = -34018

// Words of their own: Apple's are two to four letters long, and nothing may depend on them.
public nonisolated(unsafe) let kSecClass: CFString = "class"
public nonisolated(unsafe) let kSecClassGenericPassword: CFString = "generic password"
public nonisolated(unsafe) let kSecClassKey: CFString = "key"
public nonisolated(unsafe) let kSecAttrService: CFString = "service"
public nonisolated(unsafe) let kSecAttrAccount: CFString = "account"
public nonisolated(unsafe) let kSecAttrAccessGroup: CFString = "access group"
public nonisolated(unsafe) let kSecAttrSynchronizable: CFString = "synchronizable"
public nonisolated(unsafe) let kSecAttrAccessible: CFString = "accessible"
public nonisolated(unsafe) let kSecAttrAccessibleWhenUnlocked: CFString = "when unlocked"
public nonisolated(unsafe) let kSecAttrAccessibleWhenUnlockedThisDeviceOnly: CFString = "when unlocked, this device"
public nonisolated(unsafe) let kSecAttrAccessibleAfterFirstUnlock: CFString = "after first unlock"
public nonisolated(unsafe) let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = "after first unlock, this device"
public nonisolated(unsafe) let kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly: CFString = "when passcode set, this device"
public nonisolated(unsafe) let kSecAttrAccessControl: CFString = "access control"
public nonisolated(unsafe) let kSecAttrApplicationTag: CFString = "application tag"
public nonisolated(unsafe) let kSecAttrKeyType: CFString = "key type"
public nonisolated(unsafe) let kSecAttrKeyTypeECSECPrimeRandom: CFString = "elliptic"
public nonisolated(unsafe) let kSecAttrKeySizeInBits: CFString = "key size"
public nonisolated(unsafe) let kSecAttrTokenID: CFString = "token"
public nonisolated(unsafe) let kSecAttrTokenIDSecureEnclave: CFString = "enclave"
public nonisolated(unsafe) let kSecAttrIsPermanent: CFString = "permanent"
public nonisolated(unsafe) let kSecPrivateKeyAttrs: CFString = "private key"
public nonisolated(unsafe) let kSecUseDataProtectionKeychain: CFString = "data protection"
public nonisolated(unsafe) let kSecMatchLimit: CFString = "limit"
public nonisolated(unsafe) let kSecMatchLimitOne: CFString = "one"
public nonisolated(unsafe) let kSecMatchLimitAll: CFString = "all"
public nonisolated(unsafe) let kSecReturnData: CFString = "return data"
public nonisolated(unsafe) let kSecReturnRef: CFString = "return reference"
public nonisolated(unsafe) let kSecValueData: CFString = "value"

public struct SecAccessControlCreateFlags: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let userPresence = Self(rawValue: 1 << 0)
    public static let biometryCurrentSet = Self(rawValue: 1 << 3)
    public static let devicePasscode = Self(rawValue: 1 << 4)
    public static let privateKeyUsage = Self(rawValue: 1 << 30)
}

public struct SecKeyAlgorithm: Hashable, Sendable {
    let name: String
    public static let eciesEncryptionCofactorVariableIVX963SHA256AESGCM = Self(name: "ECIES")
}

public final class SecAccessControl: NSObject {
    public let protection: String, flags: SecAccessControlCreateFlags

    init(_ protection: String, _ flags: SecAccessControlCreateFlags) { (self.protection, self.flags) = (protection, flags) }
}

public final class SecKey: NSObject {
    public let secret: [UInt8], control: SecAccessControl, isPublic: Bool

    init(_ secret: [UInt8], _ control: SecAccessControl, isPublic: Bool) {
        (self.secret, self.control, self.isPublic) = (secret, control, isPublic)
    }
}
