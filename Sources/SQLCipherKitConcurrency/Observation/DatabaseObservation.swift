import SQLCipherKitCore

/// An `AsyncSequence` of the results of a read: the current result, then a new result after each commit that may have changed it.
///
/// ```swift
/// let titles = pool.observe { db in try db.fetchAll(String.self, "SELECT title FROM note ORDER BY title") }
/// for try await titles in titles.removingDuplicates() { show(titles) }
///
/// let hits = pool.observe { db in try db.fullText("note_fts").search(query, limit: 20) }
/// ```
/// The first element is the result at the time when the loop begins. Another element follows each schema change, and each commit
/// through the same queue or pool that touches a table and a column that the read used. The read can use them directly, or the
/// commit can reach them through a view, a trigger, a foreign key or a full-text table. Tables and columns are recorded at each
/// read (``Connection/recordingReads(_:)``), so that a read may use different tables each time. They may be in several attached
/// databases.
///
/// Only committed changes count. A loop that is slower than the commits gets the newest result: intermediate results are skipped,
/// but never the last. Each element is read after the commit that caused it, and a commit that an element already reflects does not
/// cause another element. The result may still be the same as before: `removingDuplicates()` skips such elements.
///
/// On a pool the first element never waits for a write, because a reader reads it at once. A queue reads and writes on a single
/// connection, so the first element waits for a running write.
///
/// The sequence ends when the loop's task is cancelled. If the read throws, the sequence throws that error and ends. It throws
/// ``DatabaseError/Reason/closed`` when the database is closed, or when the connection that writes is closed, as after a failed key
/// change. Each loop observes independently, unless the observation is ``shared()``, and keeps the database open.
public struct DatabaseObservation<Element: Sendable>: AsyncSequence, Sendable {
    private let source: ObservationSource<Element>
    var isSame: (@Sendable (Element, Element) -> Bool)?
    private var interval: Duration?
    private var sharing: ObservationSharing<Element>?

    fileprivate init(_ source: ObservationSource<Element>) { self.source = source }

    /// Returns this observation, which then also has a new element after commits by other processes, queues and pools.
    ///
    /// SQLite does not report such commits, so the connection that writes polls for them
    /// (<https://sqlite.org/pragma.html#pragma_data_version>). The tables that such a commit touched are unknown, so each such
    /// commit causes a new read. Use `removingDuplicates()` to skip equal results.
    /// - Parameter interval: the time between two polls, at least 10 ms.
    public func includingOtherProcesses(every interval: Duration) -> DatabaseObservation {
        var result = self
        result.interval = interval
        if sharing != nil { result.sharing = ObservationSharing() }
        return result
    }

    /// Returns this observation, whose loops then share one read: all loops over the returned value and its copies, and all
    /// observations started on them.
    ///
    /// ```swift
    /// let unread = pool.observe { db in try db.fetchOne(Int.self, "SELECT count(*) FROM message WHERE isUnread") ?? 0 }.shared()
    /// // in each of ten views:
    /// for try await count in unread { badge = count }
    /// ```
    /// A commit causes one read, however many loops there are. A loop that begins while others run gets their newest element at
    /// once, without a read, unless a commit has touched it since. Each loop gets the elements in order, at its own pace. When the
    /// read throws, all loops throw that error; a loop that begins later reads again. Cancelling one loop does not affect the
    /// others; the observation ends with the last loop. The read runs with the task-local values of one of the loops.
    public func shared() -> DatabaseObservation {
        var result = self
        result.sharing = ObservationSharing()
        return result
    }

    /// Returns this observation without elements that are the same as the previous element.
    /// - Parameter isSame: returns whether two elements are the same.
    public func removingDuplicates(by isSame: @escaping @Sendable (Element, Element) -> Bool) -> DatabaseObservation {
        var result = self
        result.isSame = isSame
        return result
    }

    /// Returns an iterator for a loop over the results. A copy of the iterator is a separate loop, which continues from where it
    /// was copied: each of the two gets every later result, even in different tasks.
    public func makeAsyncIterator() -> some AsyncIteratorProtocol<Element, any Error> & Sendable { Iterator(self) }

    private struct Iterator: AsyncIteratorProtocol, Sendable {
        private let observation: DatabaseObservation
        private var run: ObservationRun<Element>?
        private var position = ObservationRun<Element>.Position()
        private var last: Element?
        private var isFinished = false

        init(_ observation: DatabaseObservation) { self.observation = observation }

        mutating func next() async throws -> Element? { try await next(isolation: nil) }

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
            if isFinished { return nil }
            let run = joined()
            do {
                while let element = try await run.next(&position) {
                    if isNew(element) { return element }
                }
            } catch {
                finish()
                // A cancelled task ends its loops, whatever error the read throws because of that.
                if Task.isCancelled { return nil }
                throw error
            }
            finish()
            return nil
        }

        /// The current result, read on this thread, as the first element of the loop.
        mutating func first() throws -> Element {
            let element = try joined().current(&position)
            _ = isNew(element)
            return element
        }

        private mutating func isNew(_ element: Element) -> Bool {
            guard let isSame = observation.isSame else { return true }
            if let last, isSame(last, element) { return false }
            last = element
            return true
        }

        private mutating func finish() {
            isFinished = true
            run = nil
            last = nil
        }

        private mutating func joined() -> ObservationRun<Element> {
            if let run { return run }
            let observation = observation
            func make() -> ObservationRun<Element> { ObservationRun(observation.source, interval: observation.interval) }
            let joined = observation.sharing?.join(make) ?? make()
            run = joined
            return joined
        }
    }
}

extension DatabaseObservation where Element: Equatable {
    /// Returns this observation without elements that equal the previous element.
    public func removingDuplicates() -> DatabaseObservation { removingDuplicates { $0 == $1 } }
}

