import CSQLCipher
import SQLCipherKitCore

/// Passes a progress handler through a C callback, and its error back.
final class ProgressRelay {
    private let handler: RewriteProgress.Handler
    private let connection: Connection?
    /// The error that the handler has thrown.
    private(set) var error: (any Error)?
    private var lastTotal = 1

    /// - Parameter connection: a connection that the handler cannot use; nil if no caller has access to one.
    init(_ handler: @escaping RewriteProgress.Handler, on connection: Connection?) {
        self.handler = handler
        self.connection = connection
    }

    /// - Returns: whether to continue.
    func report(done: Int, total: Int) -> Bool {
        lastTotal = max(1, total)
        do {
            let progress = RewriteProgress(done: min(done, total), total: total)
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

    /// Calls `body` with the pointer to pass to C.
    func withPointer<R>(_ body: (UnsafeMutableRawPointer) throws -> R) rethrows -> R {
        try withExtendedLifetime(self) { try body(Unmanaged.passUnretained(self).toOpaque()) }
    }

    static func from(_ pointer: UnsafeMutableRawPointer?) -> ProgressRelay? {
        pointer.map { Unmanaged<ProgressRelay>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// Reports to a progress handler how far the copying of a database has got.
final class RewriteReporter {
    private let relay: ProgressRelay
    private let total: Int
    private var done = 0

    init(_ relay: ProgressRelay, total: Int) {
        self.relay = relay
        self.total = total
    }

    /// Reports the number of pages that the copy has so far. Nil repeats the last number, so that the handler has a chance to
    /// cancel.
    /// - Throws: the error that the handler throws.
    func report(_ pages: Int? = nil) throws {
        // The last page is only reported at the end, as the copy may be larger than estimated.
        done = max(done, min(pages ?? 0, total - 1))
        guard relay.report(done: done, total: total) else { throw relay.error ?? CancellationError() }
    }

    /// Reports that all is done.
    func finish() throws {
        guard relay.report(done: total, total: total) else { throw relay.error ?? CancellationError() }
    }
}
