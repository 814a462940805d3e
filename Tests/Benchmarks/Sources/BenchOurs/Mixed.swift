import Foundation
import Harness
import SQLCipherKit
import Workloads

/// A record with bytes as `[UInt8]` or `Data`.
struct Mixed<Bytes: SQLValueConvertible & RandomAccessCollection>: SQLRowConvertible {
    var id: Int64
    var score: Double
    var title: String
    var body: Bytes

    init(row: borrowing Row) throws {
        id = try row[0]
        score = try row[1]
        title = try row[2]
        body = try row[3]
    }

    var checkNumber: Int64 { id &+ Int64(score) &+ Int64(title.utf8.count) &+ Int64(body.count) }
}

func fetchMixed<Bytes>(_ db: Connection, _: Bytes.Type, _ settings: Settings) throws -> Workload
where Bytes: SQLValueConvertible & RandomAccessCollection {
    try db.fill(CREATE_MIXED, FILL_MIXED, settings.rows(FETCH_ROWS))
    let statement = try db.prepare(SQL(raw: SELECT_MIXED))
    return Workload {
        try statement.fetchAll(Mixed<Bytes>.self).reduce(0) { $0 &+ $1.checkNumber }
    }
}

func insertMixed<Bytes>(_ db: Connection, _ body: Bytes, _ count: Int) throws -> Workload where Bytes: SQLValueConvertible {
    try db.execute(SQL(raw: CREATE_MIXED))
    let statement = try db.prepare(SQL(raw: INSERT_MIXED))
    let title = TITLE_TEXT
    return Workload {
        try db.transaction { _ in
            for n in 0..<Int64(count) {
                try statement.execute(binding: n, Double(n) * 0.5, title, body)
            }
        }
        return 0
    } finish: {
        let check = try db.fetchOne(Int64.self, SQL(raw: CHECK_MIXED)) ?? 0
        try db.execute(SQL(raw: CLEAR_MIXED))
        return check
    }
}

let mixedBody: [UInt8] = [1, 2, 3] + [UInt8](repeating: 0, count: 37)

func lookupByPrimaryKey(_ settings: Settings) throws -> Workload {
    let db = try open()
    let range = Int64(settings.rows(FETCH_ROWS))
    try db.fill(CREATE_MIXED, FILL_MIXED, Int(range))
    let statement = try db.prepare(SQL(raw: SELECT_MIXED_BY_ID))
    let count = Int64(settings.rows(LOOKUPS))
    return Workload {
        var sum: Int64 = 0
        for n in 0..<count {
            if let row = try statement.fetchOne(Mixed<[UInt8]>.self, binding: lookup_key(n, range)) { sum &+= row.checkNumber }
        }
        return sum
    }
}

/// The same rows, each with SQL of its own.
func lookupByPrimaryKeyInText(
    _ settings: Settings, _ fetch: @escaping (Connection, Int64) throws -> Mixed<Data>?
) throws -> Workload {
    let db = try open()
    let range = Int64(settings.rows(FETCH_ROWS))
    try db.fill(CREATE_MIXED, FILL_MIXED, Int(range))
    let count = Int64(settings.rows(LOOKUPS))
    return Workload {
        var sum: Int64 = 0
        for n in 0..<count {
            if let row = try fetch(db, lookup_key(n, range)) { sum &+= row.checkNumber }
        }
        return sum
    }
}

func lookupBySQLText(_ settings: Settings) throws -> Workload {
    let db = try open()
    let count = Int64(settings.rows(LOOKUPS))
    return Workload {
        var sum: Int64 = 0
        for n in 0..<count { sum &+= try db.fetchOne(Int64.self, "SELECT ? + 1", [n]) ?? 0 }
        return sum
    }
}
