import SQLCipherKitCore

/// The database and the closure that an observation reads with.
struct ObservationSource<Element: Sendable>: Sendable {
    let database: DatabaseWriter
    let fetch: @Sendable (Connection) throws -> Element
    /// The region that the fetch reads; nil to record it each time.
    var region: DatabaseRegion?

    /// Runs one fetch on the connection acquired for it.
    func read(_ db: Connection, _ number: Int, _ listener: ObservationListener, _ poll: ObservationPoll?) throws -> Element {
        let isWriter = database.readers == nil
        if isWriter {
            try database.observers.install(on: db, afterReads: false)
            try poll?.note(db)
        }
        guard let region else {
            let (value, region, expiry) = try db.recordingReadsAndExpiry(fetch)
            listener.endFetch(number, region, try SnapshotID(db, isWriter: isWriter), expiry)
            return value
        }
        let value = try fetch(db)
        listener.endFetch(number, try region.resolved(on: db), try SnapshotID(db, isWriter: isWriter))
        return value
    }
}

/// The run that the loops over a shared observation have in common, for as long as there are any.
final class ObservationSharing<Element: Sendable>: Sendable {
    private struct Current { weak var run: ObservationRun<Element>? }

    private let current = Lock(Current())

    func join(_ make: () -> ObservationRun<Element>) -> ObservationRun<Element> {
        current.withLock { current in
            if let run = current.run, !run.hasFailed { return run }
            let run = make()
            current.run = run
            return run
        }
    }
}
