/// Passes a progress handler through a C callback, and its error back.
package final class ProgressRelay {
    private let handler: DatabaseProgress.Handler
    private let connection: Connection?
    /// The error that the handler has thrown.
    package private(set) var error: (any Error)?
    private var lastTotal = 1

    /// - Parameter connection: a connection that the handler cannot use; nil if no caller has access to one.
    package init(_ handler: @escaping DatabaseProgress.Handler, on connection: Connection?) {
        self.handler = handler
        self.connection = connection
    }

    /// - Returns: whether to continue.
    package func report(done: Int, total: Int) -> Bool {
        lastTotal = max(1, total)
        do {
            let progress = DatabaseProgress(done: min(done, total), total: total)
            if let connection { try connection.refusingUse { try handler(progress) } } else { try handler(progress) }
            return true
        } catch {
            self.error = error
            return false
        }
    }

    /// Reports that all is done.
    /// - Returns: whether to continue.
    package func finish() -> Bool { report(done: lastTotal, total: lastTotal) }

    /// Calls `body` with the pointer to pass to C.
    package func withPointer<R>(_ body: (UnsafeMutableRawPointer) throws -> R) rethrows -> R {
        try withExtendedLifetime(self) { try body(Unmanaged.passUnretained(self).toOpaque()) }
    }

    package static func from(_ pointer: UnsafeMutableRawPointer?) -> ProgressRelay? {
        pointer.map { Unmanaged<ProgressRelay>.fromOpaque($0).takeUnretainedValue() }
    }
}
