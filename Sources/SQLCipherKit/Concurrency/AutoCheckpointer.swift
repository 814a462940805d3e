import Synchronization

/// Keeps the write-ahead log of a pool's database from growing without bound.
///
/// SQLite itself moves the log into the database after a commit, as far as readers let it, but restarts the log only when no
/// reader uses it. With reads that overlap all the time it never would. So a log that has become too large makes new reads
/// wait briefly, until those that are running have ended.
final class AutoCheckpointer: Sendable {
    /// How long reads may wait for it.
    static let longestPause = Duration.milliseconds(100)

    private let pageSize = Atomic<Int>(0)
    private let checkpointSize: Int
    private let largest: Int
    /// The size from which readers are paused next: larger after a pause that did not help.
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

    /// Checkpoints if it is due. Called after a commit, on the writer.
    /// - Parameter withoutReaders: calls its argument while no reader of the pool is at work, if that is possible soon.
    func committed(_ db: Connection, withoutReaders: (() -> Void) -> Void) {
        // If one of these fails, a later commit makes up for it: a busy log is not an error of the call that has committed.
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
