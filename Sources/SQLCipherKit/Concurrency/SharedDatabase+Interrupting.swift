import CSQLCipher

extension SharedDatabase {
    /// Makes all statements that are running, on all connections and for snapshots too, throw with the code
    /// ``ResultCode/interrupted``, as soon as they notice (<https://sqlite.org/c3ref/interrupt.html>). Any thread may call it.
    ///
    /// A write is rolled back if its closure throws that error. Calls that wait go on as before, and so does each later one: a
    /// closure of which no statement runs at that moment does not notice. A commit or a rollback does not notice either. To end one
    /// call, cancel its task.
    public final func interrupt() {
        for slot in writer.slots { slot.interrupt() }
        for slot in readers?.slots ?? [] { slot.interrupt() }
        snapshots.interrupt()
    }

    /// Frees memory that the connections hold to be fast: pages in caches and compiled statements. Readers that are not in use are
    /// closed; one that is in use keeps what it has. Waits for a write that runs.
    /// - Throws: what `write(timeout:_:)` throws.
    public final func releaseMemory() throws {
        closeFreeReaders()
        try run(.unrestricted, timeout: nil) { db in try db.releaseMemory() }
    }

    /// The same for a task.
    public final func releaseMemory() async throws {
        closeFreeReaders()
        try await run(.unrestricted, timeout: nil) { db in try db.releaseMemory() }
    }

    private func closeFreeReaders() {
        readers?.withFree { $0.isOpen } _: { slots in for slot in slots { slot.close() } }
    }
}

extension Connection {
    /// Frees memory that the connection holds to be fast: pages in its cache that are not in use, and compiled statements that
    /// are not running (<https://sqlite.org/c3ref/db_release_memory.html>).
    /// - Throws: ``DatabaseError/Reason/closed``, or ``DatabaseError/Reason/misuse`` inside of a hook.
    public func releaseMemory() throws(DatabaseError) {
        let handle = try liveOutsideHooks()
        cache.removeAll()
        sqlite3_db_release_memory(handle)
    }
}
