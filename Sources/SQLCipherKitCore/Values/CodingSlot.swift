import Synchronization

/// Where the containers of a row's coder find their row.
///
/// The standard library copies a container for each value, so it must not own anything: counting references takes longer than
/// reading a column. It points to a slot instead and knows the slot's number. Slots are never given back to the system, only used
/// again with another number. So a container that outlives its coder finds that its number is gone, and touches nothing else.
struct CodingSlot {
    /// The statement; nil outside a row.
    var handle: OpaquePointer?
    /// Different for each coder.
    var number: UInt64

    private static let unused = Lock<[UInt]>([])
    private static let numbers = Atomic<UInt64>(1)

    static func take() -> UnsafeMutablePointer<CodingSlot> {
        let known = unused.withLock { $0.popLast() }.flatMap { UnsafeMutablePointer<CodingSlot>(bitPattern: $0) }
        let slot = known ?? .allocate(capacity: 1)
        slot.initialize(to: CodingSlot(handle: nil, number: numbers.wrappingAdd(1, ordering: .relaxed).newValue))
        return slot
    }

    static func giveBack(_ slot: UnsafeMutablePointer<CodingSlot>) {
        slot.pointee = CodingSlot(handle: nil, number: 0)
        unused.withLock { $0.append(UInt(bitPattern: slot)) }
    }
}
