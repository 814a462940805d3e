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
/// patchset has only the new values, and is smaller. Rows are identified by their declared primary key; tables without one have no
/// changes. A key that gets another spelling, such as `a` for `A` under the collation NOCASE, is a delete followed by an insert.
///
/// The bytes contain data in plaintext: encrypt them before they leave the program. If the bytes are not a changeset, every call
/// throws ``ResultCode/corrupt``.
public struct Changeset: Hashable, Sendable {
    /// The bytes, as SQLite's session extension defines them.
    public let data: Data

    /// Creates a changeset from saved bytes.
    public init(data: Data) { self.data = data }

    /// Whether it contains no change.
    public var isEmpty: Bool { data.isEmpty }

    /// Whether it is a patchset.
    package var isPatchset: Bool { data.first == UInt8(ascii: "P") }

    /// One change of one row.
    public struct Change: Hashable, Sendable {
        /// What was done.
        public let kind: RowChange.Kind
        /// The table.
        public let table: String
        /// Whether a trigger or a foreign key made the change, or the recorder was told to mark it as indirect.
        package let isIndirect: Bool
        /// The positions, from 0, of the columns of the primary key.
        public let primaryKey: [Int]
        /// The values before an update or a delete, column by column. An update has only those of the key and of the columns that
        /// it changes, a patchset only those of the key. All others are nil.
        public let old: [SQLValue?]
        /// The values after an insert or an update, column by column. An update has only those that it changes. All others are nil.
        public let new: [SQLValue?]
    }

    /// The changes.
    /// - Throws: ``ResultCode/corrupt`` for bytes that are not a changeset.
    public func changes() throws(DatabaseError) -> [Change] {
        var changes: [Change] = []
        try DatabaseError.typed { try forEach { changes.append($0) } }
        return changes
    }

    /// Calls `body` with each change.
    /// - Throws: ``ResultCode/corrupt`` for bytes that are not a changeset, and what `body` throws.
    public func forEach(_ body: (Change) throws -> Void) throws { try iterate { try body(Change($0)) } }

