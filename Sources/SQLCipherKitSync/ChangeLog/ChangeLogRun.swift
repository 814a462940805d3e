import SQLCipherKitCore

/// The states of rows, each by a number. Many rows have the same state.
final class ChangeLogStates {
    /// The number for the absence of a state.
    static let none = 0

    private var numbers: [[UInt8]: Int] = [[]: ChangeLogStates.none]
    private(set) var bytes: [[UInt8]] = [[]]
    /// The time up to which the state of a deleted row is needed; nil for existing rows, and for states that are always needed.
    private(set) var gone: [Int64?] = [nil]
    var rows: [Int: ChangeLogRow] = [ChangeLogStates.none: ChangeLogRow()]

    func removeAll() { (numbers, bytes, gone, rows) = ([[]: Self.none], [[]], [nil], [Self.none: ChangeLogRow()]) }

    func number(of state: [UInt8]) throws -> Int {
        if let number = numbers[state] { return number }
        var reader = ByteReader(log: state)
        let clock = try reader.clock(), peer = try reader.varint()
        let gone: Int64? = try reader.varint() > 0 ? max(clock, reader.clock()) : nil
        numbers[state] = bytes.count
        bytes.append(state)
        self.gone.append(clock == 0 && peer == 0 ? nil : gone)
        return bytes.count - 1
    }
}

/// The states of rows whose keys follow each other: a record of `changelog_row`.
///
/// The record has the bytes of each state, and then the rows. A row begins with two numbers. The first is the number of bytes that
/// its key shares with the previous key. The upper bits of the second are the number of the key's other bytes. The lowest bit of
/// the second is set if the row has the previous row's state; if not, the state's number comes last. If a key has no other bytes,
/// the first number is a count of rows instead: each of these rows has a key that is greater by one in its last byte. The first row
/// shares bytes with the record's key.
struct ChangeLogRun {
    /// The size in bytes from which a record is divided, and the number of rows. Several records are on a page.
    static let largestSize = 400, largestCount = 128

    private(set) var keys = ChangeLogKeys()
    private(set) var states: [Int] = []

    init() {}

    init(_ bytes: [UInt8], after first: [UInt8], _ all: ChangeLogStates) throws {
        var reader = ByteReader(log: bytes)
        let numbers = try reader.list { reader in try all.number(of: Array(reader.prefixed())) }
        while !reader.isAtEnd {
            let shared = try reader.varint(), size = try reader.varint(), rest = try reader.take(size >> 1)
            var state = states.last
            if size & 1 == 0 {
                let place = try reader.varint()
                guard place < UInt64(numbers.count) else { throw DatabaseError.malformedLog }
                state = numbers[Int(place)]
            }
            guard let state else { throw DatabaseError.malformedLog }
            if states.isEmpty {
                guard shared <= UInt64(first.count) else { throw DatabaseError.malformedLog }
                keys.append(first[..<Int(shared)] + rest)
                states.append(state)
            } else if rest.isEmpty {
                guard shared <= 255 else { throw DatabaseError.malformedLog }
                for _ in 0..<shared {
                    try keys.appendNext()
                    states.append(state)
                }
            } else {
                try keys.append(sharing: Int(clamping: shared), rest)
                states.append(state)
            }
        }
    }

    /// A row while its key is lent.
    struct Row {
        let key: UnsafeRawBufferPointer, state: Int
    }

    /// A record: the first key, and the rest.
    struct Record {
        let first: [UInt8]
        private(set) var count = 0
        private var numbers: [Int] = [], body = [UInt8](), stateSize = 0
        /// The number of rows at the end that are counted, but not written yet.
        private var nexts = 0
        private var last = UnsafeRawBufferPointer(start: nil, count: 0), lastState = -1

        /// - Parameter first: the key of the record, which stays; nil for the key of its first row.
        init(_ first: [UInt8]?, _ row: Row, _ all: ChangeLogStates) {
            self.first = first ?? Array(row.key)
            append(row, all)
        }

        var size: Int { body.count + stateSize }

        mutating func append(_ row: Row, _ all: ChangeLogStates) {
            let key = row.key
            var shared = 0
            if count == 0 {
                for (a, b) in zip(first, key) {
                    if a != b { break }
                    shared += 1
                }
            } else {
                let most = min(last.count, key.count)
                while shared < most, last[shared] == key[shared] { shared += 1 }
                if row.state == lastState, shared == key.count - 1, key.count == last.count, last[shared] < key[shared],
                    key[shared] - last[shared] == 1
                {
                    (nexts, count, last) = (nexts + 1, count + 1, key)
                    return
                }
            }
            finish()
            body.append(varint: shared)
            let isSame = row.state == lastState
            body.append(varint: (key.count - shared) << 1 | (isSame ? 1 : 0))
            body.append(contentsOf: UnsafeRawBufferPointer(rebasing: key[shared...]))
            if !isSame {
                var number = numbers.count
                if let known = numbers.lastIndex(of: row.state) { number = known } else {
                    numbers.append(row.state)
                    stateSize += all.bytes[row.state].count + 1
                }
                body.append(varint: number)
            }
            (count, last, lastState) = (count + 1, key, row.state)
        }

        /// Writes the rows that are only counted so far.
        mutating func finish() {
            if nexts == 0 { return }
            body.append(varint: nexts)
            body.append(varint: 1)
            nexts = 0
        }

        /// The record's bytes. Call ``finish()`` first.
        func bytes(_ all: ChangeLogStates) -> [UInt8] {
            var writer = [UInt8]()
            writer.append(varint: numbers.count)
            for number in numbers { writer.append(prefixed: all.bytes[number]) }
            writer.append(contentsOf: body)
            return writer
        }

        func gone(_ all: ChangeLogStates) -> Int64? { numbers.compactMap { all.gone[$0] }.min() }
    }

    /// The records. A record ends at a size or a number of rows.
    /// - Parameter first: the key of the first record, if it stays.
    static func records(
        _ rows: [Row], after first: [UInt8]?, from size: Int, _ largestCount: Int = largestCount, _ all: ChangeLogStates
    ) -> [Record] {
        var records: [Record] = [], record: Record?
        for row in rows where row.state != ChangeLogStates.none {
            if var full = record, full.size >= size || full.count >= largestCount {
                full.finish()
                records.append(full)
                record = nil
            }
            if record == nil { record = Record(records.isEmpty ? first : nil, row, all) } else { record?.append(row, all) }
        }
        record?.finish()
        if let record { records.append(record) }
        return records
    }
}
