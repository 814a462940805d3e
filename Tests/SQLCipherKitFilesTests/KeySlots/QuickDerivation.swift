import SQLCipherKitFiles

extension KeySlots.Derivation {
    /// As few rounds of key derivation as a slot may have.
    static var quick: KeySlots.Derivation { .pbkdf2(iterations: 1000) }
}
