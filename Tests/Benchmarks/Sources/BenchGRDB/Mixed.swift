import Foundation
import GRDB
import Harness
import Workloads

struct Mixed: FetchableRecord {
    var id: Int64
    var score: Double
    var title: String
    var body: Data

    init(row: Row) {
        id = row[0]
        score = row[1]
        title = row[2]
        body = row[3]
    }

    var checkNumber: Int64 { id &+ Int64(score) &+ Int64(title.utf8.count) &+ Int64(body.count) }
}

func fetchMixed(_ queue: DatabaseQueue, _ settings: Settings) throws -> Workload {
    try queue.fill(CREATE_MIXED, FILL_MIXED, settings.rows(FETCH_ROWS))
    return Workload {
        try queue.read { db in
            try Mixed.fetchAll(db.cachedStatement(sql: SELECT_MIXED)).reduce(0) { $0 &+ $1.checkNumber }
        }
    }
}

func insertMixed(_ queue: DatabaseQueue, _ count: Int) throws -> Workload {
    try queue.write { try $0.execute(sql: CREATE_MIXED) }
    let body = Data([1, 2, 3] + [UInt8](repeating: 0, count: 37))
    let title = TITLE_TEXT
    return Workload {
        try queue.write { db in
            let statement = try db.cachedStatement(sql: INSERT_MIXED)
            for n in 0..<Int64(count) {
                try statement.execute(arguments: [n, Double(n) * 0.5, title, body])
            }
        }
        return 0
    } finish: {
        try queue.write { db in
            let check = try Int64.fetchOne(db, sql: CHECK_MIXED) ?? 0
            try db.execute(sql: CLEAR_MIXED)
            return check
        }
    }
}

func lookupByPrimaryKey(_ settings: Settings) throws -> Workload {
    let queue = try DatabaseQueue()
    let range = Int64(settings.rows(FETCH_ROWS))
    try queue.fill(CREATE_MIXED, FILL_MIXED, Int(range))
    let count = Int64(settings.rows(LOOKUPS))
    return Workload {
        try queue.read { db in
            let statement = try db.cachedStatement(sql: SELECT_MIXED_BY_ID)
            var sum: Int64 = 0
            for n in 0..<count {
                if let row = try Mixed.fetchOne(statement, arguments: [lookup_key(n, range)]) { sum &+= row.checkNumber }
            }
            return sum
        }
    }
}

func lookupBySQLText(_ settings: Settings) throws -> Workload {
    let queue = try DatabaseQueue()
    let count = Int64(settings.rows(LOOKUPS))
    return Workload {
        try queue.read { db in
            var sum: Int64 = 0
            for n in 0..<count { sum &+= try Int64.fetchOne(db, sql: "SELECT ? + 1", arguments: [n]) ?? 0 }
            return sum
        }
    }
}
