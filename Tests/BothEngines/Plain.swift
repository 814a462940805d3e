import Foundation
import SQLCipher

/// A connection of the product SQLCipher, by its C API. The handle is serialised by the engine.
final class Plain: @unchecked Sendable {
    struct Failure: Error, CustomStringConvertible {
        let code: Int32, message: String
        var description: String { "\(code) \(message)" }
    }

    private(set) var handle: OpaquePointer?

    init(_ name: String, key: String? = nil, flags: Int32 = 0) throws {
        try check(sqlite3_open_v2(name, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | flags, nil))
        sqlite3_busy_timeout(handle, 60_000)
        if let key { try check(sqlite3_key(handle, key, Int32(key.utf8.count))) }
    }

    func set(key: String) throws { try check(sqlite3_key(handle, key, Int32(key.utf8.count))) }

    func change(key: String) throws { try check(sqlite3_rekey(handle, key, Int32(key.utf8.count))) }

    deinit { sqlite3_close_v2(handle) }

    private func check(_ code: Int32) throws {
        if code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE { return }
        throw Failure(code: code, message: String(cString: sqlite3_errmsg(handle)))
    }

    /// Runs statements. Returns the last row, its columns separated by spaces.
    @discardableResult func run(_ sql: String) throws -> String {
        var last = ""
        try sql.withCString { text in
            var rest: UnsafePointer<CChar>? = text
            while let next = rest, next.pointee != 0 {
                var statement: OpaquePointer?
                try check(sqlite3_prepare_v2(handle, next, -1, &statement, &rest))
                defer { sqlite3_finalize(statement) }
                while statement != nil {
                    let code = sqlite3_step(statement)
                    try check(code)
                    if code != SQLITE_ROW { break }
                    let columns = (0..<sqlite3_column_count(statement)).map { sqlite3_column_text(statement, $0) }
                    last = columns.map { $0.map { String(cString: $0) } ?? "NULL" }.joined(separator: " ")
                }
            }
        }
        return last
    }
}
