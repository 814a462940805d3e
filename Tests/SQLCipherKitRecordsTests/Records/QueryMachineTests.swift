import Foundation
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

/// Random records and random conditions, orders, pages, joins, groups and updates: the query builder beside the same closures over
/// Swift's arrays.
@Suite struct QueryMachineTests {
    /// One type of values, in one way of storing the columns, under one profile of the connection.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let run: @Sendable (Int) throws -> Void
    }

    private static let rounds = LongTests.seeds(6, of: 400)

    static let cases: [Case] = ValueProfile.namedProfiles.flatMap { named -> [Case] in
        func with<A: MachineValue & SQLValueConvertible>(_ type: A.Type) -> [Case] {
            func one<Forms: MachineForms>(_ forms: Forms.Type) -> Case {
                Case(testDescription: "\(type), \(Forms.name), \(named.name)") { seed in
                    let isText = A.self == Decimal.self && (Forms.profiles.values.contains { $0.decimals == .text }
                        || Forms.profiles.count < 4 && named.profile.decimals == .text)
                    try Machine<A, Forms>(named.profile, seed) { MachineMaker($0, $1, isOrdered: !isText) }.run(isOrdered: !isText)
                }
            }
            return [one(NoForms.self), one(OneForm.self), one(MixedForms.self)]
        }
        func coded<A: MachineValue>(_ type: A.Type) -> [Case] {
            func one<Forms: MachineForms>(_ forms: Forms.Type) -> Case {
                Case(testDescription: "\(type), \(Forms.name), \(named.name)") { seed in
                    try Machine<A, Forms>(named.profile, seed) { MachineMaker(coded: $0, $1) }.run(isOrdered: false)
                }
            }
            return [one(NoForms.self), one(MixedForms.self)]
        }
        var all = with(Date.self) + with(UUID.self) + with(Decimal.self) + with(MachineMoment.self) + coded(Deadline.self)
        // The others have one form, whatever the profile.
        if named.name == "standard" {
            all += with(Int.self) + with(Int8.self) + with(UInt32.self) + with(Double.self) + with(Float.self) + with(Bool.self)
            all += with(String.self) + with(Data.self) + with(URL.self) + with(Colour.self) + with(Grade.self)
            all += coded(Kind.self) + coded(MachineCelsius.self) + coded(Address.self)
        }
        return all
    }

    @Test(arguments: LongTests.sample(24, of: cases)) func randomQueriesMatchSwiftClosures(_ one: Case) throws {
        for round in Self.rounds { try one.run(Int(round)) }
    }
}

private struct Machine<A: MachineValue, Forms: MachineForms> {
    typealias Row = Sample<A, Forms>
    typealias Other = Sample<A, NoForms>

    let db: Connection
    let rows: [Row]
    var maker: MachineMaker<A, Forms>
    let seed: Int

    init(
        _ profile: ValueProfile, _ seed: Int, _ make: (SeededGenerator, [Row]) -> MachineMaker<A, Forms>
    ) throws {
        var random = SeededGenerator(seed, of: "queries")
        var configuration = DatabaseConfiguration()
        configuration.valueProfile = profile
        db = try Connection(.memory, configuration: configuration)
        rows = Row.rows(30, &random)
        for sql in Row.creation { try db.execute(sql) }
        try db.insertAll(rows)
        maker = make(random, rows)
        self.seed = seed
    }

    func run(isOrdered: Bool) throws {
        var copy = self
        try copy.filtered()
        try copy.paged(isOrdered)
        try copy.selected()
        try copy.grouped()
        try copy.updated()
        try copy.joined()
    }

    private func check<Found: Equatable>(_ found: [Found], _ expected: [Found], _ request: some SQLRequest) throws {
        guard found != expected else { return }
        Issue.record(
            """
            seed \(Seed.value), round \(seed), \(A.self), \(Forms.name), \(db.configuration.valueProfile): \(try db.sql(of: request).text)
            found \(found), not \(expected)
            """)
    }

    private mutating func filtered() throws {
        for depth in [0, 1, 2, 3] {
            let condition = maker.condition(depth)
            let query = Row.filter(condition.sql).order { $0.id }
            let expected = rows.filter(condition.swift)
            try check(try db.fetchAll(query).map(\.id), expected.map(\.id), query)
            #expect(try db.count(query) == expected.count && db.exists(query) == !expected.isEmpty)
            // As a value, it has the same result as in a condition.
            let value = Row.order { $0.id }.select(condition.sql)
            let trueOnes = zip(rows, try db.fetchAll(value)).filter(\.1).map(\.0.id)
            try check(trueOnes, expected.map(\.id), value)
        }
    }

    /// Page after page by a column that may be NULL, in both directions.
    private mutating func paged(_ isOrdered: Bool) throws {
        guard isOrdered, maker.next != nil, let less = A.isLess else { return }
        func comes(_ a: Row, _ b: Row) -> Bool {
            switch (a.o, b.o) {
            case (nil, nil): a.id < b.id
            case (nil, _): true
            case (_, nil): false
            case (let x?, let y?): less(x, y) || !less(y, x) && a.id < b.id
            }
        }
        let up = rows.sorted(by: comes).map(\.id)
        let size = maker.die(5) + 2
        for (isUp, query) in [(true, Row.order { $0.o; $0.id }), (false, Row.order { $0.o.descending; $0.id.descending })] {
            let expected = isUp ? up : up.reversed()
            try check(try db.fetchAll(query).map(\.id), expected, query)
            let part = query.limit(size, offset: 3)
            try check(try db.fetchAll(part).map(\.id), Array(expected[3..<(3 + size)]), part)
            var (found, last) = ([Int64](), Row?.none)
            while found.count <= rows.count {
                let page = last.flatMap { last in maker.next.map { query.filter($0(last, isUp)) } } ?? query
                let read = try db.fetchAll(page.limit(size))
                found += read.map(\.id)
                last = read.last
                if read.isEmpty { break }
            }
            try check(found, expected, query)
        }
    }

