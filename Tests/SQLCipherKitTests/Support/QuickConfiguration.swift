import SQLCipherKit

extension CipherConfiguration {
    /// Few rounds of key derivation, for tests in which their number is not the point.
    static var quick: CipherConfiguration {
        var cipher = CipherConfiguration()
        cipher.kdfIterations = 10
        return cipher
    }
}

extension Encryption {
    /// The same key with few rounds of key derivation.
    var quick: Encryption { with(cipher: .quick) }
}

extension Encryption? {
    var quick: Encryption? { map(\.quick) }
}

extension DatabaseConfiguration {
    /// Settings for a pool.
    static func pool(_ change: (inout Pool) -> Void) -> DatabaseConfiguration {
        var configuration = DatabaseConfiguration()
        change(&configuration.pool)
        return configuration
    }
}

extension SlotDerivation {
    /// As few rounds of key derivation as a slot may have.
    static var quick: SlotDerivation { .pbkdf2(iterations: 1000) }
}
