import CSQLCipher
import SQLCipherKitCore

extension SharedDatabase {
    /// Makes all running statements, on all connections and of snapshots too, throw with the code ``ResultCode/interrupted`` as
    /// soon as they notice (<https://sqlite.org/c3ref/interrupt.html>). You can call it from any thread.
    ///
    /// A write is rolled back if its closure throws that error. Waiting and later calls are not affected, nor is a closure that is
    /// not running a statement at that moment, nor a commit or a rollback. To end one call, cancel its task.
    public final func interrupt() {
        for slot in writer.slots { slot.interrupt() }
        for slot in readers?.slots ?? [] { slot.interrupt() }
        snapshots.interrupt()
    }

    /// Frees memory that the connections use for speed: cached pages and compiled statements. Idle readers are closed; a reader in
    /// use keeps its memory. Waits for a running write.
    /// - Throws: what `write(timeout:_:)` throws.
    public final func releaseMemory() throws(DatabaseError) {
        closeFreeReaders()
        try DatabaseError.only("a call") { try run(.unrestricted, timeout: nil) { db in try db.releaseMemory() } }
    }

    /// The asynchronous form.
    public final func releaseMemory() async throws {
        closeFreeReaders()
        try await run(.unrestricted, timeout: nil) { db in try db.releaseMemory() }
    }

    private func closeFreeReaders() {
        readers?.withFree { $0.isOpen } _: { slots in for slot in slots { slot.close() } }
    }
}

extension Connection {
    /// Frees memory that the connection uses for speed: cached pages that are not in use, and compiled statements that are not
    /// running (<https://sqlite.org/c3ref/db_release_memory.html>).
    /// - Throws: ``DatabaseError/Reason/closed``, or ``DatabaseError/Reason/misuse`` inside a hook.
    package func releaseMemory() throws(DatabaseError) {
        let handle = try liveOutsideHooks()
        cache.removeAll()
        sqlite3_db_release_memory(handle)
    }
}
