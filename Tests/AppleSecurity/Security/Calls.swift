/// The state that a test sets and looks at.
public enum StandIn {
    /// The items, by their attributes' names.
    public nonisolated(unsafe) static var items: [[String: Any]] = []
    /// True if the device is locked, but was unlocked since it started.
    public nonisolated(unsafe) static var isLocked = false
    /// True if the program has a group's entitlement, or the device a Secure Enclave.
    public nonisolated(unsafe) static var isEntitled = true
    public nonisolated(unsafe) static var hasEnclave = true
    /// True if the user consents when asked.
    public nonisolated(unsafe) static var userConsents = true
    public nonisolated(unsafe) static var questions = 0
    /// Called before an item is added, as another process may act then.
    public nonisolated(unsafe) static var beforeAdding: (() -> Void)?

    static let names: Set<String> = [
        "class", "service", "account", "access group", "synchronizable", "application tag", "key type", "data protection",
    ]

    /// The attributes that an item is found by; nil for a query that the Keychain would refuse.
    static func wanted(_ query: [String: Any], also more: Set<String>) -> [String: Any]? {
        guard Set(query.keys).isSubset(of: names.union(more)), query["class"] != nil else { return nil }
        var wanted = query.filter { names.contains($0.key) }
        // Without it, only items that are not synchronized; and the two keychains are apart.
        wanted["synchronizable"] = query["synchronizable"] ?? false
        wanted["data protection"] = query["data protection"] ?? false
        return wanted
    }

    static func matches(_ item: [String: Any], _ wanted: [String: Any]) -> Bool {
        wanted.allSatisfy { name, value in (item[name] as? NSObject).map { $0.isEqual(value) } ?? false }
    }

    static func isReadable(_ item: [String: Any]) -> Bool {
        !isLocked || ((item["accessible"] as? String).map { $0.hasPrefix("after first") } ?? true)
    }

    /// Plain values, so that numbers and texts compare whatever they came as.
    static func plain(_ dictionary: CFDictionary) -> [String: Any] {
        var plain: [String: Any] = [:]
        for (name, value) in dictionary {
            switch value {
            case let value as String: plain["\(name)"] = NSString(string: value)
            case let value as Bool: plain["\(name)"] = NSNumber(value: value)
            case let value as Int: plain["\(name)"] = NSNumber(value: value)
            case let value as Data: plain["\(name)"] = NSData(data: value)
            case let value as [String: Any]: plain["\(name)"] = value
            default: plain["\(name)"] = value
            }
        }
        return plain
    }
}

public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    StandIn.beforeAdding?()
    let attributes = StandIn.plain(attributes)
    guard var item = StandIn.wanted(attributes, also: ["value", "accessible"]), let value = attributes["value"] as? NSData
    else { return errSecParam }
    let isProtected = item["data protection"] as? Bool == true
    let accessible = attributes["accessible"] as? String
    if item["synchronizable"] as? Bool == true, accessible?.hasSuffix("this device") == true { return errSecParam }
    // The login keychain knows neither; in the other one an item without a class of its own would get one from the system.
    if isProtected != (accessible != nil) { return errSecParam }
    if isProtected, !StandIn.isEntitled { return errSecMissingEntitlement }
    if StandIn.items.contains(where: { StandIn.matches($0, item) }) { return errSecDuplicateItem }
    item["value"] = NSData(data: Data(value as Data))
    if let accessible { item["accessible"] = accessible }
    StandIn.items.append(item)
    return errSecSuccess
}

public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    let query = StandIn.plain(query)
    guard let wanted = StandIn.wanted(query, also: ["limit", "return data", "return reference"]) else { return errSecParam }
    let found = StandIn.items.filter { StandIn.matches($0, wanted) }
    guard let first = found.first else { return errSecItemNotFound }
    guard StandIn.isReadable(first) else { return errSecInteractionNotAllowed }
    switch (query["limit"] as? String, query["return data"] as? Bool, query["return reference"] as? Bool) {
    case ("one", true, nil): result?.pointee = first["value"] as? NSData
    case ("all", nil, true): result?.pointee = NSArray(array: found.compactMap { $0["key"] as? SecKey })
    default: return errSecParam
    }
    return errSecSuccess
}

