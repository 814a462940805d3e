import Foundation
import SQLCipherKitConcurrency
import SQLCipherKitCore
import SQLCipherKitRecords
import TestSupport
import Testing

/// Each way of writing a value, each way of reading it, and each profile: the written value is read.
@Suite struct ValueWaysTests {
    enum Quarters: CustomDateStrategy {
        static func stored(_ date: Date) -> SQLValue { .integer(Int64((date.timeIntervalSince1970 * 4).rounded(.down))) }
        static func date(_ value: SQLValue) -> Date? {
            guard case .integer(let quarters) = value else { return nil }
            return Date(timeIntervalSince1970: Double(quarters) / 4)
        }
    }

    static let profiles = ValueProfile.namedProfiles.map(\.profile) + [
        ValueProfile(dates: .julianDays, uuids: .lowercaseText),
        ValueProfile(dates: .custom(Quarters.self), decimals: .text),
        ValueProfile(dates: .text(DateTextFormat(separator: .space, fraction: .microseconds, zone: .offset))),
    ]

    typealias Way<T, R> = (name: String, run: (Connection, T) throws -> R)

    private func writing<T: WaysRecord>(_ type: T.Type) -> [Way<T, Void>] {
        func other(_ record: T) -> T {
            var row = record.row
            (row.at, row.maybe, row.own, row.ownKey) = (Date(timeIntervalSince1970: 0), nil, Date(timeIntervalSince1970: 0), nil)
            row.celsius = Celsius(99.5)
            return T(row)
        }
        return [
            ("insert", { db, record in try db.insert(record) }),
            ("insert, reading back", { db, record in
                var copy = record
                try db.insert(&copy)
            }),
            ("insert, replacing", { db, record in
                try db.insert(other(record))
                try db.insert(record, onConflict: .replace)
            }),
            ("insertAll", { db, record in try db.insertAll([record]) }),
            ("insertAll, reading back", { db, record in
                var all = [record]
                try db.insertAll(&all)
            }),
            ("upsert of none", { db, record in try db.upsert(record) }),
            ("upsert", { db, record in
                try db.insert(other(record))
                try db.upsert(record)
            }),
            ("save", { db, record in
                var copy = record
                try db.save(&copy)
            }),
            ("update", { db, record in
                try db.insert(other(record))
                try db.update(record)
            }),
            ("update from", { db, record in
                try db.insert(other(record))
                try db.updateChanges(record, from: other(record))
            }),
            ("updateAll", { db, record in
                try db.insert(other(record))
                try db.updateAll(T.all) { _, set in T.set(record.row, &set) }
            }),
            ("insert of any Encodable", { db, record in try db.insert(record, into: T.tableName) }),
            ("arguments that are encoded", { db, record in
                let names = T.table.columns.map(\.name)
                let list = names.map { ":\($0)" }.joined(separator: ", ")
                try db.execute(
                    "INSERT INTO \(identifier: T.tableName)(\(raw: names.joined(separator: ", "))) VALUES (\(raw: list))", StatementArguments(encoding: record))
            }),
            ("SQL", { db, record in
                let row = record.row, own = OwnProfile.value
                let stored = (try row.own.sqlValue(in: own), try row.ownKey.sqlValue(in: own))
                try db.execute("""
                    INSERT INTO \(identifier: T.tableName)(id, at, maybe, key, price, moment, celsius, stamp, shade, rank, place, own, ownKey)
                    VALUES (\(row.id), \(row.at), \(row.maybe), \(row.key), \(row.price), \(row.moment), \(row.celsius.degrees),
                        \(row.stamp.date), \(row.shade), \(row.rank.rawValue), \(JSONColumn(row.place, as: .text)),
                        \(stored.0), \(stored.1))
                    """)
            }),
            ("insertAll of a query", { db, record in
                try db.execute("ATTACH ':memory:' AS elsewhere")
                defer { try? db.execute("DETACH elsewhere") }
                let elsewhere = try db.schema("elsewhere")
                try elsewhere.create(T.table)
                try db.insert(record, in: elsewhere)
                try db.insertAll(from: T.in(elsewhere), in: db.main)
            }),
        ]
    }

