import Foundation
import Harness
import SQLCipherKit
import Workloads

func readOne(_ settings: Settings) throws -> Workload {
    let queue = try DatabaseQueue(.memory)
    let count = settings.rows(READS)
    try queue.write { db in try db.fill(CREATE_MIXED, FILL_MIXED, count) }
    return Workload {
        var sum: Int64 = 0
        for n in 0..<Int64(count) {
            sum += try queue.read { db in
                try db.fetchOne(Int64.self, "SELECT id FROM mixed WHERE id = \(lookup_key(n, Int64(count)))") ?? 0
            }
        }
        return sum
    }
}

/// A pool, and the number of its rows.
private func openPool(_ settings: Settings) throws -> (pool: DatabasePool, count: Int) {
    let pool = try DatabasePool(.file("\(settings.folder)/pool.db"))
    let count = settings.rows(ASYNC_READS)
    try pool.write { db in try db.fill(CREATE_MIXED, FILL_MIXED, count) }
    return (pool, count)
}

func readOneFromPool(_ settings: Settings) throws -> Workload {
    let (pool, count) = try openPool(settings)
    return Workload {
        var sum: Int64 = 0
        for n in 0..<Int64(count) {
            sum += try pool.read { db in
                try db.fetchOne(Int64.self, "SELECT id FROM mixed WHERE id = \(lookup_key(n, Int64(count)))") ?? 0
            }
        }
        return sum
    }
}

func readFromMainActor(_ settings: Settings) throws -> Workload {
    let (pool, count) = try openPool(settings)
    return Workload {
        try waitingOnMainActor {
            var sum: Int64 = 0
            for n in 0..<Int64(count) {
                let key = lookup_key(n, Int64(count))
                sum += try await pool.read { db in
                    try db.fetchOne(Int64.self, "SELECT id FROM mixed WHERE id = \(key)") ?? 0
                }
            }
            return sum
        }
    }
}

/// Tasks of which each waits for its reads, one after the other.
func readFromTasks(_ settings: Settings, tasks: Int) throws -> Workload {
    var configuration = DatabaseConfiguration()
    // Fewer than there are tasks.
    configuration.pool.maximumReaders = 2
    let pool = try DatabasePool(.file("\(settings.folder)/async.db"), configuration: configuration)
    let count = settings.rows(ASYNC_READS)
    try pool.write { db in try db.fill(CREATE_MIXED, FILL_MIXED, count) }
    return Workload {
        try waiting {
            try await withThrowingTaskGroup(of: Int64.self) { group in
                for task in 0..<tasks {
                    group.addTask {
                        var sum: Int64 = 0
                        for n in stride(from: task, to: count, by: tasks) {
                            let key = lookup_key(Int64(n), Int64(count))
                            sum += try await pool.read { db in
                                try db.fetchOne(Int64.self, "SELECT id FROM mixed WHERE id = \(key)") ?? 0
                            }
                        }
                        return sum
                    }
                }
                return try await group.reduce(0, +)
            }
        }
    }
}

func twoReadersAndAWriter(_ settings: Settings) throws -> Workload {
    let pool = try DatabasePool(.file("\(settings.folder)/shared.db"))
    try pool.write { db in
        try db.fill(CREATE_MIXED, FILL_MIXED, settings.rows(SHARED_ROWS))
        try db.execute(SQL(raw: CREATE_SHARED))
    }
    let writes = settings.rows(SHARED_WRITES)
    return Workload {
        try onThreads(3) { number in
            if number == 0 {
                for _ in 0..<writes {
                    try pool.write { db in
                        for _ in 0..<SHARED_INSERTS { try db.execute("INSERT INTO shared(title) VALUES (\(TITLE_TEXT))") }
                    }
                }
                return
            }
            for _ in 0..<SHARED_SCANS {
                try pool.read { db in
                    var sum: Int64 = 0
                    try db.forEach("SELECT id, title FROM mixed") { row in
                        sum &+= try row.get(0, as: Int64.self) &+ Int64(row.get(1, as: String.self).utf8.count)
                    }
                }
            }
        }
        return 0
    } finish: {
        try pool.write { db in
            let count = try db.fetchOne(Int64.self, SQL(raw: COUNT_SHARED)) ?? 0
            try db.execute(SQL(raw: CLEAR_SHARED))
            return count
        }
    }
}

/// The second connection of a pool that was opened with a passphrase.
func openSecond(_ settings: Settings) throws -> Workload {
    let pool = try DatabasePool(.file("\(settings.folder)/second.db"), key: .passphrase("correct horse"))
    try pool.write { db in
        try db.execute("CREATE TABLE t(x)")
        try db.execute("INSERT INTO t VALUES (1)")
    }
    return Workload {
        try pool.read { db in try db.fetchOne(Int64.self, "SELECT count(*) FROM t") ?? 0 }
    } finish: {
        // A barrier closes the readers.
        try pool.barrierWriteWithoutTransaction { db in try db.fetchOne(Int64.self, "SELECT count(*) FROM t") ?? 0 }
    }
}