public func SecItemUpdate(_ query: CFDictionary, _ change: CFDictionary) -> OSStatus {
    let change = StandIn.plain(change)
    guard let wanted = StandIn.wanted(StandIn.plain(query), also: []), Set(change.keys).isSubset(of: ["value", "accessible"])
    else { return errSecParam }
    guard let index = StandIn.items.firstIndex(where: { StandIn.matches($0, wanted) }) else { return errSecItemNotFound }
    guard StandIn.isReadable(StandIn.items[index]) else { return errSecInteractionNotAllowed }
    StandIn.items[index].merge(change) { $1 }
    return errSecSuccess
}

public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
    guard let wanted = StandIn.wanted(StandIn.plain(query), also: []) else { return errSecParam }
    let before = StandIn.items.count
    StandIn.items.removeAll { StandIn.matches($0, wanted) }
    return StandIn.items.count == before ? errSecItemNotFound : errSecSuccess
}

public func SecCopyErrorMessageString(_ status: OSStatus, _ reserved: UnsafeMutableRawPointer?) -> CFString? {
    NSString(string: "status \(status)")
}

private func fail(_ error: UnsafeMutablePointer<Unmanaged<CFError>?>?, _ code: Int) {
    error?.pointee = Unmanaged.passRetained(NSError(domain: "stand-in", code: code))
}

public func SecAccessControlCreateWithFlags(
    _ allocator: CFAllocator?, _ protection: CFTypeRef, _ flags: SecAccessControlCreateFlags,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecAccessControl? {
    guard let protection = protection as? NSString, flags.contains(.privateKeyUsage) else {
        fail(error, Int(errSecParam))
        return nil
    }
    return SecAccessControl("\(protection)", flags)
}

public func SecKeyCreateRandomKey(_ parameters: CFDictionary, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?) -> SecKey? {
    let parameters = StandIn.plain(parameters)
    guard parameters["key type"] as? String == "elliptic", parameters["key size"] as? Int == 256,
        parameters["token"] as? String == "enclave", parameters["data protection"] as? Bool == true, StandIn.hasEnclave,
        let lasting = parameters["private key"] as? [String: Any], lasting["permanent"] as? Bool == true,
        let tag = lasting["application tag"] as? Data, let control = lasting["access control"] as? SecAccessControl
    else {
        fail(error, Int(errSecParam))
        return nil
    }
    let key = SecKey((0..<32).map { _ in UInt8.random(in: 0...255) }, control, isPublic: false)
    var item: [String: Any] = [
        "class": kSecClassKey, "key type": kSecAttrKeyTypeECSECPrimeRandom, "application tag": NSData(data: tag), "key": key,
        "data protection": NSNumber(value: true), "synchronizable": NSNumber(value: false), "accessible": control.protection,
    ]
    if let group = lasting["access group"] as? String { item["access group"] = NSString(string: group) }
    StandIn.items.append(item)
    return key
}

public func SecKeyCopyPublicKey(_ key: SecKey) -> SecKey? { SecKey(key.secret, key.control, isPublic: true) }

// No encryption at all, but bytes that fit one key only: a mark, the key's first bytes, and the text with each bit turned.
public func SecKeyCreateEncryptedData(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ plain: CFData, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    guard key.isPublic else {
        fail(error, Int(errSecParam))
        return nil
    }
    return NSData(data: Data([4] + key.secret.prefix(16) + (plain as Data).map { ~$0 }))
}

public func SecKeyCreateDecryptedData(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ encrypted: CFData, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    let bytes = [UInt8](encrypted as Data)
    if key.control.flags != .privateKeyUsage { StandIn.questions += 1 }
    guard !key.isPublic, bytes.count > 17, Array(bytes[1..<17]) == Array(key.secret.prefix(16)),
        key.control.flags == .privateKeyUsage || StandIn.userConsents
    else {
        fail(error, Int(errSecParam))
        return nil
    }
    return NSData(data: Data(bytes[17...].map { ~$0 }))
}
