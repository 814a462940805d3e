import CSQLCipher
import Foundation
import SQLCipherKitCore

/// Changes of rows, as bytes that you can store, send and apply to another database (<https://sqlite.org/sessionintro.html>).
///
/// ```swift
/// let changes = try laptop.main.recordingChanges { db in try db.execute("UPDATE note SET title = 'x' WHERE id = 1") }
/// try changes.apply(to: phone) { conflict in .omit }
/// ```
/// A changeset has the old and the new values of each row, so that conflicts are detected and the changeset can be inverted. A
/// patchset has only the new values, and is smaller. Rows are identified by their declared primary key; tables without a primary
/// key have no changes. A change of a key's spelling, such as from `A` to `a` under the collation NOCASE, is recorded as a delete
/// followed by an insert.
///
/// The bytes contain data in plaintext: encrypt them before they leave the program. If the bytes are not a changeset, every call
/// throws ``ResultCode/corrupt``.
public struct Changeset: Hashable, Sendable {
    /// The bytes, as SQLite's session extension defines them.
    public let data: Data

    /// Creates a changeset from saved bytes.
    public init(data: Data) { self.data = data }

    /// True if there is no change.
    public var isEmpty: Bool { data.isEmpty }

    /// True if it is a patchset.
    package var isPatchset: Bool { data.first == UInt8(ascii: "P") }

    /// A change of a row.
    public struct Change: Hashable, Sendable {
        /// The kind of the change.
        public let kind: RowChange.Kind
        /// The table.
        public let table: String
        /// True if a trigger or a foreign key made the change, or the recorder was told to mark it as indirect.
        package let isIndirect: Bool
        /// The positions, from 0, of the columns of the primary key.
        public let primaryKey: [Int]
        /// The values before an update or a delete, column by column. An update has only the values of the key and of the columns
        /// that it changes; a patchset has only the values of the key. All others are nil.
        public let old: [SQLValue?]
        /// The values after an insert or an update, column by column. An update has only the changed values. All others are nil.
        public let new: [SQLValue?]
    }

    /// The changes.
    /// - Throws: ``ResultCode/corrupt`` for bytes that are not a changeset.
    public func changes() throws -> [Change] {
        var changes: [Change] = []
        try forEach { changes.append($0) }
        return changes
    }

    /// Calls `body` with each change.
    /// - Throws: ``ResultCode/corrupt`` for bytes that are not a changeset, and any error that `body` throws.
    public func forEach(_ body: (Change) throws -> Void) throws { try iterate { try body(Change($0)) } }

    /// Reads the bytes of all changes, and calls `body` with the table of each: its name, its number of columns and its primary
    /// key.
    fileprivate func forEachTable(_ body: (String, Int, () -> [Int]) throws -> Void) throws {
        try iterate { iterator in
            var table: UnsafePointer<CChar>?
            var columns: Int32 = 0, operation: Int32 = 0
            try check(sqlite3changeset_op(iterator, &table, &columns, &operation, nil))
            guard let table else { throw Self.failure(SQLITE_CORRUPT) }
            try body(String(cString: table), Int(columns)) { Change.primaryKey(iterator) ?? [] }
        }
    }

    /// Without the updates of rows whose columns are all in the key, which SQLite makes of inserts when it rebases them: they have
    /// nothing to set, and cannot be applied.
    private func withoutEmptyUpdates() throws -> Changeset {
        var hasEmptyUpdate = false
        try forEachTable { _, columns, key in hasEmptyUpdate = hasEmptyUpdate || key().count == columns }
        if !hasEmptyUpdate { return self }
        let group = try ChangeGroup()
        try iterate { iterator in
            var table: UnsafePointer<CChar>?
            var columns: Int32 = 0, operation: Int32 = 0
            try check(sqlite3changeset_op(iterator, &table, &columns, &operation, nil))
            if operation == SQLITE_UPDATE, Change.primaryKey(iterator)?.count == Int(columns) { return }
            try group.add(iterator)
        }
        return try group.changeset()
    }

