import Synchronization

/// Types that are known not to conform to some protocol, because asking the runtime is slow.
///
/// Each address maps to one slot, which holds the type that was added last.
package final class TypeMemo: @unchecked Sendable {
    // Never changed after the initializer, and what it points to is atomic.
    private let slots: UnsafeMutablePointer<Atomic<UInt>>
    private static let count = 512

    package init() {
        slots = .allocate(capacity: Self.count)
        for index in 0..<Self.count { (slots + index).initialize(to: Atomic(0)) }
    }

    deinit {
        slots.deinitialize(count: Self.count)
        slots.deallocate()
    }

    @inline(__always)
    private static func address(_ type: any Any.Type) -> (UInt, slot: Int) {
        let address = UInt(bitPattern: ObjectIdentifier(type))
        return (address, Int(truncatingIfNeeded: (address >> 3 ^ address >> 12) & UInt(count - 1)))
    }

    @inline(__always)
    package func contains(_ type: any Any.Type) -> Bool {
        let (address, slot) = Self.address(type)
        return slots[slot].load(ordering: .relaxed) == address
    }

    package func add(_ type: any Any.Type) {
        let (address, slot) = Self.address(type)
        slots[slot].store(address, ordering: .relaxed)
    }
}
