import CSQLCipher
import Foundation
import SQLCipherKitCore

/// The format of changesets, patchsets and the records of a rebase (<https://sqlite.org/src/file/ext/session/sqlite3session.c>), as
/// far as needed to know where each part ends.
///
/// A changeset may be untrusted, and the engine does not check every length before it reads: to invert bytes that end within a
/// record, it reads memory beyond their end. So all bytes are checked here before they reach the engine.
struct ChangesetFormat {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0
    private var isPatchset = false
    private var columnCount = 0
    private var keyCount = 0

    /// Whether no part extends beyond the end of the bytes.
    static func isWhole(_ bytes: UnsafeRawBufferPointer) -> Bool { forEachPart(of: bytes) { _, _ in } }

    /// Calls `body` with the first byte and the bytes of each part.
    /// - Returns: whether no part extends beyond the end.
    private static func forEachPart(
        of bytes: UnsafeRawBufferPointer, _ body: (Int32, Slice<UnsafeRawBufferPointer>) -> Void
    ) -> Bool {
        var format = ChangesetFormat(bytes)
        while format.position < bytes.count {
            let start = format.position
            guard format.part() else { return false }
            body(Int32(bytes[start]), bytes[start..<format.position])
        }
        return true
    }

    /// The same changes, with each table's inserts after its other changes: a row whose key gets another spelling, which the table
    /// takes for the same key, is deleted before it is inserted. Nil if they are in this order.
    static func insertsLast(_ bytes: UnsafeRawBufferPointer) -> Data? {
        var hasInsert = false, isOrdered = true
        _ = forEachPart(of: bytes) { kind, _ in
            if kind == SQLITE_DELETE || kind == SQLITE_UPDATE { isOrdered = isOrdered && !hasInsert }
            hasInsert = kind == SQLITE_INSERT || hasInsert && isChange(kind)
        }
        if isOrdered { return nil }
        var ordered = Data(), inserts = Data()
        _ = forEachPart(of: bytes) { kind, part in
            if kind == SQLITE_INSERT { return inserts.append(contentsOf: part) }
            if !isChange(kind) {
                ordered.append(inserts)
                inserts.removeAll()
            }
            ordered.append(contentsOf: part)
        }
        return ordered + inserts
    }

    private static func isChange(_ kind: Int32) -> Bool { [SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE].contains(kind) }

    private init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// A table's header or a change.
    private mutating func part() -> Bool {
        switch byte() {
        case UInt8(ascii: "T"): table(isPatchset: false)
        case UInt8(ascii: "P"): table(isPatchset: true)
        case UInt8(SQLITE_INSERT): skip(1) && record(columnCount)
        // In a patchset, a delete has only the key, and an update has one record instead of two.
        case UInt8(SQLITE_DELETE): skip(1) && record(isPatchset ? keyCount : columnCount)
        case UInt8(SQLITE_UPDATE): skip(1) && (isPatchset || record(columnCount)) && record(columnCount)
        default: false
        }
    }

    private mutating func table(isPatchset: Bool) -> Bool {
        guard let columns = integer(), columns > 0, columns <= bytes.count - position else { return false }
        columnCount = columns
        keyCount = bytes[position..<position + columns].reduce(0) { $0 + ($1 == 0 ? 0 : 1) }
        self.isPatchset = isPatchset
        position += columns
        guard let end = bytes[position...].firstIndex(of: 0) else { return false }
        position = end + 1
        return true
    }

    private mutating func record(_ count: Int) -> Bool {
        guard columnCount > 0 else { return false }
        for _ in 0..<count {
            switch byte().map(Int32.init) {
            case 0, SQLITE_NULL: break
            case SQLITE_INTEGER, SQLITE_FLOAT: guard skip(8) else { return false }
            case SQLITE_TEXT, SQLITE_BLOB: guard let length = integer(), skip(length) else { return false }
            default: return false
            }
        }
        return true
    }

    private mutating func byte() -> UInt8? {
        guard position < bytes.count else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    private mutating func skip(_ count: Int) -> Bool {
        guard count <= bytes.count - position else { return false }
        position += count
        return true
    }

    /// A length, in up to nine bytes (<https://sqlite.org/fileformat2.html#varint>); nil if it is cut off, or greater than the
    /// number of all bytes.
    private mutating func integer() -> Int? {
        var value: UInt64 = 0
        for index in 0..<9 {
            guard let byte = byte() else { return nil }
            if index == 8 { value = value << 8 | UInt64(byte) } else { value = value << 7 | UInt64(byte & 0x7f) }
            if index == 8 || byte & 0x80 == 0 { break }
        }
        return value <= UInt64(bytes.count) ? Int(value) : nil
    }
}
