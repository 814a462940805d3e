import Foundation
import KitSupport
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Testing
import TestSupport

/// The lender of connections against a model that is nothing but lists, in random schedules; and with threads.
@Suite struct LenderModelTests {

    private let closed = DatabaseError(message: "closed")

    /// The fate of a call.
    private enum Fate: Equatable {
        case waits
        /// The caller has as many slots: one, or all.
        case has(all: Bool)
        case throwsClosed
        case abandoned
        case isOver
    }

    /// The rules in brief: the first call in line is served if its connection is free; otherwise no call is served.
    private struct Model {
        enum Lane: Int { case closing, line, patient }
        struct Waiting { var id: Int, wish: Waiter.Wish, lane: Lane }

        let count: Int
        var free: Int
        var waiting: [Waiting] = []
        var fates: [Int: Fate] = [:]
        var isClosing = false, isClosed = false

        init(_ count: Int) { (self.count, free) = (count, count) }

        mutating func enter(_ id: Int, _ wish: Waiter.Wish) {
            if isClosed || isClosing && wish != .closing { return fates[id] = .throwsClosed }
            fates[id] = .waits
            waiting.append(Waiting(id: id, wish: wish, lane: wish == .closing ? .closing : .line))
            serve()
        }

        mutating func serve() {
            while let next = waiting.indices.min(by: { (waiting[$0].lane.rawValue, $0) < (waiting[$1].lane.rawValue, $1) }) {
                let isOne = waiting[next].wish == .one
                guard isOne ? free > 0 : free == count else { return }
                free -= isOne ? 1 : count
                fates[waiting.remove(at: next).id] = .has(all: !isOne)
            }
        }

        mutating func release(_ id: Int) {
            free += fates[id] == .has(all: true) ? count : 1
            fates[id] = .isOver
            serve()
        }

        mutating func abandon(_ id: Int) {
            guard let index = waiting.firstIndex(where: { $0.id == id }) else { return }
            waiting.remove(at: index)
            fates[id] = .abandoned
            serve()
        }

        mutating func setPatient(_ id: Int, _ isPatient: Bool) {
            guard let index = waiting.firstIndex(where: { $0.id == id }) else { return }
            var moved = waiting.remove(at: index)
            moved.lane = isPatient ? .patient : moved.wish == .closing ? .closing : .line
            waiting.append(moved)
            serve()
        }

        mutating func beginClosing() {
            isClosing = true
            for call in waiting where call.wish != .closing { fates[call.id] = .throwsClosed }
            waiting.removeAll { $0.wish != .closing }
            serve()
        }

        mutating func finishClosing() {
            beginClosing()
            isClosed = true
            for call in waiting { fates[call.id] = .throwsClosed }
            waiting = []
        }
    }

    /// The lender, driven call by call.
    private final class Driver {
        struct Abandoned: Error {}

        let pool: ConnectionPool
        let fates = Lock<[Int: Fate]>([:])
        let slots = Lock<[Int: ConnectionSlot]>([:])
        var waiters: [Int: Waiter] = [:]

        init(_ count: Int) { pool = ConnectionPool((0..<count).map { _ in ConnectionSlot { throw Abandoned() } }) }

        func enter(_ id: Int, _ wish: Waiter.Wish) {
            nonisolated(unsafe) let driver = self
            let note: @Sendable (Waiter.Outcome) -> Void = { outcome in
                switch outcome {
                case .success(let slot):
                    if let slot { driver.slots.withLock { $0[id] = slot } }
                    driver.fates.withLock { $0[id] = .has(all: slot == nil) }
                case .failure(let error): driver.fates.withLock { $0[id] = error is Abandoned ? .abandoned : .throwsClosed }
                }
            }
            let waiter = Waiter(wish) { outcome in
                note(outcome)
                return nil
            }
            waiters[id] = waiter
            fates.withLock { $0[id] = .waits }
            if let outcome = pool.acquireOrWait(waiter) { note(outcome) }
        }

        func release(_ id: Int) {
            fates.withLock { $0[id] = .isOver }
            if let slot = slots.withLock({ $0.removeValue(forKey: id) }) { pool.giveBack(slot) } else { pool.releaseAll() }
        }
    }

