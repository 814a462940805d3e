import CSQLCipher

extension Connection {
    /// Runs `body` and returns the tables and columns that its statements read. Only changes to these tables and columns can change
    /// the results.
    /// ```swift
    /// let (titles, region) = try db.recordingReads { db in try db.fetchAll(String.self, "SELECT title FROM note") }
    /// // region is note(title)
    /// ```
    /// SQLite's authorizer records them while the statements are compiled (<https://sqlite.org/c3ref/set_authorizer.html>),
    /// including the columns of conditions, views and a full-text table's content. Statements that were prepared earlier are
    /// compiled again. Opening a ``Blob`` counts as a read of its column.
    /// - Throws: any error that `body` throws, ``DatabaseError/Reason/closed``, or ``DatabaseError/Reason/misuse`` inside a hook.
    public func recordingReads<R>(_ body: (Connection) throws -> R) throws -> (R, DatabaseRegion) {
        let (result, region, _) = try recordingReadsAndExpiry(body)
        return (result, region)
    }

    /// Returns also when time alone changes the results, in milliseconds since 1970.
    package func recordingReadsAndExpiry<R>(_ body: (Connection) throws -> R) throws -> (R, DatabaseRegion, expiry: Int64?) {
        let (hooks, handle) = try usableHooks()
        let recorder = RegionRecorder()
        let outer = hooks.recorder
        hooks.recorder = recorder
        // Also causes all statements to be compiled again, which records their reads.
        hooks.installAuthorizer(handle)
        defer {
            hooks.recorder = outer
            // The authorizer stays installed but idle: removing it would cause all statements to be compiled again.
            if let outer {
                outer.region = outer.region.union(recorder.region)
                if let expiry = recorder.expiry { outer.expires(at: expiry) }
            }
        }
        let result = try body(self)
        return (result, recorder.region, recorder.expiry)
    }

    /// True if reads are recorded.
    package var isRecordingReads: Bool { hooks?.recorder != nil }

    /// Records that what was just read is only valid for some time.
    /// - Parameter expiry: its end, in milliseconds since 1970.
    package func recordExpiry(_ expiry: Int64) { hooks?.recorder?.expires(at: expiry) }
}

/// Collects what statements read while they are compiled.
final class RegionRecorder {
    var region = DatabaseRegion()
    private(set) var expiry: Int64?

    func expires(at time: Int64) { expiry = min(expiry ?? time, time) }

    func record(
        _ db: OpaquePointer, _ code: Int32, _ first: UnsafePointer<CChar>?, _ second: UnsafePointer<CChar>?,
        _ schema: UnsafePointer<CChar>?
    ) {
        switch code {
        case SQLITE_READ:
            if let first { read(db, first, second, schema) }
        case SQLITE_PRAGMA:
            // Pragmas that report content that a schema change does not cover.
            let name = SQLName(first.map { String(cString: $0) } ?? "")
            if Self.pragmasOfContent.contains(name) { region.isEverything = true }
        default: break
        }
    }

    /// Records a read. Where only rows are counted, SQLite passes the names as written in the SQL, and possibly no schema.
    private func read(
        _ db: OpaquePointer, _ name: UnsafePointer<CChar>, _ column: UnsafePointer<CChar>?, _ schema: UnsafePointer<CChar>?
    ) {
        let found = sqlcipherkit_find_table(db, schema, name, column)
        let name = String(cString: found.name ?? name)
        if name.hasNamePrefix("sqlite_") {
            // The schema's own table changes only with the schema; changes to the others are not reported.
            if !Self.schemaTables.contains(SQLName(name)) { region.isEverything = true }
            return
        }
        let isVirtual = found.kind == SQLCIPHERKIT_VIRTUAL_TABLE
        guard isVirtual || found.kind == SQLCIPHERKIT_TABLE, let schema = found.schema else {
            // A view's own tables are reported separately. json_each and the like read nothing from a database; dbstat reads all of
            // it.
            if name.isSameName(as: "dbstat") { region.isEverything = true }
            return
        }
        let table = DatabaseTable(name, schemaName: String(cString: schema))
        var columns = region.columns[table] ?? .init()
        if let column, column.pointee != 0 { columns.names.insert(SQLName(String(cString: column))) }
        // It is not known where a virtual table stores a column: any change counts.
        if isVirtual { columns.bits = .max } else if found.column >= 0 { columns.bits |= 1 << UInt64(min(found.column, 63)) }
        region.columns[table] = columns
    }

    private static let schemaTables: Set<SQLName> = ["sqlite_schema", "sqlite_master", "sqlite_temp_schema", "sqlite_temp_master"]
    private static let pragmasOfContent: Set<SQLName> = [
        "application_id", "foreign_key_check", "freelist_count", "integrity_check", "page_count", "quick_check", "user_version",
    ]
}
