import Foundation
import Harness
import SQLCipherKit
import Workloads

private let plainBody = Data(mixedBody)

func plainMixed(_ n: Int64) -> PlainMixed { PlainMixed(id: n, score: Double(n) * 0.5, title: TITLE_TEXT, body: plainBody) }

func recordMixed(_ n: Int64) -> RecordMixed { RecordMixed(id: n, score: Double(n) * 0.5, title: TITLE_TEXT, body: mixedBody) }

/// Each record by a call of its own, all in one transaction. The records are made before, and receive what the call reads back.
func insertMixed<Record: SQLRecord>(
    _ settings: Settings, _ make: (Int64) -> Record, _ write: @escaping (Connection, inout Record) throws -> Void
) throws -> Workload {
    let db = try open()
    try db.execute(SQL(raw: CREATE_MIXED))
    let records = (0..<Int64(settings.rows(INSERT_MIXED_ROWS))).map(make)
    return Workload {
        try db.transaction { db in
            for var record in records { try write(db, &record) }
        }
        return 0
    } finish: {
        let check = try db.fetchOne(Int64.self, SQL(raw: CHECK_MIXED)) ?? 0
        try db.execute(SQL(raw: CLEAR_MIXED))
        return check
    }
}

func insertAllMixed<Record: SQLRecord>(_ settings: Settings, _ make: (Int64) -> Record) throws -> Workload {
    let db = try open()
    try db.execute(SQL(raw: CREATE_MIXED))
    let records = (0..<Int64(settings.rows(INSERT_MIXED_ROWS))).map(make)
    return Workload {
        try db.insertAll(records)
        return 0
    } finish: {
        let check = try db.fetchOne(Int64.self, SQL(raw: CHECK_MIXED)) ?? 0
        try db.execute(SQL(raw: CLEAR_MIXED))
        return check
    }
}

/// As `insertMixed`, into a table that has a row for each record.
func upsertMixed<Record: SQLRecord>(
    _ settings: Settings, _ make: (Int64) -> Record, _ write: @escaping (Connection, inout Record) throws -> Void
) throws -> Workload {
    let db = try open()
    let count = settings.rows(INSERT_MIXED_ROWS)
    try db.fill(CREATE_MIXED, FILL_MIXED, count)
    let records = (0..<Int64(count)).map(make)
    return Workload {
        try db.transaction { db in
            for var record in records { try write(db, &record) }
        }
        return 0
    } finish: {
        try db.fetchOne(Int64.self, SQL(raw: CHECK_MIXED)) ?? 0
    }
}

/// Transactions of one row each, beside observers of another table.
func writeObserved(_ settings: Settings, observers: Int) throws -> Workload {
    let queue = try DatabaseQueue(.memory)
    try queue.write { db in
        try db.execute(SQL(raw: CREATE_SHARED))
        try db.fill(CREATE_MIXED, FILL_MIXED, 1)
    }
    let observations = (0..<observers).map { _ in
        queue.observe { db in try db.fetchOne(Int64.self, "SELECT count(*) FROM mixed WHERE title <> ''") ?? 0 }
            .start(concurrently: .immediate, onError: { fatalError("\($0)") }, onChange: { _ in })
    }
    let count = settings.rows(OBSERVED_WRITES)
    return Workload {
        for _ in 0..<count {
            try queue.write { db in try db.execute("INSERT INTO shared(title) VALUES (\(TITLE_TEXT))") }
        }
        return Int64(observations.count)
    } finish: {
        try queue.write { db in
            let count = try db.fetchOne(Int64.self, SQL(raw: COUNT_SHARED)) ?? 0
            try db.execute(SQL(raw: CLEAR_SHARED))
            return count
        }
    }
}