    private func iterate(_ body: (OpaquePointer) throws -> Void) throws {
        if isEmpty { return }
        try withBytes { bytes, count in
            Result {
                var iterator: OpaquePointer?
                try check(sqlite3changeset_start(&iterator, count, bytes))
                var isFinished = false
                // Ends the iteration if `body` throws.
                defer { if !isFinished { sqlite3changeset_finalize(iterator) } }
                while sqlite3changeset_next(iterator) == SQLITE_ROW, let iterator { try body(iterator) }
                isFinished = true
                // Says whether the iteration ended at the end of the changes or by an error.
                try check(sqlite3changeset_finalize(iterator))
            }
        }.get()
    }

    /// Returns the changes that undo these changes.
    /// - Throws: ``ResultCode/corrupt`` for bytes that are not a changeset, or for a patchset, which has no old values.
    public func inverted() throws -> Changeset {
        if isEmpty { return self }
        return try withBytes { bytes, count in
            try Self.output { sqlite3changeset_invert(count, bytes, $0, $1) }
        }
    }

    /// Returns these changes followed by others, as one changeset in which each row has one change.
    /// - Throws: ``ResultCode/corrupt`` for bytes that are not a changeset, ``ResultCode/schema`` if a table has other columns in
    ///   `other`, or if only one of the two is a patchset.
    public func concatenated(with other: Changeset) throws -> Changeset {
        let group = try ChangeGroup()
        try group.add(self)
        try group.add(other)
        return try group.changeset()
    }

    // MARK: C

    /// Checks that no part extends beyond the end of the bytes, and lends them to `body`. The pointer is mutable because SQLite's
    /// functions declare it that way; they do not write to it.
    fileprivate func withBytes<R>(_ body: (UnsafeMutableRawPointer?, Int32) throws -> R) throws -> R {
        guard data.count < Int(Int32.max) else { throw DatabaseError.invalidArgument("the changeset is larger than 2 GB") }
        return try data.withBytes { bytes in
            guard ChangesetFormat.isWhole(bytes) else { throw Self.failure(SQLITE_CORRUPT) }
            return try body(UnsafeMutableRawPointer(mutating: bytes.baseAddress), Int32(bytes.count))
        }
    }

    static func output(
        _ body: (UnsafeMutablePointer<Int32>, UnsafeMutablePointer<UnsafeMutableRawPointer?>) -> Int32
    ) throws -> Changeset {
        var count: Int32 = 0, bytes: UnsafeMutableRawPointer?
        let rc = body(&count, &bytes)
        defer { sqlite3_free(bytes) }
        guard rc == SQLITE_OK else { throw failure(rc) }
        let made = UnsafeRawBufferPointer(start: bytes, count: Int(count))
        return Changeset(data: ChangesetFormat.insertsLast(made) ?? Data(made))
    }

    static func failure(_ rc: Int32) -> DatabaseError {
        switch rc & 0xff {
        case SQLITE_CORRUPT: DatabaseError(code: .corrupt, message: "the bytes are not a changeset that this call accepts")
        case SQLITE_SCHEMA:
            DatabaseError(code: .schema, message: "the changesets cannot be combined: their columns of a table differ")
        default: DatabaseError(rc: rc, database: nil)
        }
    }

    private func check(_ rc: Int32) throws {
        if rc != SQLITE_OK { throw Self.failure(rc) }
    }
}

extension Changeset.Change {
    init(_ iterator: OpaquePointer) throws {
        var table: UnsafePointer<CChar>?
        var columns: Int32 = 0, operation: Int32 = 0, indirect: Int32 = 0
        let rc = sqlite3changeset_op(iterator, &table, &columns, &operation, &indirect)
        guard rc == SQLITE_OK, let table else { throw Changeset.failure(rc) }
        self.table = String(cString: table)
        isIndirect = indirect != 0
        kind = operation == SQLITE_INSERT ? .insert : operation == SQLITE_DELETE ? .delete : .update
        guard let primaryKey = Self.primaryKey(iterator) else { throw Changeset.failure(SQLITE_CORRUPT) }
        self.primaryKey = primaryKey
        old = kind == .insert ? Array(repeating: nil, count: Int(columns))
            : try Self.values(iterator, columns) { sqlite3changeset_old(iterator, $0, $1) }
        new = kind == .delete ? Array(repeating: nil, count: Int(columns))
            : try Self.values(iterator, columns) { sqlite3changeset_new(iterator, $0, $1) }
    }

