import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitMaintenance
import Synchronization

/// The connections that keep a database's log, and the watch that lets go of it in time.
///
/// One of two connections always has a read transaction (``LogHold``). The next transaction begins before the last one ends. A
/// checkpoint of another program may wait for them, and keeps all others from writing meanwhile. The replica then reads what is
/// left and lets go; if it is busy for too long, the watch lets go in its place, from another thread.
final class LogHolds: Sendable {
    /// The log was given up: commits may be missing.
    struct Lost: Error {}

    private struct State {
        var current: LogHold, next: LogHold
        var isLost = false

        var isIdle: Bool { current.isIdle && next.isIdle }

        func end() {
            current.end()
            next.end()
        }
    }

    private let state: Lock<State>
    private let probe: Lock<LogHold>
    /// Whether this replica checkpoints itself.
    let isCheckpointing = Atomic<Bool>(false)
    private let isAsking = Atomic<Bool>(false)

    init(_ location: DatabaseLocation, _ key: Encryption, keepsLog: Bool) throws {
        state = Lock(
            State(
                current: try LogHold(location, key: key, staysOnClose: keepsLog),
                next: try LogHold(location, key: key, staysOnClose: keepsLog)))
        probe = Lock(try LogHold(location, key: key, waits: false, staysOnClose: keepsLog))
    }

    func close() {
        state.withLock { state in
            state.end()
            state.current.close()
            state.next.close()
        }
        probe.withLock { $0.close() }
    }

    /// Begins the next transaction.
    /// - Throws: ``Lost`` if the log was given up.
    func begin(keepsLog: Bool = false) throws -> LogMark {
        try state.withLock { state in
            guard !state.isLost else { throw Lost() }
            return try state.next.begin(keepsLog: keepsLog)
        }
    }

    /// Ends the former transaction: the next one keeps the log.
    func turn() {
        state.withLock { state in
            state.current.end()
            (state.current, state.next) = (state.next, state.current)
        }
    }

    /// Holds nothing for a while.
    func pause() { state.withLock { $0.end() } }

    /// Holds nothing, and begins from scratch.
    func release() {
        state.withLock { state in
            state.end()
            state.isLost = false
        }
    }

    var isHolding: Bool { state.withLock { !$0.isIdle } }

    /// Whether a checkpoint of another connection keeps others from writing while it waits for readers.
    var isCheckpointWaiting: Bool {
        !isCheckpointing.load(ordering: .sequentiallyConsistent) && probe.withLock { $0.isCheckpointWaiting() }
    }

    /// Lets go of the log, whatever of it was not read.
    func giveUp() {
        state.withLock { state in
            guard !state.isIdle else { return }
            state.end()
            state.isLost = true
        }
    }

    /// Looks until the task is cancelled for checkpoints that wait. Others are done soon: so it counts what is seen twice.
    /// - Parameters:
    ///   - patience: how long after that the log is given up.
    ///   - ask: asks the replica to let go.
    func watch(patience: Duration, ask: @escaping @Sendable () async -> Void) async {
        var since: ContinuousClock.Instant?
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(20))
            guard isCheckpointWaiting else {
                since = nil
                continue
            }
            guard let start = since else {
                since = .now
                continue
            }
            if !isAsking.exchange(true, ordering: .relaxed) {
                Task(executorPreference: BlockingExecutor.shared) { [self] in
                    await ask()
                    isAsking.store(false, ordering: .relaxed)
                }
            }
            if .now - start > patience { giveUp() }
        }
    }
}
