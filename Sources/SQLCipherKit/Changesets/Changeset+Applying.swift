import CSQLCipher
import Foundation

/// A change that cannot be made as it stands (<https://sqlite.org/session/c_changeset_conflict.html>).
public struct ChangesetConflict: Hashable, Sendable {
    /// What stands in the way.
    public enum Kind: Hashable, Sendable {
        /// The row has other values than it had when the change was recorded: an update or a delete meets them in
        /// ``ChangesetConflict/current``.
        case different
        /// There is no such row to update or to delete.
        case missing
        /// There is a row with the key of the one to insert.
        case exists
        /// The change breaks a constraint, `UNIQUE` or `CHECK` for instance.
        case constraint
        /// After all changes so many foreign keys point nowhere. There is no change with this one.
        case foreignKeys(Int)
    }

    /// What stands in the way.
    public let kind: Kind
    /// The change; nil for foreign keys.
    public let change: Changeset.Change?
    /// The row that is there, column by column, for ``Kind/different`` and ``Kind/exists``.
    public let current: [SQLValue]?

    /// What to do about it.
    public enum Resolution: Hashable, Sendable {
        /// Leave this change out, and go on. Of foreign keys: let them be broken.
        case omit
        /// Make the change over the row that is there: for ``Kind/different`` and ``Kind/exists`` only.
        case replace
        /// Undo everything: the call throws.
        case abort
    }
}

/// How conflicts were solved when a changeset was applied: what the local changes since then are to be rebased by.
public struct ChangesetRebase: Hashable, Sendable {
    /// The bytes, which are data in the clear.
    public let data: Data

    /// A rebase from bytes that were kept.
    public init(data: Data) { self.data = data }
}

extension Changeset {
    /// Makes the changes in the main database of a connection, in one savepoint: all that are not left out, or none
    /// (<https://sqlite.org/session/sqlite3changeset_apply.html>).
    ///
    /// ```swift
    /// try changes.apply(to: db) { conflict in
    ///     conflict.kind == .different ? .replace : .omit
    /// }
    /// ```
    /// Changes of a table that the main database does not have, or has with other columns, are left out silently. Triggers fire.
    /// Foreign keys are checked at the end.
    /// - Parameters:
    ///   - db: the connection.
    ///   - tables: the tables whose changes are wanted; nil, the default, for all.
    ///   - onConflict: decides about each conflict. It may use the connection. If it throws, nothing has changed, and the call throws
    ///     the same error. Default: abort.
    /// - Returns: how conflicts were solved, for ``Changeset/rebased(by:)``; nil if there was none.
    /// - Throws: ``ResultCode/abort`` if a conflict was to abort, ``ResultCode/corrupt`` for bytes that are no changeset,
    ///   ``DatabaseError/Reason/misuse`` for a replacement that cannot be made, and what SQLite reports. Nothing has changed then.
    @discardableResult
    public func apply(
        to db: Connection, tables: [String]? = nil,
        onConflict: @escaping (ChangesetConflict) throws -> ChangesetConflict.Resolution = { _ in .abort }
    ) throws -> ChangesetRebase? {
        let handle = try db.liveForUse()
        // All of it is looked at first: what is malformed is found before anything has changed.
        try validate()
        if isEmpty { return nil }
        let application = ChangesetApplication(db, tables?.nameSet, onConflict)
        var rebase: UnsafeMutableRawPointer?, rebaseCount: Int32 = 0
        // The conflict handler may use the connection, but must not end what the changeset is applied in.
        db.enterTransaction()
        defer { db.leaveTransaction() }
        let rc = try withBytes { bytes, count throws(DatabaseError) in
            withExtendedLifetime(application) {
                sqlite3changeset_apply_v2(
                    handle, count, bytes,
                    { context, table in ChangesetApplication.at(context)?.wants(table) ?? 1 },
                    { context, kind, iterator in ChangesetApplication.at(context)?.resolve(kind, iterator) ?? SQLITE_CHANGESET_ABORT },
                    Unmanaged.passUnretained(application).toOpaque(), &rebase, &rebaseCount, 0)
            }
        }
        defer {
            sqlite3_free(rebase)
            db.finishClosing()
        }
        if let error = application.error { throw error }
        guard rc == SQLITE_OK else {
            if rc == SQLITE_ABORT { throw DatabaseError(code: .abort, message: "a conflict has undone the changeset") }
            if rc & 0xff == SQLITE_CORRUPT { throw Self.failure(rc) }
            throw db.failure(rc)
        }
        return rebase.map { ChangesetRebase(data: Data(bytes: $0, count: Int(rebaseCount))) }
    }