    /// The values of the key.
    var key: [SQLValue] { primaryKey.map { ((kind == .insert ? new : old)[$0] ?? nil) ?? .null } }

    static func primaryKey(_ iterator: OpaquePointer) -> [Int]? {
        var flags: UnsafeMutablePointer<UInt8>?, count: Int32 = 0
        guard sqlite3changeset_pk(iterator, &flags, &count) == SQLITE_OK, let flags else { return nil }
        return (0..<Int(count)).filter { flags[$0] != 0 }
    }

    static func values(
        _ iterator: OpaquePointer, _ columns: Int32, _ read: (Int32, UnsafeMutablePointer<OpaquePointer?>) -> Int32
    ) throws -> [SQLValue?] {
        var values: [SQLValue?] = []
        for column in 0..<columns {
            var value: OpaquePointer?
            let rc = read(column, &value)
            guard rc == SQLITE_OK else { throw Changeset.failure(rc) }
            values.append(try value.map { value in try SQLValue(copying: value) })
        }
        return values
    }
}

/// SQLite's changegroup, which makes one changeset from several, or from single changes.
final class ChangeGroup {
    private let handle: OpaquePointer

    init() throws {
        var group: OpaquePointer?
        let rc = sqlite3changegroup_new(&group)
        guard rc == SQLITE_OK, let group else { throw Changeset.failure(rc) }
        handle = group
    }

    deinit { sqlite3changegroup_delete(handle) }

    func add(_ changeset: Changeset) throws {
        if changeset.isEmpty { return }
        try changeset.withBytes { bytes, count in try check(sqlite3changegroup_add(handle, count, bytes)) }
    }

    /// Adds the change that an iterator is at.
    func add(_ iterator: OpaquePointer) throws { try check(sqlite3changegroup_add_change(handle, iterator)) }

    func changeset() throws -> Changeset {
        try Changeset.output { sqlite3changegroup_output(handle, $0, $1) }
    }

    /// Takes the columns of the tables from a database, for adding single changes.
    func useSchema(of connection: Connection, _ schema: String) throws {
        try check(sqlite3changegroup_schema(handle, connection.liveForUse(), schema))
    }

    /// Adds one change.
    /// - Parameter operation: `SQLITE_INSERT`, `SQLITE_UPDATE` or `SQLITE_DELETE`.
    func add(_ operation: Int32, _ table: String, _ values: () throws -> Void) throws {
        try check(sqlite3changegroup_change_begin(handle, operation, table, 0, nil))
        do { try values() } catch {
            sqlite3changegroup_change_finish(handle, 1, nil)
            throw error
        }
        try check(sqlite3changegroup_change_finish(handle, 0, nil))
    }

    /// Sets one value of the change being added, from a row of a statement.
    func set(isNew: Bool, _ place: Int, to column: Int32, of row: RawStatement) throws {
        let new: Int32 = isNew ? 1 : 0, place = Int32(place)
        let rc: Int32
        switch sqlite3_column_type(row.handle, column) {
        case SQLITE_INTEGER: rc = sqlite3changegroup_change_int64(handle, new, place, sqlite3_column_int64(row.handle, column))
        case SQLITE_FLOAT: rc = sqlite3changegroup_change_double(handle, new, place, sqlite3_column_double(row.handle, column))
        case SQLITE_TEXT:
            let bytes = try Row._Column(row.handle, column).rawBytes(text: true, blob: false, as: "text")
            rc = sqlite3changegroup_change_text(
                handle, new, place, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count))
        case SQLITE_BLOB:
            let bytes = try Row._Column(row.handle, column).rawBytes(text: false, blob: true, as: "a blob")
            rc = sqlite3changegroup_change_blob(handle, new, place, bytes.baseAddress, Int32(bytes.count))
        default: rc = sqlite3changegroup_change_null(handle, new, place)
        }
        try check(rc)
    }

    private func check(_ rc: Int32) throws {
        if rc != SQLITE_OK { throw Changeset.failure(rc) }
    }
}

