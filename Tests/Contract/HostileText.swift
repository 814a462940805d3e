import Foundation

/// Texts in place of a name, a value, a path or SQL, which must stay unchanged.
enum HostileText {
    private static let key = "x'" + String(repeating: "ab", count: 32) + "'"

    /// For values and names.
    static let texts: [String] = [
        "", " ", "'", "\"", "''", "\"\"", "`", "[", "]", "[x]", "\\", "%", "_", "*", "?", "?1", ":a", "@a", "$a", "#", "--", "/*", "*/",
        "a\0b", "\0", "a\nb", "\r\n", "\t", "\u{feff}a", "e\u{301}", "\u{e9}", "\u{202e}a", "🗝️", "\u{fffd}", "\u{10ffff}", "İ", "ß",
        "'; DROP TABLE canary; --", "\"; DROP TABLE canary; --", "]; DROP TABLE canary; --", "); DROP TABLE canary; --",
        "'; ATTACH 'outside.db' AS o KEY 'k'; --", "\"; ATTACH 'outside.db' AS o; --", "'); VACUUM INTO 'outside.db'; --",
        "'; PRAGMA rekey = 'k'; --", "\"; PRAGMA key = 'k'; --", key, "'\(key)'", "x'00'", "x'0'", "pragma_table_info",
        "note\0", "note ", " note", "NOTE", "main", "temp", "main.note", "main\".\"note", "sqlite_schema", "sqlite_x", "rowid", "note_fts",
        "../outside.txt", "/etc/passwd", "file:outside.db?mode=rwc", "file:outside.db?key=k", ":memory:", "~", ".", "..",
        "1", "-1", "0x10", "1e999", "NULL", "null", "true", "$.a", "$[0]", "{}", "[]", "\"a\"", "a OR b", "NEAR(a b)", "a*", "^a", "{a} : b",
        String(repeating: "a", count: 70_000), String(repeating: "(", count: 5_000), String(repeating: "🗝️", count: 2_000),
    ]

    /// SQL that tries to reach a key, a cipher setting, a remembered key, or a file.
    static let sql: [String] = [
        "PRAGMA key = 'k'", "PRAGMA rekey = 'k'", "PRAGMA hexkey = '00'", "PRAGMA hexrekey = '00'", "PRAGMA textkey = 'k'",
        "PRAGMA cipher_log = 'outside.txt'", "PRAGMA cipher_log_level = TRACE", "PRAGMA cipher_page_size = 8192",
        "PRAGMA cipher_default_kdf_iter = 1", "PRAGMA cipher_default_page_size = 8192", "PRAGMA cipher_migrate", "PRAGMA cipher_profile = 'outside.txt'",
        "PRAGMA cipher_salt", "PRAGMA cipher_memory_security = ON", "PRAGMA main.rekey('k')", "pragma/**/rekey='k'", "EXPLAIN PRAGMA rekey = 'k'",
        "ATTACH 'outside.db' AS o KEY 'k'", "ATTACH 'file:outside.db?key=k' AS o", "SELECT sqlcipher_export('main')",
        "SELECT load_extension('outside.so')", "SELECT writefile('outside.txt', 'x')", "SELECT fts3_tokenizer('simple', x'00')",
        "PRAGMA temp_store_directory = '/'", "PRAGMA data_store_directory = '/'", "PRAGMA writable_schema = ON; PRAGMA rekey = 'k'",
        "SELECT * FROM pragma_cipher_salt", "SELECT * FROM pragma_rekey('k')", "\0PRAGMA rekey = 'k'", "(SELECT 1", "1; PRAGMA rekey = 'k'", "1 --", "", "?", "1 OR 1",
    ]

    static func list(for role: Trial.Role) -> [String] {
        switch role {
        case .value, .name: texts
        // A long name of a file cannot be.
        case .new, .path: texts
        case .sql: sql
        }
    }
}
