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

    /// What the product SQLCipher does as other builds do, and what it does not.
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
