import SQLCipherKitCore

/// The observers of a queue or a pool. Notifies each of them of the writer's commits.
///
/// The writer has a hook only while there are observers, because it slows each changed row down a little.
package final class ObserverRegistry: Sendable {
    private struct State {
        var observers: [ObjectIdentifier: any CommitObserver] = [:]
        /// The observers that hear of every commit: they are reading, or any commit matters to them.
        var unsettled: [ObjectIdentifier: any CommitObserver] = [:]
        /// The other observers with their columns, by the tables that matter to them.
        var settled: [DatabaseTable: [ObjectIdentifier: (observer: any CommitObserver, columns: UInt64)]] = [:]
        /// The tables of each settled observer.
        var tables: [ObjectIdentifier: [DatabaseTable]] = [:]
        var isInstalled = false
        /// True if a call waits for the writer to install the hook.
        var isInstalling = false

        mutating func unsettle(_ id: ObjectIdentifier) {
            for table in tables.removeValue(forKey: id) ?? [] {
                settled[table]?[id] = nil
                if settled[table]?.isEmpty == true { settled[table] = nil }
            }
            unsettled[id] = observers[id]
        }

        /// The observers to which a commit may matter. One that has several of its tables may be there several times.
        func concerned(by changes: DatabaseChanges) -> [any CommitObserver] {
            if changes.isSchemaChanged || changes.isUnknown { return Array(observers.values) }
            var found = Array(unsettled.values)
            for table in changes.changes.keys { found += (settled[table] ?? [:]).values.lazy.map(\.observer) }
            return found
        }
    }

    private let state = Lock(State())

    private var all: [any CommitObserver] { state.withLock { Array($0.observers.values) } }

    func add(_ observer: any CommitObserver) {
        let id = ObjectIdentifier(observer)
        state.withLock { state in (state.observers[id], state.unsettled[id]) = (observer, observer) }
    }

    func remove(_ observer: any CommitObserver) {
        let id = ObjectIdentifier(observer)
        state.withLock { state in
            state.observers[id] = nil
            state.unsettle(id)
        }
    }

    /// Notifies an observer of each commit, until it settles. Call this before it reads.
    func unsettle(_ observer: any CommitObserver) { state.withLock { $0.unsettle(ObjectIdentifier(observer)) } }

    /// Notifies an observer only of commits that may touch a region: a commit to other tables costs the writer nothing for it.
    func settle(_ observer: any CommitObserver, on region: DatabaseRegion) {
        let id = ObjectIdentifier(observer)
        state.withLock { state in
            state.unsettle(id)
            guard !region.isEverything, state.unsettled.removeValue(forKey: id) != nil else { return }
            for (table, columns) in region.columns { state.settled[table, default: [:]][id] = (observer, columns.bits) }
            state.tables[id] = Array(region.columns.keys)
        }
    }

    // MARK: The hook

    /// Makes the writer report its commits: at once if it is free, otherwise as soon as it is. To make up for earlier commits, the
    /// observers are then told where the logs end, and can tell whether they have read that far.
    /// - Throws: if the writer is free, but closed.
    func install(in database: DatabaseWriter) throws {
        let isDue = state.withLock { state in
            if state.isInstalled || state.isInstalling { return false }
            state.isInstalling = true
            return true
        }
        guard isDue else { return }
        do {
            if let slot = try database.writer.tryAcquire() {
                defer { database.writer.giveBack(slot) }
                return try slot.run(.unrestricted) { db in try install(on: db) }
            }
        } catch {
            state.withLock { $0.isInstalling = false }
            throw error
        }
        // Detached, so that it does not inherit the caller's task.
        Task.detached { [self] in
            do {
                try await database.run(.unrestricted, timeout: nil) { [self] db in try install(on: db) }
            } catch {
                state.withLock { $0.isInstalling = false }
                if error.isSuspension { return }
                for observer in all { observer.fail(error) }
            }
        }
    }

    /// The version for a call that has acquired the writer.
    /// - Parameter isRead: whether observers may have read on another connection before the hook was installed.
    func install(on writer: Connection, afterReads isRead: Bool = true) throws {
        let isNeeded = state.withLock { state in
            if !state.isInstalled, !state.observers.isEmpty { return true }
            state.isInstalling = false
            return false
        }
        guard isNeeded else { return }
        let installation = Installation(self)
        installation.token = try writer.addChangeHook(
            ChangeHook(interest: { [weak self] in self?.interest(in: $0) ?? 0 }) { [weak self, weak writer] changes in
                if self?.notify(changes, by: writer) != true { installation.end(writer) }
            })
        writer.register(installation)
        let observers = state.withLock { state in
            (state.isInstalled, state.isInstalling) = (true, false)
            return Array(state.observers.values)
        }
        // A connection that cannot write has committed nothing.
        guard isRead, writer.configuration.access != .readOnly else { return }
        let changes = DatabaseChanges(isUnknown: true, positions: DatabaseChanges.LogPosition.all(try writer.live()))
        for observer in observers { observer.notify(changes) }
    }

    /// The hook on one connection. Like the hook, it is only used by the call that has acquired the connection.
    private final class Installation: ConnectionDependent {
        var token: HookToken?
        private weak let registry: ObserverRegistry?
        let endsWithLoan = false

        init(_ registry: ObserverRegistry) { self.registry = registry }

        func end(_ writer: Connection?) {
            token?.remove()
            // Breaks the cycle: the token holds the hook, which holds this.
            token = nil
            writer?.unregister(self)
        }

        /// The observers' next read reports that the connection was closed, unless another connection takes its place.
        func connectionCloses() {
            token = nil
            registry?.writerWasReplaced()
        }
    }

    // MARK: What happens

    /// Call this when the writer was replaced by another connection, or the database closed: everything observed may have changed,
    /// and the hook is gone.
    package func writerWasReplaced() {
        state.withLock { $0.isInstalled = false }
        allMayHaveChanged()
    }

    /// Makes all observers read again.
    func allMayHaveChanged() { for observer in all { observer.notify(DatabaseChanges(isUnknown: true)) } }

    /// Call this when a checkpoint may have reset a log, with the writer acquired, before the next read begins: that read sees all
    /// commits so far, even though its position is in a different log.
    package func logsWereReset(_ writer: Connection) {
        guard state.withLock({ $0.isInstalled }), let handle = try? writer.live() else { return }
        let changes = DatabaseChanges(positions: DatabaseChanges.LogPosition.all(handle))
        for observer in all { observer.notify(changes) }
    }

    /// - Returns: whether there are any observers.
    private func notify(_ changes: DatabaseChanges, by writer: Connection?) -> Bool {
        let observers = state.withLock { state in
            if state.observers.isEmpty {
                state.isInstalled = false
                return nil as [any CommitObserver]?
            }
            return state.concerned(by: changes)
        }
        guard let observers else { return false }
        for observer in observers { observer.notify(changes) }
        if changes.isSchemaChanged, let handle = writer?.handle { for observer in observers { observer.schemaChanged(handle) } }
        return true
    }

    private func interest(in table: DatabaseTable) -> UInt64 {
        let (columns, unsettled) = state.withLock { state in
            ((state.settled[table] ?? [:]).values.reduce(0) { $0 | $1.columns }, Array(state.unsettled.values))
        }
        return unsettled.reduce(columns) { $0 | $1.interest(in: table) }
    }
}
