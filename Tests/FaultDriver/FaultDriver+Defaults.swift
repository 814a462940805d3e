import CSQLCipher
import SQLCipherKit

/// A program that uses SQLCipher's C API beside the Swift layer, and sets the defaults of the process.
extension FaultDriver {
    static func runDefaults(_ action: String, _ path: String) throws {
        var raw: OpaquePointer?
        defer { sqlite3_close(raw) }
        guard sqlite3_open(":memory:", &raw) == SQLITE_OK, sqlite3_key(raw, "k", 1) == SQLITE_OK else {
            throw DatabaseError(message: "no raw connection")
        }
        let pragmas = action == "saltmask"
            ? ["cipher_hmac_salt_mask = \"x'11'\""]
            : [
                "cipher_default_kdf_iter = 1", "cipher_default_page_size = 1024", "cipher_default_use_hmac = OFF",
                "cipher_default_hmac_algorithm = HMAC_SHA1",
                "cipher_default_kdf_algorithm = PBKDF2_HMAC_SHA1", "cipher_default_plaintext_header_size = 32",
            ]
        for pragma in pragmas {
            guard sqlite3_exec(raw, "PRAGMA " + pragma, nil, nil, nil) == SQLITE_OK else { throw DatabaseError(message: pragma) }
        }
        let key = try DatabaseKey.passphrase("k", cipher: quick)
        let db = try Connection(.file(path), key: key)
        try db.execute("CREATE TABLE t AS SELECT 42 AS x")
        try db.attach(.file(path + "-attached"), as: "attached", key: key)
        try db.execute("CREATE TABLE attached.t AS SELECT 42 AS x")
        try db.execute("VACUUM")
        try db.main.backup(toFileAt: path + "-backup")
        print(try db.fetchAll(String.self, "PRAGMA cipher_default_settings"))
    }
}
