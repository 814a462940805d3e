import SQLCipherKitCore

extension CipherConfiguration {
    /// Few rounds of key derivation, for tests in which their number is not the point.
    package static var quick: CipherConfiguration {
        var cipher = CipherConfiguration()
        cipher.kdfIterations = 10
        return cipher
    }
}

extension DatabaseKey {
    /// The same key with few rounds of key derivation.
    package var quick: DatabaseKey { with(cipher: .quick) }
}

extension DatabaseKey? {
    package var quick: DatabaseKey? { map(\.quick) }
}

extension DatabaseConfiguration {
    /// Settings for a pool.
    package static func pool(_ change: (inout Pool) -> Void) -> DatabaseConfiguration {
        var configuration = DatabaseConfiguration()
        change(&configuration.pool)
        return configuration
    }
}
