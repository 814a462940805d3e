import CSQLCipher
import Foundation

/// An observer of a connection's commits.
struct ChangeHook {
    /// The columns of a table that matter to it, as bits; asked once for each table of a transaction.
    let interest: (DatabaseTable) -> UInt64
    let body: (DatabaseChanges) -> Void
}

/// Collects what the open transaction changes, row by row, and reports it once it is committed.
final class ChangeTracker {
    typealias Mark = [DatabaseTable: DatabaseChanges.Table]

    var hooks = HookList<ChangeHook>()
    private var changes: Mark = [:]
    private var isSomethingUnknown = false
    private var schemaStamp: UInt64
    private(set) var commits: UInt64 = 0

    // The table of the last row: most rows are of the same one, and cost no look-up then.
    private var table: DatabaseTable?
    private var tableName: ContiguousArray<CChar> = []
    private var schemaName: ContiguousArray<CChar> = []
    private var change = DatabaseChanges.Table()

    init(_ db: OpaquePointer) { schemaStamp = sqlcipherkit_schema_stamp(db) }

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
        schemaName = ContiguousArray(next.schemaName.utf8CString)
        if let known = changes[next] {
            change = known
            return
        }
        change = DatabaseChanges.Table(examined: hooks.bodies.reduce(0) { $0 | $1.body.interest(next) })
        // note_fts_data belongs to note_fts: SQLite itself goes by the name.
        if let owner = next.name.shadowOwner {
            let owner = DatabaseTable(owner, schemaName: next.schemaName)
            if sqlcipherkit_find_table(db, schema, owner.name, nil).kind == SQLCIPHERKIT_VIRTUAL_TABLE {
                changes[owner] = DatabaseChanges.Table(isWhole: true)
            }
        }
    }

    private func putBack() {
        if let table { changes[table] = change }
        table = nil
    }

    /// What has been changed so far, for ``rollBack(to:)``.
    func mark() -> Mark {
        putBack()
        return changes
    }

    /// Forgets what was changed since a mark, after a savepoint was rolled back.
    func rollBack(to mark: Mark) {
        table = nil
        changes = mark
    }

    func rollBack() {
        table = nil
        changes.removeAll(keepingCapacity: true)
        isSomethingUnknown = false
    }

    /// Something is being changed that no hook reports.
    func changeUnknown() { isSomethingUnknown = true }

    // MARK: The end

    /// Reports what was committed. Called outside of SQLite.
    func committed(_ db: OpaquePointer) {
        putBack()
        commits += 1
        var result = DatabaseChanges(changes: changes, isUnknown: isSomethingUnknown, commit: commits)
        let stamp = sqlcipherkit_schema_stamp(db)
        result.isSchemaChanged = stamp != schemaStamp
        schemaStamp = stamp
        result.positions = DatabaseChanges.LogPosition.all(db)
        rollBack()
        for hook in hooks.bodies { hook.body.body(result) }
    }
}

extension DatabaseChanges.LogPosition {
    /// The ends of a connection's write-ahead logs, for databases that have one.
    static func all(_ db: OpaquePointer) -> [SQLName: Self] {
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
