import CSQLCipher
import Foundation
import SQLCipherKitCore

extension Changeset {
    /// A change that cannot be made as recorded (<https://sqlite.org/session/c_changeset_conflict.html>).
    public struct Conflict: Hashable, Sendable {
        /// Why the change cannot be made.
        public enum Kind: Hashable, Sendable {
            /// The row to update or delete has other values than when the change was recorded. They are in
            /// ``Changeset/Conflict/current``.
            case different
            /// There is no row to update or delete.
            case missing
            /// A row with the key of the row to insert exists already.
            case exists
            /// The change violates a constraint, such as `UNIQUE` or `CHECK`.
            case constraint
            /// After all changes, this number of foreign keys refer to no row. The conflict has no ``Changeset/Conflict/change``.
            case foreignKeys(Int)
        }

        /// Why the change cannot be made.
        public let kind: Kind
        /// The change; nil for foreign keys.
        public let change: Changeset.Change?
        /// The existing row, column by column, for ``Kind/different`` and ``Kind/exists``.
        public let current: [SQLValue]?

        /// What to do about it.
        public enum Resolution: Hashable, Sendable {
            /// Leave out this change and continue. For foreign keys: accept the violations.
            case omit
            /// Overwrite the existing row: for ``Kind/different`` and ``Kind/exists`` only.
            case replace
            /// Undo everything: the call throws.
            case abort
        }
    }
}

extension Changeset {
    /// How conflicts were resolved when a changeset was applied. Local changes made since then are rebased on it.
    public struct Rebase: Hashable, Sendable {
        /// The bytes. They contain data in plaintext.
        public let data: Data

        /// Creates a rebase from saved bytes.
        public init(data: Data) { self.data = data }

        /// In place of a rebase that would miss a row.
        init(spelling: KeySpelling) { data = Self.mark + Data(spelling.text.utf8) }

        private static let mark = Data("spelling ".utf8)

        func requireOneSpelling() throws(DatabaseError) {
            guard data.starts(with: Self.mark) else { return }
            throw .invalidArgument(
                "the changes cannot be rebased: \(String(decoding: data.dropFirst(Self.mark.count), as: UTF8.self))")
        }
    }
}

/// A row whose key has equal values with other bytes in a changeset and in a database.
struct KeySpelling {
    let text: String

    init(_ change: Changeset.Change, _ column: String?) {
        text = "the table \(change.table) has a key that is spelled in another way in the column \(column ?? "")"
    }
}

extension Changeset {
    /// Applies the changes to the main database of a connection, in one savepoint: all that are not left out, or none
    /// (<https://sqlite.org/session/sqlite3changeset_apply.html>).
    ///
    /// ```swift
    /// let outcome = try changes.apply(to: db) { conflict in
    ///     conflict.kind == .different ? .replace : .omit
    /// }
    /// for table in outcome.tables where table.applied < table.changes { print(table.name, table.skip ?? "", table.omitted) }
    /// ```
    /// Changes of a table that the database does not have, or has with fewer columns or another primary key, are left out. The
    /// result says so, and ``Changeset/Options/requiresAllTables`` makes the call throw instead. If the table has more columns than
    /// the changeset, the extra columns get their defaults. Foreign keys are checked at the end. No `ON CONFLICT` clause of a table
    /// has an effect: a change that violates a constraint is made after the others, and is a conflict if it still does.
    /// - Parameters:
    ///   - db: the connection.
    ///   - tables: the tables whose changes to apply; nil, the default, for all.
    ///   - options: whether triggers run, and similar settings.
    ///   - onConflict: decides about each conflict. It may use the connection. If it throws, nothing has changed, and the call
    ///     throws the same error.
    /// - Returns: for each table, what was applied, what was left out, and why.
    /// - Throws: ``ResultCode/abort`` if a conflict was resolved with ``Changeset/Conflict/Resolution/abort``; the error names the
    ///   table and the row. ``ResultCode/corrupt`` for bytes that are not a changeset, ``ResultCode/schema`` for a missing required
    ///   table, ``DatabaseError/Reason/invalidArgument`` for a trigger that does not exist, ``DatabaseError/Reason/misuse`` for a
    ///   replacement that cannot be made, and what SQLite reports. Nothing has changed then.
    @discardableResult
    public func apply(
        to db: Connection, tables: [String]? = nil, options: Options = Options(),
        onConflict: @escaping (Conflict) throws -> Conflict.Resolution
    ) throws -> Outcome {
        _ = try db.liveForUse()
        // Reads all of it first, so that malformed bytes are found before anything has changed.
        let forms = try ChangesetTables(self)
        if isEmpty { return Outcome() }
        let wanted = tables?.nameSet
        let outcome = try forms.outcome(in: db.main) { wanted?.contains(SQLName($0)) ?? true }
        if options.requiresAllTables, let table = outcome.tables.first(where: { ![nil, .notWanted, .reserved].contains($0.skip) }) {
            throw DatabaseError(
                code: .schema, message: "the changes of \(table.name) cannot be applied: \(table.skip?.inWords ?? "")")
        }
        let application = ChangesetApplication(db, outcome, onConflict)
        application.spelling = try otherSpelling(in: db.main, outcome)
        return try db.withTriggers(options.triggers) { try run(application, db, options) }
    }

    /// Applies the changes like ``apply(to:tables:options:onConflict:)``, with a rule for each table instead of a closure.
    @discardableResult
    public func apply(
        to db: Connection, tables: [String]? = nil, options: Options = Options(),
        policy: Policy = Policy()
    ) throws -> Outcome {
        try apply(to: db, tables: tables, options: options) { conflict in try policy.resolution(of: conflict) }
    }

