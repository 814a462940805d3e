import SQLCipherKitStores
import Synchronization
import TestSupport

/// The error that the stores of these tests throw: an error that the package does not know.
package struct StoreFault: Error {
    package let text: String

    package init(_ text: String) { self.text = text }
}

/// A store in memory.
package final class MemoryStore: ObjectStore {
    private struct State {
        var objects: [String: StoredObject] = [:]
        var version = 0
    }
    private let state = Mutex(State())

    package init() {}

    package func list(prefix: String) async throws -> [StoredObject.Info] {
        state.withLock { state in
            state.objects.filter { $0.key.hasPrefix(prefix) }.map { StoredObject.Info(name: $0.key, size: $0.value.bytes.count) }
        }
    }

    package func get(_ name: String) async throws -> StoredObject? { state.withLock { $0.objects[name] } }

    package func put(_ name: String, _ bytes: [UInt8], if condition: StoredObject.Condition) async throws -> String? {
        state.withLock { state -> String? in
            switch condition {
            case .always: break
            case .isAbsent: if state.objects[name] != nil { return nil }
            case .isVersion(let version):
                if state.objects[name]?.version != version { return nil }
            }
            state.version += 1
            state.objects[name] = StoredObject(bytes: bytes, version: "\(state.version)")
            return "\(state.version)"
        }
    }

    package func delete(_ name: String) async throws { state.withLock { $0.objects[name] = nil } }

    /// All objects with their names.
    package var objects: [String: [UInt8]] { state.withLock { $0.objects.mapValues(\.bytes) } }

    /// Goes back to objects that there were.
    package func restore(_ objects: [String: [UInt8]]) {
        state.withLock { state in
            state.version += 1
            state.objects = objects.mapValues { StoredObject(bytes: $0, version: "restored \(state.version)") }
        }
    }

    package func change(_ name: String, _ body: (inout [UInt8]) -> Void) {
        state.withLock { state in
            guard let object = state.objects[name] else { return }
            var bytes = object.bytes
            body(&bytes)
            state.objects[name] = StoredObject(bytes: bytes, version: object.version)
        }
    }
}

/// A store that is reached over a bad line: calls fail before or after they take effect, take their time, take effect twice, or
/// return part of an object.
package final class FaultyStore: ObjectStore {
    package let store: any ObjectStore
    private let random: Mutex<SeededGenerator>
    /// Faults in a hundred calls.
    package let rate = Atomic<Int>(0)
    package let faults = Atomic<Int>(0)

    package init(_ store: any ObjectStore, seed: UInt64, rate: Int) {
        self.store = store
        random = Mutex(SeededGenerator(state: seed))
        self.rate.store(rate, ordering: .relaxed)
    }

    private func draw() -> (isFault: Bool, kind: Int, delay: Int) {
        let rate = rate.load(ordering: .relaxed)
        return random.withLock { random in
            (Int.random(in: 0..<100, using: &random) < rate, Int.random(in: 0..<4, using: &random), Int.random(in: 0..<8, using: &random))
        }
    }

    private func fault() -> StoreFault {
        faults.add(1, ordering: .relaxed)
        return StoreFault("injected")
    }

    package func list(prefix: String) async throws -> [StoredObject.Info] {
        if draw().isFault { throw fault() }
        return try await store.list(prefix: prefix)
    }

    package func get(_ name: String) async throws -> StoredObject? {
        let draw = draw()
        guard draw.isFault else { return try await store.get(name) }
        if draw.kind == 0 { try await Task.sleep(for: .milliseconds(draw.delay)) }
        let object = try await store.get(name)
        _ = object
        throw fault()
    }

    package func put(_ name: String, _ bytes: [UInt8], if condition: StoredObject.Condition) async throws -> String? {
        let draw = draw()
        guard draw.isFault else { return try await store.put(name, bytes, if: condition) }
        switch draw.kind {
        case 0: throw fault()
        case 1:
            // The reply is lost.
            _ = try await store.put(name, bytes, if: condition)
            throw fault()
        case 2:
            // The request arrives after the caller has given it up, perhaps after later calls.
            let store = store
            Task {
                try await Task.sleep(for: .milliseconds(draw.delay))
                _ = try await store.put(name, bytes, if: condition)
            }
            throw fault()
        default:
            // The request arrives twice; the second reply counts.
            try await Task.sleep(for: .milliseconds(draw.delay))
            _ = try? await store.put(name, bytes, if: condition)
            return try await store.put(name, bytes, if: condition)
        }
    }

    package func delete(_ name: String) async throws {
        if draw().isFault { throw fault() }
        try await store.delete(name)
    }
}
