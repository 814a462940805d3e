/// The results of a read: the current one, and another one after each commit that may have changed it. An `AsyncSequence`.
///
/// ```swift
/// let titles = pool.observe { db in try db.fetchAll(String.self, "SELECT title FROM note ORDER BY title") }
/// for try await titles in titles.removingDuplicates() { show(titles) }
///
/// let hits = pool.observe { db in try db.fullText("note_fts").search(query, limit: 20) }
/// ```
/// The first element is the result as it is when the loop begins. Then there is one after each commit through the same queue or
/// pool that touches a table and a column that the read has looked at, be it through a view, a trigger, a foreign key or a
/// full-text table, and after each change of the schema. Which ones these are is found out at each read
/// (``Connection/recordingReads(_:)``): it may read something else each time. Several databases may be attached.
///
/// Only committed changes count. A loop that is slower than the commits gets the newest result:
/// those in between are skipped, never the last one. Each element is read after the commit that led to it, and a commit
/// that an element has already shown leads to no other one. The result itself may still be the same as before:
/// ``removingDuplicates()`` skips those.
///
/// On a pool the first element never waits for a write: it is read on a reader, at once. A queue has one connection for both.
///
/// The sequence ends when the loop's task is cancelled. It throws what the read throws, and ends then, with
/// ``DatabaseError/Reason/closed`` when the database is closed, or the connection that writes was, as after a key change that
/// failed. Each loop observes independently, unless the observation is ``shared()``, and holds the database, which does not close
/// by itself meanwhile.
public struct DatabaseObservation<Element: Sendable>: AsyncSequence, Sendable {
    let source: ObservationSource<Element>
    var isSame: (@Sendable (Element, Element) -> Bool)?
    var interval: Duration?
    var sharing: ObservationSharing<Element>?

    init(_ source: ObservationSource<Element>) { self.source = source }

    /// The same, and commits by other processes and other queues or pools lead to a new element as well.
    ///
    /// SQLite does not report them. So the connection that writes polls for them
    /// (<https://sqlite.org/pragma.html#pragma_data_version>). What such a commit has touched is not known, so that each leads to a
    /// new read: ``removingDuplicates()`` helps here.
    /// - Parameter interval: the time between two polls; 10 ms at least.
    public func includingOtherProcesses(every interval: Duration) -> DatabaseObservation {
        var result = self
        result.interval = interval
        if sharing != nil { result.sharing = ObservationSharing() }
        return result
    }

    /// The same, with one read for all loops over this value and its copies, and for whatever is started on them.
    ///
    /// ```swift
    /// let unread = pool.observe { db in try db.fetchOne(Int.self, "SELECT count(*) FROM message WHERE isUnread") ?? 0 }.shared()
    /// // in each of ten views:
    /// for try await count in unread { badge = count }
    /// ```
    /// A commit leads to one read, however many loops there are. A loop that begins while others run gets their newest element at
    /// once, without a read, unless a commit has touched it since. Each loop gets the elements in order, at its own pace. When the
    /// read throws, all loops throw that error; a loop that begins later reads again. A loop that is cancelled leaves the others
    /// alone, and the last one to leave ends the observation. The read runs with the task-local values of one of the loops.
    public func shared() -> DatabaseObservation {
        var result = self
        result.sharing = ObservationSharing()
        return result
    }

    /// The same, without elements that are the same as the one before it.
    /// - Parameter isSame: whether two elements are the same.
    public func removingDuplicates(by isSame: @escaping @Sendable (Element, Element) -> Bool) -> DatabaseObservation {
        var result = self
        result.isSame = isSame
        return result
    }

    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// One loop over the results. A copy is a loop of its own, which goes on from where it was copied: each of the two gets every
    /// later result, also in another task.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        private let observation: DatabaseObservation
        private var run: ObservationRun<Element>?
        private var position = ObservationRun<Element>.Position()
        private var last: Element?
        private var isFinished = false

        init(_ observation: DatabaseObservation) { self.observation = observation }

        /// The next result; nil at the end.
        /// - Throws: what the read throws.
        public mutating func next() async throws -> Element? { try await next(isolation: nil) }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
            if isFinished { return nil }
            let run = joined()
            do {
                while let element = try await run.next(&position) {
                    if isNew(element) { return element }
                }
            } catch {
                finish()
                // A task that is cancelled ends its loops, whatever the read makes of that.
                if Task.isCancelled { return nil }
                throw error
            }
            finish()
            return nil
        }

        /// The result as it is now, read on this thread: the first element of the loop.
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
    /// The same, without elements that equal the one before.
    public func removingDuplicates() -> DatabaseObservation { removingDuplicates { $0 == $1 } }
}

extension SharedDatabase {
    /// The results of a read, now and after each commit that may have changed them; see ``DatabaseObservation``.
    /// ```swift
    /// for try await count in pool.observe({ db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0 }) { show(count) }
    /// ```
    /// - Parameter fetch: reads, as in `read(_:)`. Called again for each element.
    public func observe<T: Sendable>(_ fetch: @escaping @Sendable (Connection) throws -> T) -> DatabaseObservation<T> {
        DatabaseObservation(ObservationSource(database: self, fetch: fetch))
    }
}
