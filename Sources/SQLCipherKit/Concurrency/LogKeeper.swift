import Synchronization

/// Keeps the write-ahead log of a pool's database from growing without bound.
///
/// SQLite itself moves the log into the database after a commit, as far as readers let it, but begins the log anew only when no
/// reader uses it. With reads that overlap all the time that moment never comes. So a log that has become too large makes new reads
/// wait for a moment, until those that are running have ended.
final class LogKeeper: Sendable {
    /// How long reads may wait for it.
    static let patience = Duration.milliseconds(100)

    private let pageSize = Atomic<Int>(0)
    private let checkpointSize: Int
    private let largest: Int
    /// The size from which readers are held next: larger after it was in vain.
    private let limit: Atomic<Int>

    init(_ db: Connection) throws(DatabaseError) {
        let settings = db.configuration.pool
        (checkpointSize, largest) = (max(0, settings.checkpointSize), max(0, settings.largestLog))
        limit = Atomic(largest)
        try watch(db)
    }

    /// Another connection is the writer now.
    func watch(_ db: Connection) throws(DatabaseError) {
        pageSize.store(try db.main.pageSize, ordering: .relaxed)
        try db.countLogFrames()
    }

    /// After a commit, on the writer: does what is due.
    /// - Parameter withoutReaders: calls its argument while no reader of the pool is at work, if that can be had soon.
    func committed(_ db: Connection, withoutReaders: (() -> Void) -> Void) {
        // All of these are made up for after one of the next commits, should one fail: a busy log is no error of the call that has committed.
        let pageSize = pageSize.load(ordering: .relaxed)
        let size = db.takeLogFrames() * pageSize
        guard size >= checkpointSize, size > 0 else { return }
        let schemas = ((try? db.schemas()) ?? []).filter { $0.name != "temp" }
        for schema in schemas { _ = try? schema.checkpoint(.passive) }
        guard size >= limit.load(ordering: .relaxed) else { return }
        limit.store(size + max(largest / 4, pageSize), ordering: .relaxed)
        withoutReaders {
            guard schemas.allSatisfy({ (try? $0.checkpoint(.truncate)) != nil }) else { return }
            limit.store(largest, ordering: .relaxed)
        }
    }
}
