import GRDB
import Harness
import Workloads

struct Integers: FetchableRecord {
    var i0, i1, i2, i3, i4, i5, i6, i7, i8, i9: Int64

    init(row: Row) {
        i0 = row["i0"]
        i1 = row["i1"]
        i2 = row["i2"]
        i3 = row["i3"]
        i4 = row["i4"]
        i5 = row["i5"]
        i6 = row["i6"]
        i7 = row["i7"]
        i8 = row["i8"]
        i9 = row["i9"]
    }
}

private func filled(_ settings: Settings) throws -> DatabaseQueue {
    let queue = try DatabaseQueue()
    try queue.fill(CREATE_INTS, FILL_INTS, settings.rows(FETCH_ROWS))
    return queue
}

func fetchIntsByIndex(_ settings: Settings) throws -> Workload {
    let queue = try filled(settings)
    return Workload {
        try queue.read { db in
            var sum: Int64 = 0
            let rows = try Row.fetchCursor(db.cachedStatement(sql: SELECT_INTS))
            while let row = try rows.next() {
                for index in 0..<10 { sum &+= row[index] as Int64 }
            }
            return sum
        }
    }
}

func fetchIntsByName(_ settings: Settings) throws -> Workload {
    let queue = try filled(settings)
    return Workload {
        try queue.read { db in
            var sum: Int64 = 0
            let rows = try Row.fetchCursor(db.cachedStatement(sql: SELECT_INTS))
            while let row = try rows.next() {
                sum &+= row["i0"] as Int64
                sum &+= row["i1"] as Int64
                sum &+= row["i2"] as Int64
                sum &+= row["i3"] as Int64
                sum &+= row["i4"] as Int64
                sum &+= row["i5"] as Int64
                sum &+= row["i6"] as Int64
                sum &+= row["i7"] as Int64
                sum &+= row["i8"] as Int64
                sum &+= row["i9"] as Int64
            }
            return sum
        }
    }
}

func fetchIntsAsStruct(_ settings: Settings) throws -> Workload {
    let queue = try filled(settings)
    return Workload {
        try queue.read { db in
            let rows = try Integers.fetchAll(db.cachedStatement(sql: SELECT_INTS))
            return rows.reduce(0) { $0 &+ $1.i0 &+ $1.i9 }
        }
    }
}

func insertInts(_ settings: Settings) throws -> Workload {
    let queue = try DatabaseQueue()
    try queue.write { try $0.execute(sql: CREATE_INTS) }
    let rows = Int64(settings.rows(INSERT_INTS_ROWS))
    return Workload {
        try queue.write { db in
            let statement = try db.cachedStatement(sql: INSERT_INTS)
            for n in 0..<rows {
                try statement.execute(arguments: [n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, n + 8, n + 9])
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
