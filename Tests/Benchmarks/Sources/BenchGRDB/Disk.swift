import Foundation
import GRDB
import Harness
import Workloads

/// The work of an application with a file on a disk, with a pool and records as GRDB's README has them.
func diskWorkloads() -> [(name: String, prepare: (Settings) throws -> Workload)] {
    [
        ("disk-insert", { try insertOnDisk($0, $0.rows(INSERT_MIXED_ROWS), isOneTransaction: true) }),
        ("disk-commit", { try insertOnDisk($0, $0.rows(DISK_COMMITS)) }),
        ("disk-commit-whole", { try insertOnDisk($0, $0.rows(DISK_QUICK_COMMITS), "NORMAL") }),
        ("disk-read", readFromDisk),
        ("disk-lookup", lookUpOnDisk),
        ("disk-search", searchOnDisk),
    ]
}

/// Encrypted where GRDB is on this package's engine.
private func openDisk(_ settings: Settings, _ synchronous: String = "FULL") throws -> DatabasePool {
    var configuration = Configuration()
    #if KEYED
        configuration.prepareDatabase { db in try db.usePassphrase("x'\(KEY_HEX)'") }
    #endif
    let pool = try DatabasePool(path: "\(settings.folder)/disk.db", configuration: configuration)
    // A pool's own choice is NORMAL.
    try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = \(synchronous)") }
    return pool
}

private func insertOnDisk(
    _ settings: Settings, _ rows: Int, _ synchronous: String = "FULL", isOneTransaction: Bool = false
) throws -> Workload {
    let pool = try openDisk(settings, synchronous)
    try pool.write { try $0.execute(sql: CREATE_MIXED) }
    let title = TITLE_TEXT, body = Data([1, 2, 3] + [UInt8](repeating: 0, count: 37))
    @Sendable func insert(_ n: Int, _ db: Database) throws {
        try CodableMixed(id: Int64(n), score: Double(n) * 0.5, title: title, body: body).insert(db)
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
            let check = try Int64.fetchOne(db, sql: CHECK_MIXED) ?? 0
            try db.execute(sql: CLEAR_MIXED)
            return check
        }
    }
}

/// Opening included.
private func readFromDisk(_ settings: Settings) throws -> Workload {
    let first = try openDisk(settings)
    try first.fill(CREATE_MIXED, FILL_MIXED, settings.rows(FETCH_ROWS))
    try first.close()
    return Workload {
        let pool = try openDisk(settings)
        let sum = try pool.read { db in try CodableMixed.fetchAll(db).reduce(0) { $0 &+ $1.checkNumber } }
        try pool.close()
        return sum
    }
}

private func lookUpOnDisk(_ settings: Settings) throws -> Workload {
    let pool = try openDisk(settings), range = Int64(settings.rows(FETCH_ROWS)), count = Int64(settings.rows(LOOKUPS))
    try pool.fill(CREATE_MIXED, FILL_MIXED, Int(range))
    return Workload {
        try pool.read { db in
            var sum: Int64 = 0
            for n in 0..<count {
                if let row = try CodableMixed.fetchOne(db, key: lookup_key(n, range)) { sum &+= row.checkNumber }
            }
            return sum
        }
    }
}

private func searchOnDisk(_ settings: Settings) throws -> Workload {
    let pool = try openDisk(settings), count = settings.rows(SEARCHES)
    try pool.fill(CREATE_TEXTS, FILL_TEXTS, settings.rows(TEXT_ROWS))
    return Workload {
        try pool.read { db in
            let statement = try db.cachedStatement(sql: SEARCH_TEXTS)
            var hits: Int64 = 0
            for n in 0..<count {
                let rows = try Row.fetchCursor(statement, arguments: [FTS5Pattern(matchingAllTokensIn: "word\(n * 7)")])
                var found: [(id: Int64, rank: Double, snippet: String)] = []
                while let row = try rows.next() { found.append((row[0], row[1], row[2])) }
                for hit in found where hit.id > 0 { hits += 1 }
            }
            return hits
        }
    }
}
