import Foundation
import SQLCipher

extension BothEngines {
    static func options() {
        var index: Int32 = 0
        while let option = sqlite3_compileoption_get(index) {
            print(String(cString: option))
            index += 1
        }
    }

    /// The product SQLCipher's likeness to other builds, and its differences.
    static func facts() throws {
        let memory = try Plain(":memory:")
        print("threadsafe:", sqlite3_threadsafe())
        print("double quotes:", try memory.run(#"SELECT "text""#))
        print("shared:", Result { try Plain("file:pool?mode=memory&cache=shared") })
        print("shared by flag:", Result { try Plain("pool", flags: SQLITE_OPEN_SHAREDCACHE) })
        print("private:", try Plain("file:pool?mode=memory&cache=private").run("SELECT 1"))
        print("attached:", Result { try memory.run("ATTACH 'file:pool?mode=memory&cache=shared' AS pool") })
        let first = try Plain("file:/pool?vfs=memdb"), second = try Plain("file:/pool?vfs=memdb")
        try first.run("CREATE TABLE t(x); INSERT INTO t VALUES (1)")
        print("by name:", try second.run("SELECT count(*) FROM t"))
    }

    /// The answers by which programs find out if a key fits, and the work that is possible after an error.
    static func answers(_ folder: String) throws {
        let path = folder + "/a.db", old = folder + "/old.db"
        let quick = "PRAGMA kdf_iter = 1"
        let db = try Plain(path, key: passphrase)
        try db.run("\(quick); CREATE TABLE t(x); BEGIN; INSERT INTO t VALUES (1)")
        print("in a transaction:", Result { try db.change(key: "new") })
        try db.run("COMMIT; SAVEPOINT s")
        print("in a savepoint:", Result { try db.change(key: "new") })
        print("rows:", try db.run("RELEASE s; SELECT count(*) FROM t"))
        // As GRDB's users do it.
        let changed = try Plain(folder + "/changed.db", key: passphrase)
        try changed.run("\(quick); CREATE TABLE t(x); INSERT INTO t VALUES (1); BEGIN IMMEDIATE")
        try changed.change(key: "new")
        let inside = try changed.run("INSERT INTO t VALUES (2); COMMIT; SELECT count(*) FROM t")
        print("in an empty one:", inside, try Plain(folder + "/changed.db", key: "new").run("\(quick); SELECT count(*) FROM t"))
        let wrong = try Plain(path, key: "wrong")
        print("status:", try wrong.run("\(quick); PRAGMA cipher_status"), Result { try wrong.run("SELECT * FROM t") })
        print("status:", try wrong.run("PRAGMA cipher_status"))
        try wrong.set(key: passphrase)
        print("status:", try wrong.run("\(quick); INSERT INTO t VALUES (2); PRAGMA cipher_status"))
        // A folder is where the new file would be.
        let third = try Plain(old, key: passphrase)
        try third.run("PRAGMA cipher_compatibility = 3; CREATE TABLE t(x)")
        try FileManager.default.createDirectory(atPath: old + "-migrated", withIntermediateDirectories: false)
        let migrated = try Plain(old, key: passphrase)
        print("migrated:", try migrated.run("PRAGMA cipher_migrate"), try migrated.run("INSERT INTO t VALUES (3); SELECT * FROM t"))
        print("not migrated:", try Plain(path, key: "wrong").run("PRAGMA cipher_migrate"))
        var message: UnsafeMutablePointer<CChar>?
        print("extensions:", sqlite3_enable_load_extension(db.handle, 1), sqlite3_load_extension(db.handle, "x", nil, &message),
            message.map { String(cString: $0) } ?? "")
        sqlite3_free(message)
        print("shared cache:", sqlite3_enable_shared_cache(1), sqlite3_enable_shared_cache(0))
    }

    /// One connection, used by eight threads at once, as GRDB's users, C code and other wrappers may.
    static func threads(_ path: String) throws {
        let plain = try Plain(path, key: passphrase)
        try plain.run("CREATE TABLE t(thread, value)")
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for value in 1...200 {
                let result = sqlite3_exec(plain.handle, "INSERT INTO t VALUES (\(thread), \(value))", nil, nil, nil)
                if result != SQLITE_OK { print("thread \(thread): \(result)") }
            }
        }
        print(try plain.run("SELECT count(*), count(DISTINCT thread), sum(value) FROM t"), try plain.run("PRAGMA integrity_check"))
    }
}