    /// Reads the bytes of all changes, and calls `body` with the table of each: its name, its number of columns and its primary
    /// key.
    func forEachTable(_ body: (String, Int, () -> [Int]) throws -> Void) throws {
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
    func withoutEmptyUpdates() throws -> Changeset {
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
        try withBytes { bytes, count throws(DatabaseError) in
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

    /// Returns the changes that undo these.
    /// - Throws: ``ResultCode/corrupt`` for bytes that are not a changeset, or for a patchset, which has no old values.
    public func inverted() throws(DatabaseError) -> Changeset {
        if isEmpty { return self }
        return try withBytes { bytes, count throws(DatabaseError) in
            try Self.output { sqlite3changeset_invert(count, bytes, $0, $1) }
        }
    }

    /// Returns these changes followed by others, as one changeset in which each row has one change.
    /// - Throws: ``ResultCode/corrupt`` for bytes that are not a changeset, ``ResultCode/schema`` if a table has other columns in
    ///   one of them, or if one is a changeset and the other a patchset.
    public func followed(by other: Changeset) throws(DatabaseError) -> Changeset {
        let group = try ChangeGroup()
        try group.add(self)
        try group.add(other)
        return try group.changeset()
    }

    // MARK: C

    /// Checks that no part extends beyond the end of the bytes, and lends them to `body`. The pointer is mutable because SQLite's
    /// functions declare it that way; they do not write to it.
    func withBytes<R>(_ body: (UnsafeMutableRawPointer?, Int32) throws(DatabaseError) -> R) throws(DatabaseError) -> R {
        guard data.count < Int(Int32.max) else { throw .invalidArgument("a changeset of over 2 GB") }
        return try data.withBytes { bytes throws(DatabaseError) in
            guard ChangesetFormat.isWhole(bytes) else { throw Self.failure(SQLITE_CORRUPT) }
            return try body(UnsafeMutableRawPointer(mutating: bytes.baseAddress), Int32(bytes.count))
        }
    }

    static func output(
        _ body: (UnsafeMutablePointer<Int32>, UnsafeMutablePointer<UnsafeMutableRawPointer?>) -> Int32
    ) throws(DatabaseError) -> Changeset {
        var count: Int32 = 0, bytes: UnsafeMutableRawPointer?
        let rc = body(&count, &bytes)
        defer { sqlite3_free(bytes) }
        guard rc == SQLITE_OK else { throw failure(rc) }
        let made = UnsafeRawBufferPointer(start: bytes, count: Int(count))
        return Changeset(data: ChangesetFormat.insertsLast(made) ?? Data(made))
    }

    static func failure(_ rc: Int32) -> DatabaseError {
        switch rc & 0xff {
        case SQLITE_CORRUPT: DatabaseError(code: .corrupt, message: "the bytes are not a changeset, or not one for this use")
        case SQLITE_SCHEMA:
            DatabaseError(code: .schema, message: "the changesets do not fit together: a table has other columns in one of them")
        default: DatabaseError(rc: rc, database: nil)
        }
    }

    private func check(_ rc: Int32) throws(DatabaseError) {
        if rc != SQLITE_OK { throw Self.failure(rc) }
    }
}

extension Changeset.Change {
    init(_ iterator: OpaquePointer) throws(DatabaseError) {
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
    ) throws(DatabaseError) -> [SQLValue?] {
        var values: [SQLValue?] = []
        for column in 0..<columns {
            var value: OpaquePointer?
            let rc = read(column, &value)
            guard rc == SQLITE_OK else { throw Changeset.failure(rc) }
            values.append(try value.map { value throws(DatabaseError) in try SQLValue(copying: value) })
        }
        return values
    }
}

/// SQLite's changegroup, which makes one changeset from several, or from single changes.
final class ChangeGroup {
    private let handle: OpaquePointer

    init() throws(DatabaseError) {
        var group: OpaquePointer?
        let rc = sqlite3changegroup_new(&group)
        guard rc == SQLITE_OK, let group else { throw Changeset.failure(rc) }
        handle = group
    }

    deinit { sqlite3changegroup_delete(handle) }

    func add(_ changeset: Changeset) throws(DatabaseError) {
        if changeset.isEmpty { return }
        try changeset.withBytes { bytes, count throws(DatabaseError) in try check(sqlite3changegroup_add(handle, count, bytes)) }
    }

    /// Adds the change that an iterator is at.
    func add(_ iterator: OpaquePointer) throws(DatabaseError) { try check(sqlite3changegroup_add_change(handle, iterator)) }

    func changeset() throws(DatabaseError) -> Changeset {
        try Changeset.output { sqlite3changegroup_output(handle, $0, $1) }
    }

    /// Takes the columns of the tables from a database, for adding single changes.
    func useSchema(of connection: Connection, _ schema: String) throws(DatabaseError) {
        try check(sqlite3changegroup_schema(handle, connection.liveForUse(), schema))
    }

    /// Adds one change.
    /// - Parameter operation: `SQLITE_INSERT`, `SQLITE_UPDATE` or `SQLITE_DELETE`.
    func add(_ operation: Int32, _ table: String, _ values: () throws(DatabaseError) -> Void) throws(DatabaseError) {
        try check(sqlite3changegroup_change_begin(handle, operation, table, 0, nil))
        do throws(DatabaseError) { try values() } catch {
            sqlite3changegroup_change_finish(handle, 1, nil)
            throw error
        }
        try check(sqlite3changegroup_change_finish(handle, 0, nil))
    }

    /// Sets one value of the change being added, from a row of a statement.
    func set(isNew: Bool, _ place: Int, to column: Int32, of row: RawStatement) throws(DatabaseError) {
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

    private func check(_ rc: Int32) throws(DatabaseError) {
        if rc != SQLITE_OK { throw Changeset.failure(rc) }
    }
}