    private mutating func selected() throws {
        let (a, o) = (maker.plain(2), maker.optional(2))
        let query = Row.order { $0.id }
        let plain = try db.fetchAll(query.select { a.sql($0) })
        #expect(zip(rows, plain).allSatisfy { A.isEqual(a.swift($0), $1) }, "seed \(Seed.value), round \(seed)")
        let optional = try db.fetchAll(query.select { o.sql($0) })
        #expect(zip(rows, optional).allSatisfy { MachineMaker<A, Forms>.isEqual(o.swift($0), $1) }, "seed \(Seed.value), round \(seed)")
    }

    private mutating func grouped() throws {
        let (condition, having) = (maker.condition(1), maker.die(4))
        let query = Row.filter(condition.sql).group { $0.team }.having { _ in .countAll > having }.select { ($0.team, .countAll) }
        let expected = Dictionary(grouping: rows.filter(condition.swift), by: \.team).mapValues(\.count).filter { $0.value > having }
        let found = try db.fetchAll(query)
        #expect(Dictionary(uniqueKeysWithValues: found) == expected, "seed \(Seed.value), round \(seed)")
        // Of the rows of a group that meet a condition.
        let only = maker.condition(1)
        let counts = try db.fetchAll(Row.all.group { $0.team }.select { ($0.team, .countAll.where(only.sql($0))) })
        let all = Dictionary(grouping: rows, by: \.team).mapValues { $0.count(where: only.swift) }
        #expect(Dictionary(uniqueKeysWithValues: counts) == all, "seed \(Seed.value), round \(seed)")
    }

    /// Joins with a table whose columns may be stored in another form.
    private mutating func joined() throws {
        let others = Other.rows(12, &maker.random)
        if Forms.self != NoForms.self { for sql in Other.creation { try db.execute(sql) } }
        try db.deleteAll(Other.all)
        try db.insertAll(others)
        let rows = try db.fetchAll(Row.order { $0.id })
        let isEqual = MachineMaker<A, Forms>.isEqual
        let pairs = Row.join(Other.self) { $0.o == $1.q }.order { $0.id; $1.id }
        let expected = rows.flatMap { row in others.filter { isEqual(row.o, $0.q) }.map { [row.id, $0.id] } }
        try check(try db.fetchAll(pairs).map { [$0.id, $1.id] }, expected, pairs)
        let left = Row.leftJoin(Other.self) { $0.a == $1.b && $0.team == $1.team }.order { $0.id; $1.id }
        let all = rows.flatMap { row -> [[Int64?]] in
            let met = others.filter { isEqual(row.a, $0.b) && row.team == $0.team }
            return met.isEmpty ? [[row.id, nil]] : met.map { [row.id, $0.id] }
        }
        try check(try db.fetchAll(left).map { [$0.id, $1?.id] }, all, left)
        // The side without a row is nil.
        let none = Row.leftJoin(Other.self) { $0.a == $1.b }.filter { !($1.team == 1) && $1.b != $0.b }.order { $0.id; $1.id }
        let kept = rows.flatMap { row -> [[Int64?]] in
            let met = others.filter { isEqual(row.a, $0.b) }
            let pairs: [(Row, Other?)] = met.isEmpty ? [(row, nil)] : met.map { (row, $0) }
            return pairs.filter { !($1?.team == 1) && !isEqual($1?.b, $0.b) }.map { [$0.id, $1?.id] }
        }
        try check(try db.fetchAll(none).map { [$0.id, $1?.id] }, kept, none)
    }

    private mutating func updated() throws {
        maker.readsOthers = false
        defer { maker.readsOthers = true }
        let (condition, a, o) = (maker.condition(1), maker.plain(2), maker.optional(2))
        let changed = try db.updateAll(Row.filter(condition.sql), returning: { $0.id }) { row, set in
            set(\.b, to: a.sql(row))
            set(\.q, to: o.sql(row))
            set(\.flag, to: condition.sql(row))
        }
        #expect(changed.sorted() == rows.filter(condition.swift).map(\.id), "seed \(Seed.value), round \(seed)")
        for (before, after) in zip(rows, try db.fetchAll(Row.order { $0.id })) {
            let isMet = condition.swift(before)
            let (b, q) = isMet ? (a.swift(before), o.swift(before)) : (before.b, before.q)
            #expect(
                A.isEqual(after.b, b) && MachineMaker<A, Forms>.isEqual(after.q, q) && after.flag == (isMet || before.flag),
                "seed \(Seed.value), round \(seed), row \(before.id)")
        }
        // Assigned values are stored as inserted values are.
        let stored: SQL = "SELECT quote(b) || quote(q) || quote(flag) FROM \(identifier: Row.tableName) ORDER BY id"
        let assigned = try db.fetchAll(String.self, stored)
        let all = try db.fetchAll(Row.order { $0.id })
        try db.deleteAll(Row.all)
        try db.insertAll(all)
        #expect(try db.fetchAll(String.self, stored) == assigned, "seed \(Seed.value), round \(seed)")
    }
}
