import Foundation
import Harness
import SQLCipherKit
import Workloads

/// The work of an application with a file on a disk, with a pool and records as the README has them.
func diskWorkloads() -> [(name: String, prepare: (Settings) throws -> Workload)] {
    [
        ("disk-insert", { try insertOnDisk($0, $0.rows(INSERT_MIXED_ROWS), isOneTransaction: true) }),
        ("disk-commit", { try insertOnDisk($0, $0.rows(DISK_COMMITS)) }),
        ("disk-commit-whole", { try insertOnDisk($0, $0.rows(DISK_QUICK_COMMITS), .wholeFile) }),
        ("disk-read", readFromDisk),
        ("disk-lookup", lookUpOnDisk),
        ("disk-search", searchOnDisk),
    ]
}

private func openDisk(
    _ settings: Settings, _ durability: DatabaseConfiguration.Durability = .everyCommit
) throws -> DatabasePool {
    var configuration = DatabaseConfiguration()
    configuration.durability = durability
    return try DatabasePool(.file("\(settings.folder)/disk.db"), key: .raw(Array(0..<32)), configuration: configuration)
}

private func insertOnDisk(
    _ settings: Settings, _ rows: Int, _ durability: DatabaseConfiguration.Durability = .everyCommit, isOneTransaction: Bool = false
) throws -> Workload {
    let pool = try openDisk(settings, durability)
    try pool.write { try $0.execute(SQL(raw: CREATE_MIXED)) }
    let title = TITLE_TEXT, body = Data(mixedBody)
    @Sendable func insert(_ n: Int, _ db: Connection) throws {
        try db.insert(PlainMixed(id: Int64(n), score: Double(n) * 0.5, title: title, body: body))
    }
    return Workload {
        if isOneTransaction {
            try pool.write { db in for n in 0..<rows { try insert(n, db) } }
        } else {
            for n in 0..<rows { try pool.write { db in try insert(n, db) } }
        }
        return 0
    } finish: {
        try pool.write { db in
            let check = try db.fetchOne(Int64.self, SQL(raw: CHECK_MIXED)) ?? 0
            try db.execute(SQL(raw: CLEAR_MIXED))
            return check
        }
    }
}

/// Opening included.
private func readFromDisk(_ settings: Settings) throws -> Workload {
    let first = try openDisk(settings)
    try first.write { try $0.fill(CREATE_MIXED, FILL_MIXED, settings.rows(FETCH_ROWS)) }
    try first.close()
    return Workload {
        let pool = try openDisk(settings)
        let sum = try pool.read { db in try db.fetchAll(PlainMixed.all).reduce(0) { $0 &+ $1.checkNumber } }
        try pool.close()
        return sum
    }
}

private func lookUpOnDisk(_ settings: Settings) throws -> Workload {
    let pool = try openDisk(settings), range = Int64(settings.rows(FETCH_ROWS)), count = Int64(settings.rows(LOOKUPS))
    try pool.write { try $0.fill(CREATE_MIXED, FILL_MIXED, Int(range)) }
    return Workload {
        try pool.read { db in
            var sum: Int64 = 0
            for n in 0..<count {
                if let row = try db.fetchOne(PlainMixed.self, id: lookup_key(n, range)) { sum &+= row.checkNumber }
            }
            return sum
        }
    }
}

private func searchOnDisk(_ settings: Settings) throws -> Workload {
    let pool = try openDisk(settings), count = settings.rows(SEARCHES)
    try pool.write { try $0.fill(CREATE_TEXTS, FILL_TEXTS, settings.rows(TEXT_ROWS)) }
    return Workload {
        try pool.read { db in
            let texts = try db.fullText("texts")
            var hits: Int64 = 0
            for n in 0..<count {
                for hit in try texts.search(FTS5Query.phrase("word\(n * 7)"), limit: 10).hits where hit.rowID > 0 { hits += 1 }
            }
            return hits
        }
    }
}