/// The format of changesets, patchsets and the records of a rebase (<https://sqlite.org/src/file/ext/session/sqlite3session.c>), as
/// far as needed to know where each part ends.
///
/// A changeset may be untrusted, and the engine does not check every length before it reads: to invert bytes that end within a
/// record, it reads memory beyond their end. So all bytes are checked here before they reach the engine.
private struct ChangesetFormat {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0
    private var isPatchset = false
    private var columnCount = 0
    private var keyCount = 0

    /// Returns whether no part extends beyond the end of the bytes.
    static func isWhole(_ bytes: UnsafeRawBufferPointer) -> Bool { forEachPart(of: bytes) { _, _ in } }

    /// Calls `body` with the first byte and the bytes of each part.
    /// - Returns: whether no part extends beyond the end.
    private static func forEachPart(
        of bytes: UnsafeRawBufferPointer, _ body: (Int32, Slice<UnsafeRawBufferPointer>) -> Void
    ) -> Bool {
        var format = ChangesetFormat(bytes)
        while format.position < bytes.count {
            let start = format.position
            guard format.part() else { return false }
            body(Int32(bytes[start]), bytes[start..<format.position])
        }
        return true
    }

    /// The same changes, with each table's inserts after its other changes: a row whose key gets another spelling, which the table
    /// takes for the same key, is deleted before it is inserted. Nil if they are in this order.
    static func insertsLast(_ bytes: UnsafeRawBufferPointer) -> Data? {
        var hasInsert = false, isOrdered = true
        _ = forEachPart(of: bytes) { kind, _ in
            if kind == SQLITE_DELETE || kind == SQLITE_UPDATE { isOrdered = isOrdered && !hasInsert }
            hasInsert = kind == SQLITE_INSERT || hasInsert && isChange(kind)
        }
        if isOrdered { return nil }
        var ordered = Data(), inserts = Data()
        _ = forEachPart(of: bytes) { kind, part in
            if kind == SQLITE_INSERT { return inserts.append(contentsOf: part) }
            if !isChange(kind) {
                ordered.append(inserts)
                inserts.removeAll()
            }
            ordered.append(contentsOf: part)
        }
        return ordered + inserts
    }

    private static func isChange(_ kind: Int32) -> Bool { [SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE].contains(kind) }

    private init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// A table's header or a change.
    private mutating func part() -> Bool {
        switch byte() {
        case UInt8(ascii: "T"): table(isPatchset: false)
        case UInt8(ascii: "P"): table(isPatchset: true)
        case UInt8(SQLITE_INSERT): skip(1) && record(columnCount)
        // In a patchset, a delete has only the key, and an update has one record instead of two.
        case UInt8(SQLITE_DELETE): skip(1) && record(isPatchset ? keyCount : columnCount)
        case UInt8(SQLITE_UPDATE): skip(1) && (isPatchset || record(columnCount)) && record(columnCount)
        default: false
        }
    }

    private mutating func table(isPatchset: Bool) -> Bool {
        guard let columns = integer(), columns > 0, columns <= bytes.count - position else { return false }
        columnCount = columns
        keyCount = bytes[position..<position + columns].reduce(0) { $0 + ($1 == 0 ? 0 : 1) }
        self.isPatchset = isPatchset
        position += columns
        guard let end = bytes[position...].firstIndex(of: 0) else { return false }
        position = end + 1
        return true
    }

    private mutating func record(_ count: Int) -> Bool {
        guard columnCount > 0 else { return false }
        for _ in 0..<count {
            switch byte().map(Int32.init) {
            case 0, SQLITE_NULL: break
            case SQLITE_INTEGER, SQLITE_FLOAT: guard skip(8) else { return false }
            case SQLITE_TEXT, SQLITE_BLOB: guard let length = integer(), skip(length) else { return false }
            default: return false
            }
        }
        return true
    }

    private mutating func byte() -> UInt8? {
        guard position < bytes.count else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    private mutating func skip(_ count: Int) -> Bool {
        guard count <= bytes.count - position else { return false }
        position += count
        return true
    }

    /// A length; nil if it is cut off, or greater than the number of all bytes.
    private mutating func integer() -> Int? {
        guard let (value, end) = bytes.variableLength(at: position), value <= UInt64(bytes.count) else { return nil }
        position = end
        return Int(value)
    }
}

extension Changeset {
    /// A change that cannot be made as recorded (<https://sqlite.org/session/c_changeset_conflict.html>).
    public struct Conflict: Hashable, Sendable {
        /// Why the change cannot be made.
        public enum Kind: Hashable, Sendable {
            /// The row to update or delete no longer has the values that it had when the change was recorded. Its present values
            /// are in ``Changeset/Conflict/current``.
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

