import Foundation
import SQLCipherKitCore

/// Keys as bytes, one after the other in one piece of memory.
struct ChangeLogKeys {
    private var writer = ChangeLogWriter()
    private var starts: [Int]

    /// - Parameter base: what the first key may share bytes with.
    init(after base: some Collection<UInt8> = EmptyCollection<UInt8>()) {
        writer.append(base)
        starts = [writer.bytes.count]
    }

    var count: Int { starts.count - 1 }

    subscript(place: Int) -> ArraySlice<UInt8> { writer.bytes[starts[place]..<starts[place + 1]] }

    /// - Parameter number: that of the table's name.
    mutating func append(_ number: Int64, _ table: LoggedTable, _ key: [SQLValue]) {
        writer.put(UInt64(number))
        table.write(key, &writer)
        starts.append(writer.bytes.count)
    }

    mutating func append(_ key: ArraySlice<UInt8>) {
        writer.append(key)
        starts.append(writer.bytes.count)
    }

    /// Appends a key that begins like the one before it.
    mutating func append(sharing count: Int, _ rest: ArraySlice<UInt8>) throws(DatabaseError) {
        let last = starts.count > 1 ? starts[starts.count - 2] : 0
        guard count <= writer.bytes.count - last else { throw ChangeLogReader.malformed }
        writer.append(from: last, count)
        append(rest)
    }

    /// Less than 0 if a key comes before another one, 0 if they are equal, else greater than 0.
    func order(_ place: Int, _ other: ChangeLogKeys, _ otherPlace: Int) -> Int32 {
        writer.bytes.withUnsafeBytes { a in
            other.writer.bytes.withUnsafeBytes { b in
                Self.order(
                    UnsafeRawBufferPointer(rebasing: a[starts[place]..<starts[place + 1]]),
                    UnsafeRawBufferPointer(rebasing: b[other.starts[otherPlace]..<other.starts[otherPlace + 1]]))
            }
        }
    }

    /// As SQLite orders blobs.
    static func order(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int32 {
        let shared = min(a.count, b.count)
        if shared > 0, let first = a.baseAddress, let second = b.baseAddress {
            let order = memcmp(first, second, shared)
            if order != 0 { return order }
        }
        return Int32(clamping: a.count - b.count)
    }

    /// The places in the order of the keys; those of equal ones in their own.
    func sorted() -> [Int] {
        writer.bytes.withUnsafeBytes { bytes in
            // Most differ in their first bytes.
            var all = (0..<count).map { place in
                var head: UInt64 = 0
                for at in starts[place]..<starts[place] + 8 { head = head << 8 | (at < starts[place + 1] ? UInt64(bytes[at]) : 0) }
                return (head: head, place: place)
            }
            all.sort { a, b in
                if a.head != b.head { return a.head < b.head }
                let order = self.order(a.place, self, b.place)
                return order != 0 ? order < 0 : a.place < b.place
            }
            return all.map(\.place)
        }
    }
}

/// What is known of rows, each by a number. Many rows have the same.
final class ChangeLogStates {
    /// The number of nothing.
    static let none = 0

    private var numbers: [[UInt8]: Int] = [[]: ChangeLogStates.none]
    private(set) var bytes: [[UInt8]] = [[]]
    /// Until when what is known of a row that is gone is needed; nil for rows that are there, and if it is needed for good.
    private(set) var gone: [Int64?] = [nil]
    var rows: [Int: ChangeLogRow] = [ChangeLogStates.none: ChangeLogRow()]

    func removeAll() { (numbers, bytes, gone, rows) = ([[]: Self.none], [[]], [nil], [Self.none: ChangeLogRow()]) }

    func number(of state: [UInt8]) throws(DatabaseError) -> Int {
        if let number = numbers[state] { return number }
        var reader = ChangeLogReader(state)
        let clock = try reader.clock(), peer = try reader.unsigned()
        let gone: Int64? = try reader.unsigned() > 0 ? max(clock, reader.clock()) : nil
        numbers[state] = bytes.count
        bytes.append(state)
        self.gone.append(clock == 0 && peer == 0 ? nil : gone)
        return bytes.count - 1
    }
}

/// What is known of rows whose keys follow each other: a record of `changelog_row`.
///
/// The record has the bytes of each state, and then each row: how many bytes its key shares with the one before it, the rest of the
/// key, with its length in the upper bits of a number whose lowest bit says that the state is the same too, and else the state.
struct ChangeLogRun {
    /// The size in bytes from which a record is divided. Several are on a page.
    static let largestSize = 400

    private(set) var keys: ChangeLogKeys
    private(set) var states: [Int] = []

