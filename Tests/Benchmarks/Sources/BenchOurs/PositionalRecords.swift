import Foundation
import Harness
import SQLCipherKit
import Workloads

/// Written by hand as the macro would.
struct RecordIntegers: SQLPositionalRecord {
    var i0, i1, i2, i3, i4, i5, i6, i7, i8, i9: Int64

    static let tableName = "ints"
    static let recordColumns = SQLRecordColumns(
        of: RecordIntegers.self,
        [
            "i0": \.i0, "i1": \.i1, "i2": \.i2, "i3": \.i3, "i4": \.i4, "i5": \.i5, "i6": \.i6, "i7": \.i7, "i8": \.i8, "i9": \.i9,
        ])
    static let table = SQLTable(of: RecordIntegers.self) {
        $0.i0
        $0.i1
        $0.i2
        $0.i3
        $0.i4
        $0.i5
        $0.i6
        $0.i7
        $0.i8
        $0.i9
    }

    init(_ n: Int64) {
        (i0, i1, i2, i3, i4) = (n, n + 1, n + 2, n + 3, n + 4)
        (i5, i6, i7, i8, i9) = (n + 5, n + 6, n + 7, n + 8, n + 9)
    }

    init(columns: inout SQLColumnReader) throws {
        i0 = try columns.next()
        i1 = try columns.next()
        i2 = try columns.next()
        i3 = try columns.next()
        i4 = try columns.next()
        i5 = try columns.next()
        i6 = try columns.next()
        i7 = try columns.next()
        i8 = try columns.next()
        i9 = try columns.next()
    }

    func write(to columns: inout SQLColumnWriter) throws {
        try columns.put(i0)
        try columns.put(i1)
        try columns.put(i2)
        try columns.put(i3)
        try columns.put(i4)
        try columns.put(i5)
        try columns.put(i6)
        try columns.put(i7)
        try columns.put(i8)
        try columns.put(i9)
    }
}

struct RecordMixed: SQLPositionalRecord {
    var id: Int64
    var score: Double
    var title: String
    var body: [UInt8]

    static let tableName = "mixed"
    static let recordColumns = SQLRecordColumns(
        of: RecordMixed.self, ["id": \.id, "score": \.score, "title": \.title, "body": \.body])
    static let table = SQLTable(of: RecordMixed.self) {
        $0.id.primaryKey()
        $0.score
        $0.title
        $0.body
    }

    init(id: Int64, score: Double, title: String, body: [UInt8]) {
        (self.id, self.score, self.title, self.body) = (id, score, title, body)
    }

    init(columns: inout SQLColumnReader) throws {
        id = try columns.next()
        score = try columns.next()
        title = try columns.next()
        body = try columns.next()
    }

    func write(to columns: inout SQLColumnWriter) throws {
        try columns.put(id)
        try columns.put(score)
        try columns.put(title)
        try columns.put(body)
    }

    var checkNumber: Int64 { id &+ Int64(score) &+ Int64(title.utf8.count) &+ Int64(body.count) }
}

func fetchIntsAsRecords(_ settings: Settings) throws -> Workload {
    let db = try open()
    try db.fill(CREATE_INTS, FILL_INTS, settings.rows(FETCH_ROWS))
    return Workload { try db.fetchAll(RecordIntegers.all).reduce(0) { $0 &+ $1.i0 &+ $1.i9 } }
}

func fetchMixedAsRecords(_ settings: Settings) throws -> Workload {
    let db = try open()
    try db.fill(CREATE_MIXED, FILL_MIXED, settings.rows(FETCH_ROWS))
    return Workload { try db.fetchAll(RecordMixed.all).reduce(0) { $0 &+ $1.checkNumber } }
}

func insertIntRecords(_ settings: Settings) throws -> Workload {
    let db = try open()
    try db.execute(SQL(raw: CREATE_INTS))
    let rows = Int64(settings.rows(INSERT_INTS_ROWS))
    return Workload {
        try db.transaction { db in for n in 0..<rows { try db.insert(RecordIntegers(n)) } }
        return 0
    } finish: {
        let check = try db.fetchOne(Int64.self, SQL(raw: CHECK_INTS)) ?? 0
        try db.execute(SQL(raw: CLEAR_INTS))
        return check
    }
}

func insertMixedRecords(_ settings: Settings) throws -> Workload {
    let db = try open()
    try db.execute(SQL(raw: CREATE_MIXED))
    let rows = Int64(settings.rows(INSERT_MIXED_ROWS)), title = TITLE_TEXT
    return Workload {
        try db.transaction { db in
            for n in 0..<rows { try db.insert(RecordMixed(id: n, score: Double(n) * 0.5, title: title, body: mixedBody)) }
        }
        return 0
    } finish: {
        let check = try db.fetchOne(Int64.self, SQL(raw: CHECK_MIXED)) ?? 0
        try db.execute(SQL(raw: CLEAR_MIXED))
        return check
    }
}

/// Each row by a call of its own.
func lookUpRecords(_ settings: Settings, _ fetch: @escaping (Connection, Int64) throws -> RecordMixed?) throws -> Workload {
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

func updateRecords(_ settings: Settings) throws -> Workload {
    let db = try open()
    let range = Int64(settings.rows(FETCH_ROWS))
    try db.fill(CREATE_MIXED, FILL_MIXED, Int(range))
    let count = Int64(settings.rows(LOOKUPS)), title = TITLE_TEXT
    return Workload {
        try db.transaction { db in
            for n in 0..<count {
                let before = RecordMixed(id: lookup_key(n, range), score: -1, title: title, body: mixedBody)
                var after = before
                after.score = Double(n)
                try db.updateChanges(after, from: before)
            }
        }
        return 0
    } finish: {
        try db.fetchOne(Int64.self, SQL(raw: CHECK_MIXED)) ?? 0
    }
}
