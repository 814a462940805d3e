import SQLCipherKitCore
import Synchronization

/// Keeps the write-ahead log of a pool's database from growing without bound.
///
/// After a commit, SQLite moves the log into the database as far as readers allow, but restarts the log only when no reader uses
/// it. With reads that always overlap it never would. So when the log has become too large, new reads wait briefly until the
/// running reads have ended.
package final class AutoCheckpointer: Sendable {
    /// The longest time that reads wait for a checkpoint, and a checkpoint for readers that are not the pool's.
    static let longestPause = Duration.milliseconds(100)

    private let pageSize = Atomic<Int>(0)
    private let checkpointSize: Int
    private let largest: Int
    /// The log size at which readers are paused next. It grows after a pause that did not help.
    private let limit: Atomic<Int>
    /// The number of holders that empty the log themselves.
    package let holds = Atomic<Int>(0)

    init(_ db: Connection) throws {
        let settings = db.configuration.pool
        (checkpointSize, largest) = (max(0, settings.checkpointSize), max(0, settings.maximumWALSize))
        limit = Atomic(largest)
        try watch(db)
    }

    /// Watches another connection, which is now the writer.
    package func watch(_ db: Connection) throws {
        pageSize.store(try db.main.pageSize, ordering: .relaxed)
        try db.countLogFrames()
    }

    /// Checkpoints if the log is large enough. Called after a commit, on the writer.
    /// - Parameter withoutReaders: calls its argument while no reader of the pool is running, if that is possible soon.
    func committed(_ db: Connection, withoutReaders: (() -> Void) -> Void) {
        // If a step fails, a later commit makes up for it: a busy log is not an error of the call that has committed.
        let pageSize = pageSize.load(ordering: .relaxed)
        let size = db.takeLogFrames() * pageSize
        guard size >= checkpointSize, size > 0 else { return }
        let schemas = ((try? db.schemas()) ?? []).filter { $0.name != "temp" }
        for schema in schemas { _ = try? schema.checkpoint(.passive) }
        guard size >= limit.load(ordering: .relaxed), holds.load(ordering: .relaxed) == 0 else { return }
        limit.store(size + max(largest / 4, pageSize), ordering: .relaxed)
        withoutReaders {
            guard schemas.allSatisfy({ (try? $0.checkpoint(.truncate)) != nil }) else { return }
            limit.store(largest, ordering: .relaxed)
        }
    }
}
