import SQLCipherKitCore

/// An `AsyncSequence` of the changes that commits make (``DatabaseChanges``), without a read of the database.
///
/// ```swift
/// for try await changes in pool.changes(affecting: DatabaseRegion(DatabaseTable("note"))) {
///     upload(changes.tables)
/// }
/// ```
/// There is no element before the first commit. Once a loop waits for its first element, it reports the commits of all writes that
/// are called from then on. Commits between two iterations of a slow loop are merged into one element with all their changes, so
/// that nothing piles up.
///
/// The sequence ends when its task is cancelled. It throws when the database, or the connection that writes, is closed. Each loop
/// is independent, and so is each copy of an iterator that has not begun; copies of an iterator that has begun share the elements.
public struct DatabaseChangeSequence: AsyncSequence, Sendable {
    let database: DatabaseWriter
    let region: DatabaseRegion

    public func makeAsyncIterator() -> some AsyncIteratorProtocol<DatabaseChanges, any Error> & Sendable {
        Iterator(sequence: self)
    }

    private struct Iterator: AsyncIteratorProtocol, Sendable {
        let sequence: DatabaseChangeSequence
        private var collector: ChangeCollector?
        private var isFinished = false

        init(sequence: DatabaseChangeSequence) { self.sequence = sequence }

        mutating func next() async throws -> DatabaseChanges? { try await next(isolation: nil) }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> DatabaseChanges? {
            if isFinished { return nil }
            do {
                if let changes = try await begun().next() { return changes }
            } catch {
                (isFinished, collector) = (true, nil)
                if Task.isCancelled { return nil }
                throw error
            }
            (isFinished, collector) = (true, nil)
            return nil
        }

        private mutating func begun() async throws -> ChangeCollector {
            if let collector { return collector }
            let made = ChangeCollector(sequence.database)
            try await made.begin(sequence.region)
            collector = made
            return made
        }
    }
}

extension DatabaseWriter {
    /// The changes of the commits that touch a region, without a read; see ``DatabaseChangeSequence``.
    /// - Parameter region: the region that a commit must touch. Default: every commit that writes. A schema change always counts.
    public func changes(affecting region: DatabaseRegion = .fullDatabase) -> DatabaseChangeSequence {
        DatabaseChangeSequence(database: self, region: region)
    }
}

/// Registers one loop for as long as it is allocated.
private final class ChangeCollector: Sendable {
    private let listener: ChangeListener
    private let database: DatabaseWriter

    init(_ database: DatabaseWriter) { (self.database, listener) = (database, ChangeListener(database.observers)) }

    deinit { database.observers.remove(listener) }

    func begin(_ region: DatabaseRegion) async throws {
        let (observers, listener) = (database.observers, listener)
        try await database.run(.unrestricted, timeout: nil) { db in
            let region = try region.resolved(on: db)
            observers.add(listener)
            try observers.install(on: db)
            // Earlier commits do not count.
            listener.watch(region)
        }
    }

    func next() async throws -> DatabaseChanges? {
        while !Task.isCancelled {
            let events = listener.events.count
            // The connection that reported commits may have been replaced.
            try database.observers.install(in: database)
            if let changes = try listener.take() { return changes }
            await listener.events.wait(after: events)
        }
        return nil
    }
}

private final class ChangeListener: CommitObserver {
    private struct State {
        var region: DatabaseRegion?
        var pending: DatabaseChanges?
        var failure: (any Error)?
    }

    private let state = Lock(State())
    private let registry: ObserverRegistry
    let events = ObservationEvents()

    init(_ registry: ObserverRegistry) { self.registry = registry }

    func watch(_ region: DatabaseRegion) {
        state.withLock { $0.region = region }
        registry.settle(self, on: region)
    }

    /// The changes collected so far, or nil if there are none.
    func take() throws -> DatabaseChanges? {
        try state.withLock { state in
            if let pending = state.pending.take() { return pending }
            if let failure = state.failure { throw failure }
            return nil
        }
    }

    func interest(in table: DatabaseTable) -> UInt64 { state.withLock { $0.region?.columns[table]?.bits ?? 0 } }

    func notify(_ changes: DatabaseChanges) {
        let isEvent = state.withLock { state in
            guard state.region?.isAffected(by: changes) == true else { return false }
            state.pending?.formUnion(changes)
            if state.pending == nil { state.pending = changes }
            return true
        }
        if isEvent { events.signal() }
    }

    func schemaChanged(_ db: OpaquePointer) { if let region = state.withLock({ $0.region }) { watch(region.resolved(db)) } }

    func fail(_ error: any Error) {
        state.withLock { $0.failure = error }
        events.signal()
    }
}