    init() { keys = ChangeLogKeys() }

    init(_ bytes: [UInt8], after first: [UInt8], _ all: ChangeLogStates) throws(DatabaseError) {
        keys = ChangeLogKeys(after: first)
        var reader = ChangeLogReader(bytes)
        let numbers = try reader.list { reader throws(DatabaseError) in try all.number(of: Array(reader.blob())) }
        while !reader.isAtEnd {
            let shared = try reader.unsigned(), size = try reader.unsigned()
            let rest = try reader.blob(size >> 1)
            if size & 1 != 0, let last = states.last {
                states.append(last)
            } else {
                let place = try reader.unsigned()
                guard place < UInt64(numbers.count) else { throw ChangeLogReader.malformed }
                states.append(numbers[Int(place)])
            }
            try keys.append(sharing: Int(clamping: shared), rest)
        }
    }

    mutating func append(_ key: ArraySlice<UInt8>, _ state: Int) {
        if state == ChangeLogStates.none { return }
        keys.append(key)
        states.append(state)
    }

    /// A record: the first key, and the rest.
    struct Record {
        var first: [UInt8] = []
        private var numbers: [Int] = [], body = ChangeLogWriter(), stateSize = 0
        private var last: ArraySlice<UInt8> = [], lastNumber = -1

        init() {}

        var size: Int { body.bytes.count + stateSize }

        mutating func append(_ key: ArraySlice<UInt8>, _ state: Int, _ all: ChangeLogStates) {
            if first.isEmpty { first = Array(key) }
            var shared = 0
            for (a, b) in zip(lastNumber < 0 ? first[...] : last, key) {
                if a != b { break }
                shared += 1
            }
            body.put(count: shared)
            let isSame = lastNumber >= 0 && numbers[lastNumber] == state
            body.put(count: (key.count - shared) << 1 | (isSame ? 1 : 0))
            body.append(key.dropFirst(shared))
            if !isSame {
                if let number = numbers.lastIndex(of: state) { lastNumber = number } else {
                    lastNumber = numbers.count
                    numbers.append(state)
                    stateSize += all.bytes[state].count + 1
                }
                body.put(count: lastNumber)
            }
            last = key
        }

        func bytes(_ all: ChangeLogStates) -> [UInt8] {
            var writer = ChangeLogWriter()
            writer.put(count: numbers.count)
            for number in numbers { writer.put(bytes: all.bytes[number]) }
            writer.append(body.bytes)
            return writer.bytes
        }

        func gone(_ all: ChangeLogStates) -> Int64? { numbers.compactMap { all.gone[$0] }.min() }
    }

