import CSQLCipher
import Foundation
import SQLCipherKitCore

/// Keys as bytes, one after the other in one piece of memory.
struct ChangeLogKeys {
    private var bytes = [UInt8]()
    private var ends: [Int] = []

    init() {}

    /// Creates the keys of a recorder's changes.
    init(_ recording: sqlcipherkit_recording) {
        let changes = UnsafeBufferPointer(start: recording.changes, count: recording.count)
        bytes.append(contentsOf: UnsafeBufferPointer(start: recording.keys, count: changes.last?.key_end ?? 0))
        ends = changes.map(\.key_end)
    }

    var count: Int { ends.count }

    subscript(place: Int) -> [UInt8] { Array(bytes[(place == 0 ? 0 : ends[place - 1])..<ends[place]]) }

    /// - Parameter number: the number of the table's name.
    mutating func append(_ number: Int64, _ table: LoggedTable, _ key: [SQLValue]) {
        bytes.append(varint: number)
        table.write(key, &bytes)
        ends.append(bytes.count)
    }

    mutating func append(_ key: some Collection<UInt8>) {
        bytes.append(contentsOf: key)
        ends.append(bytes.count)
    }

    /// Appends a key that begins like the last key.
    mutating func append(sharing count: Int, _ rest: ArraySlice<UInt8>) throws {
        let last = ends.count > 1 ? ends[ends.count - 2] : 0
        guard let end = ends.last, count <= end - last else { throw DatabaseError.malformedLog }
        for place in last..<last + count { bytes.append(bytes[place]) }
        append(rest)
    }

    /// Appends a key that differs from the last key only in its last byte, which is greater by one.
    mutating func appendNext() throws {
        let last = ends.count > 1 ? ends[ends.count - 2] : 0
        guard let end = ends.last, last < end, bytes[end - 1] < .max else { throw DatabaseError.malformedLog }
        for place in last..<end { bytes.append(bytes[place]) }
        bytes[bytes.count - 1] += 1
        ends.append(bytes.count)
    }

    /// Lends the keys.
    func withKeys<R>(_ body: (Lent) throws -> R) rethrows -> R {
        try bytes.withUnsafeBytes { bytes in try ends.withUnsafeBufferPointer { try body(Lent(bytes: bytes, ends: $0)) } }
    }

    /// The keys, while they are lent.
    struct Lent {
        fileprivate let bytes: UnsafeRawBufferPointer
        fileprivate let ends: UnsafeBufferPointer<Int>

        var count: Int { ends.count }

        subscript(place: Int) -> UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(rebasing: bytes[(place == 0 ? 0 : ends[place - 1])..<ends[place]])
        }

        /// The places in the order of the keys; the places of equal keys stay in order.
        func sorted() -> [Int] {
            // Most keys differ in their first bytes.
            var all = (0..<count).map { place in
                let key = self[place]
                var head: UInt64 = 0
                for at in 0..<8 { head = head << 8 | (at < key.count ? UInt64(key[at]) : 0) }
                return (head: head, place: place)
            }
            func isBefore(_ a: (head: UInt64, place: Int), _ b: (head: UInt64, place: Int)) -> Bool {
                if a.head != b.head { return a.head < b.head }
                let order = ChangeLogKeys.order(self[a.place], self[b.place])
                return order != 0 ? order < 0 : a.place < b.place
            }
            if (1..<max(1, count)).contains(where: { !isBefore(all[$0 - 1], all[$0]) }) { all.sort(by: isBefore) }
            return all.map(\.place)
        }
    }

    /// Compares keys as SQLite compares blobs: less than 0 if `a` comes before `b`, 0 if they are equal, else greater than 0.
    static func order(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int32 {
        let shared = min(a.count, b.count)
        if shared > 0, let first = a.baseAddress, let second = b.baseAddress {
            let order = memcmp(first, second, shared)
            if order != 0 { return order }
        }
        return Int32(clamping: a.count - b.count)
    }
}
