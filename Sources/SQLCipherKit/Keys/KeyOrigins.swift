/// Remembers how each database was unlocked, until it is closed or detached.
final class KeyOrigins: ConnectionState {
    /// Where the key of a database came from.
    enum Origin {
        /// Kept because SQLCipher forgets it once the key is derived, and a backup with another salt needs it again. Its bytes are
        /// in locked memory, and wiped when the connection closes.
        case passphrase(Encryption)
        case slots
    }

    private var origins: [SQLName: Origin] = [:]

    init() {}

    /// Looks up a schema's name, ignoring case.
    fileprivate subscript(schema: String) -> Origin? {
        get { origins[SQLName(schema)] }
        set { origins[SQLName(schema)] = newValue }
    }
}

extension Schema {
    /// Where the key came from, if known.
    private var keyOrigin: KeyOrigins.Origin? { connection.state(KeyOrigins.self)[name] }

    /// The passphrase that the database was opened with, or that it has received since.
    var passphrase: Encryption? { if case .passphrase(let key)? = keyOrigin { key } else { nil } }

    /// Remembers the key that the database was opened with, or a new one.
    func noteKey(_ key: Encryption) {
        if case .passphrase = key.form {
            connection.state(KeyOrigins.self)[name] = .passphrase(key)
        } else {
            forgetKeyOrigin()
        }
    }

    /// Remembers that the key came from key slots, wherever these are kept.
    func noteKeySlots() { connection.state(KeyOrigins.self)[name] = .slots }

    /// Forgets the key's origin, as another database may use the name next.
    func forgetKeyOrigin() {
        if keyOrigin != nil { connection.state(KeyOrigins.self)[name] = nil }
    }

    /// - Throws: ``DatabaseError/Reason/misuse`` if the database has key slots that do not hold `key`, its new one: the slots could
    ///   no longer open it.
    func requireNoKeySlots(against key: Encryption) throws(DatabaseError) {
        let path = try self.path, current = try encryptionOrPlaintext
        // Without encryption no one is locked out.
        if key.isPlaintext || current.isPlaintext || key.isRaw(of: current) { return }
        let slots = path.map { DatabaseFile.keySlots(beside: $0) }
        let areBeside = slots.map { DatabaseFile.exists($0) } ?? false
        if !areBeside {
            guard case .slots? = keyOrigin else { return }
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
