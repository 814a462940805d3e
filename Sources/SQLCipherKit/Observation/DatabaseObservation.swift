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
/// The sequence ends when the loop's task is cancelled. It throws what the read throws, ``DatabaseError/Reason/closed`` when
/// the database is closed, and ends then. Each loop observes independently, and holds the database, which does not close by itself
/// meanwhile.
public struct DatabaseObservation<Element: Sendable>: AsyncSequence, Sendable {
    let database: SharedDatabase
    let fetch: @Sendable (Connection) throws -> Element
    var isSame: (@Sendable (Element, Element) -> Bool)?
    var interval: Duration?

    /// The same, and commits by other processes and other queues or pools lead to a new element as well.
    ///
    /// SQLite does not report them. So the connection that writes polls for them
    /// (<https://sqlite.org/pragma.html#pragma_data_version>). What such a commit has touched is not known, so that each leads to a
    /// new read: ``removingDuplicates()`` helps here.
    /// - Parameter interval: the time between two polls; 10 ms at least.
    public func includingOtherProcesses(every interval: Duration) -> DatabaseObservation {
        var result = self
        result.interval = interval
        return result
    }

    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// One loop over the results.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        private let observation: DatabaseObservation
        private var subscription: ObservationSubscription?
        private var last: Element?
        private var isFinished = false

        init(_ observation: DatabaseObservation) { self.observation = observation }

        /// The next result; nil at the end.
        /// - Throws: what the read throws.
        public mutating func next() async throws -> Element? { try await next(isolation: nil) }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
            if isFinished { return nil }
            do {
                if let element = try await nextElement() { return element }
            } catch {
                finish()
                // A task that is cancelled ends its loops, whatever the read makes of that.
                if Task.isCancelled { return nil }
                throw error
            }
            finish()
            return nil
        }

        private mutating func finish() {
            isFinished = true
            subscription = nil
            last = nil
        }

        private mutating func nextElement() async throws -> Element? {
            let subscription = try await subscribed()
            while true {
                await subscription.listener.wait()
                if Task.isCancelled { return nil }
                let element = try await subscription.fetch(observation.fetch)
                guard let isSame = observation.isSame else { return element }
                if let last, isSame(last, element) { continue }
                last = element
                return element
            }
        }

        private mutating func subscribed() async throws -> ObservationSubscription {
            if let subscription { return subscription }
            let made = ObservationSubscription(observation.database)
            try await made.begin(interval: observation.interval)
            subscription = made
            return made
        }
    }
}

extension DatabaseObservation where Element: Equatable {
    /// The same, without elements that equal the one before.
    public func removingDuplicates() -> DatabaseObservation {
        var result = self
        result.isSame = { $0 == $1 }
        return result
    }
}

extension SharedDatabase {
    /// The results of a read, now and after each commit that may have changed them; see ``DatabaseObservation``.
    /// ```swift
    /// for try await count in pool.observe({ db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0 }) { show(count) }
    /// ```
    /// - Parameter fetch: reads, as in `read(_:)`. Called again for each element.
    public func observe<T: Sendable>(_ fetch: @escaping @Sendable (Connection) throws -> T) -> DatabaseObservation<T> {
        DatabaseObservation(database: self, fetch: fetch)
    }
}
