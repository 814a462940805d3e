import Foundation
import GRDB
import Harness
import Workloads

func readOne(_ settings: Settings) throws -> Workload {
    let queue = try DatabaseQueue()
    let count = settings.rows(READS)
    try queue.fill(CREATE_MIXED, FILL_MIXED, count)
    return Workload {
        var sum: Int64 = 0
        for n in 0..<Int64(count) {
            sum += try queue.read { db in
                try Int64.fetchOne(db.cachedStatement(sql: SELECT_SCORE), arguments: [lookup_key(n, Int64(count))]) ?? 0
            }
        }
        return sum
    }
}

extension DatabasePool {
    func fill(_ create: String, _ insert: String, _ rows: Int) throws {
        try write { db in
            try db.execute(sql: create)
            try db.execute(sql: insert, arguments: ["rows": rows])
        }
    }
}

func readFromTasks(_ settings: Settings, tasks: Int) throws -> Workload {
    var configuration = Configuration()
    configuration.maximumReaderCount = 2
    let pool = try DatabasePool(path: "\(settings.folder)/async.db", configuration: configuration)
    let count = settings.rows(ASYNC_READS)
    try pool.fill(CREATE_MIXED, FILL_MIXED, count)
    return Workload {
        try waiting {
            try await withThrowingTaskGroup(of: Int64.self) { group in
                for task in 0..<tasks {
                    group.addTask {
                        var sum: Int64 = 0
                        for n in stride(from: task, to: count, by: tasks) {
                            let key = lookup_key(Int64(n), Int64(count))
                            sum += try await pool.read { db in
                                try Int64.fetchOne(db.cachedStatement(sql: SELECT_SCORE), arguments: [key]) ?? 0
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
    let pool = try DatabasePool(path: "\(settings.folder)/shared.db")
    try pool.fill(CREATE_MIXED, FILL_MIXED, settings.rows(SHARED_ROWS))
    try pool.write { db in try db.execute(sql: CREATE_SHARED) }
    let writes = settings.rows(SHARED_WRITES)
    return Workload {
        try onThreads(3) { number in
            if number == 0 {
                for _ in 0..<writes {
                    try pool.write { db in
                        let insert = try db.cachedStatement(sql: INSERT_SHARED)
                        for _ in 0..<SHARED_INSERTS { try insert.execute(arguments: [TITLE_TEXT]) }
                    }
                }
                return
            }
            for _ in 0..<SHARED_SCANS {
                try pool.read { db in
                    var sum: Int64 = 0
                    let rows = try Row.fetchCursor(db.cachedStatement(sql: "SELECT id, title FROM mixed"))
                    while let row = try rows.next() { sum &+= (row[0] as Int64) &+ Int64((row[1] as String).utf8.count) }
                }
            }
        }
        return 0
    } finish: {
        try pool.write { db in
            let count = try Int64.fetchOne(db, sql: COUNT_SHARED) ?? 0
            try db.execute(sql: CLEAR_SHARED)
            return count
        }
    }
}

#if KEYED
    func openSecond(_ settings: Settings) throws -> Workload {
        var configuration = Configuration()
        configuration.prepareDatabase { db in try db.usePassphrase("correct horse") }
        let pool = try DatabasePool(path: "\(settings.folder)/second.db", configuration: configuration)
        try pool.write { db in try db.execute(sql: "CREATE TABLE t(x); INSERT INTO t VALUES (1)") }
        return Workload {
            try pool.read { db in try Int64.fetchOne(db, sql: "SELECT count(*) FROM t") ?? 0 }
        } finish: {
            pool.invalidateReadOnlyConnections()
            return 1
        }
    }
#endif
