import Foundation
import SQLCipherKitCore

/// The timer for all calls with a timeout. It uses one thread in the process, which ends when there is nothing to wait for.
///
/// Alarms are in a heap: setting or cancelling one takes time logarithmic in their number, and a cancelled one leaves nothing
/// behind.
package final class DeadlineTimer: @unchecked Sendable {
    // Sendable: everything that changes, in alarms too, is accessed only under the condition's lock.
    private static let timer = PerProcess { DeadlineTimer() }
    static var current: DeadlineTimer { timer.current }
    private static let idleTime = Duration.seconds(2)

    /// Something to do at a deadline.
    package final class Alarm: @unchecked Sendable {
        fileprivate let deadline: Deadline
        fileprivate var action: (@Sendable () -> Void)?
        /// The alarm's place in the heap; nil once it is not in the heap.
        fileprivate var index: Int?

        fileprivate init(_ deadline: Deadline, _ action: @escaping @Sendable () -> Void) {
            (self.deadline, self.action) = (deadline, action)
        }
    }

    private let condition = NSCondition()
    private var heap: [Alarm] = []
    private var isRunning = false
    /// When the thread checks the heap next. An earlier alarm has to wake it.
    private var wakeUp = Deadline.now

    package init() {}

    /// The number of alarms that are set.
    package var count: Int { condition.withLock { heap.count } }

    /// Calls `action` at a deadline, on the timer's thread, so `action` must be brief.
    /// - Throws: ``DatabaseError/Reason/noThread``; the action is never called then.
    package func set(at deadline: Deadline, _ action: @escaping @Sendable () -> Void) throws -> Alarm {
        let alarm = Alarm(deadline, action)
        condition.lock()
        defer { condition.unlock() }
        heap.append(alarm)
        place(alarm, at: heap.count - 1)
        siftUp(alarm)
        if !isRunning {
            do { try SystemThread.start { [self] in work() } } catch {
                _ = remove(alarm)
                throw error
            }
            isRunning = true
        } else if deadline < wakeUp {
            condition.signal()
        }
        return alarm
    }

    /// Removes an alarm. Its action may already be running.
    package func cancel(_ alarm: Alarm) {
        condition.lock()
        let action = remove(alarm)
        condition.unlock()
        // Release the objects that the action holds outside the lock.
        withExtendedLifetime(action) {}
    }

    private func work() {
        while let action = nextAction() { SystemThread.withPool(action) }
    }

    /// Waits for the next alarm; returns nil if there has been none for a while.
    private func nextAction() -> (@Sendable () -> Void)? {
        condition.lock()
        defer { condition.unlock() }
        var end = Deadline.after(Self.idleTime)
        while true {
            if let first = heap.first {
                if first.deadline <= .now { return remove(first) }
                wakeUp = first.deadline
                end = .after(Self.idleTime)
            } else {
                wakeUp = end
                if end <= .now {
                    isRunning = false
                    return nil
                }
            }
            _ = condition.wait(until: wakeUp)
        }
    }

    // MARK: The heap

    private func remove(_ alarm: Alarm) -> (@Sendable () -> Void)? {
        guard let index = alarm.index, let last = heap.popLast() else { return nil }
        alarm.index = nil
        if last !== alarm {
            place(last, at: index)
            siftUp(last)
            siftDown(last)
        }
        return alarm.action.take()
    }

    private func place(_ alarm: Alarm, at index: Int) {
        heap[index] = alarm
        alarm.index = index
    }

    private func siftUp(_ alarm: Alarm) {
        guard var index = alarm.index else { return }
        while index > 0 {
            let parent = heap[(index - 1) / 2]
            if parent.deadline <= alarm.deadline { break }
            place(parent, at: index)
            index = (index - 1) / 2
        }
        place(alarm, at: index)
    }

    private func siftDown(_ alarm: Alarm) {
        guard var index = alarm.index else { return }
        while case var child = 2 * index + 1, child < heap.count {
            if child + 1 < heap.count, heap[child + 1].deadline < heap[child].deadline { child += 1 }
            if alarm.deadline <= heap[child].deadline { break }
            place(heap[child], at: index)
            index = child
        }
        place(alarm, at: index)
    }
}
