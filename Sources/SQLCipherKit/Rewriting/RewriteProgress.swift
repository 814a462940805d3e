import CSQLCipher

/// The progress of rewriting or copying a whole database.
public struct RewriteProgress: Hashable, Sendable {
    /// The number of pages that are done.
    public let pagesDone: Int
    /// The number of all pages. An estimate if the page size changes.
    public let pagesTotal: Int

    /// The part that is done, from 0 to 1.
    public var fraction: Double { pagesTotal == 0 ? 1 : Double(pagesDone) / Double(pagesTotal) }
}

/// Called with the progress; throwing cancels. It cannot use the connections whose databases are rewritten or copied: their calls
/// throw ``DatabaseError/Reason/misuse`` meanwhile, and do nothing.
public typealias RewriteProgressHandler = (RewriteProgress) throws -> Void

/// Carries a progress handler through a C callback, and its error back.
final class ProgressRelay {
    private let handler: RewriteProgressHandler
    private let connection: Connection?
    /// What the handler has thrown.
    private(set) var error: (any Error)?
    private var lastTotal = 1

    /// - Parameter connection: one of those that cannot be used in the handler; nil if no caller knows any.
    init(_ handler: @escaping RewriteProgressHandler, on connection: Connection?) {
        self.handler = handler
        self.connection = connection
    }

    /// - Returns: whether to continue.
    func report(done: Int, total: Int) -> Bool {
        lastTotal = max(1, total)
        do {
            let progress = RewriteProgress(pagesDone: min(done, total), pagesTotal: total)
            if let connection { try connection.refusingUse { try handler(progress) } } else { try handler(progress) }
            return true
        } catch {
            self.error = error
            return false
        }
    }

    /// Reports that all is done.
    /// - Returns: whether to continue.
    func finish() -> Bool { report(done: lastTotal, total: lastTotal) }

    /// Calls `body` with the pointer to be handed to C.
    func withPointer<R>(_ body: (UnsafeMutableRawPointer) throws -> R) rethrows -> R {
        try withExtendedLifetime(self) { try body(Unmanaged.passUnretained(self).toOpaque()) }
    }

    static func from(_ pointer: UnsafeMutableRawPointer?) -> ProgressRelay? {
        pointer.map { Unmanaged<ProgressRelay>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// Tells a progress handler how far the copy of a database is.
final class RewriteReporter {
    private let relay: ProgressRelay
    private let total: Int
    private var done = 0

    init(_ relay: ProgressRelay, total: Int) {
        self.relay = relay
        self.total = total
    }

    /// Reports the pages that the copy has by now. Nil repeats the last number, so that the handler may cancel.
    /// - Throws: what the handler throws.
    func report(_ pages: Int? = nil) throws {
        // The last page is kept for the end, as the copy may be larger than estimated.
        done = max(done, min(pages ?? 0, total - 1))
        guard relay.report(done: done, total: total) else { throw relay.error ?? CancellationError() }
    }

    /// Reports that all is done.
    func finish() throws {
        guard relay.report(done: total, total: total) else { throw relay.error ?? CancellationError() }
    }
}
