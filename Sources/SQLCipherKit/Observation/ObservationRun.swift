import Foundation
import Synchronization

/// Reads for one loop, or for all loops that share an observation: each result once, in order. It ends when the last of them lets
/// go of it.
final class ObservationRun<Element: Sendable>: Sendable {
    /// Where a loop has got to.
    struct Position: Sendable {
        /// The number of the fetch whose result it has had.
        var seen = 0
        /// What began before the loop asked for it may lack a commit that the loop knows of.
        var floor = 0
    }

    private struct State {
        /// The newest result, and the number of the fetch that it is from.
        var newest: (value: Element, fetch: Int)?
        var failure: (any Error)?
        /// The number of the last fetch.
        var fetches = 0
        var isFetching = false
        var task: Task<Void, Never>?

        /// The result for a loop, if there is one that it has not had.
        /// - Parameter isClean: whether the newest result has all commits.
        func element(for position: inout Position, isClean: Bool) -> Element? {
            guard let newest, newest.fetch > position.seen else { return nil }
            guard newest.fetch > position.floor || isClean && !isFetching else { return nil }
            position.seen = newest.fetch
            return newest.value
        }

        mutating func begin(_ listener: ObservationListener) -> Int {
            fetches += 1
            isFetching = true
            listener.beginFetch(fetches)
            return fetches
        }
    }

    private let source: ObservationSource<Element>
    private let listener: ObservationListener
    private let poll: ObservationPoll?
    private let state = Mutex(State())
    /// Held by a thread that fetches by itself.
    private let threads = NSLock()

    init(_ source: ObservationSource<Element>, interval: Duration?) {
        let listener = ObservationListener()
        source.database.observers.add(listener)
        (self.source, self.listener) = (source, listener)
        poll = interval.map { ObservationPoll(source.database, every: $0, listener) }
    }

    deinit {
        source.database.observers.remove(listener)
        state.withLock { $0.task }?.cancel()
    }

    var hasFailed: Bool { failure != nil }

    private var failure: (any Error)? { listener.failure ?? state.withLock { $0.failure } }

    // MARK: For tasks

    /// The next result for a loop; nil if its task is cancelled.
    func next(_ position: inout Position) async throws -> Element? {
        state.withLock { state in
            if state.isFetching || listener.isDirty { position.floor = state.fetches }
        }
        while !Task.isCancelled {
            let events = listener.events.count
            if let element = try advance(&position) { return element }
            await listener.events.wait(after: events)
        }
        return nil
    }

    /// What there is for a loop now. Begins a fetch if there is nothing and one is due.
    private func advance(_ position: inout Position) throws -> Element? {
        if let failure { throw failure }
        if let element = state.withLock({ $0.element(for: &position, isClean: !listener.isDirty) }) { return element }
        guard listener.isDirty, !state.withLock({ $0.isFetching }) else { return nil }
        try prepare()
        state.withLock { state in
            guard !state.isFetching, listener.isDirty else { return }
            let fetch = state.begin(listener)
            let (source, listener, poll) = (source, listener, poll)
            state.task = Task { [weak self] in
                let result: Result<Element, any Error>
                do {
                    result = .success(
                        try await source.database.run(source.database.reading, timeout: nil) { db in
                            try source.read(db, fetch, listener, poll)
                        })
                } catch { result = .failure(error) }
                self?.end(fetch, result)
            }
        }
        return nil
    }

    /// A pool reads on a reader, at once: the writer's hook comes when the writer is free. A queue's only connection gets it with
    /// the read.
    private func prepare() throws {
        if source.database.readers != nil { try source.database.observers.install(in: source.database) }
    }

    private func end(_ fetch: Int, _ result: Result<Element, any Error>) {
        state.withLock { state in
            // Another thread may have taken over.
            guard state.isFetching, state.fetches == fetch else { return }
            (state.isFetching, state.task) = (false, nil)
            switch result {
            case .success(let value): state.newest = (value, fetch)
            // The end of the suspension tells all observers to read again.
            case .failure(let error) where error.isSuspension: listener.abandonFetch(fetch)
            case .failure(let error): state.failure = error
            }
        }
        listener.events.signal()
    }

    // MARK: For threads

    /// The result as it is now, read on this thread unless it is there already.
    func current(_ position: inout Position) throws -> Element {
        // Before the lock, which a fetch that comes back here through its own closure has.
        try source.database.checkCall()
        return try threads.withLock {
            if let failure { throw failure }
            try prepare()
            var (known, fetch): (Element?, Int) = (nil, 0)
            state.withLock { state in
                known = state.element(for: &position, isClean: !listener.isDirty && !state.isFetching)
                if known != nil { return }
                // A fetch that runs for others is given up: they get this one's result.
                state.task?.cancel()
                fetch = state.begin(listener)
                position.seen = fetch
            }
            if let known { return known }
            let result = Result { [source, listener, poll] in
                try source.database.run(source.database.reading, timeout: nil) { db in try source.read(db, fetch, listener, poll) }
            }
            end(fetch, result)
            return try result.get()
        }
    }
}
