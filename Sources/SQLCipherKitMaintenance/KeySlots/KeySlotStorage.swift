import Foundation
import SQLCipherKitCore

extension KeySlots {
    /// Storage for the bytes of ``KeySlots`` other than a file: a preference, a field in a server's reply, a smart card.
    ///
    /// The bytes are encrypted and authenticated: you may keep them where anyone can read them. An attacker who replaces them can
    /// at worst lock the owner out.
    public protocol Storage: Sendable {
        /// Returns the bytes, or nil if there are none yet.
        func read() throws -> [UInt8]?

        /// Runs `change` with the current bytes, while no other caller can change them. `change` calls `write` with new bytes one
        /// or more times. When `write` returns, the new bytes must survive a power failure; if power fails before that, the old
        /// bytes must be intact.
        func update(_ change: (_ bytes: [UInt8]?, _ write: ([UInt8]) throws -> Void) throws -> Void) throws
    }
}

extension KeySlots {
    /// Slots in memory, for an application that stores the bytes itself.
    /// ```swift
    /// let bytes = KeySlots.MemoryStorage(stored)
    /// let slots = try KeySlots.unlock(.passphrase("…"), of: location, at: .storage(bytes))
    /// try slots.revoke("old laptop")
    /// store(bytes.value)
    /// ```
    /// The application has to handle changes by several processes, and crashes between a change and storing it.
    public final class MemoryStorage: Storage {
        private let bytes: Lock<[UInt8]?>
        // Held during a whole change; `bytes` only for a single access.
        private let changing = Lock<Void>(())

        /// Creates storage with bytes that were stored earlier, or with none yet.
        public init(_ bytes: [UInt8]? = nil) { self.bytes = Lock(bytes) }

        /// The current bytes.
        public var value: [UInt8]? { bytes.withLock { $0 } }

        public func read() -> [UInt8]? { value }

        public func update(_ change: (_ bytes: [UInt8]?, _ write: ([UInt8]) throws -> Void) throws -> Void) throws {
            try changing.withLock { _ in
                try change(value) { new in bytes.withLock { $0 = new } }
            }
        }
    }
}