extension DatabaseObservation {
    /// Returns this observation without elements that equal the previous element, for rows of several parts such as
    /// `(Folder, [Note])`.
    @_disfavoredOverload
    public func removingDuplicates<each Part: Equatable>() -> DatabaseObservation where Element == [(repeat each Part)] {
        removingDuplicates { old, new in
            guard old.count == new.count else { return false }
            for (a, b) in zip(old, new) {
                for (a, b) in repeat (each a, each b) { if a != b { return false } }
            }
            return true
        }
    }
}

extension DatabaseWriter {
    /// Observes the results of a read, now and after each commit that may have changed them; see ``DatabaseObservation``.
    /// ```swift
    /// for try await count in pool.observe({ db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0 }) { show(count) }
    /// ```
    /// - Parameter fetch: reads the result, as in `read(_:)`. Called again for each element.
    public func observe<T: Sendable>(_ fetch: @escaping @Sendable (Connection) throws -> T) -> DatabaseObservation<T> {
        DatabaseObservation(ObservationSource(database: self, fetch: fetch))
    }

    /// Observes the results of a read, now and after each commit that touches a region.
    ///
    /// Like ``observe(_:)``, but the closure's reads are not recorded, and commits outside the region cause no new element. This
    /// saves the time to compile the closure's statements again at each read. Use it for closures that always read the same tables
    /// and columns.
    /// ```swift
    /// let counts = pool.observe(tracking: DatabaseRegion(Note.self)) { db in try db.count(Note.all) }
    /// ```
    /// - Parameters:
    ///   - region: the region that a commit must touch. Combine several with ``DatabaseRegion/union(_:)``. A schema change always
    ///     causes an element. If the region contains a view, the loop throws ``DatabaseError/Reason/invalidArgument``.
    ///   - fetch: reads the result, as in `read(_:)`. Called again for each element.
    public func observe<T: Sendable>(
        tracking region: DatabaseRegion, _ fetch: @escaping @Sendable (Connection) throws -> T
    ) -> DatabaseObservation<T> {
        DatabaseObservation(ObservationSource(database: self, fetch: fetch, region: region))
    }
}

/// The time at which a started observation delivers its first element.
public enum ObservationStart: Sendable {
    /// Before `start` returns. It is read on the calling thread, which waits if the database is busy.
    case immediate
    /// After `start` has returned.
    case later
}

/// A token for an observation that `start` or ``DatabaseWriter/observeSuspension(suspending:resuming:in:timeout:)`` has started:
/// the observation ends with ``cancel()``, or when the token is released.
public final class ObservationToken: Sendable {
    private let end: @Sendable () -> Void

    init(_ end: @escaping @Sendable () -> Void) { self.end = end }

    convenience init(_ task: Task<Void, Never>?) { self.init { task?.cancel() } }

    deinit { end() }

    /// Ends the observation. On the main actor, nothing is delivered there after this call. A second call does nothing.
    public func cancel() { end() }
}

extension DatabaseObservation {
    /// Calls `onChange` on the main actor with the current result, and again after each commit that may have changed it.
    ///
    /// ```swift
    /// // In a view controller: the label has its text before the view is drawn for the first time.
    /// @MainActor func observe(in label: Label) -> ObservationToken {
    ///     counts.start { count in label.text = "\(count)" }
    /// }
    /// ```
    /// Elements arrive in order, as in a loop. An error ends the observation.
    /// - Parameters:
    ///   - start: when to deliver the first element. Default: before the call returns.
    ///   - onError: receives the error that the read throws, possibly before the call returns with ``ObservationStart/immediate``.
    ///     Default: does nothing.
    ///   - onChange: receives each element.
    /// - Returns: a token, which ends the observation when it is released.
    @MainActor
    public func start(
        _ start: ObservationStart = .immediate, onError: @escaping @MainActor (any Error) -> Void = { _ in },
        onChange: @escaping @MainActor (Element) -> Void
    ) -> ObservationToken {
        var iterator = Iterator(self)
        if start == .immediate {
            do { onChange(try iterator.first()) } catch {
                onError(error)
                return ObservationToken(nil)
            }
        }
        return ObservationToken(
            Task { @MainActor [iterator] in
                var iterator = iterator
                do {
                    while let element = try await iterator.next() {
                        // The task may have been cancelled while the element was on its way.
                        if Task.isCancelled { return }
                        onChange(element)
                    }
                } catch {
                    if !Task.isCancelled { onError(error) }
                }
            })
    }

    /// Calls `onChange` with the current result, and again after each commit that may have changed it, for code outside any actor.
    /// With ``ObservationStart/immediate``, the first call is made on the calling thread. All later calls are made on other
    /// threads, one at a time. A call that is running when the token is released completes.
    /// - Parameters:
    ///   - start: when to deliver the first element.
    ///   - onError: receives the error that the read throws. Default: does nothing.
    ///   - onChange: receives each element.
    /// - Returns: a token, which ends the observation when it is released.
    public nonisolated func start(
        concurrently start: ObservationStart, onError: @escaping @Sendable (any Error) -> Void = { _ in },
        onChange: @escaping @Sendable (Element) -> Void
    ) -> ObservationToken {
        var iterator = Iterator(self)
        if start == .immediate {
            do { onChange(try iterator.first()) } catch {
                onError(error)
                return ObservationToken(nil)
            }
        }
        return ObservationToken(
            Task { [iterator] in
                var iterator = iterator
                do {
                    while let element = try await iterator.next(), !Task.isCancelled { onChange(element) }
                } catch {
                    if !Task.isCancelled { onError(error) }
                }
            })
    }
}
