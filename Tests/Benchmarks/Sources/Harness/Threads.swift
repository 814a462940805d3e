import Foundation

/// Runs `body` on as many threads, and waits for all of them.
public func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
    let errors = Errors()
    let group = DispatchGroup()
    for number in 0..<count {
        group.enter()
        Thread {
            do { try body(number) } catch { errors.keep(error) }
            group.leave()
        }.start()
    }
    group.wait()
    if let error = errors.first { throw error }
}

/// Runs tasks, and waits for them on the main thread.
public func waiting(_ body: @escaping @Sendable () async throws -> Int64) throws -> Int64 {
    let errors = Errors()
    let group = DispatchGroup()
    nonisolated(unsafe) var result: Int64 = 0
    group.enter()
    Task.detached {
        do { result = try await body() } catch { errors.keep(error) }
        group.leave()
    }
    group.wait()
    if let error = errors.first { throw error }
    return result
}

/// Runs `body` on the main actor, while the main thread does nothing else.
public func waitingOnMainActor(_ body: @escaping @MainActor @Sendable () async throws -> Int64) throws -> Int64 {
    let errors = Errors()
    nonisolated(unsafe) var result: Int64?
    Task { @MainActor in
        do { result = try await body() } catch {
            errors.keep(error)
            result = 0
        }
    }
    while result == nil { _ = RunLoop.main.run(mode: .default, before: .distantFuture) }
    if let error = errors.first { throw error }
    return result ?? 0
}

private final class Errors: @unchecked Sendable {
    private let lock = NSLock()
    private var kept: (any Error)?

    func keep(_ error: any Error) { lock.withLock { if kept == nil { kept = error } } }

    var first: (any Error)? { lock.withLock { kept } }
}
