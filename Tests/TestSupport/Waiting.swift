import Foundation

extension Duration {
    /// The limit of a call that a test expects to return: longer than a test takes on any machine. It ends a hang.
    public static let forTests = Duration.seconds(3600)
}

/// Measures the processor time of a synchronous call on this thread, which other work on the machine does not change.
public func processorTime(_ body: () throws -> Void) rethrows -> Duration {
    func now() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
    let start = now()
    try body()
    return now() - start
}

/// The error for an event that has not happened in time.
public struct WaitedTooLong: Error, CustomStringConvertible {
    public let description: String
}

/// The one place where a test looks again and again: for what happens in another process, or what a library has no call to tell.
/// Where a hook, a latch or a value can tell a test, that is what to wait for.
private struct Watch {
    private let end: ContinuousClock.Instant
    private let what: String
    private var pause = Duration.microseconds(200), looks = 0

    init(_ what: String, _ limit: Duration) { (self.what, end) = (what, .now + limit) }

    /// The time to wait until the next look: longer each time, up to 5 ms. Behind hundreds of tests, a task may be late at its
    /// second look already, and so is what it waits for: there are some looks, however late.
    mutating func next() throws -> Duration {
        looks += 1
        guard ContinuousClock.now < end || looks < 50 else { throw WaitedTooLong(description: "waited too long until \(what)") }
        defer { pause = min(pause * 2, .milliseconds(5)) }
        return pause
    }
}

/// Waits until a condition holds.
/// - Parameters:
///   - what: the condition that holds then, for the error.
///   - limit: the longest wait. It is for a machine at work, and no measure of anything.
public func waitUntil(_ what: String, atMost limit: Duration = .forTests, _ condition: () throws -> Bool) throws {
    var watch = Watch(what, limit)
    while try !condition() { usleep(UInt32(try watch.next() / .microseconds(1))) }
}

/// The same without holding a thread, for tests with tasks.
public func suspendUntil(
    _ what: String, atMost limit: Duration = .forTests, isolation: isolated (any Actor)? = #isolation,
    _ condition: () async throws -> Bool
) async throws {
    var watch = Watch(what, limit)
    while try await !condition() { try await Task.sleep(for: watch.next()) }
}

extension TemporaryFolder {
    /// Waits until there is a file at a path.
    public static func waitForFile(_ path: String) throws {
        try waitUntil("there is \(path)") { FileManager.default.fileExists(atPath: path) }
    }
}
