import SQLCipherKitReplication
import Synchronization
import TestSupport

/// A store that may do what a store can do to a program: return any earlier version of any object at any call, lose a write that it
/// did not acknowledge or perform it all the same, list late, and be restored from a copy of itself. Only conditions are checked
/// against what is really there.
final class HostileStore: ReplicaStore {
    private struct State {
        /// All versions of each object; nil where it was not there.
        var versions: [String: [ReplicaObject?]] = [:]
        var copy: [String: ReplicaObject] = [:]
        var count = 0
        var random: SeededGenerator
        /// How many calls in a hundred show something old, and how many fail.
        var stale = 0, failing = 0

        mutating func draw(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

        func present(_ name: String) -> ReplicaObject? { versions[name]?.last ?? nil }

        mutating func set(_ name: String, _ object: ReplicaObject?) { versions[name, default: [nil]].append(object) }
    }
    private let state: Mutex<State>

    init(seed: UInt64) { state = Mutex(State(random: SeededGenerator(state: seed))) }

    func behave(stale: Int, failing: Int) { state.withLock { ($0.stale, $0.failing) = (stale, failing) } }

    /// Makes a copy of what is there, as a backup does.
    func makeCopy() {
        state.withLock { state in state.copy = state.versions.compactMapValues { $0.last ?? nil } }
    }

    func restoreCopy() {
        state.withLock { state in
            for name in state.versions.keys {
                let object = state.copy[name]
                if object?.version == state.present(name)?.version { continue }
                state.set(name, object)
            }
        }
    }

    func list(prefix: String) async throws -> [ReplicaObjectInfo] {
        try state.withLock { state in
            if state.draw(state.failing) { throw ReplicaStoreError.unavailable("injected") }
            let isLate = state.draw(2 * state.stale)
            return state.versions.compactMap { name, versions in
                guard name.hasPrefix(prefix) else { return nil }
                let object = isLate ? versions.dropLast().last ?? nil : versions.last ?? nil
                return object.map { ReplicaObjectInfo(name: name, size: $0.bytes.count) }
            }
        }
    }

    func get(_ name: String) async throws -> ReplicaObject? {
        try state.withLock { state in
            if state.draw(state.failing) { throw ReplicaStoreError.unavailable("injected") }
            guard state.draw(state.stale), let versions = state.versions[name] else { return state.present(name) }
            return versions.randomElement(using: &state.random) ?? nil
        }
    }

    func put(_ name: String, _ bytes: [UInt8], if condition: ReplicaCondition) async throws -> String {
        try state.withLock { state in
            let fails = state.draw(state.failing)
            if fails, Bool.random(using: &state.random) { throw ReplicaStoreError.unavailable("lost") }
            switch condition {
            case .always: break
            case .isAbsent: if state.present(name) != nil { throw ReplicaStoreError.conditionFailed }
            case .isVersion(let version): if state.present(name)?.version != version { throw ReplicaStoreError.conditionFailed }
            }
            state.count += 1
            state.set(name, ReplicaObject(bytes: bytes, version: "\(state.count)"))
            if fails { throw ReplicaStoreError.unavailable("not acknowledged") }
            return "\(state.count)"
        }
    }

    func delete(_ name: String) async throws {
        try state.withLock { state in
            if state.draw(state.failing) { throw ReplicaStoreError.unavailable("injected") }
            if state.present(name) != nil { state.set(name, nil) }
        }
    }
}
