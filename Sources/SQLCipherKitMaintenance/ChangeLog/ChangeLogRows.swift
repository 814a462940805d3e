import SQLCipherKitCore

extension ChangeLogStore {
    /// What is known of a row.
    func row(_ table: LoggedTable, _ key: [SQLValue]) throws -> ChangeLogRow {
        let wanted = try keys(table, key)
        guard let (first, bytes) = try record(of: wanted[0]) else { return ChangeLogRow() }
        let run = try ChangeLogRun(bytes, after: first, states)
        let state = run.keys.withKeys { keys in
            wanted.withKeys { wanted in
                // The keys are in order.
                var low = 0, high = keys.count
                while low < high {
                    let middle = (low + high) / 2, order = ChangeLogKeys.order(keys[middle], wanted[0])
                    if order == 0 { return run.states[middle] }
                    if order < 0 { low = middle + 1 } else { high = middle }
                }
                return ChangeLogStates.none
            }
        }
        return try row(ofState: state)
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
        try keys.withKeys { keys in
            let order = keys.sorted()
            var start = 0
            while start < order.count {
                let record = try record(of: Array(keys[order[start]]))
                var end = order.count
                if start + 1 < end, let next = try first(after: Array(keys[order[start]])) {
                    end = next.withUnsafeBytes { next in
                        order[start...].firstIndex { ChangeLogKeys.order(keys[$0], next) >= 0 } ?? end
                    }
                }
                let old = try record.map { try ChangeLogRun($0.1, after: $0.0, states) } ?? ChangeLogRun()
                try old.keys.withKeys { oldKeys in
                    let (rows, isAppended) = try merged(oldKeys, old.states, keys, order[start..<end], body)
                    try write(rows, inPlaceOf: record?.0, isAppended: isAppended)
                }
                start = end
            }
        }
    }

    /// The rows of a record, with those that change.
    /// - Returns: the rows, and whether those that change come after all others.
    private func merged(
        _ oldKeys: ChangeLogKeys.Lent, _ old: [Int], _ keys: ChangeLogKeys.Lent, _ order: ArraySlice<Int>,
        _ body: (Int, Int) throws -> Int
    ) rethrows -> ([ChangeLogRun.Row], Bool) {
        var rows: [ChangeLogRun.Row] = [], place = 0, at = order.startIndex, isAppended = true
        rows.reserveCapacity(old.count + order.count)
        while at < order.endIndex {
            let key = keys[order[at]]
            var comparison: Int32 = -1
            while place < old.count {
                comparison = ChangeLogKeys.order(oldKeys[place], key)
                if comparison >= 0 { break }
                rows.append(ChangeLogRun.Row(key: oldKeys[place], state: old[place]))
                place += 1
            }
            isAppended = isAppended && place == old.count
            var state = ChangeLogStates.none
            if place < old.count, comparison == 0 {
                state = old[place]
                place += 1
            }
            repeat {
                state = try body(order[at], state)
                at += 1
            } while at < order.endIndex && ChangeLogKeys.order(keys[order[at]], key) == 0
            rows.append(ChangeLogRun.Row(key: key, state: state))
        }
        while place < old.count {
            rows.append(ChangeLogRun.Row(key: oldKeys[place], state: old[place]))
            place += 1
        }
        return (rows, isAppended)
    }

    private func write(_ rows: [ChangeLogRun.Row], inPlaceOf first: [UInt8]?, isAppended: Bool) throws(DatabaseError) {
        var size = ChangeLogRun.largestSize, count = ChangeLogRun.largestCount
        if !isAppended {
            // Halves instead of one that is full and one that is almost empty.
            let whole = ChangeLogRun.records(rows, after: first, from: .max, .max, states).first?.size ?? 0
            if whole > size { size = whole / (whole / size + 1) + 1 }
            if rows.count > count { count = rows.count / (rows.count / count + 1) + 1 }
        }
        var records = ChangeLogRun.records(rows, after: first, from: size, count, states)[...]
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
    private func record(of key: [UInt8]) throws -> ([UInt8], [UInt8])? {
        try db.cached("SELECT first, rows FROM main.changelog_row WHERE first <= ? ORDER BY first DESC LIMIT 1")
            .fetchOne(([UInt8], [UInt8]).self, [key])
    }

    private func first(after key: [UInt8]) throws(DatabaseError) -> [UInt8]? {
        try db.cached("SELECT first FROM main.changelog_row WHERE first > ? ORDER BY first LIMIT 1")
            .fetchOne([UInt8].self, binding: key)
    }

    /// Forgets deletes up to a time.
    func forgetDeletes(upTo horizon: Int64) throws {
        let found: [([UInt8], [UInt8])] = try db.fetchAll("SELECT first, rows FROM main.changelog_row WHERE gone <= \(horizon)")
        for (first, bytes) in found {
            let old = try ChangeLogRun(bytes, after: first, states)
            try old.keys.withKeys { keys in
                let rows = old.states.indices.filter { states.gone[old.states[$0]].map { $0 > horizon } ?? true }
                    .map { ChangeLogRun.Row(key: keys[$0], state: old.states[$0]) }
                try write(rows, inPlaceOf: first, isAppended: true)
            }
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