        /// The treatment of a conflict.
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
    /// The resolution of the conflicts of a changeset that was applied, for ``Changeset/rebased(by:)``.
    public struct Rebase: Hashable, Sendable {
        /// The bytes. They contain data in plaintext.
        public let data: Data

        /// Creates a rebase from saved bytes.
        public init(data: Data) { self.data = data }

        /// In place of a rebase that would miss a row.
        fileprivate init(spelling: KeySpelling) { data = Self.mark + Data(spelling.text.utf8) }

        private static let mark = Data("spelling ".utf8)

        fileprivate func requireOneSpelling() throws {
            guard data.starts(with: Self.mark) else { return }
            throw DatabaseError.invalidArgument(
                "the changes cannot be rebased: \(String(decoding: data.dropFirst(Self.mark.count), as: UTF8.self))")
        }
    }
}

/// A row whose key has equal values with other bytes in a changeset and in a database.
private struct KeySpelling {
    let text: String

    init(_ change: Changeset.Change, _ column: String?) {
        text = "the database spells a key of the table \(change.table) differently in the column \(column ?? "")"
    }
}

extension Changeset {
    /// Applies the changes to the main database of a connection, in one savepoint: all changes that are not left out, or none
    /// (<https://sqlite.org/session/sqlite3changeset_apply.html>).
    ///
    /// ```swift
    /// let outcome = try changes.apply(to: db) { conflict in
    ///     conflict.kind == .different ? .replace : .omit
    /// }
    /// for table in outcome.tables where table.applied < table.changes { print(table.name, table.skip ?? "", table.omitted) }
    /// ```
    /// Changes of a table that the database does not have, or has with fewer columns or another primary key, are left out. The
    /// result names these tables. With ``Changeset/Options/requiresAllTables``, the call throws instead. If the table has more
    /// columns than the changeset, the extra columns get their defaults. Foreign keys are checked at the end. No `ON CONFLICT`
    /// clause of a table has an effect: a change that violates a constraint is tried again after the others, and is a conflict if
    /// it still violates the constraint.
    /// - Parameters:
    ///   - db: the connection.
    ///   - tables: the tables whose changes to apply; nil, the default, for all.
    ///   - options: whether triggers run, and similar settings.
    ///   - onConflict: decides about each conflict. It may use the connection. If it throws, nothing has changed, and the call
    ///     throws the same error.
    /// - Returns: for each table, the number of applied and omitted changes, and the reason.
    /// - Throws: ``ResultCode/abort`` if a conflict was resolved with ``Changeset/Conflict/Resolution/abort``; the error names the
    ///   table and the row. ``ResultCode/corrupt`` for bytes that are not a changeset, ``ResultCode/schema`` for a missing required
    ///   table, ``DatabaseError/Reason/invalidArgument`` for a trigger that does not exist, ``DatabaseError/Reason/misuse`` for a
    ///   replacement that cannot be made, and errors from SQLite. Nothing has changed then.
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
        let changed = forms.forms.map(\.name).filter { wanted?.contains(SQLName($0)) ?? true }
        return try db.withTriggers(options.triggers, changing: changed) { try run(application, db, options) }
    }

    /// Applies the changes like ``apply(to:tables:options:onConflict:)``, with a rule for each table instead of a closure.
    /// - Throws: the errors of that function. A conflict of a table whose rule is ``Changeset/Policy/Rule/abort`` throws.
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
        if !options.reportsNoOpChanges { flags |= SQLITE_CHANGESETAPPLY_IGNORENOOP }
        // A progress handler that ends every statement also ends the statements that undo SQLite's own savepoint, which then stays
        // open.
        flags |= SQLITE_CHANGESETAPPLY_NOSAVEPOINT
        defer {
            sqlite3_free(rebase)
            db.finishClosing()
        }
        return try db.savepoint { db -> Outcome in
            let rc = try withBytes { bytes, count in
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
                    throw DatabaseError(code: .abort, message: "the changeset was undone: \(what)")
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
            let row = try schema.connection.fetchOne(OwnedRow.self, SQL(raw: sql, StatementArguments(change.key)))
            guard let found = row?.values, found != change.key, !deleted.contains([.text(change.table)] + found) else { continue }
            return KeySpelling(change, zip(key.columns, zip(found, change.key)).first { $1.0 != $1.1 }?.0.name)
        }
        return nil
    }

