import SQLCipherKitReplication
import Synchronization

/// A manifest as a store sees it, to be forged.
struct ManifestBytes {
    struct Section {
        var id: [UInt8], salt: [UInt8]
        var time: UInt64
        var nonce: [UInt8], sealed: [UInt8]
        /// The size to write, if not that of `sealed`.
        var declared: UInt32?
    }

    /// The form, the number of writers, and the writer.
    var head: [UInt8]
    var sections: [Section] = []

    init(_ bytes: [UInt8]) {
        head = Array(bytes[..<29])
        var rest = bytes[31...]
        func take(_ count: Int) -> [UInt8] {
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        while !rest.isEmpty {
            var section = Section(id: take(8), salt: take(16), time: Self.number(take(8)), nonce: take(12), sealed: [])
            section.sealed = take(Int(Self.number(take(4))))
            sections.append(section)
        }
    }

    var bytes: [UInt8] {
        sections.reduce(into: head + Self.bytes(UInt64(sections.count), 2)) { bytes, section in
            for part in [section.id, section.salt, Self.bytes(section.time, 8), section.nonce] { bytes += part }
            bytes += Self.bytes(UInt64(section.declared ?? UInt32(section.sealed.count)), 4)
            bytes += section.sealed
        }
    }

    private static func number(_ bytes: [UInt8]) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

    private static func bytes(_ number: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> UInt64(8 * $0)) }
    }
}

/// Lists many objects that earlier writers could have left, and long names.
final class ListingStore: ReplicaStore {
    let store = MemoryStore()

    func list(prefix: String) async throws -> [ReplicaObjectInfo] {
        let long = ReplicaObjectInfo(name: prefix + "log-0-" + String(repeating: "9", count: 5000), size: 1)
        return try await store.list(prefix: prefix) + [ReplicaObjectInfo](repeating: long, count: 1000)
            + (0..<100_000).map { ReplicaObjectInfo(name: prefix + "log-0-\($0)", size: .max) }
    }

    func get(_ name: String) async throws -> ReplicaObject? { try await store.get(name) }

    func put(_ name: String, _ bytes: [UInt8], if condition: ReplicaCondition) async throws -> String {
        try await store.put(name, bytes, if: condition)
    }

    func delete(_ name: String) async throws { try await store.delete(name) }
}

/// Every third object of the log arrives with a changed bit.
final class FlippingStore: ReplicaStore {
    let store = MemoryStore()
    let flips = Atomic<Int>(0)
    private let reads = Atomic<Int>(0)

    func list(prefix: String) async throws -> [ReplicaObjectInfo] { try await store.list(prefix: prefix) }

    func get(_ name: String) async throws -> ReplicaObject? {
        guard let object = try await store.get(name), name != "manifest" else { return try await store.get(name) }
        guard reads.add(1, ordering: .relaxed).newValue % 3 == 0 else { return object }
        flips.add(1, ordering: .relaxed)
        var bytes = object.bytes
        bytes[bytes.count / 2] ^= 4
        return ReplicaObject(bytes: bytes, version: object.version)
    }

    func put(_ name: String, _ bytes: [UInt8], if condition: ReplicaCondition) async throws -> String {
        try await store.put(name, bytes, if: condition)
    }

    func delete(_ name: String) async throws { try await store.delete(name) }
}
