import Synchronization

/// Tells observations what the writer of a queue or a pool has committed.
///
/// The writer has a hook only while somebody observes: each row that is changed costs a little then.
final class ChangeBroker: Sendable {
    private struct State {
        var listeners: [ObjectIdentifier: ObservationListener] = [:]
        var isInstalled = false
    }

    private let state = Mutex(State())

    /// Whether a listener that is added now hears of every commit from then on.
    var isInstalled: Bool { state.withLock { $0.isInstalled } }

    func add(_ listener: ObservationListener) { state.withLock { $0.listeners[ObjectIdentifier(listener)] = listener } }

    func remove(_ listener: ObservationListener) { _ = state.withLock { $0.listeners.removeValue(forKey: ObjectIdentifier(listener)) } }

    /// Makes the writer tell of its commits. Called by the one who has it.
    func install(on writer: Connection) throws(DatabaseError) {
        guard state.withLock({ state in
            defer { state.isInstalled = true }
            return !state.isInstalled
        }) else { return }
        // Touched by whoever has the writer only, as is the hook.
        final class Holder { var token: HookToken? }
        let holder = Holder()
        do throws(DatabaseError) {
            holder.token = try writer.addChangeHook(
                ChangeHook(interest: { [weak self] in self?.interest(in: $0) ?? 0 }) { [weak self] changes in
                    if self?.tell(changes) != true { holder.token?.remove() }
                })
        } catch {
            state.withLock { $0.isInstalled = false }
            throw error
        }
    }

    /// To be called when the writer was replaced by another connection, or the database closed: whatever was observed may be
    /// another now, and the hook is gone.
    func writerIsGone() {
        let listeners = state.withLock { state in
            state.isInstalled = false
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.tell(DatabaseChanges(isUnknown: true)) }
    }

    /// To be called when a checkpoint may have emptied a log, by who has the writer, before the next read begins: that read has
    /// seen all commits so far, though it stands in another log than they do.
    func logsMayBeEmpty(_ writer: Connection) {
        guard isInstalled, let handle = try? writer.live() else { return }
        let changes = DatabaseChanges(positions: DatabaseChanges.LogPosition.all(handle))
        for listener in state.withLock({ Array($0.listeners.values) }) { listener.tell(changes) }
    }

    /// - Returns: whether there is anybody to tell.
    private func tell(_ changes: DatabaseChanges) -> Bool {
        let listeners = state.withLock { state in
            if state.listeners.isEmpty { state.isInstalled = false }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.tell(changes) }
        return !listeners.isEmpty
    }

    private func interest(in table: DatabaseTable) -> UInt64 {
        let listeners = state.withLock { Array($0.listeners.values) }
        return listeners.reduce(0) { $0 | $1.interest(in: table) }
    }
}
