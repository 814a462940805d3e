import Foundation
import GRDB
import Harness
import Workloads

struct CodableIntegers: Codable, FetchableRecord, PersistableRecord {
    var i0, i1, i2, i3, i4, i5, i6, i7, i8, i9: Int64

    static let databaseTableName = "ints"
}

struct CodableMixed: Codable, FetchableRecord, PersistableRecord {
    var id: Int64
    var score: Double
    var title: String
    var body: Data

    static let databaseTableName = "mixed"

    var checkNumber: Int64 { id &+ Int64(score) &+ Int64(title.utf8.count) &+ Int64(body.count) }
}

func fetchIntsAsCodable(_ settings: Settings) throws -> Workload {
    let queue = try DatabaseQueue()
    try queue.fill(CREATE_INTS, FILL_INTS, settings.rows(FETCH_ROWS))
    return Workload {
        try queue.read { db in
            let rows = try CodableIntegers.fetchAll(db.cachedStatement(sql: SELECT_INTS))
            return rows.reduce(0) { $0 &+ $1.i0 &+ $1.i9 }
        }
    }
}

func fetchMixedAsCodable(_ settings: Settings) throws -> Workload {
    let queue = try DatabaseQueue()
    try queue.fill(CREATE_MIXED, FILL_MIXED, settings.rows(FETCH_ROWS))
    return Workload {
        try queue.read { db in
            try CodableMixed.fetchAll(db.cachedStatement(sql: SELECT_MIXED)).reduce(0) { $0 &+ $1.checkNumber }
        }
    }
}

func insertCodableInts(_ settings: Settings) throws -> Workload {
    let queue = try DatabaseQueue()
    try queue.write { try $0.execute(sql: CREATE_INTS) }
    let rows = Int64(settings.rows(INSERT_INTS_ROWS))
    return Workload {
        try queue.write { db in
            for n in 0..<rows {
                let record = CodableIntegers(
                    i0: n, i1: n + 1, i2: n + 2, i3: n + 3, i4: n + 4, i5: n + 5, i6: n + 6, i7: n + 7, i8: n + 8, i9: n + 9)
                try record.insert(db)
            }
        }
        return 0
    } finish: {
        try queue.write { db in
            let check = try Int64.fetchOne(db, sql: CHECK_INTS) ?? 0
            try db.execute(sql: CLEAR_INTS)
            return check
        }
    }
}

func insertCodableMixed(_ settings: Settings) throws -> Workload {
    let queue = try DatabaseQueue()
    try queue.write { try $0.execute(sql: CREATE_MIXED) }
    let rows = Int64(settings.rows(INSERT_MIXED_ROWS))
    let body = Data([1, 2, 3] + [UInt8](repeating: 0, count: 37))
    let title = TITLE_TEXT
    return Workload {
        try queue.write { db in
            for n in 0..<rows {
                try CodableMixed(id: n, score: Double(n) * 0.5, title: title, body: body).insert(db)
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

func lookUpRecords(_ settings: Settings) throws -> Workload {
    let queue = try DatabaseQueue()
    let range = Int64(settings.rows(FETCH_ROWS))
    try queue.fill(CREATE_MIXED, FILL_MIXED, Int(range))
    let count = Int64(settings.rows(LOOKUPS))
    return Workload {
        try queue.read { db in
            var sum: Int64 = 0
            for n in 0..<count {
                if let row = try CodableMixed.fetchOne(db, key: lookup_key(n, range)) { sum &+= row.checkNumber }
            }
            return sum
        }
    }
}