    /// These changes as if they had been made after another changeset was applied elsewhere, with conflicts solved as they were
    /// solved there (<https://sqlite.org/session/rebaser.html>).
    /// - Parameter rebases: what ``apply(to:tables:onConflict:)`` returned where the other changes were applied, in that
    ///   order.
    /// - Throws: ``ResultCode/corrupt`` for malformed bytes.
    public func rebased(by rebases: [ChangesetRebase]) throws(DatabaseError) -> Changeset {
        if isEmpty || rebases.isEmpty { return self }
        var rebaser: OpaquePointer?
        let rc = sqlite3rebaser_create(&rebaser)
        guard rc == SQLITE_OK, let rebaser else { throw Self.failure(rc) }
        defer { sqlite3rebaser_delete(rebaser) }
        for rebase in rebases {
            let rc = try Changeset(data: rebase.data).withBytes { bytes, count throws(DatabaseError) in
                sqlite3rebaser_configure(rebaser, count, bytes)
            }
            if rc != SQLITE_OK { throw Self.failure(rc) }
        }
        return try withBytes { bytes, count throws(DatabaseError) in
            try Self.output { sqlite3rebaser_rebase(rebaser, count, bytes, $0, $1) }
        }
    }
}

/// One call of `apply`, as SQLite calls it back.
private final class ChangesetApplication {
    private let connection: Connection
    private let tables: Set<SQLName>?
    private let onConflict: (ChangesetConflict) throws -> ChangesetConflict.Resolution
    private(set) var error: (any Error)?

    init(
        _ connection: Connection, _ tables: Set<SQLName>?,
        _ onConflict: @escaping (ChangesetConflict) throws -> ChangesetConflict.Resolution
    ) {
        self.connection = connection
        self.tables = tables
        self.onConflict = onConflict
    }

    static func at(_ context: UnsafeMutableRawPointer?) -> ChangesetApplication? {
        context.map { Unmanaged<ChangesetApplication>.fromOpaque($0).takeUnretainedValue() }
    }

    func wants(_ table: UnsafePointer<CChar>?) -> Int32 {
        guard let table else { return 1 }
        // What a database remembers of its key slots is its own.
        if sqlcipherkit_is_slot_mark(table) != 0 { return 0 }
        guard let tables else { return 1 }
        return tables.contains(SQLName(String(cString: table))) ? 1 : 0
    }

    func resolve(_ code: Int32, _ iterator: OpaquePointer?) -> Int32 {
        guard error == nil, let iterator else { return SQLITE_CHANGESET_ABORT }
        return connection.inFunction {
            do {
                let conflict = try conflict(code, iterator)
                let resolution = try onConflict(conflict)
                guard connection.isOpen else { throw DatabaseError.closedConnection }
                if let cause = connection.closures.cause { throw DatabaseError.aborted(cause) }
                switch resolution {
                case .omit: return SQLITE_CHANGESET_OMIT
                case .abort: return SQLITE_CHANGESET_ABORT
                case .replace:
                    guard conflict.current != nil else {
                        throw DatabaseError.misuse("a changeset's conflict of the kind \(conflict.kind) has no row to replace")
                    }
                    return SQLITE_CHANGESET_REPLACE
                }
            } catch {
                self.error = error
                return SQLITE_CHANGESET_ABORT
            }
        }
    }

    private func conflict(_ code: Int32, _ iterator: OpaquePointer) throws(DatabaseError) -> ChangesetConflict {
        if code == SQLITE_CHANGESET_FOREIGN_KEY {
            var count: Int32 = 0
            sqlite3changeset_fk_conflicts(iterator, &count)
            return ChangesetConflict(kind: .foreignKeys(Int(count)), change: nil, current: nil)
        }
        let change = try Changeset.Change(iterator)
        var current: [SQLValue]?
        if code == SQLITE_CHANGESET_DATA || code == SQLITE_CHANGESET_CONFLICT {
            current = try Changeset.Change.values(iterator, Int32(change.old.count)) { sqlite3changeset_conflict(iterator, $0, $1) }
                .map { $0 ?? .null }
        }
        let kind: ChangesetConflict.Kind =
            switch code {
            case SQLITE_CHANGESET_DATA: .different
            case SQLITE_CHANGESET_NOTFOUND: .missing
            case SQLITE_CHANGESET_CONFLICT: .exists
            default: .constraint
            }
        return ChangesetConflict(kind: kind, change: change, current: current)
    }
}
