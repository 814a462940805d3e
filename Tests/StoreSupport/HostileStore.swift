import SQLCipherKitStores
import Synchronization
import TestSupport

/// A store that may do what a store can do to a program: return any earlier version of any object at any call, lose a write that it
/// did not acknowledge or perform it all the same, list late, and be restored from a copy of itself. Only conditions are checked
/// against what is really there.
package final class HostileStore: ObjectStore {
    /// The event before a request to store something: a copy is made, the store is restored from it, or the line is cut. That
    /// may also be after the request, so that its answer is lost, or for this answer alone.
    package enum Event { case copy, back, cut, cutAfter, lost }

    private struct State {
        var events: [Int: Event] = [:]
        /// The number of requests to store something.
        var requests = 0
        var isCut = false, whenCut: @Sendable () -> Void = {}
        /// All versions of each object; nil where it was not there.
        var versions: [String: [StoredObject?]] = [:]
        var copy: [String: StoredObject] = [:]
        var count = 0
        var random: SeededGenerator
        /// The numbers of calls in a hundred that show an old state, and that fail.
        var stale = 0, failing = 0

        mutating func draw(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

        func present(_ name: String) -> StoredObject? { versions[name]?.last ?? nil }

        mutating func set(_ name: String, _ object: StoredObject?) { versions[name, default: [nil]].append(object) }

        mutating func makeCopy() { copy = versions.compactMapValues { $0.last ?? nil } }

        mutating func restoreCopy() {
            for name in versions.keys {
                let object = copy[name]
                if object?.version == present(name)?.version { continue }
                set(name, object)
            }
        }
    }
    private let state: Mutex<State>

    package init(seed: UInt64) { state = Mutex(State(random: SeededGenerator(state: seed))) }

    package func behave(stale: Int, failing: Int) { state.withLock { ($0.stale, $0.failing) = (stale, failing) } }

    /// - Parameter events: the events, by the numbers of requests from 1 on.
    package func plan(_ events: [Int: Event], whenCut: @escaping @Sendable () -> Void = {}) {
        state.withLock { ($0.events, $0.whenCut) = (events, whenCut) }
    }

    package var requests: Int { state.withLock { $0.requests } }
    package var isCut: Bool { state.withLock { $0.isCut } }
    package func mend() { state.withLock { ($0.isCut, $0.events) = (false, [:]) } }

    /// Makes a copy of the objects, as a backup does.
    package func makeCopy() { state.withLock { $0.makeCopy() } }

    package func restoreCopy() { state.withLock { $0.restoreCopy() } }

    package func list(prefix: String) async throws -> [StoredObject.Info] {
        try state.withLock { state in
            if state.isCut || state.draw(state.failing) { throw StoreFault("injected") }
            let isLate = state.draw(2 * state.stale)
            return state.versions.compactMap { name, versions in
                guard name.hasPrefix(prefix) else { return nil }
                let object = isLate ? versions.dropLast().last ?? nil : versions.last ?? nil
                return object.map { StoredObject.Info(name: name, size: $0.bytes.count) }
            }
        }
    }

    package func get(_ name: String) async throws -> StoredObject? {
        try state.withLock { state in
            if state.isCut || state.draw(state.failing) { throw StoreFault("injected") }
            guard state.draw(state.stale), let versions = state.versions[name] else { return state.present(name) }
            return versions.randomElement(using: &state.random) ?? nil
        }
    }

    package func put(_ name: String, _ bytes: [UInt8], if condition: StoredObject.Condition) async throws -> String? {
        try state.withLock { state in
            state.requests += 1
            switch state.events[state.requests] {
            case .copy: state.makeCopy()
            case .back: state.restoreCopy()
            case .cut, .cutAfter:
                state.isCut = true
                state.whenCut()
            case .lost, nil: break
            }
            if state.isCut, state.events[state.requests] != .cutAfter { throw StoreFault("cut") }
            let fails = state.isCut || state.events[state.requests] == .lost || state.draw(state.failing)
            if fails, state.events[state.requests] == nil, Bool.random(using: &state.random) { throw StoreFault("lost") }
            switch condition {
            case .always: break
            case .isAbsent: if state.present(name) != nil { return nil }
            case .isVersion(let version): if state.present(name)?.version != version { return nil }
            }
            state.count += 1
            state.set(name, StoredObject(bytes: bytes, version: "\(state.count)"))
            if fails { throw StoreFault("not acknowledged") }
            return "\(state.count)"
        }
    }

    package func delete(_ name: String) async throws {
        try state.withLock { state in
            if state.isCut || state.draw(state.failing) { throw StoreFault("injected") }
            if state.present(name) != nil { state.set(name, nil) }
        }
    }
}
