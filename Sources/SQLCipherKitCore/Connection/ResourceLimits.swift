import CSQLCipher

/// Limits for the work on an untrusted file. The content of a file determines how much it costs to check: columns can be computed,
/// rows can share bytes, and values can be made from other values.
///
/// ```swift
/// var limits = ResourceLimits()
/// limits.time = .seconds(60)
/// let report = try db.main.verify(limits: limits)
/// ```
/// The work also ends when its task is cancelled, with a `CancellationError`; opening and attaching throw a ``DatabaseError`` with
/// that error as its ``DatabaseError/underlyingError``.
public struct ResourceLimits: Hashable, Sendable {
    /// The time for the work; nil is no limit. Beyond it, the call throws ``DatabaseError/Reason/timeout``. Default: 10 s.
    public var time: Duration? = .seconds(10)
    /// The number of bytes that the work may allocate, including the page cache of 64 MB; nil is no limit. Beyond it, the call
    /// throws ``DatabaseError/Reason/limitExceeded``. Default: 256 MB.
    public var memory: Int? = 256 << 20
    /// The number of rows that the work may read or copy; nil is no limit. Beyond it, the call throws
    /// ``DatabaseError/Reason/limitExceeded``. Default: 10 million.
    public var rows: Int? = 10_000_000

    /// The defaults.
    public init() {}

    /// No limits, for large files of a known origin: the work ends early only if its task is cancelled.
    public static var none: ResourceLimits {
        var limits = ResourceLimits()
        (limits.time, limits.memory, limits.rows) = (nil, nil, nil)
        return limits
    }
}

/// The resources that a piece of work has used so far, on one thread.
package final class WorkMeter {
    private let limits: ResourceLimits
    private let end: Deadline?
    private var rows = 0, memory = 0

    package init(_ limits: ResourceLimits) {
        self.limits = limits
        end = limits.time.map(Deadline.after)
    }

    /// The limits with the time that is left.
    package var remaining: ResourceLimits {
        var left = limits
        left.time = end.map { max(.zero, $0 - .now) }
        return left
    }

    /// Counts what was done outside of the engine.
    /// - Parameters:
    ///   - rows: more rows.
    ///   - bytes: memory that is kept.
    package func use(rows more: Int = 0, bytes: Int = 0) throws {
        (rows, memory) = (rows + more, memory + bytes)
        if Task.isCancelled { throw CancellationError() }
        if let end, end.hasPassed, let time = limits.time {
            throw DatabaseError(code: .interrupted, reason: .timeout, message: "the work on the file took longer than \(time)")
        }
        if let most = limits.rows, rows > most { throw Self.exceeded("reads more than \(most) rows") }
        if let most = limits.memory, memory > most { throw memoryExceeded }
    }

    /// - Throws: ``DatabaseError/Reason/limitExceeded`` if a buffer would be too large.
    package func require(bytes: Int) throws {
        if let most = limits.memory, memory + bytes > most { throw memoryExceeded }
    }

    private var memoryExceeded: DatabaseError { Self.exceeded("needs more than \(limits.memory ?? 0) bytes of memory") }

    private static func exceeded(_ what: String) -> DatabaseError {
        DatabaseError(code: .interrupted, reason: .limitExceeded, message: "the work on the file \(what)")
    }

    /// Runs the whole work.
    package func run<R>(_ body: () throws -> R) throws -> R {
        let memory = sqlcipherkit_limit_memory(limits.memory.map { Int64(max(0, $0)) } ?? -1)
        let result = Result { try body() }
        let wasRefused = sqlcipherkit_end_memory_limit(memory) != 0
        do { return try result.get() } catch let error as DatabaseError {
            if error.underlyingError is CancellationError { throw CancellationError() }
            throw wasRefused && error.code.primary == .outOfMemory ? memoryExceeded : error
        }
    }

    /// Ends what `body` runs on a connection as soon as it exceeds the limits, or the connection's progress handler says so. This
    /// handler is asked each time, for a wait for a lock asks as seldom as it tries.
    package func watch<R>(_ connection: Connection, _ body: () throws -> R) throws -> R {
        let (hooks, handle) = try connection.usableHooks()
        let before = (interval: hooks.progressInterval, body: hooks.progress)
        var last = sqlcipherkit_rows_stepped(handle)
        // Each instruction may run a function of the file's own choice, with much to do.
        try connection.settings.setProgressHandler(every: limits == .none ? 1000 : 8) {
            let now = sqlcipherkit_rows_stepped(handle)
            // A statement that has ended takes its rows along.
            try self.use(rows: max(0, Int(now - last)))
            last = now
            return try before.body?() ?? true
        }
        defer {
            if connection.hasHandle {
                try? connection.restoring { try connection.settings.setProgressHandler(every: before.interval, before.body) }
            }
        }
        return try body()
    }
}

extension Connection {
    /// Runs work on this connection within limits. Without limits it is not counted at all.
    package func limited<R>(to limits: ResourceLimits?, _ body: () throws -> R) throws -> R {
        guard let limits else { return try body() }
        let meter = WorkMeter(limits)
        return try meter.run { try meter.watch(self, body) }
    }

    /// The same for a call that throws ``DatabaseError`` alone.
    package func limitedWork<R>(
        to limits: ResourceLimits?, _ body: () throws -> R
    ) throws -> R {
        guard let limits else { return try body() }
        do { return try limited(to: limits) { try body() } } catch {
            throw DatabaseError(thrownBy: "the task", error, code: .interrupted)
        }
    }

    /// Asks the progress handler whether work goes on that no statement does.
    package func requireToGoOn() throws {
        if let hooks, hooks.progressed() != 0 { throw failure(SQLITE_INTERRUPT) }
    }
}
