import Observation
import SQLCipherKitCore

/// The result of a read as an object that a view observes: its newest value, its error, and whether it is loading.
///
/// ```swift
/// // In SwiftUI. The object is created with the view's state; nothing is read before `load`.
/// @State private var notes = LiveQuery(pool.observe { db in try db.fetchAll(Note.order { $0.title }) })
///
/// List(notes.value ?? []) { note in Text(note.title) }
///     .task { notes.load() }
///
/// // For a search field and a list that grows: the read gets the text, and the number of rows to read.
/// @State private var found = LiveQuery(pool) { db, text, limit in
///     try db.fullText("note_fts").search(text, limit: limit).hits
/// }
/// ```
/// The read runs outside of the main actor, again after each commit that may have changed its result, as
/// ``DatabaseObservation`` describes. `value` is set once for each change, and only if the new value differs, where it is
/// `Equatable`. Rows that are `Identifiable` keep their identity, so that a list can animate moves.
///
/// The last request wins: `load`, a new ``searchText`` and ``loadMore()`` interrupt the read before them, and its result never
/// arrives. Until there is a new value, the old value stays. When the object is released, the observation ends. The type imports
/// `Observation` alone, and is not tied to SwiftUI.
@MainActor @Observable
public final class LiveQuery<Value: Sendable> {
    /// The newest result; nil until the first result has been read. After an error, the last result before the error stays.
    public private(set) var value: Value?
    /// The error of the last read; nil after the next result. An error ends the observation, and `load()` begins another.
    public private(set) var error: (any Error)?
    /// True while a requested result has not arrived.
    public private(set) var isLoading = false

    private var typed = ""
    /// The limit with which the value was read.
    private var loadedLimit = 0

    private let pause: Duration
    @ObservationIgnored private var pageSize: Int
    @ObservationIgnored private var limit: Int
    @ObservationIgnored private var observe: (_ text: String, _ limit: Int) -> DatabaseObservation<Value>
    /// Ends the running observation when it is replaced or released.
    @ObservationIgnored private var token: ObservationToken?

    private init(pageSize: Int, pause: Duration, _ observe: @escaping (String, Int) -> DatabaseObservation<Value>) {
        (self.pageSize, self.pause, self.observe, limit) = (pageSize, pause, observe, pageSize)
    }

    /// Creates a query that shows the results of an observation. It reads nothing before `load()`.
    public convenience init(_ observation: DatabaseObservation<Value>) {
        self.init(pageSize: .max, pause: .zero) { _, _ in observation }
    }

    /// Creates a query for a search field, for a list that grows, or for both. It reads nothing before `load()`, or before
    /// ``searchText`` is set.
    /// - Parameters:
    ///   - database: the queue or pool that is read.
    ///   - pageSize: the number of rows that ``loadMore()`` adds, and that are read at first. Default: 50. A number below 1 is the
    ///     error ``DatabaseError/Reason/invalidArgument``.
    ///   - pause: how long the user has to stop typing before the read begins. Default: 150 ms.
    ///   - fetch: reads the result for the text, from the first row, and at most `limit` rows. All rows are read in one snapshot,
    ///     so no row is missing or appears twice while other rows come and go.
    public convenience init(
        _ database: DatabaseWriter, pageSize: Int = 50, debounce pause: Duration = .milliseconds(150),
        _ fetch: @escaping @Sendable (_ db: Connection, _ text: String, _ limit: Int) throws -> Value
    ) {
        self.init(pageSize: pageSize, pause: pause) { text, limit in
            database.observe { db in
                guard pageSize > 0 else { throw DatabaseError.invalidArgument("a page has at least one row, not \(pageSize)") }
                return try fetch(db, text, limit)
            }
        }
    }

    /// The text in the search field. When it changes, the running read ends at once. A new read begins, from its first page, when
    /// the text has not changed for the length of the pause. Bind a search field to it: `.searchable(text: $found.searchText)`.
    public var searchText: String {
        get { typed }
        set {
            if newValue == typed { return }
            (typed, limit) = (newValue, pageSize)
            begin(after: pause)
        }
    }

    /// Reads the result, and follows its changes. Call it when the view appears, to try again after an error, and to refresh.
    /// - Parameter start: ``ObservationStart/immediate`` reads the value on this thread before the call returns. Default: the value
    ///   arrives later.
    public func load(_ start: ObservationStart = .later) { begin(start) }

    /// Shows the results of another observation from now on, for example after a filter has changed. The old value stays until the
    /// first new value arrives.
    public func load(_ observation: DatabaseObservation<Value>) {
        (observe, pageSize, limit) = ({ _, _ in observation }, .max, .max)
        begin()
    }

    /// Ends the observation. The value stays as it is until the next `load`.
    public func cancel() {
        token = nil
        set(\.isLoading, false)
    }

    private func begin(_ start: ObservationStart = .later, after pause: Duration = .zero) {
        token = nil
        set(\.isLoading, true)
        if pause <= .zero { return follow(start) }
        token = ObservationToken(
            Task { [weak self] in
                try? await Task.sleep(for: pause)
                if !Task.isCancelled { self?.follow(start) }
            })
    }

    private func follow(_ start: ObservationStart) {
        let limit = limit
        var observation = observe(typed, limit)
        let isSame = observation.isSame ?? areEqual
        observation.isSame = isSame
        token = observation.start(start) { [weak self] error in
            self?.error = error
            self?.set(\.isLoading, false)
        } onChange: { [weak self] element in
            self?.show(element, limit, isSame)
        }
    }

    private func show(_ element: Value, _ limit: Int, _ isSame: (Value, Value) -> Bool) {
        if value.map({ !isSame($0, element) }) ?? true { value = element }
        set(\.loadedLimit, limit)
        if error != nil { error = nil }
        set(\.isLoading, false)
    }

    /// Sets a property if that changes it, so that no view is drawn without need. Not every compiler's `@Observable` does it.
    private func set<T: Equatable>(_ property: ReferenceWritableKeyPath<LiveQuery, T>, _ new: T) {
        if self[keyPath: property] != new { self[keyPath: property] = new }
    }
}

extension LiveQuery where Value: Collection {
    /// True if `value` has as many rows as were requested, so that there may be more.
    public var hasMore: Bool { value.map { $0.count >= loadedLimit } ?? false }

    /// Reads another page, if there may be more rows and nothing is loading. Call it when the last row appears; calling it again
    /// does nothing until the page has arrived.
    public func loadMore() {
        guard hasMore, !isLoading else { return }
        let (sum, isTooLarge) = limit.addingReportingOverflow(pageSize)
        limit = isTooLarge ? .max : sum
        begin()
    }
}

/// Returns whether two values are equal; false where their type is not `Equatable`.
private func areEqual<T>(_ old: T, _ new: T) -> Bool {
    func areEqual<E: Equatable>(as type: E.Type) -> Bool { old as? E == new as? E }
    guard let type = T.self as? any Equatable.Type else { return false }
    return areEqual(as: type)
}