    private func reading<T: WaysRecord>(_ type: T.Type) -> [Way<T, T?>] {
        let name = T.tableName
        let reversed = T.table.columns.map(\.name).reversed().joined(separator: ", ")
        let join: SQL = """
            SELECT 5 AS number, \(columns: T.self, of: "a", as: "first"), \(columns: T.self, of: "b", as: "second")
            FROM \(identifier: name) AS a LEFT JOIN \(identifier: name) AS b ON a.id = b.id
            """
        return [
            ("fetchAll", { db, _ in try db.fetchAll(T.all).first }),
            ("fetchOne", { db, _ in try db.fetchOne(T.all) }),
            ("by id", { db, record in try db.fetchOne(T.self, id: record.row.id) }),
            ("by ids", { db, record in try db.fetchAll(T.self, ids: [record.row.id]).first }),
            ("cursor", { db, _ in try db.cursor(T.all).next() }),
            ("SQL", { db, _ in try db.fetchAll(T.self, "SELECT * FROM \(identifier: name)").first }),
            ("SQL in another order", { db, _ in try db.fetchOne(T.self, "SELECT 1 AS one, \(raw: reversed) FROM \(identifier: name)") }),
            ("SQL without a type", { db, _ in
                let all: [T] = try db.fetchAll("SELECT * FROM \(identifier: name)")
                return all.first
            }),
            ("cursor of SQL", { db, _ in try db.cursor(T.self, "SELECT \(raw: reversed) FROM \(identifier: name)").next() }),
            ("statement", { db, _ in try db.prepare("SELECT * FROM \(identifier: name)").fetchAll(T.self).first }),
            ("statement, first", { db, _ in try db.prepare("SELECT * FROM \(identifier: name)").fetchOne(T.self) }),
            ("forEach", { db, _ in
                var found: T?
                try db.forEach("SELECT * FROM \(identifier: name)") { row in found = try T(row: row) }
                return found
            }),
            ("decode", { db, _ in
                var found: T?
                try db.forEach("SELECT * FROM \(identifier: name)") { row in found = try row.decode(T.self) }
                return found
            }),
            ("refresh", { db, record in
                var row = record.row
                row.at = .distantPast
                var copy = T(row)
                try db.refresh(&copy)
                return copy
            }),
            ("join", { db, _ in try db.fetchAll(T.join(T.self) { $0[column: "id", as: Int.self] == $1[column: "id"] }).first?.1 }),
            ("left join", { db, _ in
                try db.fetchAll(T.leftJoin(T.self) { $0[column: "id", as: Int.self] == $1[column: "id"] }).first.flatMap(\.1)
            }),
            ("parts", { db, _ in try db.fetchOne(WaysPair<T>.self, join)?.second }),
            ("parts that are decoded", { db, _ in
                let found = try db.fetchOne(CodedWays<T>.self, join)
                #expect(found?.number == 5 && found?.first == found?.second)
                return found?.second
            }),
            ("compound", { db, _ in try db.fetchAll(T.all.union(T.all)).first }),
            ("distinct", { db, _ in try db.fetchAll(T.all.distinct()).first }),
            ("annotated", { db, _ in
                let found = try db.fetchAll(T.annotated { $0[column: "own", as: Date.self] }).first
                #expect(found?.1 == found?.0.row.own)
                return found?.0
            }),
            ("selected", { db, record in
                let values = try db.fetchOne(T.all.select {
                    ($0[column: "at", as: Date.self], $0[column: "maybe", as: Date?.self], $0[column: "own", as: Date.self],
                        $0[column: "ownKey", as: UUID?.self], $0[column: "moment", as: Moment.self])
                })
                var row = record.row
                guard let values else { return nil }
                (row.at, row.maybe, row.own, row.ownKey, row.moment) = values
                return T(row)
            }),
            ("selected alone", { db, record in
                var row = record.row
                row.own = try db.fetchOne(T.all.select { $0[column: "own", as: Date.self] }) ?? .distantPast
                row.at = try db.fetchAll(T.all.select { $0[column: "at", as: Date.self] }).first ?? .distantPast
                return T(row)
            }),
            ("updated, returning", { db, record in
                try db.updateAll(T.all, returning: T.self) { _, set in T.set(record.row, &set) }.first
            }),
            ("updated, returning values", { db, record in
                var row = record.row
                let own = try db.updateAll(T.all, returning: { $0[column: "own", as: Date.self] }) { _, set in T.set(record.row, &set) }
                row.own = own.first ?? .distantPast
                return T(row)
            }),
            ("deleted, returning", { db, record in
                let found = try db.deleteAll(T.all, returning: T.self).first
                if let found { try db.insert(found) }
                return found
            }),
            ("values of a row", { db, record in
                var row = record.row
                let copy = try db.fetchOne(OwnedRow.self, "SELECT at, maybe, moment FROM \(identifier: name)")
                guard let copy else { return nil }
                (row.at, row.maybe, row.moment) = (try copy["at"], try copy[1], try copy["moment"])
                return T(row)
            }),
            ("a tuple", { db, record in
                var row = record.row
                let found = try db.fetchOne((Date, Date?, Moment).self, "SELECT at, maybe, moment FROM \(identifier: name)")
                guard let found else { return nil }
                (row.at, row.maybe, row.moment) = found
                return T(row)
            }),
            ("a single value that codes itself", { db, record in
                var row = record.row
                row.celsius = try db.fetchOne(Celsius.self, "SELECT celsius FROM \(identifier: name)") ?? Celsius(0)
                row.stamp = try db.fetchOne(Stamp.self, "SELECT stamp FROM \(identifier: name)") ?? Stamp(.distantPast)
                return T(row)
            }),
        ]
    }

