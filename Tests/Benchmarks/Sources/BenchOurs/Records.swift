import Foundation
import Harness
import SQLCipherKit
import Workloads

struct CodableIntegers: Codable {
    var i0, i1, i2, i3, i4, i5, i6, i7, i8, i9: Int64
}

struct CodableMixed: Codable {
    var id: Int64
    var score: Double
    var title: String
    var body: Data

    var checkNumber: Int64 { id &+ Int64(score) &+ Int64(title.utf8.count) &+ Int64(body.count) }
}

func fetchIntsAsCodable(_ settings: Settings) throws -> Workload {
    let db = try open()
    try db.fill(CREATE_INTS, FILL_INTS, settings.rows(FETCH_ROWS))
    let statement = try db.prepare(SQL(raw: SELECT_INTS))
    return Workload {
        let rows = try statement.fetchAll(CodableIntegers.self)
        return rows.reduce(0) { $0 &+ $1.i0 &+ $1.i9 }
    }
}

func fetchMixedAsCodable(_ settings: Settings) throws -> Workload {
    let db = try open()
    try db.fill(CREATE_MIXED, FILL_MIXED, settings.rows(FETCH_ROWS))
    let statement = try db.prepare(SQL(raw: SELECT_MIXED))
    return Workload {
        try statement.fetchAll(CodableMixed.self).reduce(0) { $0 &+ $1.checkNumber }
    }
}

func insertCodableInts(_ settings: Settings) throws -> Workload {
    let db = try open()
    try db.execute(SQL(raw: CREATE_INTS))
    let rows = Int64(settings.rows(INSERT_INTS_ROWS))
    return Workload {
        try db.transaction { db in
            for n in 0..<rows {
                let record = CodableIntegers(
                    i0: n, i1: n + 1, i2: n + 2, i3: n + 3, i4: n + 4, i5: n + 5, i6: n + 6, i7: n + 7, i8: n + 8, i9: n + 9)
                try db.insert(record, into: "ints")
            }
        }
        return 0
    } finish: {
        let check = try db.fetchOne(Int64.self, SQL(raw: CHECK_INTS)) ?? 0
        try db.execute(SQL(raw: CLEAR_INTS))
        return check
    }
}

func insertCodableMixed(_ settings: Settings) throws -> Workload {
    let db = try open()
    try db.execute(SQL(raw: CREATE_MIXED))
    let rows = Int64(settings.rows(INSERT_MIXED_ROWS))
    let body = Data([1, 2, 3] + [UInt8](repeating: 0, count: 37))
    let title = TITLE_TEXT
    return Workload {
        try db.transaction { db in
            for n in 0..<rows {
                try db.insert(CodableMixed(id: n, score: Double(n) * 0.5, title: title, body: body), into: "mixed")
            }
        }
        return 0
    } finish: {
        let check = try db.fetchOne(Int64.self, SQL(raw: CHECK_MIXED)) ?? 0
        try db.execute(SQL(raw: CLEAR_MIXED))
        return check
    }
}
