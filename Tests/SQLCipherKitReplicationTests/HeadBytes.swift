import SQLCipherKitReplication
import StoreSupport
import Synchronization

/// A head as a store sees it, to be forged.
struct HeadBytes {
    struct Section {
        var id: [UInt8], salt: [UInt8]
        var nonce: [UInt8], sealed: [UInt8]
        /// The size to write, if not the size of `sealed`.
        var declared: UInt32?
    }

    /// The form, and the sections that were removed.
    var start: [UInt8]
    var sections: [Section] = []
    /// The bytes that make it another version.
    private var mark: [UInt8] = []

    init(_ bytes: [UInt8]) {
        start = bytes.count > 5 ? Array(bytes[..<(6 + 8 * Int(bytes[5]))]) : []
        var rest = bytes.dropFirst(start.count + 1)
        func take(_ count: Int) -> [UInt8] {
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        while rest.count > 8 {
            var section = Section(id: take(8), salt: take(16), nonce: take(12), sealed: [])
            section.sealed = take(Int(take(4).reduce(0) { $0 << 8 | UInt64($1) }))
            sections.append(section)
        }
        mark = Array(rest)
    }

    var bytes: [UInt8] {
        var count: [UInt8] = [], rest = sections.count
        repeat {
            count.append(UInt8(rest & 0x7f) | (rest > 0x7f ? 0x80 : 0))
            rest >>= 7
        } while rest > 0
        return sections.reduce(into: start + count) { bytes, section in
            for part in [section.id, section.salt, section.nonce] { bytes += part }
            let size = section.declared ?? UInt32(section.sealed.count)
            bytes += (0..<4).reversed().map { UInt8(truncatingIfNeeded: size >> (8 * $0)) } + section.sealed
        } + mark
    }
}

/// Lists many objects that earlier writers could have left, and long names.
final class ListingStore: ObjectStore {
    let store = MemoryStore()

    func list(prefix: String) async throws -> [StoredObject.Info] {
        let long = StoredObject.Info(name: prefix + "log-0-" + String(repeating: "9", count: 5000), size: 1)
        return try await store.list(prefix: prefix) + [StoredObject.Info](repeating: long, count: 1000)
            + (0..<100_000).map { StoredObject.Info(name: prefix + "log-0-\($0)", size: .max) }
    }

    func get(_ name: String) async throws -> StoredObject? { try await store.get(name) }

    func put(_ name: String, _ bytes: [UInt8], if condition: StoredObject.Condition) async throws -> String? {
        try await store.put(name, bytes, if: condition)
    }

    func delete(_ name: String) async throws { try await store.delete(name) }
}
