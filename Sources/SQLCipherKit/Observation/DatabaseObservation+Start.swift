/// When an observation that was started gives its first element.
public enum ObservationStart: Sendable {
    /// Before `start` returns: it is read on the calling thread. Where the database has to be waited for, the thread waits.
    case immediate
    /// After `start` has returned.
    case later
}

/// Ends an observation that was started with `start`, when it is released or with ``cancel()``.
public final class ObservationToken: Sendable {
    private let task: Task<Void, Never>?

    init(_ task: Task<Void, Never>?) { self.task = task }

    deinit { task?.cancel() }

    /// Ends the observation. On the main actor, nothing is delivered there after this call. A second call does nothing.
    public func cancel() { task?.cancel() }
}

extension DatabaseObservation {
    /// Calls `onChange` on the main actor with the current result, and again after each commit that may have changed it.
    ///
    /// ```swift
    /// // In a view controller: the label has its text before the view is drawn for the first time.
    /// token = counts.start { [label] count in label.text = "\(count)" }
    /// ```
    /// Elements come in order, as they do in a loop. An error is the last call.
    /// - Parameters:
    ///   - start: when the first element comes. Default: before the call returns.
    ///   - onError: is called with what the read throws. With ``ObservationStart/immediate`` that may be before the call returns.
    ///     Default: does nothing.
    ///   - onChange: is called with each element.
    /// - Returns: what ends the observation when it is released.
    @MainActor
    public func start(
        _ start: ObservationStart = .immediate, onError: @escaping @MainActor (any Error) -> Void = { _ in },
        onChange: @escaping @MainActor (Element) -> Void
    ) -> ObservationToken {
        var iterator = makeAsyncIterator()
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
                        // Cancelled while the element was on its way here.
                        if Task.isCancelled { return }
                        onChange(element)
                    }
                } catch {
                    if !Task.isCancelled { onError(error) }
                }
            })
    }

    /// The same for code that is on no actor. With ``ObservationStart/immediate`` the first call is on the calling thread, and each
    /// later one on some other thread, one after another. A call that has begun when the token is released is finished.
    public nonisolated func start(
        concurrently start: ObservationStart, onError: @escaping @Sendable (any Error) -> Void = { _ in },
        onChange: @escaping @Sendable (Element) -> Void
    ) -> ObservationToken {
        var iterator = makeAsyncIterator()
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
