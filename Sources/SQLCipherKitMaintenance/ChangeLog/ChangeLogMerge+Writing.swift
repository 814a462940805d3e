import SQLCipherKitCore

/// The rows with foreign keys to check after the changes.
struct ChangeLogReferences {
    /// Rows that were written, which may refer to missing rows.
    var written: [(table: LoggedTable, key: [SQLValue])] = []
    /// Rows as they were before a change, which other rows may refer to.
    var former: [(table: LoggedTable, values: [SQLValue])] = []
}

extension ChangeLogMerge {
    private enum Result {
        case done, conflict
    }

    /// Writes the rows: first the deletes, then the rows without a conflict, then the rest.
    mutating func write(_ keys: inout ChangeLogReferences) throws {
        for work in works where work.isDelete {
            guard let old = try log.current(work.table, work.key) else { continue }
            try delete(work.table, work.key)
            keys.former.append((work.table, old.values))
        }
        var waiting = works.filter { !$0.isDelete && ($0.isInsert || !$0.values.isEmpty) }
        var before = waiting.count + 1
        // A row may have to wait until another one gives up a unique value.
        while !waiting.isEmpty, waiting.count < before {
            before = waiting.count
            var still: [Work] = []
            for work in waiting where try write(work, &keys) == .conflict { still.append(work) }
            waiting = still
        }
        try writeConflicting(waiting, &keys)
    }

    func delete(_ table: LoggedTable, _ key: [SQLValue]) throws(DatabaseError) {
        try db.execute(SQL(raw: "DELETE FROM main.\(table.quotedName) WHERE \(table.keyCondition)", StatementArguments(key)))
    }

    private mutating func write(_ work: Work, _ keys: inout ChangeLogReferences) throws -> Result {
        let table = work.table
        let old = try log.current(table, work.key)
        do {
            if let old {
                let columns = table.others.filter { work.values[SQLName($0)] != nil }
                if work.isInsert && work.key != table.keyPlaces.map({ old.values[$0] })
                    || work.isWhole && columns.count < table.others.count {
                    try db.savepoint { _ in
                        try delete(table, work.key)
                        return TransactionEnd.commit(try insert(work, old, replaces: false))
                    }
                } else if !columns.isEmpty {
                    let first = work.key.count + 1
                    let list = columns.enumerated().map { "\($1.quotedSQLIdentifier) = ?\($0 + first)" }.joined(separator: ", ")
                    let values = columns.map { work.values[SQLName($0)] ?? .null }
                    try db.execute(
                        SQL(
                            raw: "UPDATE OR ABORT main.\(table.quotedName) SET \(list) WHERE \(table.keyCondition)",
                            StatementArguments(work.key + values)))
                }
                keys.former.append((table, old.values))
            } else {
                // A row that was deleted without the log stays deleted.
                guard work.isInsert else { return .done }
                try insert(work, nil, replaces: false)
            }
        } catch let error as DatabaseError where error.code.primary == .constraint {
            if Self.isUnique(error) { return .conflict }
            guard old != nil, !work.isInsert else { throw refused(work, error) }
            try asserted(table, work.key)
            outcome.count(table.name) { $0.kept += 1 }
            return .done
        }
        keys.written.append((table, work.key))
        return .done
    }

    private static func isUnique(_ error: DatabaseError) -> Bool {
        [.constraintUnique, .constraintPrimaryKey, .constraintRowID].contains(error.code)
    }

    private func refused(_ work: Work, _ error: DatabaseError) -> DatabaseError {
        var row = "a row"
        if work.key.count == 1, case .integer(let id) = work.key[0] { row = "row \(id)" }
        return DatabaseError(
            code: .abort, message: "\(row) of \(work.table.name) cannot be written here: \(error.message)", underlying: error)
    }

    /// - Parameter parked: the row as it was before it was removed from the table.
    private func insert(_ work: Work, _ parked: (values: [SQLValue], rowID: SQLValue?)?, replaces: Bool) throws {
        let table = work.table
        // A row keeps the spelling of its key until it is inserted again.
        var names = table.key
        var values = work.isInsert ? work.key : parked.map { row in table.keyPlaces.map { row.values[$0] } } ?? work.key
        for (place, name) in zip(table.otherPlaces, table.others) {
            guard let value = work.values[SQLName(name)] ?? (work.isWhole ? nil : parked?.values[place]) else { continue }
            names.append(name)
            values.append(value)
        }
        if let name = table.rowID, let rowID = parked?.rowID {
            names.append(name)
            values.append(rowID)
        }
        let list = names.map(\.quotedSQLIdentifier).joined(separator: ", ")
        let marks = names.map { _ in "?" }.joined(separator: ", ")
        let resolution = replaces ? "REPLACE" : "ABORT"
        try db.execute(
            SQL(
                raw: "INSERT OR \(resolution) INTO main.\(table.quotedName)(\(list)) VALUES (\(marks))",
                StatementArguments(values)))
    }

    /// Writes rows with unique values that other rows have. The row that was written last stays, and the other is deleted.
    private mutating func writeConflicting(_ works: [Work], _ keys: inout ChangeLogReferences) throws {
        // Rows that swap unique values do not conflict if all of them are removed first.
        var parked: [(work: Work, old: (values: [SQLValue], rowID: SQLValue?)?)] = []
        for work in works {
            let old = try log.current(work.table, work.key)
            if old != nil { try delete(work.table, work.key) }
            parked.append((work, old))
        }
        for (work, old) in parked.sorted(by: { Self.isBefore($1.work, $0.work) }) {
            if let old { keys.former.append((work.table, old.values)) }
            do {
                try insert(work, old, replaces: false)
                keys.written.append((work.table, work.key))
                continue
            } catch let error as DatabaseError where error.code.primary == .constraint {
                guard Self.isUnique(error) else { throw refused(work, error) }
            }
            if let losers = try replace(work, old) {
                for loser in losers {
                    try deleted(work.table, loser.key)
                    keys.former.append((work.table, loser.values))
                }
                keys.written.append((work.table, work.key))
            } else {
                try deleted(work.table, work.key)
            }
        }
    }

    /// The order of two rows: by the time of their last write, then by their keys.
    private static func isBefore(_ a: Work, _ b: Work) -> Bool {
        if a.row.version != b.row.version { return a.row.version < b.row.version }
        return a.table.bytes(a.key).lexicographicallyPrecedes(b.table.bytes(b.key))
    }

    /// Inserts a row in place of those with the same unique values, if it was written after all of them.
    /// - Returns: the replaced rows; nil if the row was not inserted.
    private mutating func replace(
        _ work: Work, _ old: (values: [SQLValue], rowID: SQLValue?)?
    ) throws -> [(key: [SQLValue], values: [SQLValue])]? {
        let recorder = try ChangeRecorder(db.main, checked: [work.table.name])
        defer { recorder.close() }
        var merge = self
        defer { self = merge }
        return try db.savepoint { _ -> TransactionEnd<[(key: [SQLValue], values: [SQLValue])]?> in
            try merge.insert(work, old, replaces: true)
            var losers: [(key: [SQLValue], values: [SQLValue])] = []
            for change in try recorder.changeset().changes() where change.kind == .delete {
                let values = change.old.map { $0 ?? .null }
                let key = work.table.keyPlaces.map { values[$0] }
                let other = Work(work.table, key, try merge.work(work.table, key).row)
                if Self.isBefore(work, other) { return .rollback(nil) }
                losers.append((key, values))
            }
            return .commit(losers)
        }
    }
}