    /// Names the row and the table of a conflict without the row's values: by the row id, which is a number, or by the position of
    /// the change for other keys.
    private func describe(_ conflict: Conflict, _ application: ChangesetApplication) throws -> String {
        guard let change = conflict.change else { return application.violation ?? "a foreign key refers to a missing row" }
        let values = change.kind == .insert ? change.new : change.old
        var row = "a row"
        if change.primaryKey.count == 1, case .integer(let id)? = values[change.primaryKey[0]] { row = "row \(id)" }
        let place = try changes().firstIndex(of: change).map { "its change \($0), " } ?? ""
        let what =
            switch conflict.kind {
            case .different: "the row has other values"
            case .missing: "the row does not exist"
            case .exists: "a row with this key exists"
            case .constraint: "the row would break a constraint"
            case .foreignKeys: ""
            }
        return "\(place)the \(change.kind) of \(row) of \(change.table): \(what)"
    }

    /// Returns these changes as if they had been made after other changesets that were applied elsewhere. The conflicts of those
    /// changesets stay resolved as in the calls that applied them (<https://sqlite.org/session/rebaser.html>).
    ///
    /// Rows are the same here if their keys have the same bytes. Under the collations NOCASE and RTRIM, and in columns without a
    /// type, a key can have several spellings. If the databases spelled a key differently, the call throws.
    /// - Parameter rebases: the ``Changeset/Outcome/rebase`` of each call that has applied other changes, in the order of the
    ///   calls.
    /// - Throws: ``DatabaseError/Reason/invalidArgument`` with the table and the column if a key was spelled differently;
    ///   ``ResultCode/corrupt`` for malformed bytes.
    public func rebased(by rebases: [Rebase]) throws -> Changeset {
        let rebased = try rebasedBySQLite(by: rebases)
        return try rebased.withoutEmptyUpdates()
    }

    private func rebasedBySQLite(by rebases: [Rebase]) throws -> Changeset {
        if isEmpty || rebases.isEmpty { return self }
        var rebaser: OpaquePointer?
        let rc = sqlite3rebaser_create(&rebaser)
        guard rc == SQLITE_OK, let rebaser else { throw Self.failure(rc) }
        defer { sqlite3rebaser_delete(rebaser) }
        for rebase in rebases {
            try rebase.requireOneSpelling()
            let rc = try Changeset(data: rebase.data).withBytes { bytes, count in
                sqlite3rebaser_configure(rebaser, count, bytes)
            }
            if rc != SQLITE_OK { throw Self.failure(rc) }
        }
        return try withBytes { bytes, count in
            try Self.output { sqlite3rebaser_rebase(rebaser, count, bytes, $0, $1) }
        }
    }
}

/// The state of one call of `apply`, which SQLite's callbacks use.
private final class ChangesetApplication {
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
                        throw DatabaseError.misuse("a conflict of the kind \(conflict.kind) has no row to replace")
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
    private func firstViolation() throws -> String? {
        let tables = outcome.tables.map(\.name).nameSet
        return try connection.main.foreignKeyViolations()
            .first { tables.contains(SQLName($0.table)) || tables.contains(SQLName($0.parent)) }?.inWords
    }

