import SQLCipherKit

extension SlotDerivation {
    /// As few rounds of key derivation as a slot may have.
    static var quick: SlotDerivation { .pbkdf2(iterations: 1000) }
}
