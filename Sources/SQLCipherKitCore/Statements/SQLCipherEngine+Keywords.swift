import CSQLCipher

extension SQLCipherEngine {
    /// The keywords of the engine's SQL, in uppercase (<https://sqlite.org/c3ref/keyword_check.html>).
    package static let keywords: [String] = (0..<sqlite3_keyword_count()).compactMap { index in
        var start: UnsafePointer<CChar>?
        var count: Int32 = 0
        guard sqlite3_keyword_name(index, &start, &count) == SQLITE_OK, let start else { return nil }
        // The name is not NUL-terminated.
        return String(decoding: UnsafeRawBufferPointer(start: start, count: Int(count)), as: UTF8.self)
    }
}
