import CSQLCipher
import SQLCipherKitCore

extension ChangeLog {
    /// What is done with changes of logged tables that were made outside of ``ChangeLog/write(_:)``: by other code, on another
    /// connection, or by another program.
    public enum OutsideChanges: Hashable, Sendable {
        /// They are logged, as one entry of this peer. The times are those at which they are noticed.
        case logged
        /// ``ChangeLog/write(_:)``, ``ChangeLog/changes(since:)`` and ``ChangeLog/receive(_:)`` throw
        /// ``DatabaseError/Reason/misuse`` with the tables' names, until ``ChangeLog/logOutsideChanges()`` is called.
        case refused
    }

    /// Logs what was changed outside of ``write(_:)`` since it was looked for last.
    /// - Returns: the number of rows.
    /// - Throws: ``DatabaseError``. Then nothing is logged.
    @discardableResult
    public func logOutsideChanges() throws(DatabaseError) -> Int {
        try DatabaseError.typed {
            try connection.transaction { _ in
                store.begin()
                let changes = try outsideChanges(try tables())
                try append(changes)
                return TransactionEnd.commit(changes.count)
            }
        }
    }

    /// In a transaction, before anything is read of the log or added to it.
    /// - Returns: the number of rows that were logged.
    @discardableResult
    func lookOutside() throws -> Int {
        store.begin()
        let tables = try tables()
        let changed = try tables.all.filter { try store.hasOutsideChanges($0) }
        if changed.isEmpty { return 0 }
        guard outsideChanges == .logged else {
            throw DatabaseError.misuse(
                """
                rows of \(changed.map(\.name).joined(separator: ", ")) were changed outside of the log's write: \
                logOutsideChanges() takes them into it
                """)
        }
        let changes = try outsideChanges(tables)
        try append(changes)
        return changes.count
    }

    /// The changes that the triggers have noted, row by row: what became of each row since the first of them. They are forgotten.
    private func outsideChanges(_ tables: LoggedTables) throws -> [LoggedChange] {
        var changes: [LoggedChange] = []
        for table in tables.all where try store.hasOutsideChanges(table) {
            var seen: Set<[UInt8]> = []
            for note in try store.outsideChanges(table) {
                let key = Array(note.values.dropFirst())
                guard let kind = note.values.first, seen.insert(table.bytes(key)).inserted else { continue }
                if key.contains(.null) {
                    // If it is gone, there is nothing to log.
                    try table.identity.requireValues(in: connection.main, for: Self.name)
                    continue
                }
                let wasThere = kind != .integer(0), row = try current(table, key)?.values
                if row == nil, !wasThere { continue }
                let now = row.map { row in table.keyPlaces.map { row[$0] } } ?? key
                // A key in another spelling comes with an insert.
                let isUpdate = wasThere && now == key
                changes.append(
                    LoggedChange(
                        kind: row == nil ? .delete : isUpdate ? .update : .insert, table: table.name, keyColumns: table.key,
                        key: now, columns: row == nil ? [] : table.others,
                        values: row.map { row in table.otherPlaces.map { row[$0] } } ?? [], base: .ancient))
            }
            try store.forgetOutsideChanges(table)
        }
        return changes
    }
}

/// Triggers note the keys of rows that are changed while the log does not write. SQLite runs them whoever changes the row.
extension ChangeLogStore {
    static let outside = "changelog_outside_"

    private func outsideTable(_ table: LoggedTable) -> String { "main.\((Self.outside + table.name).quotedSQLIdentifier)" }

    /// Makes what is missing of the triggers, and of the tables that they write to.
    func watch(_ tables: LoggedTables) throws(DatabaseError) {
        var wanted: [ExactText: String] = [:]
        for table in tables.all {
            let names = table.key.indices.map { "k\($0)" }.joined(separator: ", ")
            try db.execute(SQL(raw: "CREATE TABLE IF NOT EXISTS \(outsideTable(table))(kind, \(names))"))
            for (name, sql) in triggers(table) { wanted[ExactText(name)] = sql }
        }
        for entry in try db.main.entries(where: "type = 'trigger'") where entry.name.hasNamePrefix(Self.outside) {
            if wanted.removeValue(forKey: ExactText(entry.name)) != nil { continue }
            try db.main.dropTrigger(entry.name)
        }
        for sql in wanted.values.sorted() { try db.execute(SQL(raw: sql)) }
    }

    private func triggers(_ table: LoggedTable) -> [(name: String, sql: String)] {
        let target = (Self.outside + table.name).quotedSQLIdentifier
        let old = table.key.map { "old.\($0.quotedSQLIdentifier)" }, new = table.key.map { "new.\($0.quotedSQLIdentifier)" }
        let isMoved = zip(old, new).map { "\($0) IS NOT \($1)" }.joined(separator: " OR ")
        let (olds, news) = (old.joined(separator: ", "), new.joined(separator: ", "))
        return [
            ("insert", "INSERT INTO \(target) VALUES (0, \(news));"),
            (
                "update",
                """
                INSERT INTO \(target) VALUES (1, \(olds)); INSERT INTO \(target) SELECT 0, \(news) WHERE \(isMoved);
                """
            ),
            ("delete", "INSERT INTO \(target) VALUES (2, \(olds));"),
        ].map { event, body in
            let name = "\(Self.outside)\(table.name)_\(event)"
            return (
                name,
                """
                CREATE TRIGGER main.\(name.quotedSQLIdentifier) AFTER \(event.uppercased()) ON \(table.quotedName) \
                BEGIN \(body) END
                """
            )
        }
    }

    func hasOutsideChanges(_ table: LoggedTable) throws(DatabaseError) -> Bool {
        try db.fetchOne(Bool.self, SQL(raw: "SELECT EXISTS (SELECT 1 FROM \(outsideTable(table)))")) ?? false
    }

    /// What was changed, in order: 0 for an insert, 1 for an update and 2 for a delete, and the key.
    func outsideChanges(_ table: LoggedTable) throws -> [RowCopy] {
        try db.fetchAll(RowCopy.self, SQL(raw: "SELECT * FROM \(outsideTable(table)) ORDER BY rowid"))
    }

    func forgetOutsideChanges(_ table: LoggedTable) throws(DatabaseError) {
        try db.execute(SQL(raw: "DELETE FROM \(outsideTable(table))"))
    }

    /// Runs `body` in a transaction while the triggers note nothing: they are not even compiled, as long as the schema stays in
    /// memory. What they have noted since it was read again is forgotten.
    func logging<R>(_ tables: LoggedTables, _ body: () throws -> R) throws -> R {
        let opened = db.state(OpenedChangeLog.self)
        // Another log of this connection is writing.
        if opened.isLogging { return try body() }
        sqlcipherkit_rest_triggers(try db.liveForUse(), "main", Self.outside, 1)
        opened.isLogging = true
        defer {
            opened.isLogging = false
            // The body may have closed the connection.
            if let handle = db.handle { sqlcipherkit_rest_triggers(handle, "main", Self.outside, 0) }
        }
        let result = try body()
        for table in tables.all where try hasOutsideChanges(table) { try forgetOutsideChanges(table) }
        return result
    }

    func dropWatching() throws(DatabaseError) {
        for entry in try db.main.entries(where: "type = 'trigger'") where entry.name.hasNamePrefix(Self.outside) {
            try db.main.dropTrigger(entry.name)
        }
        for entry in try db.main.entries(where: "type = 'table'") where entry.name.hasNamePrefix(Self.outside) {
            try db.execute(SQL(raw: "DROP TABLE main.\(entry.name.quotedSQLIdentifier)"))
        }
    }
}
