import Foundation
import SQLCipherKit

/// The cost of queues and pools to a process: memory, threads, descriptors.
extension FaultDriver {
    static func runSleeping(_ action: String, _ path: String, _ arguments: [String]) throws {
        let count = Int(arguments[0]) ?? 0
        if action == "timed-calls" {
            let queue = try DatabaseQueue(.file(path))
            func calls(_ count: Int) throws {
                try waiting {
                    for _ in 0..<count { _ = try await queue.read(timeout: .seconds(3600)) { db in db.isOpen } }
                }
            }
            try calls(1000)
            let before = status("VmRSS")
            try calls(count)
            say("grown \(status("VmRSS") - before)")
            return
        }
        let before = (status("VmRSS"), status("Threads"), try descriptors())
        let databases = try (0..<count).map { number -> DatabaseWriter in
            let location = DatabaseLocation.file("\(path)\(number)")
            var configuration = DatabaseConfiguration()
            configuration.pool.readerIdleTime = .seconds(1)
            return try action == "sleeping-pools"
                ? DatabasePool(location, configuration: configuration) : DatabaseQueue(location, configuration: configuration)
        }
        try waiting {
            for database in databases {
                try await database.write { db in try db.execute("CREATE TABLE IF NOT EXISTS t(x)") }
                _ = try await database.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") }
            }
        }
        // Idle readers close, and threads without work end.
        let end = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < end, try status("Threads") - before.1 > 10 || descriptors() - before.2 > 4 * count {
            usleep(10_000)
        }
        say("memory \((status("VmRSS") - before.0) / count)")
        say("threads \(status("Threads") - before.1)")
        say("descriptors \((try descriptors() - before.2) / count)")
        withExtendedLifetime(databases) {}
    }

    static func waiting(_ body: @escaping @Sendable () async throws -> Void) throws {
        let end = DispatchSemaphore(value: 0)
        nonisolated(unsafe) var outcome: Result<Void, any Error> = .success(())
        Task {
            do { try await body() } catch { outcome = .failure(error) }
            end.signal()
        }
        if end.wait(timeout: .now() + .seconds(120)) == .timedOut { throw DatabaseError(message: "it hangs") }
        try outcome.get()
    }

    /// A value from the kernel's status of the process; memory is in KB.
    private static func status(_ name: String) -> Int {
        let lines = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8))?.split(separator: "\n") ?? []
        return lines.first { $0.hasPrefix(name + ":") }?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0
    }

    private static func descriptors() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }
}
