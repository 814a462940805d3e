import CSQLCipher
import Foundation

/// For tasks: a call waits without a thread, and runs on the thread of its connection.
extension SharedDatabase {
    func run<R>(
        _ mode: ConnectionSlot.Mode, timeout: Duration?, _ body: sending @escaping (Connection) throws -> sending R
    ) async throws -> sending R {
        try checkCall()
        try Task.checkCancellation()
        let deadline = timeout.map(ContinuousClock.Instant.after)
        let cancellation = Cancellation()
        let pool = pool(for: mode)
        if case .read = mode, let slot = try acquireForShortRead(pool) {
            defer { self.readDuration.end() }
            return try await withTaskCancellationHandler {
                defer { pool.release(slot) }
                return try self.readDuration.measure { try self.perform(mode, slot, until: deadline, cancellation, body) }
            } onCancel: {
                cancellation.cancel(CancellationError())
            }
        }
        return try await wait(for: pool, cancellation, timeout) { [self] slot in
            try readDuration.measure { try perform(mode, slot, until: deadline, cancellation, body) }
        }
    }

    func runExclusively<R>(
        timeout: Duration?, _ body: sending @escaping (Connection) throws -> sending R
    ) async throws -> sending R {
        try checkCall()
        try Task.checkCancellation()
        let deadline = timeout.map(ContinuousClock.Instant.after)
        let cancellation = Cancellation()
        return try await wait(for: writer, cancellation, timeout) { [self] slot in
            try performExclusively(slot, until: deadline, cancellation, body)
        }
    }

    /// Waits for a slot, and runs `work` on its thread.
    func wait<R>(
        for pool: ConnectionPool, _ cancellation: Cancellation, _ timeout: Duration?,
        _ work: sending @escaping (ConnectionSlot) throws -> sending R
    ) async throws -> sending R {
        // A running call has a thread that looks at the clock; a waiting one has not.
        let timer = timeout.map { timeout in
            Task {
                try await Task.sleep(for: timeout.bounded)
                cancellation.cancel(DatabaseError.timeout)
            }
        }
        defer {
            timer?.cancel()
            // It holds the waiter, which holds the work, which holds the cancellation.
            cancellation.setHandler(nil)
        }
        // Sent to the one job that calls it, once.
        nonisolated(unsafe) let work = work
        return try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<R, any Error>) in
                let waiter = Waiter(isJob: true) { outcome in
                    guard case .success(let slot?) = outcome else {
                        if case .failure(let error) = outcome { continuation.resume(throwing: error) }
                        return nil
                    }
                    let result: Result<R, any Error>
                    do { result = .success(try work(slot)) } catch { result = .failure(error) }
                    let next = pool.release(slot, on: slot.thread)
                    nonisolated(unsafe) let sent = result
                    continuation.resume(with: sent)
                    return next
                }
                cancellation.setHandler { pool.abandon(waiter, $0) }
                do {
                    if let slot = try pool.acquireOrWait(waiter) {
                        slot.thread.run(Job { waiter.serve(.success(slot)) })
                    } else if let error = cancellation.error {
                        pool.abandon(waiter, error)
                    }
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        } onCancel: {
            cancellation.cancel(CancellationError())
        }
    }

    /// A free reader for a read that is likely to be short, which then runs on the thread that it is on.
    private func acquireForShortRead(_ pool: ConnectionPool) throws(DatabaseError) -> ConnectionSlot? {
        guard readers != nil, readDuration.begin() else { return nil }
        do throws(DatabaseError) {
            if let slot = try pool.tryAcquire(opened: true) { return slot }
        } catch {
            readDuration.end()
            throw error
        }
        readDuration.end()
        return nil
    }
}

/// Runs a synchronous call on a thread of its own, for a task.
func runOnThread<R>(_ body: @escaping @Sendable () throws -> sending R) async throws -> sending R {
    try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<R, any Error>) in
        let thread = Thread {
            let result: Result<R, any Error>
            do { result = .success(try body()) } catch { result = .failure(error) }
            nonisolated(unsafe) let sent = result
            continuation.resume(with: sent)
        }
        thread.stackSize = 8 << 20
        thread.start()
    }
}
