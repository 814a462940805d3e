import CSQLCipher
import Foundation
import SQLCipherKit

/// A plaintext database through SQLite's C API, with nothing of the Swift layer between.
final class Reference {
    private(set) var db: OpaquePointer
    let path: String

    init(_ path: String) throws {
        self.path = path
        db = try Self.open(path)
    }

    deinit { sqlite3_close_v2(db) }

    private static func open(_ path: String) throws -> OpaquePointer {
        var db: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOMUTEX
        guard sqlite3_open_v2(path, &db, flags, nil) == SQLITE_OK, let db else { throw Unexpected(description: "the reference does not open") }
        sqlite3_exec(db, "PRAGMA foreign_keys = ON; PRAGMA synchronous = OFF", nil, nil, nil)
        return db
    }

    /// Closes and opens again, which rolls back and detaches.
    func reopen() throws {
        sqlite3_close_v2(db)
        db = try Self.open(path)
    }

    var isInTransaction: Bool { sqlite3_get_autocommit(db) == 0 }
    var changes: Int { Int(sqlite3_changes64(db)) }
    var lastInsertedRowID: Int64 { sqlite3_last_insert_rowid(db) }

    /// Runs SQL of the model's own, which must succeed.
    func must(_ sql: String, _ values: [SQLValue] = []) throws -> [[SQLValue]] {
        guard case .rows(let rows) = run(sql, values) else {
            throw Unexpected(description: "the reference fails: \(sql): \(String(cString: sqlite3_errmsg(db)))")
        }
        return rows
    }

    /// Runs one statement.
    /// - Parameter controls: whether it may begin or end a transaction.
    func run(_ sql: String, _ values: [SQLValue] = [], controls: Bool = true) -> Outcome {
        // SQLite would store NULL; and a statement that has been compiled before meets NaN before anything else.
        if values.contains(where: { if case .real(let number) = $0 { number.isNaN } else { false } }) { return .error }
        var statement: OpaquePointer?
        var hasMore = false
        let text = Array(sql.utf8CString)
        var rc = text.withUnsafeBufferPointer { text -> Int32 in
            var tail: UnsafePointer<CChar>?
            let rc = sqlite3_prepare_v2(db, text.baseAddress, Int32(text.count), &statement, &tail)
            hasMore = tail.map { !String(cString: $0).allSatisfy { $0.isWhitespace || $0 == ";" } } ?? false
            return rc
        }
        defer { sqlite3_finalize(statement) }
        if sql.utf8.contains(0) { return .refused(.invalidArgument) }
        if rc != SQLITE_OK { return Outcome(code: rc) }
        guard let statement, !hasMore else { return .refused(.misuse) }
        if !controls, Self.isControl(sql) { return .refused(.misuse) }
        guard sqlite3_bind_parameter_count(statement) == values.count else { return .refused(.parameters) }
        for (index, value) in values.enumerated() { Self.bind(value, Int32(index + 1), statement) }
        var rows: [[SQLValue]] = []
        var isText = true
        rc = sqlite3_step(statement)
        while rc == SQLITE_ROW {
            rows.append((0..<sqlite3_column_count(statement)).map { Self.column($0, statement, &isText) })
            rc = sqlite3_step(statement)
        }
        // Text that is not UTF-8 has no String.
        if rc == SQLITE_DONE, !isText { return .refused(.typeMismatch) }
        return rc == SQLITE_DONE ? .rows(rows) : Outcome(code: rc)
    }

    private static func isControl(_ sql: String) -> Bool {
        let first = sql.split { !$0.isLetter }.first.map { $0.uppercased() } ?? ""
        return ["BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE"].contains(first)
    }

    static func bind(_ value: SQLValue, _ index: Int32, _ statement: OpaquePointer) {
        // The value is copied (SQLITE_TRANSIENT).
        let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        switch value {
        case .null: sqlite3_bind_null(statement, index)
        case .integer(let number): sqlite3_bind_int64(statement, index, number)
        case .real(let number): sqlite3_bind_double(statement, index, number)
        case .text(let text):
            let bytes = Array(text.utf8)
            bytes.withUnsafeBytes {
                _ = sqlite3_bind_text64(
                    statement, index, $0.baseAddress?.assumingMemoryBound(to: CChar.self), UInt64($0.count), copies, UInt8(SQLITE_UTF8))
            }
            if bytes.isEmpty { sqlite3_bind_text(statement, index, "", 0, copies) }
        case .blob(let data):
            if data.isEmpty { sqlite3_bind_zeroblob(statement, index, 0) }
            data.withUnsafeBytes { if !$0.isEmpty { sqlite3_bind_blob64(statement, index, $0.baseAddress, UInt64($0.count), copies) } }
        }
    }

    static func column(_ index: Int32, _ statement: OpaquePointer, _ isText: inout Bool) -> SQLValue {
        let type = sqlite3_column_type(statement, index)
        let start = type == SQLITE_TEXT ? sqlite3_column_text(statement, index).map { UnsafeRawPointer($0) }
            : type == SQLITE_BLOB ? sqlite3_column_blob(statement, index) : nil
        let bytes = UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(statement, index)))
        switch type {
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, index))
        case SQLITE_FLOAT: return .real(sqlite3_column_double(statement, index))
        case SQLITE_TEXT:
            let text = String(validating: bytes, as: UTF8.self)
            if text == nil { isText = false }
            return .text(text ?? "")
        case SQLITE_BLOB: return .blob(Data(bytes))
        default: return .null
        }
    }

    /// Writes a database, with uncommitted changes, to a new file, in journal mode `delete`.
    func write(_ schema: String, to path: String) throws {
        var count: sqlite3_int64 = 0
        guard let bytes = sqlite3_serialize(db, schema, &count, 0) else { throw Unexpected(description: "the reference cannot be written") }
        defer { sqlite3_free(bytes) }
        if count > 19 { (bytes[18], bytes[19]) = (1, 1) }
        try Data(bytes: bytes, count: Int(count)).write(to: URL(fileURLWithPath: path))
    }

    /// Copies a database over another database of this connection, or of another connection.
    static func copy(_ source: Reference, _ name: String, over target: Reference, _ targetName: String) throws {
        guard let backup = sqlite3_backup_init(target.db, targetName, source.db, name) else {
            throw Unexpected(description: "the reference cannot copy: \(String(cString: sqlite3_errmsg(target.db)))")
        }
        let rc = sqlite3_backup_step(backup, -1)
        sqlite3_backup_finish(backup)
        if rc != SQLITE_DONE { throw Unexpected(description: "the reference cannot copy: \(rc)") }
    }
}
