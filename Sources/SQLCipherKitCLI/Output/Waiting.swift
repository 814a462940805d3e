import Foundation
import SQLCipherKitCore

/// Runs asynchronous work, and waits for it on the tool's only thread.
func waiting<T: Sendable>(for work: @escaping @Sendable () async throws -> T) throws -> T {
    let result = Lock<Result<T, any Error>?>(nil), done = DispatchSemaphore(value: 0)
    let task = Task {
        do {
            let value = try await work()
            result.withLock { $0 = .success(value) }
        } catch { result.withLock { $0 = .failure(error) } }
        done.signal()
    }
    // A signal cancels the work.
    while done.wait(timeout: .now() + .milliseconds(50)) == .timedOut { if Interruption.isWanted { task.cancel() } }
    guard let result = result.withLock({ $0 }) else { throw CancellationError() }
    if case .failure = result { try Interruption.check() }
    return try result.get()
}
