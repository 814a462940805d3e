import Foundation
import Synchronization

/// Where the bytes of ``KeySlots`` are kept when not in a file: a preference, a field of a server's reply, a smart card.
///
/// The bytes are encrypted and authenticated: they may lie where anyone can read them. By replacing them, an attacker can at worst
/// lock the owner out.
public protocol KeySlotStorage: Sendable {
    /// The bytes, or nil if there are none yet.
    func read() throws -> [UInt8]?

    /// Runs `change` while no other caller changes the bytes, with the bytes as they are then. `change` calls `write` with new
    /// bytes once, or a few times; when `write` returns, the new bytes must be where a loss of power leaves them, and until
    /// then the old ones.
    func update(_ change: (_ bytes: [UInt8]?, _ write: ([UInt8]) throws -> Void) throws -> Void) throws
}

/// Slots in memory, for an application that stores the bytes itself.
/// ```swift
/// let bytes = KeySlotBytes(stored)
/// let slots = try KeySlots.unlock(.passphrase("…"), of: location, at: .storage(bytes))
/// try slots.revoke("old laptop")
/// store(bytes.value)
/// ```
/// Changes of several processes, and crashes between a change and the application's storing it, are the application's part.
public final class KeySlotBytes: KeySlotStorage {
    private let bytes: Mutex<[UInt8]?>
    // Held over a whole change; `bytes` only for a look.
    private let changing = Mutex<Void>(())

    /// Slots as they were stored, or none yet.
    public init(_ bytes: [UInt8]? = nil) { self.bytes = Mutex(bytes) }

    /// The bytes as they are now.
    public var value: [UInt8]? { bytes.withLock { $0 } }

    public func read() -> [UInt8]? { value }

    public func update(_ change: (_ bytes: [UInt8]?, _ write: ([UInt8]) throws -> Void) throws -> Void) throws {
        try changing.withLock { _ in
            try change(value) { new in bytes.withLock { $0 = new } }
        }
    }
}
