/// Remembers how each database was unlocked, until it is closed or detached.
package final class KeyOrigins: ConnectionState {
    /// Where the key of a database came from.
    enum Origin {
        /// Kept because SQLCipher forgets it once the key is derived, and a backup with another salt needs it again. Its bytes are
        /// in locked memory, and wiped when the connection closes.
        case passphrase(DatabaseKey)
        /// From something that holds the key itself, and would not hold a new one.
        case holder
    }

    private var origins: [SQLName: Origin] = [:]

    package init() {}

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
    package var passphrase: DatabaseKey? { if case .passphrase(let key)? = keyOrigin { key } else { nil } }

    /// Remembers the key that the database was opened with, or a new one.
    package func noteKey(_ key: DatabaseKey) {
        if case .passphrase = key.form {
            connection.state(KeyOrigins.self)[name] = .passphrase(key)
        } else {
            forgetKeyOrigin()
        }
    }

    /// Remembers that something holds the key, wherever that is kept: it would not hold a new one.
    package func noteKeyHolder() { connection.state(KeyOrigins.self)[name] = .holder }

    /// True if something holds the key.
    package var hasKeyHolder: Bool { if case .holder? = keyOrigin { true } else { false } }

    /// Forgets the key's origin, as another database may use the name next.
    func forgetKeyOrigin() {
        if keyOrigin != nil { connection.state(KeyOrigins.self)[name] = nil }
    }
}
