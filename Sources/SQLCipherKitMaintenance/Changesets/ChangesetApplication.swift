import CSQLCipher
import Foundation
import SQLCipherKitCore

/// The state of one call of `apply`, which SQLite's callbacks use.
final class ChangesetApplication {
    private let connection: Connection
    private let outcome: Changeset.Outcome
    private let skipped: Set<SQLName>
    private let onConflict: (Changeset.Conflict) throws -> Changeset.Conflict.Resolution
    /// The last decision about each change: SQLite may report a change more than once.
    private var resolutions: [Changeset.Change: (kind: Changeset.Conflict.Kind, isReplaced: Bool)] = [:]
    private(set) var error: (any Error)?
    /// The conflict that was resolved with `.abort`.
    private(set) var abortedBy: Changeset.Conflict?
    /// A row whose key the database spells differently.
    var spelling: KeySpelling?
    /// A row whose foreign key refers to no row after all changes.
    private(set) var violation: String?

    init(
        _ connection: Connection, _ outcome: Changeset.Outcome,
        _ onConflict: @escaping (Changeset.Conflict) throws -> Changeset.Conflict.Resolution
    ) {
        self.connection = connection
        self.outcome = outcome
        skipped = outcome.tables.filter { $0.skip != nil }.map(\.name).nameSet
        self.onConflict = onConflict
    }

    static func at(_ context: UnsafeMutableRawPointer?) -> ChangesetApplication? {
        context.map { Unmanaged<ChangesetApplication>.fromOpaque($0).takeUnretainedValue() }
    }

    func wants(_ table: UnsafePointer<CChar>?) -> Int32 {
        guard let table else { return 1 }
        return skipped.contains(SQLName(String(cString: table))) ? 0 : 1
    }

    var finalOutcome: Changeset.Outcome {
        var outcome = outcome
        var places: [SQLName: Int] = [:]
        for (place, table) in outcome.tables.enumerated() { places[SQLName(table.name)] = place }
        for (change, resolution) in resolutions {
            guard let place = places[SQLName(change.table)] else { continue }
            if resolution.isReplaced { outcome.tables[place].replaced += 1 } else {
                outcome.tables[place].omitted[resolution.kind, default: 0] += 1
            }
        }
        return outcome
    }

    func resolve(_ code: Int32, _ iterator: OpaquePointer?) -> Int32 {
        guard error == nil, let iterator else { return SQLITE_CHANGESET_ABORT }
        return connection.inFunction {
            do {
                let conflict = try conflict(code, iterator)
                if let change = conflict.change, let current = conflict.current, spelling == nil {
                    spelling = change.primaryKey.enumerated().first { current[$1] != change.key[$0] }
                        .map { KeySpelling(change, try? columnName($0.element, of: change.table)) }
                }
                let resolution = try onConflict(conflict)
                guard connection.isOpen else { throw DatabaseError.closedConnection }
                if let cause = connection.closures.cause { throw DatabaseError.aborted(cause) }
                switch resolution {
                case .omit:
                    if let change = conflict.change { resolutions[change] = (conflict.kind, false) }
                    return SQLITE_CHANGESET_OMIT
                case .abort:
                    abortedBy = conflict
                    if conflict.change == nil { violation = try firstViolation() }
                    return SQLITE_CHANGESET_ABORT
                case .replace:
                    guard conflict.current != nil else {
                        throw DatabaseError.misuse("a changeset's conflict of the kind \(conflict.kind) has no row to replace")
                    }
                    if let change = conflict.change { resolutions[change] = (conflict.kind, true) }
                    return SQLITE_CHANGESET_REPLACE
                }
            } catch {
                self.error = error
                return SQLITE_CHANGESET_ABORT
            }
        }
    }

    private func columnName(_ place: Int, of table: String) throws -> String? {
        try RowKey(of: table, in: connection.main)?.columns.first { $0.place == place }?.name
    }

    /// Returns the first violation of a table of the changeset, or of a row that refers to one of them.
    private func firstViolation() throws(DatabaseError) -> String? {
        let tables = outcome.tables.map(\.name).nameSet
        return try connection.main.foreignKeyViolations()
            .first { tables.contains(SQLName($0.table)) || tables.contains(SQLName($0.parent)) }?.inWords
    }

    private func conflict(_ code: Int32, _ iterator: OpaquePointer) throws(DatabaseError) -> Changeset.Conflict {
        if code == SQLITE_CHANGESET_FOREIGN_KEY {
            var count: Int32 = 0
            sqlite3changeset_fk_conflicts(iterator, &count)
            return Changeset.Conflict(kind: .foreignKeys(Int(count)), change: nil, current: nil)
        }
        let change = try Changeset.Change(iterator)
        var current: [SQLValue]?
        if code == SQLITE_CHANGESET_DATA || code == SQLITE_CHANGESET_CONFLICT {
            current = try Changeset.Change.values(iterator, Int32(change.old.count)) { sqlite3changeset_conflict(iterator, $0, $1) }
                .map { $0 ?? .null }
        }
        let kind: Changeset.Conflict.Kind =
            switch code {
            case SQLITE_CHANGESET_DATA: .different
            case SQLITE_CHANGESET_NOTFOUND: .missing
            case SQLITE_CHANGESET_CONFLICT: .exists
            default: .constraint
            }
        return Changeset.Conflict(kind: kind, change: change, current: current)
    }
}
