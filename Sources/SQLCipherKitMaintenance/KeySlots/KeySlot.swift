import Foundation

extension KeySlots {
    /// The information about a slot that is available without opening it.
    public struct Slot: Hashable, Sendable {
        /// The kind of secret that opens a slot.
        public enum Kind: UInt8, Hashable, Sendable, CaseIterable, CustomStringConvertible {
            case passphrase = 1
            case recoveryKey = 2

            public var description: String { self == .passphrase ? "passphrase" : "recovery key" }
        }

        /// The slot's name. The slot file contains it in plaintext.
        public let label: String
        /// The kind of secret that opens the slot.
        public let kind: Kind
        /// How the slot's key is derived, which determines the cost of an attempt.
        public let derivation: Derivation
        /// When it was added, to the second.
        public let created: Date
        /// When it was last wrapped: when it was added, its secret was changed, or the database's key was rotated.
        public let changed: Date
    }
}
