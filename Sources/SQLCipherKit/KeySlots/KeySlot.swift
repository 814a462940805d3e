import Foundation

/// What is known of a slot without opening it.
public struct KeySlot: Hashable, Sendable {
    /// What opens a slot.
    public enum Kind: UInt8, Hashable, Sendable, CaseIterable, CustomStringConvertible {
        case passphrase = 1
        case recoveryKey = 2

        public var description: String { self == .passphrase ? "passphrase" : "recovery key" }
    }

    /// The name it was given. It stands in the slot file in plain text.
    public let label: String
    /// What opens it.
    public let kind: Kind
    /// How its key is derived: what an attempt at it costs.
    public let derivation: SlotDerivation
    /// When it was added, to the second.
    public let created: Date
    /// When its passphrase was last changed, or when it was added.
    public let changed: Date
}
