import SQLCipherKitCore

extension Schema {
    /// - Throws: ``DatabaseError/Reason/misuse`` if the database has key slots that do not hold `key`, its new one: the slots could
    ///   no longer open it.
    func requireNoKeySlots(against key: Encryption) throws(DatabaseError) {
        let path = try self.path, current = try encryptionOrPlaintext
        // Without encryption no one is locked out.
        if key.isPlaintext || current.isPlaintext || key.isRaw(of: current) { return }
        let slots = path.map { DatabaseFile.keySlots(beside: $0) }
        let areBeside = slots.map { DatabaseFile.exists($0) } ?? false
        if !areBeside {
            guard hasKeyHolder else { return }
        }
        let advice = areBeside ? "; if \(slots ?? "") is not this database's, remove it" : ""
        throw DatabaseError(
            code: .misuse, reason: .misuse,
            message: "the database \(path ?? name) has key slots, which would no longer hold its key: KeySlots.rotateKey changes "
                + "the key, and KeySlots.changePassphrase the passphrase of a slot\(advice)", path: path)
    }
}

extension DatabaseFile {
    /// The path of the key slots of a database if they are stored beside it.
    static func keySlots(beside path: String) -> String { realPath(path) + ".keys" }
}

extension Encryption {
    /// Whether this is the same raw key as `whole`, which includes its salt; this key may omit it.
    fileprivate func isRaw(of whole: Encryption) -> Bool {
        guard isRaw else { return false }
        return withUnsafeBytes { bytes in whole.withUnsafeBytes { $0.starts(with: bytes) } }
    }
}
