import CSQLCipher
import Foundation

/// An observer of a connection's commits.
package struct ChangeHook {
    /// Returns the columns of a table that matter to the observer, as bits. Called once for each table in a transaction.
    package let interest: (DatabaseTable) -> UInt64
    let body: (DatabaseChanges) -> Void

    package init(interest: @escaping (DatabaseTable) -> UInt64, body: @escaping (DatabaseChanges) -> Void) {
        (self.interest, self.body) = (interest, body)
    }
}

/// Collects the changes of the open transaction, row by row, and reports them once it is committed.
package final class ChangeTracker {
    /// The changes of the open transaction.
    struct Mark {
        fileprivate var changes: [DatabaseTable: DatabaseChanges.Table] = [:]
        fileprivate var isUnknown = false
        /// True if the application has reported a change that SQLite does not see.
        fileprivate var isNoticed = false
    }

    var hooks = HookList<ChangeHook>()
    private var open = Mark()
    /// True if SQLite is about to commit.
    var isCommitting = false
    /// True if a statement that attaches or detaches a database was compiled but has not run yet.
    var isAttaching = false
    private var databases: [SQLName]
    var hasNotices: Bool { open.isNoticed }
    private var schemaStamp: UInt64
    package private(set) var commits: UInt64 = 0

    // The table of the last row. Most rows belong to the same table and then need no look-up.
    private var table: DatabaseTable?
    private var tableName: ContiguousArray<CChar> = []
    private var schemaName: ContiguousArray<CChar> = []
    private var change = DatabaseChanges.Table()

    init(_ db: OpaquePointer) {
        schemaStamp = sqlcipherkit_schema_stamp(db)
        databases = Self.databases(db)
    }

    // MARK: The open transaction

    func rowChanges(
        _ db: OpaquePointer, _ operation: Int32, _ schema: UnsafePointer<CChar>, _ name: UnsafePointer<CChar>, moves: Bool
    ) {
        if table == nil || !isLast(schema, name) { switchTable(db, schema, name) }
        if change.isWhole { return }
        if operation == SQLITE_UPDATE, !moves {
            let candidates = change.examined & ~change.changed
            if candidates != 0 { change.changed |= sqlcipherkit_changed_columns(db, candidates) }
        } else {
            change.isWhole = true
        }
    }

    private func isLast(_ schema: UnsafePointer<CChar>, _ name: UnsafePointer<CChar>) -> Bool {
        tableName.withUnsafeBufferPointer { $0.baseAddress.map { strcmp($0, name) == 0 } ?? false }
            && schemaName.withUnsafeBufferPointer { $0.baseAddress.map { strcmp($0, schema) == 0 } ?? false }
    }

    private func switchTable(_ db: OpaquePointer, _ schema: UnsafePointer<CChar>, _ name: UnsafePointer<CChar>) {
        putBack()
        let next = DatabaseTable(String(cString: name), schemaName: String(cString: schema))
        table = next
        tableName = ContiguousArray(next.name.utf8CString)
        schemaName = ContiguousArray(next.schema.utf8CString)
        if let known = open.changes[next] {
            change = known
            return
        }
        change = unchanged(next)
        // note_fts_data belongs to note_fts: SQLite itself identifies shadow tables by name.
        if let owner = next.name.shadowOwner {
            let owner = DatabaseTable(owner, schemaName: next.schema)
            if sqlcipherkit_find_table(db, schema, owner.name, nil).kind == SQLCIPHERKIT_VIRTUAL_TABLE {
                open.changes[owner] = DatabaseChanges.Table(isWhole: true)
            }
        }
    }

    private func unchanged(_ table: DatabaseTable) -> DatabaseChanges.Table {
        DatabaseChanges.Table(examined: hooks.bodies.reduce(0) { $0 | $1.body.interest(table) })
    }

    private func putBack() {
        if let table { open.changes[table] = change }
        table = nil
    }

    /// The changes so far, for ``rollBack(to:)``.
    func mark() -> Mark {
        putBack()
        return open
    }

    /// Discards the changes made since a mark, after a savepoint was rolled back.
    func rollBack(to mark: Mark) {
        table = nil
        open = mark
    }

    func rollBack() {
        table = nil
        open.changes.removeAll(keepingCapacity: true)
        (open.isUnknown, open.isNoticed, isCommitting) = (false, false, false)
    }

    /// Records a change that no hook reports.
    func changeUnknown() { open.isUnknown = true }

    /// Records a change that SQLite does not see.
    func notice(_ region: DatabaseRegion) {
        putBack()
        open.isNoticed = true
        if region.isEverything { open.isUnknown = true }
        for (table, columns) in region.columns {
            var change = open.changes[table] ?? unchanged(table)
            if columns.isWhole || columns.names.isEmpty { change.isWhole = true } else { change.changed |= columns.bits }
            open.changes[table] = change
        }
    }

    // MARK: The end

    /// Call this when a statement has ended and no transaction is open.
    func ended(_ db: OpaquePointer) {
        let isAttached = noteDatabases(db)
        if isCommitting || hasNotices {
            committed(db)
        } else if isAttached {
            schemaStamp = sqlcipherkit_schema_stamp(db)
            report(DatabaseChanges(isSchemaChanged: true))
        }
    }

    /// Call this when a statement has ended and the transaction is still open. A database that it attached stays attached even if
    /// the transaction is rolled back.
    func goesOn(_ db: OpaquePointer) {
        isCommitting = false
        if noteDatabases(db) { report(DatabaseChanges(isSchemaChanged: true)) }
    }

    /// - Returns: whether a database was attached or detached.
    private func noteDatabases(_ db: OpaquePointer) -> Bool {
        guard isAttaching else { return false }
        let now = Self.databases(db)
        defer { databases = now }
        isAttaching = now == databases
        return !isAttaching
    }

    private static func databases(_ db: OpaquePointer) -> [SQLName] {
        var names: [SQLName] = []
        while let name = sqlite3_db_name(db, Int32(names.count)) { names.append(SQLName(String(cString: name))) }
        return names
    }

    /// Reports the committed changes. Called outside of SQLite's callbacks.
    func committed(_ db: OpaquePointer) {
        putBack()
        commits += 1
        var result = DatabaseChanges(changes: open.changes, isUnknown: open.isUnknown)
        let stamp = sqlcipherkit_schema_stamp(db)
        result.isSchemaChanged = stamp == 0 || stamp != schemaStamp
        schemaStamp = stamp
        // A snapshot cannot tell whether a read has seen changes outside the database.
        if !hasNotices { (result.commit, result.positions) = (commits, DatabaseChanges.LogPosition.all(db)) }
        rollBack()
        report(result)
    }

    private func report(_ changes: DatabaseChanges) {
        for hook in hooks.bodies { hook.body.body(changes) }
    }
}

extension DatabaseChanges.LogPosition {
    /// The ends of a connection's write-ahead logs, for databases that have one.
    package static func all(_ db: OpaquePointer) -> [SQLName: Self] {
        var positions: [SQLName: Self] = [:]
        var index: Int32 = 0
        while let name = sqlite3_db_name(db, index) {
            var position = Self(log: 0, frame: 0)
            if sqlcipherkit_log_position(db, name, &position.log, &position.frame) != 0 {
                positions[SQLName(String(cString: name))] = position
            }
            index += 1
        }
        return positions
    }
}