    private func check<T: WaysRecord>(_ type: T.Type, _ index: Int) throws {
        var random = SeededGenerator(index)
        let profile = Self.profiles[index], rounds = LongTests.areOn ? 100 : 1
        func drawn<Way>(_ few: Int, _ ways: [Way]) -> [Way] {
            LongTests.areOn ? ways : Array(ways.shuffled(using: &random).prefix(few))
        }
        for _ in 0..<rounds {
            try OwnProfile.$value.withValue(Self.profiles.randomElement(using: &random) ?? .standard) {
                var configuration = DatabaseConfiguration()
                configuration.valueProfile = profile
                let db = try Connection(.memory, configuration: configuration)
                try db.create(T.table)
                var stored: [SQLValue]?
                let record = T(Ways.random(&random)), expected = T(try record.row.kept(in: profile))
                for write in drawn(4, writing(type)) {
                    let place: Comment = "\(T.self), \(profile), own \(OwnProfile.value): \(write.name)"
                    try db.execute("DELETE FROM \(identifier: T.tableName)")
                    try write.run(db, record)
                    // Byte for byte the same as the first way has stored.
                    let values = try #require(try db.fetchOne(OwnedRow.self, "SELECT * FROM \(identifier: T.tableName)"), place).values
                    #expect(values == stored ?? values, place)
                    stored = values
                    // The row is found by its values.
                    let count = try db.count(T.filter {
                        $0[column: "at"] == record.row.at && $0[column: "own"] == record.row.own
                            && $0[column: "ownKey"] == record.row.ownKey && $0[column: "maybe"] == record.row.maybe
                    })
                    #expect(count == 1, place)
                    for read in drawn(8, reading(type)) {
                        let found = try read.run(db, expected)
                        #expect(found == expected, "\(place), \(read.name)")
                    }
                }
            }
        }
    }

    @Test(arguments: profiles.indices) func valuesRoundTripThroughEveryWriterAndReader(_ index: Int) throws {
        try check(Ways.self, index)
        try check(PlacedWays.self, index)
    }

    @Test func queuePoolAndObservationReadProfileValues() async throws {
        let folder = try TemporaryFolder()
        var random = SeededGenerator()
        var configuration = DatabaseConfiguration()
        configuration.valueProfile = .room
        let queue = try DatabaseQueue(.file(folder.path("a.db")), configuration: configuration)
        let pool = try DatabasePool(.file(folder.path("b.db")), configuration: configuration)
        let row = Ways.random(&random), sql: SQL = "SELECT * FROM ways"
        try await queue.write { db in
            try db.create(Ways.table)
            try db.insert(row)
        }
        try await pool.write { db in
            try db.create(Ways.table)
            try db.insert(row)
        }
        let expected = try row.kept(in: .room)
        #expect(try await queue.read { try $0.fetchAll(Ways.self, sql) } == [expected])
        #expect(try await pool.read { try $0.fetchAll(Ways.self, sql) } == [expected])
        #expect(try await pool.read { try $0.fetchOne(Ways.self, sql) } == expected)
        for try await seen in pool.observe({ db in try db.fetchAll(Ways.self, sql) }) {
            #expect(seen == [expected])
            break
        }
    }
}
