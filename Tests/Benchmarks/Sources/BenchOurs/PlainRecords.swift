import Foundation
import Harness
import SQLCipherKit
import Workloads

/// Records as the README and Records.md teach them first: nothing but the conformance.
struct PlainIntegers: SQLRecord {
    var i0, i1, i2, i3, i4, i5, i6, i7, i8, i9: Int64

    static let tableName = "ints"
}

struct PlainMixed: SQLRecord {
    var id: Int64
    var score: Double
    var title: String
    var body: Data

    static let tableName = "mixed"

    var checkNumber: Int64 { id &+ Int64(score) &+ Int64(title.utf8.count) &+ Int64(body.count) }
}

func fetchPlainInts(_ settings: Settings) throws -> Workload {
    let db = try open()
    try db.fill(CREATE_INTS, FILL_INTS, settings.rows(FETCH_ROWS))
    return Workload { try db.fetchAll(PlainIntegers.all).reduce(0) { $0 &+ $1.i0 &+ $1.i9 } }
}

func fetchPlainIntsBySQL(_ settings: Settings) throws -> Workload {
    let db = try open()
    try db.fill(CREATE_INTS, FILL_INTS, settings.rows(FETCH_ROWS))
    return Workload { try db.fetchAll(PlainIntegers.self, "SELECT * FROM ints").reduce(0) { $0 &+ $1.i0 &+ $1.i9 } }
}

func fetchPlainMixed(_ settings: Settings) throws -> Workload {
    let db = try open()
    try db.fill(CREATE_MIXED, FILL_MIXED, settings.rows(FETCH_ROWS))
    return Workload { try db.fetchAll(PlainMixed.all).reduce(0) { $0 &+ $1.checkNumber } }
}

func insertPlainInts(_ settings: Settings) throws -> Workload {
    let db = try open()
    try db.execute(SQL(raw: CREATE_INTS))
    let rows = Int64(settings.rows(INSERT_INTS_ROWS))
    return Workload {
        try db.transaction { db in
            for n in 0..<rows {
                try db.insert(PlainIntegers(
                    i0: n, i1: n + 1, i2: n + 2, i3: n + 3, i4: n + 4, i5: n + 5, i6: n + 6, i7: n + 7, i8: n + 8, i9: n + 9))
            }
        }
        return 0
    } finish: {
        let check = try db.fetchOne(Int64.self, SQL(raw: CHECK_INTS)) ?? 0
        try db.execute(SQL(raw: CLEAR_INTS))
        return check
    }
}

func insertPlainMixed(_ settings: Settings) throws -> Workload {
    let db = try open()
    try db.execute(SQL(raw: CREATE_MIXED))
    let rows = Int64(settings.rows(INSERT_MIXED_ROWS)), title = TITLE_TEXT
    let body = Data([1, 2, 3] + [UInt8](repeating: 0, count: 37))
    return Workload {
        try db.transaction { db in
            for n in 0..<rows { try db.insert(PlainMixed(id: n, score: Double(n) * 0.5, title: title, body: body)) }
        }
        return 0
    } finish: {
        let check = try db.fetchOne(Int64.self, SQL(raw: CHECK_MIXED)) ?? 0
        try db.execute(SQL(raw: CLEAR_MIXED))
        return check
    }
}

/// Each row by a call of its own.
func lookUpPlain(_ settings: Settings, _ fetch: @escaping (Connection, Int64) throws -> PlainMixed?) throws -> Workload {
    let db = try open()
    let range = Int64(settings.rows(FETCH_ROWS))
    try db.fill(CREATE_MIXED, FILL_MIXED, Int(range))
    let count = Int64(settings.rows(LOOKUPS))
    return Workload {
        var sum: Int64 = 0
        for n in 0..<count { if let row = try fetch(db, lookup_key(n, range)) { sum &+= row.checkNumber } }
        return sum
    }
}

struct Talk: SQLRecord {
    var id: Int64
    var name: String
    static let lines = hasMany(Line.self, by: \.talk).order { $0.at.descending }
    static let latest = hasOne(Line.self, by: \.talk).order { $0.at.descending }
}

struct Line: SQLRecord {
    var id: Int64
    var talk: Int64
    var at: Int64
    var title: String
}

private func openTalks(_ settings: Settings) throws -> Connection {
    let db = try open()
    try db.execute(SQL(raw: CREATE_TALKS))
    try db.execute(SQL(raw: FILL_TALKS))
    try db.fill(CREATE_LINES, FILL_LINES, settings.rows(TALK_LINES))
    try db.execute(SQL(raw: INDEX_LINES))
    return db
}

func includeLatest(_ settings: Settings) throws -> Workload {
    let db = try openTalks(settings)
    return Workload {
        try db.fetchAll(Talk.including(Talk.latest)).reduce(0) { $0 &+ $1.0.id &+ ($1.1?.id ?? 0) &+ ($1.1?.at ?? 0) }
    }
}

/// The sum for each line, as a join has it.
func includeLatest(_ settings: Settings, _ count: Int) throws -> Workload {
    let db = try openTalks(settings)
    return Workload {
        try db.fetchAll(Talk.including(Talk.lines.limit(count))).reduce(0) { sum, row in
            row.1.reduce(sum) { $0 &+ row.0.id &+ $1.id &+ $1.at }
        }
    }
}