    @Test func randomLendingSchedulesMatchModel() throws {
        var generator = SeededGenerator()
        func random(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }
        for schedule in 0..<(LongTests.areOn ? 200_000 : 2000) {
            let count = 1 + random(3)
            var model = Model(count)
            let driver = Driver(count)
            var steps: [String] = []
            for id in 0..<(10 + random(40)) {
                func any(_ condition: (Fate) -> Bool) -> Int? {
                    let ids = model.fates.filter { condition($0.value) }.keys.sorted()
                    return ids.isEmpty ? nil : ids[random(ids.count)]
                }
                switch random(16) {
                case 0..<6:
                    let wish = [Waiter.Wish.one, .one, .one, .all, .all, .closing][random(6)]
                    steps.append("\(id) wants \(wish)")
                    model.enter(id, wish)
                    driver.enter(id, wish)
                case 6..<11:
                    guard let call = any({ if case .has = $0 { true } else { false } }) else { continue }
                    steps.append("\(call) releases")
                    model.release(call)
                    driver.release(call)
                case 11..<13:
                    guard let call = any({ $0 == .waits }), let waiter = driver.waiters[call] else { continue }
                    steps.append("\(call) gives up")
                    model.abandon(call)
                    driver.pool.abandon(waiter, Driver.Abandoned())
                case 13..<15:
                    guard let call = any({ $0 == .waits }), let waiter = driver.waiters[call], waiter.wish != .one else { continue }
                    let isPatient = random(2) == 0
                    steps.append("\(call) \(isPatient ? "is patient" : "waits in line")")
                    model.setPatient(call, isPatient)
                    driver.pool.setPatient(waiter, isPatient)
                default:
                    if let call = any({ $0 == .has(all: true) }), driver.waiters[call]?.wish == .closing {
                        steps.append("\(call) closes")
                        model.finishClosing()
                        driver.pool.finishClosing(closed)
                    } else if random(8) == 0 {
                        steps.append("closing begins")
                        model.beginClosing()
                        driver.pool.beginClosing(closed)
                    }
                }
                let fates = driver.fates.withLock { $0 }
                try #require(fates == model.fates, "schedule \(schedule): \(steps.joined(separator: ", "))")
                let lent = driver.slots.withLock { Array($0.values) }
                let different = Set(lent.map { ObjectIdentifier($0) })
                try #require(different.count == lent.count, "a slot was lent twice")
            }
            // Calls that are left are served or told, and none waits for ever.
            while let held = model.fates.first(where: { if case .has = $0.value { true } else { false } })?.key {
                model.release(held)
                driver.release(held)
            }
            let fates = driver.fates.withLock { $0 }
            try #require(fates == model.fates)
            try #require(model.waiting.isEmpty)
        }
    }

    /// With threads and short deadlines: no two have the same slot, and all come to an end.
    @Test func threadsNeverShareConnectionSlot() throws {
        for round in 0..<(LongTests.areOn ? 300 : 6) {
            let pool = ConnectionPool((0..<3).map { _ in ConnectionSlot { throw Driver.Abandoned() } })
            let users = Lock<[ObjectIdentifier: Int]>([:])
            let use: @Sendable ([ConnectionSlot], UInt32) -> Void = { slots, pause in
                for slot in slots {
                    let number = users.withLock { users in
                        users[ObjectIdentifier(slot), default: 0] += 1
                        return users[ObjectIdentifier(slot)]
                    }
                    #expect(number == 1)
                }
                if pause > 0 { usleep(pause) }
                users.withLock { users in for slot in slots { users[ObjectIdentifier(slot)] = 0 } }
            }
            try onThreads(12) { number in
                var random = SeededGenerator(100 * round + number)
                for _ in 0..<60 {
                    // Others are to find the slot lent.
                    let pause = Bool.random(using: &random) ? UInt32.random(in: 0...300, using: &random) : 0
                    let deadline: Deadline? = Bool.random(using: &random) ? nil : .now + .microseconds(Int64.random(in: 0...500, using: &random))
                    do {
                        switch number {
                        case 0..<9:
                            let slot = try pool.acquire(within: CallLimits(until: deadline))
                            use([slot], pause)
                            pool.giveBack(slot)
                        default:
                            try pool.acquire(number == 11 ? .closing : .all, within: CallLimits(until: deadline))
                            use(pool.slots, pause)
                            pool.releaseAll()
                        }
                    } catch let error as DatabaseError { #expect(error.reason == .timeout) }
                }
            }
            pool.beginClosing(closed)
            #expect(throws: DatabaseError.self) { try pool.acquire() }
            try pool.acquire(.closing)
            pool.finishClosing(closed)
            #expect(throws: DatabaseError.self) { try pool.acquire(.closing) }
        }
    }
}
