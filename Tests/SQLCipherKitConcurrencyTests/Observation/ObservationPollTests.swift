import KitSupport
@testable import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

/// Observations that look for commits of other processes.
@Suite(.timeLimit(.minutes(60))) struct ObservationPollTests {
    /// An observation that has ended keeps nothing until its next poll would come: its alarm is gone, where a task that sleeps
    /// would stay.
    @Test func endedObservationCancelsItsPollAlarm() async throws {
        let folder = try TemporaryFolder(), database = try Store.queue.open(folder)
        let counts = database.observe { db in try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0 }
            .includingOtherProcesses(every: .seconds(3600))
        var iterators: [DatabaseObservation<Int>.AsyncIterator] = []
        for _ in 0..<300 {
            var iterator = counts.makeAsyncIterator()
            _ = try await iterator.next()
            iterators.append(iterator)
        }
        // Other tests set some, too.
        #expect(DeadlineTimer.current.count >= 300)
        iterators = []
        try await suspendUntil("the alarms are cancelled") { DeadlineTimer.current.count < 200 }
    }
}
