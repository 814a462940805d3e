import Foundation

extension SharedDatabase {
    /// Opens a reader. If that fails, for want of descriptors or of memory for instance, the call gets the connection of another
    /// reader, as soon as one is free.
    /// - Throws: why the reader could not be opened, if none is open; ``DatabaseError/Reason/timeout``; the cancellation's error.
    func open(_ slot: ConnectionSlot, until deadline: Deadline?, _ cancellation: Cancellation?) throws {
        do { try slot.openConnection() } catch {
            guard let readers else { throw error }
            // One that is on its way from a call to the next seems to be in no use.
            var misses = 0
            while !borrow(for: slot, from: readers) {
                if let error = cancellation?.error { throw error }
                if let deadline, deadline.hasPassed { throw DatabaseError.timeout }
                let isOneInUse = readers.slots.contains { $0 !== slot && $0.isInUse && $0.seemsOpen }
                misses = isOneInUse ? 0 : misses + 1
                if misses == 20 { throw error }
                // It is a rare emergency: others are told nothing of it.
                usleep(1000)
            }
        }
    }

    private func borrow(for slot: ConnectionSlot, from readers: ConnectionPool) -> Bool {
        var isDone = false
        readers.withFree { other in
            guard !isDone, other.isOpen else { return false }
            isDone = true
            return true
        } _: { others in
            for other in others { slot.takeConnection(of: other) }
        }
        return isDone
    }
}
