import CSQLCipher
import Foundation

/// Calls of tasks: they wait without a thread, and run on the thread of their connection.
extension DatabaseCore {
    func run<R>(
        _ mode: ConnectionSlot.Mode, timeout: Duration?, _ body: sending @escaping (Connection) throws -> sending R
    ) async throws -> sending R {
        try checkCall()
        try Task.checkCancellation()
        let deadline = timeout.map { ContinuousClock.now + $0 }
        let ticket = Ticket()
        let lender = lender(for: mode)
        if case .read = mode, let slot = try takeForShortRead(lender) {
            defer { self.pace.end() }
            return try await withTaskCancellationHandler {
                defer { lender.giveBack(slot) }
                return try self.pace.measure { try self.perform(mode, slot, until: deadline, ticket, body) }
            } onCancel: {
                ticket.stop(CancellationError())
            }
        }
        return try await wait(for: lender, ticket, timeout) { [self] slot in
            try pace.measure { try perform(mode, slot, until: deadline, ticket, body) }
        }
    }

    func runAlone<R>(timeout: Duration?, _ body: sending @escaping (Connection) throws -> sending R) async throws -> sending R {
        try checkCall()
        try Task.checkCancellation()
        let deadline = timeout.map { ContinuousClock.now + $0 }
        let ticket = Ticket()
        return try await wait(for: writer, ticket, timeout) { [self] slot in try alone(slot, until: deadline, ticket, body) }
    }

    /// Waits for a slot, and runs `work` on its thread.
    private func wait<R>(
        for lender: Lender, _ ticket: Ticket, _ timeout: Duration?, _ work: sending @escaping (ConnectionSlot) throws -> sending R
    ) async throws -> sending R {
        // The worker's thread knows a deadline while it runs; what waits has no thread to look at a clock.
        let timer = timeout.map { timeout in
            Task {
                try await Task.sleep(for: timeout)
                ticket.stop(DatabaseError.timeout)
            }
        }
        defer {
            timer?.cancel()
            // It holds the waiter, which holds the work, which holds the ticket.
            ticket.whenStopped(nil)
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
                    let next = lender.giveBack(slot, on: slot.worker)
                    nonisolated(unsafe) let sent = result
                    continuation.resume(with: sent)
                    return next
                }
                ticket.whenStopped { lender.abandon(waiter, $0) }
                do {
                    if let slot = try lender.takeOrWait(waiter) {
                        slot.worker.run(Job { waiter.serve(.success(slot)) })
                    } else if let error = ticket.error {
                        lender.abandon(waiter, error)
                    }
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        } onCancel: {
            ticket.stop(CancellationError())
        }
    }

    /// A free reader for a read that is likely to be short, which then need not go to another thread.
    private func takeForShortRead(_ lender: Lender) throws(DatabaseError) -> ConnectionSlot? {
        guard readers != nil, pace.begin() else { return nil }
        do throws(DatabaseError) {
            if let slot = try lender.takeAtOnce(opened: true) { return slot }
        } catch {
            pace.end()
            throw error
        }
        pace.end()
        return nil
    }
}

/// Runs a call that has no form for tasks of its own on a thread.
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
