import Foundation
import SQLCipherKit

/// A pool in a process that cannot open another file.
extension FaultDriver {
    static func runWithoutDescriptors(_ pool: DatabasePool) throws {
        try pool.write { db in try db.execute("INSERT INTO t VALUES ('here', 1, 'a', NULL)") }
        try pool.read { _ in }
        allowNoFurtherFile()
        let reads = DispatchGroup()
        for _ in 0..<4 {
            reads.enter()
            Thread {
                do {
                    let rows = try pool.read { db in
                        usleep(20_000)
                        return try db.fetchOne(Int.self, "SELECT count(*) FROM t")
                    }
                    say("\(rows ?? -1) row")
                } catch { say("\(error)") }
                reads.leave()
            }.start()
        }
        reads.wait()
        try pool.write { db in try db.execute("DELETE FROM t") }
        say("written")
        // The barrier closes the readers.
        try pool.barrierWriteWithoutTransaction { _ in }
        allowNoFurtherFile()
        do { try pool.read { _ in } } catch { say((error as? DatabaseError)?.reason == .cannotOpen ? "cannot open" : "\(error)") }
    }

    /// The limit is the number of the next descriptor.
    private static func allowNoFurtherFile() {
        let next = open("/dev/null", O_RDONLY)
        close(next)
        var limit = rlimit(rlim_cur: rlim_t(next), rlim_max: rlim_t(next))
        getrlimit(descriptors, &limit)
        limit.rlim_cur = rlim_t(next)
        setrlimit(descriptors, &limit)
    }

    #if os(Linux)
        private static let descriptors = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        private static let descriptors = RLIMIT_NOFILE
    #endif
}
