/// When a started observation delivers its first element.
public enum ObservationStart: Sendable {
    /// Before `start` returns. It is read on the calling thread, which waits if the database is busy.
    case immediate
    /// After `start` has returned.
    case later
}

/// Ends what `start` or ``SharedDatabase/observeSuspension(suspending:resuming:in:timeout:)`` has started, when the token is
/// released or with ``cancel()``.
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
    /// token = counts.start { [label] count in label.text = "\(count)" }
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
