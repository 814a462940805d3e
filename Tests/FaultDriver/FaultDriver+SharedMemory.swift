import Foundation
import SQLCipherKit

/// A queue or a pool whose every connection and thread has worked with the key.
extension FaultDriver {
    /// Uses a database on its own threads and on threads of this process, which stay alive after it is closed, so that their stacks
    /// are searched as well.
    /// - Parameter masked: the passphrase, to change the key to another one and back; nil does not change the key.
    /// - Returns: the objects that were closed.
    static func useShared(_ database: DatabaseWriter, _ masked: [UInt8]?) throws -> [Any] {
        let store = try SharedKeyValueStore("settings", in: database)
        try work(database, store)
        if let masked {
            try database.changeKey(to: .raw([UInt8](repeating: 7, count: 32)))
            try database.changeKey(to: withClear(masked) { try .passphrase($0) })
            try work(database, store)
        }
        try database.close()
        return [database, store]
    }

    private static func work(_ database: DatabaseWriter, _ store: SharedKeyValueStore) throws {
        try database.write { db in try db.execute("INSERT INTO t VALUES (\(String(repeating: "x", count: 5000)))") }
        try store.set("x", to: 1)
        // As many at once as there are readers.
        let threads = 4, begun = DispatchSemaphore(value: 0), ended = DispatchSemaphore(value: 0)
        for _ in 0..<threads {
            Thread.detachNewThread {
                begun.signal()
                _ = try? database.read { db in
                    usleep(20_000)
                    return try db.fetchOne(Int.self, "SELECT sum(length(x)) FROM t")
                }
                try? store.set("y", to: 2)
                ended.signal()
                // Keeps the thread until the process ends.
                while true { sleep(1000) }
            }
        }
        for _ in 0..<threads { begun.wait() }
        for _ in 0..<threads {
            Task {
                _ = try? await database.read { db in try db.fetchOne(Int.self, "SELECT sum(length(x)) FROM t") }
                try? await database.write { db in try db.execute("INSERT INTO t VALUES (zeroblob(9000))") }
                ended.signal()
            }
        }
        for _ in 0..<2 * threads { ended.wait() }
    }
}