    /// The records, each of which is divided from the next one at a size.
    /// - Parameter first: the key of the first one, if it stays.
    func records(after first: [UInt8]?, from size: Int, _ all: ChangeLogStates) -> [Record] {
        var records: [Record] = []
        for (place, state) in states.enumerated() {
            if records.isEmpty || records[records.count - 1].size >= size {
                records.append(Record())
                if let first, records.count == 1 { records[0].first = first }
            }
            records[records.count - 1].append(keys[place], state, all)
        }
        return records
    }
}

extension ChangeLogStore {
    /// What is known of a row.
    func row(_ table: LoggedTable, _ key: [SQLValue]) throws -> ChangeLogRow {
        let key = try keys(table, key)
        guard let (first, bytes) = try record(of: key[0]) else { return ChangeLogRow() }
        let run = try ChangeLogRun(bytes, after: first, states)
        // The keys are in order.
        var low = 0, high = run.states.count
        while low < high {
            let middle = (low + high) / 2, order = run.keys.order(middle, key, 0)
            if order == 0 { return try row(ofState: run.states[middle]) }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return ChangeLogRow()
    }

    func save(_ row: ChangeLogRow, _ table: LoggedTable, _ key: [SQLValue]) throws { try save([(row, table, key)]) }

    func save(_ rows: [(row: ChangeLogRow, table: LoggedTable, key: [SQLValue])]) throws {
        var keys = ChangeLogKeys()
        for row in rows { keys.append(try number(of: row.table.name), row.table, row.key) }
        try change(keys) { place, _ in try state(rows[place].row) }
    }

    /// Replaces what is known of rows.
    /// - Parameter body: gets the place of a key among `keys` and the number of what is known of its row, and returns that of what
    ///   is known from now on. Equal keys follow each other.
    func change(_ keys: ChangeLogKeys, _ body: (Int, Int) throws -> Int) throws {
        let order = keys.sorted()
        var start = 0
        while start < order.count {
            let record = try record(of: keys[order[start]])
            var end = order.count
            if start + 1 < end, let next = try first(after: keys[order[start]]) {
                var bound = ChangeLogKeys()
                bound.append(next[...])
                end = order[start...].firstIndex { keys.order($0, bound, 0) >= 0 } ?? end
            }
            let old = try record.map { try ChangeLogRun($0.1, after: $0.0, states) } ?? ChangeLogRun()
            var new = ChangeLogRun(), place = 0, isAppended = true
            while start < end {
                let key = order[start]
                while place < old.states.count, old.keys.order(place, keys, key) < 0 {
                    new.append(old.keys[place], old.states[place])
                    place += 1
                }
                isAppended = isAppended && place == old.states.count
                var state = ChangeLogStates.none
                if place < old.states.count, old.keys.order(place, keys, key) == 0 {
                    state = old.states[place]
                    place += 1
                }
                repeat {
                    state = try body(order[start], state)
                    start += 1
                } while start < end && keys.order(order[start], keys, key) == 0
                new.append(keys[key], state)
            }
            while place < old.states.count {
                new.append(old.keys[place], old.states[place])
                place += 1
            }
            try write(new, inPlaceOf: record?.0, isAppended: isAppended)
        }
    }

    private func write(_ run: ChangeLogRun, inPlaceOf first: [UInt8]?, isAppended: Bool) throws(DatabaseError) {
        var size = ChangeLogRun.largestSize
        if !isAppended {
            // Halves instead of one that is full and one that is almost empty.
            let whole = run.records(after: first, from: .max, states).first?.size ?? 0
            if whole > size { size = whole / (whole / size + 1) + 1 }
        }
        var records = run.records(after: first, from: size, states)[...]
        if let first {
            if let record = records.popFirst() {
                try db.cached("UPDATE main.changelog_row SET gone = ?, rows = ? WHERE first = ?")
                    .execute(binding: record.gone(states), record.bytes(states), first)
            } else {
                try db.cached("DELETE FROM main.changelog_row WHERE first = ?").execute(binding: first)
            }
        }
        for record in records {
            try db.cached("INSERT INTO main.changelog_row VALUES (?, ?, ?)")
                .execute(binding: record.first, record.gone(states), record.bytes(states))
        }
    }

    private func keys(_ table: LoggedTable, _ key: [SQLValue]) throws(DatabaseError) -> ChangeLogKeys {
        var keys = ChangeLogKeys()
        keys.append(try number(of: table.name), table, key)
        return keys
    }

    /// The record that a key is in, or would be: its first key and the rest.
    private func record(of key: ArraySlice<UInt8>) throws -> ([UInt8], [UInt8])? {
        try db.cached("SELECT first, rows FROM main.changelog_row WHERE first <= ? ORDER BY first DESC LIMIT 1")
            .fetchOne(([UInt8], [UInt8]).self, [Array(key)])
    }

    private func first(after key: ArraySlice<UInt8>) throws(DatabaseError) -> [UInt8]? {
        try db.cached("SELECT first FROM main.changelog_row WHERE first > ? ORDER BY first LIMIT 1")
            .fetchOne([UInt8].self, binding: Array(key))
    }

    /// Forgets deletes up to a time.
    func forgetDeletes(upTo horizon: Int64) throws {
        let found: [([UInt8], [UInt8])] = try db.fetchAll("SELECT first, rows FROM main.changelog_row WHERE gone <= \(horizon)")
        for (first, bytes) in found {
            let old = try ChangeLogRun(bytes, after: first, states)
            var new = ChangeLogRun()
            for (place, state) in old.states.enumerated() where states.gone[state].map({ $0 > horizon }) ?? true {
                new.append(old.keys[place], state)
            }
            try write(new, inPlaceOf: first, isAppended: true)
        }
    }

    /// The rows of a table of which something is known, or those that are known to be deleted.
    func rows(of table: LoggedTable, areGone: Bool = false) throws -> [(key: [SQLValue], row: ChangeLogRow)] {
        let number = UInt64(try number(of: table.name))
        var rows: [(key: [SQLValue], row: ChangeLogRow)] = []
        for (first, bytes) in try db.fetchAll(([UInt8], [UInt8]).self, "SELECT first, rows FROM main.changelog_row") {
            let run = try ChangeLogRun(bytes, after: first, states)
            for (place, state) in run.states.enumerated() {
                let row = try row(ofState: state)
                var reader = ChangeLogReader(run.keys[place])
                guard try reader.unsigned() == number, row.gone != nil || !areGone else { continue }
                rows.append((try table.key.map { _ in try reader.keyValue() }, row))
            }
        }
        return rows
    }
}
