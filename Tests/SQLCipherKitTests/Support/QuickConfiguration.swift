import SQLCipherKit

extension DatabaseConfiguration {
    /// Few rounds of key derivation, for tests in which their number is not the point.
    static var quick: DatabaseConfiguration {
        var configuration = DatabaseConfiguration()
        configuration.cipher = .quick
        return configuration
    }

    /// The same with settings for a pool.
    static func quick(_ change: (inout Pool) -> Void) -> DatabaseConfiguration {
        var configuration = quick
        change(&configuration.pool)
        return configuration
    }
}

extension CipherConfiguration {
    static var quick: CipherConfiguration {
        var cipher = CipherConfiguration()
        cipher.kdfIterations = 10
        return cipher
    }
}
