import Harness
import SQLCipherKit
import Workloads

struct Integers: SQLRowConvertible {
    var i0, i1, i2, i3, i4, i5, i6, i7, i8, i9: Int64

    init(row: borrowing Row) throws {
        i0 = try row["i0"]
        i1 = try row["i1"]
        i2 = try row["i2"]
        i3 = try row["i3"]
        i4 = try row["i4"]
        i5 = try row["i5"]
        i6 = try row["i6"]
        i7 = try row["i7"]
        i8 = try row["i8"]
        i9 = try row["i9"]
    }
}

private func filled(_ settings: Settings) throws -> Connection {
    let db = try open()
    try db.fill(CREATE_INTS, FILL_INTS, settings.rows(FETCH_ROWS))
    return db
}

func fetchIntsByIndex(_ settings: Settings) throws -> Workload {
    let statement = try filled(settings).prepare(SQL(raw: SELECT_INTS))
    return Workload {
        var sum: Int64 = 0
        try statement.forEach { row in
            for index in 0..<10 { sum &+= try row.get(index, as: Int64.self) }
        }
        return sum
    }
}

func fetchIntsByName(_ settings: Settings) throws -> Workload {
    let statement = try filled(settings).prepare(SQL(raw: SELECT_INTS))
    return Workload {
        var sum: Int64 = 0
        try statement.forEach { row in
            sum &+= try row.get("i0", as: Int64.self)
            sum &+= try row.get("i1", as: Int64.self)
            sum &+= try row.get("i2", as: Int64.self)
            sum &+= try row.get("i3", as: Int64.self)
            sum &+= try row.get("i4", as: Int64.self)
            sum &+= try row.get("i5", as: Int64.self)
            sum &+= try row.get("i6", as: Int64.self)
            sum &+= try row.get("i7", as: Int64.self)
            sum &+= try row.get("i8", as: Int64.self)
            sum &+= try row.get("i9", as: Int64.self)
        }
        return sum
    }
}

func fetchIntsAsStruct(_ settings: Settings) throws -> Workload {
    let statement = try filled(settings).prepare(SQL(raw: SELECT_INTS))
    return Workload {
        let rows = try statement.fetchAll(Integers.self)
        return rows.reduce(0) { $0 &+ $1.i0 &+ $1.i9 }
    }
}

func insertInts(_ settings: Settings) throws -> Workload {
    let db = try open()
    try db.execute(SQL(raw: CREATE_INTS))
    let statement = try db.prepare(SQL(raw: INSERT_INTS))
    let rows = Int64(settings.rows(INSERT_INTS_ROWS))
    return Workload {
        try db.transaction { _ in
            for n in 0..<rows {
                try statement.execute(binding: n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, n + 8, n + 9)
            }
        }
        return 0
    } finish: {
        let check = try db.fetchOne(Int64.self, SQL(raw: CHECK_INTS)) ?? 0
        try db.execute(SQL(raw: CLEAR_INTS))
        return check
    }
}
