import Synchronization

/// The observers of a queue or a pool: notifies each of what the writer has committed.
///
/// The writer has a hook only while there are observers: it makes each changed row a little slower.
final class ObserverRegistry: Sendable {
    private struct State {
        var listeners: [ObjectIdentifier: ObservationListener] = [:]
        var isInstalled = false
    }

    private let state = Mutex(State())

    /// Whether a listener that is added now is notified of every commit from then on.
    var isInstalled: Bool { state.withLock { $0.isInstalled } }

    func add(_ listener: ObservationListener) { state.withLock { $0.listeners[ObjectIdentifier(listener)] = listener } }

    func remove(_ listener: ObservationListener) {
        _ = state.withLock { $0.listeners.removeValue(forKey: ObjectIdentifier(listener)) }
    }

    /// Makes the writer report its commits. Called by the call that has acquired it.
    func install(on writer: Connection) throws(DatabaseError) {
        guard state.withLock({ state in
            defer { state.isInstalled = true }
            return !state.isInstalled
        }) else { return }
        // Touched only by the call that has acquired the writer, as is the hook.
        final class Holder { var token: HookToken? }
        let holder = Holder()
        do throws(DatabaseError) {
            holder.token = try writer.addChangeHook(
                ChangeHook(interest: { [weak self] in self?.interest(in: $0) ?? 0 }) { [weak self] changes in
                    if self?.notify(changes) != true { holder.token?.remove() }
                })
        } catch {
            state.withLock { $0.isInstalled = false }
            throw error
        }
    }

    /// Call this when the writer was replaced by another connection, or the database closed: all that was observed may have
    /// changed, and the hook is gone.
    func writerWasReplaced() {
        let listeners = state.withLock { state in
            state.isInstalled = false
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.notify(DatabaseChanges(isUnknown: true)) }
    }

    /// Call this when a checkpoint may have reset a log, with the writer acquired, before the next read begins: that read sees
    /// all commits so far, though its position is in another log than theirs.
    func logsWereReset(_ writer: Connection) {
        guard isInstalled, let handle = try? writer.live() else { return }
        let changes = DatabaseChanges(positions: DatabaseChanges.LogPosition.all(handle))
        for listener in state.withLock({ Array($0.listeners.values) }) { listener.notify(changes) }
    }

    /// - Returns: whether there are any observers.
    private func notify(_ changes: DatabaseChanges) -> Bool {
        let listeners = state.withLock { state in
            if state.listeners.isEmpty { state.isInstalled = false }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.notify(changes) }
        return !listeners.isEmpty
    }

    private func interest(in table: DatabaseTable) -> UInt64 {
        let listeners = state.withLock { Array($0.listeners.values) }
        return listeners.reduce(0) { $0 | $1.interest(in: table) }
    }
}
