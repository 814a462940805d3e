import Foundation
import SQLCipherKitCore

extension Replicator {
    /// The options of a replica.
    public struct Options: Sendable {
        /// The time between two reads of the log. After a pause, a commit is in the store after this time plus the time of a
        /// request. While commits continue, the replica makes at most one request in two intervals, in the long run. At least 10
        /// milliseconds. Default: half a second. If the log grows fast, the replica reads it earlier, before the log is expected to
        /// reach ``checkpointSize``.
        public var interval: Duration = .milliseconds(500)
        /// The longest time between two snapshots while there are commits. Default: 24 hours. A snapshot also follows when the log
        /// stored since the last snapshot is larger than the database, so that a restore never reads more than about twice the size
        /// of the database.
        public var snapshotInterval: Duration = .seconds(24 * 3600)
        /// The time for which any commit can be restored. Default: 7 days.
        public var retention: Duration = .seconds(7 * 24 * 3600)
        /// The time for which an unused object stays, for restores that are reading it. Default: 10 minutes.
        public var gracePeriod: Duration = .seconds(600)
        /// The largest size of an object in bytes, from 64 KiB to 256 MiB. Replication needs memory for about three objects of this
        /// size. Default: 8 MiB.
        public var objectSize = 8 << 20
        /// The size of the database's log, in bytes, at which the replica lets the log start again from its beginning. Default: 16
        /// MiB.
        public var checkpointSize = 16 << 20
        /// The size in bytes that the database's log may reach while the store cannot be reached. Beyond it, the replica gives up
        /// the log, and begins with a snapshot when the store can be reached again. Default: 1 GiB.
        public var maximumWALSize = 1 << 30
        /// True if the database's log stays when the replica is stopped and the database is closed. The next replica then continues
        /// without a snapshot, unless there are commits after ``Replicator/stop()``, or another program closes the database last.
        /// The log is a file beside the database, with the suffix `-wal`, and has up to about ``checkpointSize`` bytes. It belongs
        /// to the database: if you replace the database's file by other means, remove the log too. Default: false, as in SQLite,
        /// where the last connection that closes removes the log.
        public var persistsWAL = false

        /// The time. Tests set it.
        package var now: @Sendable () -> Date = { Date() }
        /// The number of objects of one level that are joined to one object of the next level. Tests set it.
        package var fanOut = 16
        /// The time between two searches for objects that are no longer needed. Tests set it.
        package var sweepInterval: Duration = .seconds(60)
        /// How long the replica may be busy while a checkpoint of another program waits for the replica, and all writers wait for
        /// the checkpoint. Tests set it.
        package var patience: Duration = .milliseconds(80)
        /// The number of parts of a snapshot that are stored before the log is looked at again.
        package var partsPerStep = 4

        /// The defaults.
        public init() {}

        var time: Int64 { now().milliseconds }

        /// The options with every duration limited to a wait that is possible: from zero to a century.
        var bounded: Options {
            var options = self
            options.interval = interval.betweenPolls
            options.snapshotInterval = snapshotInterval.bounded
            options.retention = retention.bounded
            options.gracePeriod = gracePeriod.bounded
            return options
        }
    }
}

extension Date {
    /// The milliseconds since 1970, limited to a hundred thousand years before or after. The earliest time for a date that is not a
    /// number.
    var milliseconds: Int64 {
        let limit = 3.2e15, number = (timeIntervalSince1970 * 1000).rounded(.down)
        if number.isNaN { return Int64(-limit) }
        return Int64(min(limit, max(-limit, number)))
    }
}

extension Duration {
    var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}

extension Replicator {
    /// The state of a replica.
    public struct Status: Sendable {
        /// The newest state that is in the store and can be restored; nil before the first snapshot is complete.
        public var stored: Position?
        /// The last time when the whole log was in the store.
        public var upToDateAt: Date?
        /// The error of the last attempt; nil if it succeeded. The replica tries again, unless it has ended.
        public var error: DatabaseError?
        /// True if the replica has ended: it was stopped, another writer has taken over, or the store cannot be used.
        public var isEnded = false
        /// The number of bytes that were stored: of the log; of snapshots; of parts of the log that were stored a second time,
        /// joined into one object; and of heads with the index.
        public var walBytes = 0, snapshotBytes = 0, joinedBytes = 0, headBytes = 0
        /// The number of objects that were stored or replaced, each with at least one request.
        public var puts = 0
        /// The number of pages that were in the log.
        public var pages = 0
    }
}
