import SQLCipherKit
import Synchronization
import Testing
import TestSupport

/// The example of the article "On a server and in a container".
@Suite struct OnAServerArticleTests {
    /// With the calls of swift-log's `Logger` and swift-metrics' `Timer`, of which the package depends on neither.
    private final class Recorder: Sendable {
        let messages = Mutex<[String]>([]), times = Mutex<[Duration]>([])
        func warning(_ message: String, metadata: [String: String]) { messages.withLock { $0.append("\(message) \(metadata)") } }
        func record(duration: Duration) { times.withLock { $0.append(duration) } }
    }

    @Test func slowStatementsAreLoggedWithoutTheirValues() async throws {
        let folder = try TemporaryFolder()
        let pool = try DatabasePool(.file(folder.path("notes.db")), key: .raw([UInt8](repeating: 7, count: 32)))
        let recorder = Recorder()
        let logger = recorder, timer = recorder

        pool.addTraceHook { event in
            guard case .finished(let time) = event.kind else { return }
            timer.record(duration: time)
            if time > .milliseconds(50) {
                logger.warning(
                    "slow statement", metadata: ["sql": "\(event.sql)"])
            }
        }
        let secret = "Foxes"
        let count = try await pool.read { db in
            try db.fetchOne(
                Int.self,
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000000)
                SELECT count(*) FROM n WHERE \(secret) <> ''
                """)
        }
        #expect(count == 3_000_000)
        #expect(recorder.times.withLock { !$0.isEmpty })
        let messages = recorder.messages.withLock { $0 }.filter { $0.contains("RECURSIVE") }
        #expect(messages.count == 1 && messages.allSatisfy { $0.hasPrefix("slow statement") && !$0.contains(secret) }, "\(messages)")
    }
}