    private func conflict(_ code: Int32, _ iterator: OpaquePointer) throws -> Changeset.Conflict {
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

extension Changeset {
    /// The result of applying a changeset.
    public struct Outcome: Hashable, Sendable {
        /// A reason for leaving out all changes of a table.
        public enum Skip: Hashable, Sendable {
            /// The database has no such table.
            case noTable
            /// The table has fewer columns here than where the changes were recorded.
            case fewerColumns(here: Int, there: Int)
            /// The table has another primary key here.
            case primaryKey
            /// The table is not among the requested tables.
            case notWanted
            /// The table belongs to this package, and must not be changed from outside.
            case reserved
        }

        /// The result for one table.
        public struct Table: Hashable, Sendable {
            /// The table's name in the changeset.
            public let name: String
            /// The number of changes in the changeset.
            public let changes: Int
            /// The reason that all changes of the table were left out; nil if the table was not skipped.
            public let skip: Skip?
            /// The number of changes that overwrote an existing row after a conflict.
            public fileprivate(set) var replaced = 0
            /// The number of changes left out after a conflict, by kind of conflict.
            public fileprivate(set) var omitted: [Conflict.Kind: Int] = [:]

            /// The number of changes made.
            public var applied: Int { skip == nil ? changes - omitted.values.reduce(0, +) : 0 }

            init(name: String, changes: Int, skip: Skip?) { (self.name, self.changes, self.skip) = (name, changes, skip) }
        }

        /// The tables, in the order of the changeset.
        public fileprivate(set) var tables: [Table] = []
        /// The resolution of the conflicts, for ``Changeset/rebased(by:)``; nil if there were none.
        public fileprivate(set) var rebase: Rebase?

        /// The result for a table; nil if the changeset has no changes of it.
        public subscript(table: String) -> Table? { tables.first { $0.name.isSameName(as: table) } }

        /// True if all changes were made. A change that was ignored because ``Changeset/Options/reportsNoOpChanges`` is off
        /// counts as made.
        public var isComplete: Bool { tables.allSatisfy { $0.applied == $0.changes } }
    }
}

/// The tables of a changeset, and the columns that a database must have for the changes to apply.
private struct ChangesetTables {
    struct Form {
        let name: String
        let columns: Int
        let primaryKey: [Int]
        var changes = 0
    }

    private(set) var forms: [Form] = []
    private var places: [SQLName: Int] = [:]

    init(_ changeset: Changeset) throws {
        var forms: [Form] = [], places: [SQLName: Int] = [:]
        try changeset.forEachTable { name, columns, primaryKey in
            let place = places[SQLName(name)] ?? forms.count
            places[SQLName(name)] = place
            if place == forms.count { forms.append(Form(name: name, columns: columns, primaryKey: primaryKey())) }
            forms[place].changes += 1
        }
        (self.forms, self.places) = (forms, places)
    }

    /// Tells which tables SQLite will apply to a database, and which it will skip.
    func outcome(in schema: Schema, wanted: (String) -> Bool) throws -> Changeset.Outcome {
        var outcome = Changeset.Outcome()
        for form in forms {
            let skip: Changeset.Outcome.Skip? =
                form.name.isKeptFromSQL ? .reserved : wanted(form.name) ? try self.skip(form, schema) : .notWanted
            outcome.tables.append(Changeset.Outcome.Table(name: form.name, changes: form.changes, skip: skip))
        }
        return outcome
    }

    private func skip(_ form: Form, _ schema: Schema) throws -> Changeset.Outcome.Skip? {
        if form.name.isSameName(as: "sqlite_stat1") { return try schema.hasTable(form.name) ? nil : .noTable }
        let columns = try schema.columns(of: form.name).filter { $0.kind == .normal }
        if columns.isEmpty { return .noTable }
        var keys = columns.indices.filter { columns[$0].primaryKeyPosition > 0 }
        var count = columns.count
        // Without a primary key, the row id is the key, and counts as the first column.
        if keys.isEmpty { (keys, count) = ([0], count + 1) }
        if count < form.columns { return .fewerColumns(here: columns.count, there: form.columns) }
        return keys == form.primaryKey ? nil : .primaryKey
    }
}

private extension Changeset.Outcome.Skip {
    var inWords: String {
        switch self {
        case .noTable: "the database does not have it"
        case .fewerColumns(let here, let there): "it has \(here) columns here, and \(there) in the changeset"
        case .primaryKey: "it has another primary key"
        case .notWanted, .reserved: "it is excluded"
        }
    }
}

extension Changeset: _HidesValues {}

extension Changeset.Rebase: _HidesValues {}
