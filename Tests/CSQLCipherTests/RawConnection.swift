import CSQLCipher

/// A connection by the C API alone, for tests of the engine that must not lean on the Swift layer.
final class RawConnection {
    struct Failure: Error { let code: Int32, message: String }

    let handle: OpaquePointer

    init(_ path: String, key: String? = nil) throws {
        var opened: OpaquePointer?
        let code = sqlite3_open(path, &opened)
        guard code == SQLITE_OK, let opened else {
            sqlite3_close(opened)
            throw Failure(code: code, message: "open")
        }
        handle = opened
        if let key {
            let code = sqlite3_key(handle, key, Int32(key.utf8.count))
            guard code == SQLITE_OK else { throw Failure(code: code, message: "key") }
        }
    }

    deinit { sqlite3_close(handle) }

    /// The first column of every row, as text.
    @discardableResult
    func query(_ sql: String) throws -> [String] {
        var statement: OpaquePointer?
        try check(sqlite3_prepare_v2(handle, sql, -1, &statement, nil))
        defer { sqlite3_finalize(statement) }
        var values: [String] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: values.append(sqlite3_column_text(statement, 0).map { String(cString: $0) } ?? "")
            case SQLITE_DONE: return values
            case let code: try check(code)
            }
        }
    }

    private func check(_ code: Int32) throws {
        guard code == SQLITE_OK else { throw Failure(code: code, message: String(cString: sqlite3_errmsg(handle))) }
    }
}