    private func run(
        _ application: ChangesetApplication, _ db: Connection, _ options: Options
    ) throws -> Outcome {
        let handle = try db.liveForUse()
        var rebase: UnsafeMutableRawPointer?, rebaseCount: Int32 = 0
        var flags: Int32 = 0
        if !options.runsForeignKeyActions { flags |= SQLITE_CHANGESETAPPLY_FKNOACTION }
        if !options.reportsChangesThatAreMade { flags |= SQLITE_CHANGESETAPPLY_IGNORENOOP }
        // What ends every statement ends as well those with which SQLite undoes its own savepoint, and leaves it open.
        flags |= SQLITE_CHANGESETAPPLY_NOSAVEPOINT
        defer {
            sqlite3_free(rebase)
            db.finishClosing()
        }
        return try db.savepoint { db -> Outcome in
            let rc = try withBytes { bytes, count throws(DatabaseError) in
                withExtendedLifetime(application) {
                    sqlite3changeset_apply_v2(
                        handle, count, bytes,
                        { context, table in ChangesetApplication.at(context)?.wants(table) ?? 1 },
                        { context, kind, iterator in
                            ChangesetApplication.at(context)?.resolve(kind, iterator) ?? SQLITE_CHANGESET_ABORT
                        },
                        Unmanaged.passUnretained(application).toOpaque(), &rebase, &rebaseCount, flags)
                }
            }
            if let error = application.error { throw error }
            guard rc == SQLITE_OK else {
                if let conflict = application.abortedBy, [SQLITE_ABORT, SQLITE_CONSTRAINT].contains(rc & 0xff) {
                    let what = try describe(conflict, application)
                    throw DatabaseError(code: .abort, message: "a conflict has undone the changeset: \(what)")
                }
                if rc & 0xff == SQLITE_CORRUPT { throw Self.failure(rc) }
                throw db.failure(rc)
            }
            var outcome = application.finalOutcome
            outcome.rebase = application.spelling.map { Rebase(spelling: $0) }
                ?? rebase.map { Rebase(data: Data(bytes: $0, count: Int(rebaseCount))) }
            return outcome
        }
    }

    /// Finds a row whose key the database spells differently, so that it is another row to a rebase.
    private func otherSpelling(in schema: Schema, _ outcome: Outcome) throws -> KeySpelling? {
        var keys: [SQLName: RowKey] = [:]
        for table in outcome.tables where table.skip == nil {
            if let key = try RowKey(of: table.name, in: schema), key.hasSpellings { keys[SQLName(table.name)] = key }
        }
        if keys.isEmpty { return nil }
        let changes = try changes().filter { keys[SQLName($0.table)] != nil }
        let deleted = Set(changes.filter { $0.kind == .delete }.map { [.text($0.table)] + $0.key })
        for change in changes {
            guard let key = keys[SQLName(change.table)] else { continue }
            let names = key.columns.map(\.name.quotedSQLIdentifier).joined(separator: ", ")
            let sql = "SELECT \(names) FROM \(schema.qualified(key.table)) WHERE \(key.condition)"
            let row = try schema.connection.fetchOne(RowCopy.self, SQL(raw: sql, StatementArguments(change.key)))
            guard let found = row?.values, found != change.key, !deleted.contains([.text(change.table)] + found) else { continue }
            return KeySpelling(change, zip(key.columns, zip(found, change.key)).first { $1.0 != $1.1 }?.0.name)
        }
        return nil
    }

    /// Names the row and the table of a conflict without the row's values: by the row id, which is a number, or by the position of
    /// the change for other keys.
    private func describe(_ conflict: Conflict, _ application: ChangesetApplication) throws -> String {
        guard let change = conflict.change else { return application.violation ?? "a foreign key points nowhere" }
        let values = change.kind == .insert ? change.new : change.old
        var row = "a row"
        if change.primaryKey.count == 1, case .integer(let id)? = values[change.primaryKey[0]] { row = "row \(id)" }
        let place = try changes().firstIndex(of: change).map { "its change \($0), " } ?? ""
        let what =
            switch conflict.kind {
            case .different: "finds other values in it"
            case .missing: "does not find it"
            case .exists: "finds one with its key"
            case .constraint: "breaks a constraint"
            case .foreignKeys: ""
            }
        return "\(place)the \(change.kind) of \(row) of \(change.table), \(what)"
    }

    /// Returns these changes as if they had been made after another changeset, which was applied elsewhere, with its conflicts
    /// resolved as they were there (<https://sqlite.org/session/rebaser.html>).
    ///
    /// Rows are the same here if their keys have the same bytes. Under the collations NOCASE and RTRIM, and in columns without a
    /// type, a key can have several spellings. If the databases spelled one differently, the call throws.
    /// - Parameter rebases: the ``Changeset/Outcome/rebase`` of each call that has applied other changes, in the order of the
    ///   calls.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` with the table and the column if a key was spelled differently;
    ///   ``ResultCode/corrupt`` for malformed bytes.
    public func rebased(by rebases: [Rebase]) throws(DatabaseError) -> Changeset {
        let rebased = try rebasedBySQLite(by: rebases)
        return try DatabaseError.typed { try rebased.withoutEmptyUpdates() }
    }

    private func rebasedBySQLite(by rebases: [Rebase]) throws(DatabaseError) -> Changeset {
        if isEmpty || rebases.isEmpty { return self }
        var rebaser: OpaquePointer?
        let rc = sqlite3rebaser_create(&rebaser)
        guard rc == SQLITE_OK, let rebaser else { throw Self.failure(rc) }
        defer { sqlite3rebaser_delete(rebaser) }
        for rebase in rebases {
            try rebase.requireOneSpelling()
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
