import Foundation
import SQLCipherKitCore

extension SharedDatabase {
    /// Opens a reader. If that fails, for example because there are no descriptors or no memory left, the call gets the connection
    /// of another reader as soon as one is free.
    /// - Throws: the error of opening the reader, if no other is open; ``DatabaseError/Reason/timeout``; the cancellation's error.
    func open(_ slot: ConnectionSlot, until deadline: Deadline?, _ cancellation: Cancellation?) throws {
        do { try slot.openConnection() } catch {
            guard let readers else { throw error }
            // A reader that is passing from one call to the next seems to be unused.
            var misses = 0
            while !borrow(for: slot, from: readers) {
                if let error = cancellation?.error { throw error }
                if let deadline, deadline.hasPassed { throw DatabaseError.timeout }
                let isOneInUse = readers.slots.contains { $0 !== slot && $0.isInUse && $0.seemsOpen }
                misses = isOneInUse ? 0 : misses + 1
                if misses == 20 { throw error }
                // A rare emergency, so polling is enough.
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
