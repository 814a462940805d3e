import Foundation
import SQLCipherKitCore

/// Reads for one loop, or for all loops that share an observation: each result once, in order. It ends when the last loop releases
/// it.
final class ObservationRun<Element: Sendable>: Sendable {
    /// The position of a loop.
    struct Position: Sendable {
        /// The number of the fetch that gave the loop its last result.
        var seen = 0
        /// Fetches up to this number began before the loop asked, and may lack a commit that the loop knows of.
        var floor = 0
    }

    private struct State {
        /// The newest result and the number of the fetch that read it.
        var newest: (value: Element, fetch: Int)?
        var failure: (any Error)?
        /// The number of the last fetch.
        var fetches = 0
        var isFetching = false
        var task: Task<Void, Never>?

        /// The result for a loop, if there is one that it has not received yet.
        /// - Parameter isClean: whether the newest result reflects all commits.
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
    private let state = Lock(State())
    /// Held by a thread that fetches synchronously.
    private let threads = NSLock()

    init(_ source: ObservationSource<Element>, interval: Duration?) {
        let listener = ObservationListener(source.database.observers)
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

    /// Waits for the next result for a loop; nil if its task is cancelled.
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

    /// The result available for a loop now, if any. Otherwise begins a fetch if one is due.
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

    /// A pool reads on a reader at once, and installs the writer's hook when the writer is free. A queue installs it on its only
    /// connection with the read.
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
            // When the suspension ends, all observers are told to read again.
            case .failure(let error) where error.isSuspension: listener.abandonFetch(fetch)
            case .failure(let error): state.failure = error
            }
        }
        listener.events.signal()
    }

    // MARK: For threads

    /// The current result, read on this thread unless it is available already.
    func current(_ position: inout Position) throws -> Element {
        // Check before locking: a fetch that calls this again from its own closure already holds the lock.
        try source.database.checkCall()
        return try threads.withLock {
            if let failure { throw failure }
            try prepare()
            var (known, fetch): (Element?, Int) = (nil, 0)
            state.withLock { state in
                known = state.element(for: &position, isClean: !listener.isDirty && !state.isFetching)
                if known != nil { return }
                // Abandon a fetch that is running for other loops: they get the result of this fetch.
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
