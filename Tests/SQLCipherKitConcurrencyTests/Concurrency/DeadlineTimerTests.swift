import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

@Suite struct DeadlineTimerTests {
    private final class Held: Sendable {}

    /// All are set while the first deadline holds up the timer, so they follow in the order of their deadlines.
    @Test(arguments: [1, 2, 3, 7, 100, 1000])
    func timerFiresAlarmsInDeadlineOrder(_ count: Int) throws {
        let timer = DeadlineTimer(), begun = Deadline.now
        let isBusy = DispatchSemaphore(value: 0), mayGoOn = DispatchSemaphore(value: 0), isDone = DispatchSemaphore(value: 0)
        _ = try timer.set(at: begun) {
            isBusy.signal()
            mayGoOn.wait()
        }
        isBusy.wait()
        var random = SeededGenerator(state: UInt64(count))
        let rung = Lock<[Int]>([])
        let times = (1...count).shuffled(using: &random)
        let alarms = try times.map { time in try timer.set(at: begun + .nanoseconds(time)) { rung.withLock { $0.append(time) } } }
        let cancelled = alarms.indices.filter { _ in Int.random(in: 0..<3, using: &random) == 0 }
        for index in cancelled { timer.cancel(alarms[index]) }
        // Again, which changes nothing.
        for index in cancelled { timer.cancel(alarms[index]) }
        #expect(timer.count == count - cancelled.count)
        _ = try timer.set(at: begun + .nanoseconds(count + 1)) { isDone.signal() }
        mayGoOn.signal()
        #expect(isDone.wait(timeout: .now() + 60) == .success)
        #expect(rung.withLock { $0 } == Set(times).subtracting(cancelled.map { times[$0] }).sorted())
        #expect(timer.count == 0)
    }

    @Test func cancelledAlarmReleasesItsClosure() throws {
        let timer = DeadlineTimer()
        weak var held: Held?
        func set() throws -> DeadlineTimer.Alarm {
            let object = Held()
            held = object
            return try timer.set(at: .now + .seconds(3600)) { withExtendedLifetime(object) {} }
        }
        let alarm = try set()
        #expect(held != nil)
        timer.cancel(alarm)
        #expect(held == nil && timer.count == 0)
    }
}
