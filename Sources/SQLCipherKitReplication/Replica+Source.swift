import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitMaintenance

/// What else happens to the database while it is replicated.
extension Replica {
    /// Makes sure that the database's file is the one that was opened.
    /// - Throws: ``DatabaseError/Reason/databaseReplaced``. The next turn opens the new file, and begins a generation.
    func requireSameFile() throws {
        guard let source else { return }
        if source.isReplaced {
            let path = source.path
            source.close()
            letGo()
            self.source = nil
            isReplaced = true
            throw DatabaseError(
                code: .mismatch, reason: .databaseReplaced,
                message: "the file \(path) was replaced: what was committed to the former one and not stored is lost", path: path)
        }
    }

    /// Opens the database again after its file was replaced.
    func reopen() throws {
        guard isReplaced else { return }
        let new = try openSource()
        do { try new.start() } catch {
            new.close()
            throw error
        }
        (source, isReplaced, needsGeneration) = (new, false, true)
        watchLog()
        // Another file has another history, and perhaps another key.
        (isClaimed, pending, pendingLink, tail, unproven, ownPlace) = (false, nil, nil, [], [], nil)
    }

    /// Lets go of the log for a checkpoint of another program, which keeps all others from writing while it waits for this
    /// replica's read transaction. As no other connection can write meanwhile, the log is read to its end first; then nothing is
    /// missed. If that is too much for the memory, as after a time without the store, the log is given up, and a snapshot begins a
    /// generation.
    ///
    /// If this actor is busy for so long that writers would wait for a quarter of a second, ``LogHolds`` gives the log up.
    func letCheckpointGoOn() {
        guard let source, source.holds.isCheckpointWaiting else { return }
        // What it may go on from is not read yet.
        guard isClaimed, !needsGeneration else { return letGo() }
        do {
            // Up to where it was looked at before, and what was committed until the checkpoint began. If there is always more,
            // others do write.
            for _ in 0..<3 {
                _ = try source.begin()
                while !source.isAtTarget, queue.reduce(0, { $0 + $1.bytes.count }) < 2 * options.objectSize { try readBlock() }
                guard source.isAtTarget else { return letGo() }
                source.settle()
                guard try !source.begin() else { continue }
                source.settle()
                return try source.pauseForCheckpoint()
            }
        } catch { letGo() }
    }
}
