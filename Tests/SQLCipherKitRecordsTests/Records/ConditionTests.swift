import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

/// Conditions mean the same as in Swift, and are written so that indexes are used.
@Suite struct ConditionTests {
    struct Player: SQLRecord, Equatable {
        var id: Int64
        var name: String?
        var team: Int?
        var score: Int
        var last: Int?

        static let table = SQLTable(of: Player.self) {
            $0.id.primaryKey()
            $0.name
            $0.team
            $0.score
            $0.last
            SQLIndex("player_team", on: [.column($0.team)])
            SQLIndex("player_score", on: [.column($0.score), .column($0.id)])
            SQLIndex("player_last", on: [.column($0.last), .column($0.id)])
        }
    }

    let db: Connection

    init() throws {
        db = try Connection(.memory)
        try db.create(Player.table)
        try db.insertAll([
            Player(id: 1, name: "a", team: 1, score: 10, last: nil), Player(id: 2, name: "b", team: 2, score: 20, last: nil),
            Player(id: 3, name: nil, team: nil, score: 20, last: 5), Player(id: 4, name: "b", team: nil, score: 30, last: 7),
        ])
    }

    private func ids(_ condition: (SQLColumns<Player>) -> SQLPredicate) throws -> [Int64] {
        try db.fetchAll(Player.filter(condition).order { $0.id }.select { $0.id })
    }

    private func plan(_ condition: (SQLColumns<Player>) -> SQLPredicate) throws -> String {
        try db.queryPlan(of: Player.filter(condition)).joined(separator: "; ")
    }

    @Test func negatedConditionIsTrueForNull() throws {
        #expect(try ids { $0.team != 2 } == [1, 3, 4] && ids { !($0.team == 2) } == [1, 3, 4])
        #expect(try ids { !$0.team.in([2]) } == [1, 3, 4] && ids { !$0.team.in([2, nil]) } == [1])
        #expect(try ids { ($0.team == 2) == false } == [1, 3, 4] && ids { ($0.team == 2) != true } == [1, 3, 4])
        #expect(try ids { ($0.name == "b") == false } == [1, 3] && ids { ($0.name == "b") == ($0.team == 2) } == [1, 2, 3])
        #expect(try ids { !($0.team == 2 && $0.name == "b") } == [1, 3, 4])
        #expect(try ids { !($0.team == 2 || $0.name == "a") } == [3, 4])
        #expect(try ids { !(!($0.team == 2)) } == [2])
        // An order is false where a side is nil, and its negation true.
        #expect(try ids { $0.team < 2 } == [1] && ids { !($0.team < 2) } == [2, 3, 4])
        #expect(try ids { !($0.team < $0.last) } == [1, 2, 3, 4] && ids { !$0.team.between(1, and: 1) } == [2, 3, 4])
        let none: Int? = nil
        #expect(try ids { $0.team > none } == [] && ids { !($0.team > none) } == [1, 2, 3, 4])
        #expect(try ids { !$0.name.like("b%") } == [1, 3] && ids { !SQLPredicate("\($0.team) = 2") } == [1, 3, 4])
        #expect(try ids { !(SQLExpression<Int>("\($0.team)") > 1) } == [1, 3, 4])
    }

    @Test func selectedConditionIsNeverNull() throws {
        let values = try db.fetchAll(Player.order { $0.id }.select { ($0.team == 2, $0.team > 1, !($0.team > 1), $0.name.like("b")) })
        #expect(values.map(\.0) == [false, true, false, false] && values.map(\.1) == [false, true, false, false])
        #expect(values.map(\.2) == [true, false, true, true] && values.map(\.3) == [false, true, false, true])
        #expect(try db.fetchAll(Player.all.group { $0.team == 2 }.select { _ in .countAll }).sorted() == [1, 3])
        #expect(try db.fetchAll(Player.order { $0.id }.select { SQLCase(when: !($0.team == 2), then: "x").otherwise("y") }) == ["x", "y", "x", "x"])
    }

    @Test func subqueryMembershipMatchesNil() throws {
        let lasts = Player.filter { $0.id <= 3 }.select { $0.last }
        #expect(try ids { $0.team.in(lasts) } == [3, 4] && ids { !$0.team.in(lasts) } == [1, 2])
        let teams = Player.filter { $0.team != nil }.select { $0.team }
        #expect(try ids { $0.team.in(teams) } == [1, 2] && ids { !$0.team.in(teams) } == [3, 4])
        #expect(try ids { !$0.score.in(Player.all.select { $0.last }) } == [1, 2, 3, 4])
    }

    @Test func rowValuesCompareNilAsSwiftDoes() throws {
        #expect(try ids { SQLRowValue($0.last, $0.id) == (nil, 1) } == [1] && ids { SQLRowValue($0.last, $0.id) != (nil, 1) } == [2, 3, 4])
        #expect(try ids { SQLRowValue($0.last, $0.id).in([(nil, 1), (7, 4)]) } == [1, 4])
        #expect(try ids { !SQLRowValue($0.last, $0.id).in([(nil, 1), (7, 4)]) } == [2, 3])
        #expect(try ids { SQLRowValue($0.last, $0.id) > (nil, 1) } == [2, 3, 4] && ids { !(SQLRowValue($0.last, $0.id) > (nil, 1)) } == [1])
        #expect(try ids { SQLRowValue($0.last, $0.id) < (7, 4) } == [1, 2, 3] && ids { SQLRowValue($0.last, $0.id) >= (5, 3) } == [3, 4])
    }

    @Test func rowValuesTakeLiterals() throws {
        #expect(try ids { SQLRowValue($0.last, $0.id, $0.id, $0.name) == (nil, 1, 1, "none") } == [])
        #expect(try ids { SQLRowValue($0.last, $0.id, $0.id, $0.id) == (nil, 1, 1, 1) } == [1])
        #expect(try ids { SQLRowValue($0.id, $0.last, $0.id, $0.name) >= (2, nil, 0, "") } == [2, 3, 4])
        #expect(try ids { SQLRowValue($0.id, $0.id, $0.id, $0.last).in([(1, 1, 1, nil), (4, 4, 4, 7)]) } == [1, 4])
    }

    @Test func conditionsUseIndexes() throws {
        for plan in [
            try plan { $0.team == 2 }, try plan { ($0.team == 2) == true }, try plan { !($0.team != 2) }, try plan { !(!($0.team == 2)) },
            try plan { $0.team > 1 }, try plan { !($0.team > 1) }, try plan { $0.team.in([1, 2]) }, try plan { !($0.team.isNotNull) },
            try plan { $0.team.in([1, nil]) }, try plan { $0.team.between(1, and: 2) }, try plan { !$0.team.between(1, and: 2) },
            try plan { $0.team.in(Player.all.select { $0.last }) }, try plan { $0.team == 2 && !($0.score > 3) },
        ] { #expect(plan.contains("player_team") && !plan.contains("SCAN player USING") && !plan.hasPrefix("SCAN player"), "\(plan)") }
        for plan in [
            try plan { !($0.score > 3) }, try plan { SQLRowValue($0.score, $0.id) > (20, 2) }, try plan { SQLRowValue($0.score, $0.id) < (20, 2) },
        ] { #expect(plan.hasPrefix("SEARCH player USING INDEX player_score"), "\(plan)") }
        #expect(try plan { SQLRowValue($0.last, $0.score) > (5, 3) }.hasPrefix("SEARCH player USING INDEX player_last"))
        #expect(try plan { SQLRowValue($0.last, $0.name) == (nil, "b") }.hasPrefix("SEARCH player USING INDEX player_last"))
        // A page after the last row seen is read from there on, in the order of the index.
        let page = Player.filter { SQLRowValue($0.score, $0.id) < (20, 2) }.order { $0.score.descending; $0.id.descending }
        #expect(try db.queryPlan(of: page) == ["SEARCH player USING INDEX player_score (score<?)"])
    }
}

/// Values are compared and written in the form in which a column stores them.
@Suite struct FormTests {
    struct Message: SQLRecord, Equatable {
        var id: Int64
        var sent: Date
        var seen: Date?
        var written: Date
        var key: UUID
        var other: UUID

        static let columnProfiles: [String: ValueProfile] = ["sent": .sap, "seen": .grdb, "key": .sap]
        static let tableName = "message"
    }

    let db: Connection

    init() throws {
        db = try Connection(.memory)
        try db.execute("CREATE TABLE message(id INTEGER PRIMARY KEY, sent, seen, written, key, other)")
        try db.execute("CREATE INDEX message_sent ON message(sent, id)")
        try db.insertAll(
            (1...10).map { id in
                Message(id: Int64(id), sent: at(id), seen: id % 2 == 0 ? at(id) : nil, written: at(id), key: uuid(id), other: uuid(id))
            })
    }

    private func at(_ second: Int) -> Date { Date(timeIntervalSince1970: 1_000_000_000 + Double(second)) }
    private func uuid(_ number: Int) -> UUID { UUID(uuidString: "0A000000-0000-0000-0000-0000000000\(10 + number)") ?? UUID() }

    private func ids(_ condition: (SQLColumns<Message>) -> SQLPredicate) throws -> [Int64] {
        try db.fetchAll(Message.filter(condition).order { $0.id }.select { $0.id })
    }

    @Test func dateFormAppliesInEveryExpression() throws {
        #expect(try ids { $0.sent > at(6) } == [7, 8, 9, 10])
        #expect(try ids { SQLRowValue($0.sent, $0.id) > (at(6), 6) } == [7, 8, 9, 10])
        #expect(try ids { SQLRowValue($0.sent, $0.id) < (at(6), 6) } == [1, 2, 3, 4, 5])
        #expect(try ids { SQLRowValue($0.sent, $0.id).in([(at(6), 6)]) } == [6])
        #expect(try ids { _ in Message.all.select { $0.sent.max() }.scalarSubquery() > at(9) }.count == 10)
        #expect(try ids { SQLCase(when: $0.id > 2, then: $0.sent).otherwise(at(0)) > at(6) } == [7, 8, 9, 10])
        #expect(try ids { ($0.seen ?? at(1)) == at(1) } == [1, 3, 5, 7, 9] && ids { ($0.seen ?? $0.sent) == at(3) } == [3])
        #expect(try ids { $0.sent.in([at(2), at(3)]) } == [2, 3] && ids { $0.sent.between(at(2), and: at(3)) } == [2, 3])
        #expect(try ids { SQLExpression<Date>("max(\($0.sent), 0)", storedAs: .sap) == at(2) } == [2])
        let late = try db.fetchAll(Message.all.group { $0.id % 2 }.having { $0.sent.max() > at(9) }.select { $0.id.max() })
        #expect(late == [10])
        let before = Message.order { $0.id }.select { ($0.id, $0.sent.lag(1).over(SQLWindow(order: $0.id.ascending))) }
        #expect(try db.fetchAll(before).last?.1 == at(9))
    }

    @Test func columnsOfDifferentFormsAreCompared() throws {
        #expect(try ids { $0.sent == $0.written }.count == 10 && ids { $0.sent == $0.seen } == [2, 4, 6, 8, 10])
        #expect(try ids { $0.key == $0.other }.count == 10 && ids { $0.key != $0.other } == [])
        #expect(try ids { $0.sent <= $0.written }.count == 10 && ids { $0.seen < $0.sent } == [])
        #expect(try ids { $0.key.in(Message.filter { $0.id < 3 }.select { $0.other }) } == [1, 2])
        #expect(try ids { message in message.sent == Message.filter { $0.id == message.id }.select { $0.written }.scalarSubquery() }.count == 10)
        let dates = Message.filter { $0.id < 3 }.select { $0.sent }.union(Message.all.select { $0.written })
        #expect(try db.fetchAll(dates).count == 10)
        #expect(try db.fetchAll(Message.all.select { $0.written }.except(Message.all.select { $0.sent })) == [])
        // In one form, an index is used.
        #expect(try db.queryPlan(of: Message.filter { $0.sent == at(3) }).first?.hasPrefix("SEARCH message USING INDEX message_sent") == true)
    }

    @Test func assignedValueIsStoredInColumnForm() throws {
        func forms() throws -> [String] {
            try db.fetchAll(String.self, "SELECT DISTINCT typeof(sent) || ' ' || typeof(seen) || ' ' || typeof(written) || ' ' || typeof(key) FROM message")
        }
        try db.updateAll(Message.all) { message, set in
            set(\.sent, to: SQLCase(when: message.id == 1, then: at(100)).otherwise(at(200)))
            set(\.seen, to: message.sent)
            set(\.written, to: SQLCase(when: message.id == 1, then: message.sent).otherwise(message.written))
            set(\.key, to: message.other)
        }
        #expect(try forms() == ["integer text text text"])
        #expect(try ids { $0.sent == at(100) } == [1] && ids { $0.seen == at(4) } == [4] && ids { $0.key == uuid(5) } == [5])
        let last = try db.updateAll(Message.filter { $0.id == 2 }, returning: { $0.sent }) { _, set in
            set(\.sent, to: Message.all.select { $0.written.max() }.scalarSubquery() ?? at(0))
        }
        #expect(last == [at(10)])
        #expect(try ids { $0.sent == at(10) } == [2])
        let byID = SQLUpsert<Message>(on: \.id).setting { row, new, set in set(\.sent, to: new.written) }
        try db.upsert(Message(id: 3, sent: at(0), seen: nil, written: at(77), key: uuid(3), other: uuid(3)), byID)
        #expect(try ids { $0.sent == at(77) } == [3] && forms() == ["integer text text text"])
    }

    @Test func unconvertibleColumnValueThrows() throws {
        try db.execute("UPDATE message SET written = 'yesterday' WHERE id = 3")
        let error = #expect(throws: DatabaseError.self) { try ids { $0.sent == $0.written } }
        #expect(error?.reason == .typeMismatch && error?.message.contains("yesterday") == false)
        // Untrusted SQL cannot call the conversion.
        #expect(throws: DatabaseError.self) { try db.fetchOne(Int.self, "SELECT sqlcipherkit_form(1, 2)") }
        #expect(throws: DatabaseError.self) { try db.fetchOne(Int.self, "SELECT sqlcipherkit_form(1, \(7))") }
    }

    struct Price: SQLRecord {
        var id: Int64
        var amount: Decimal
        var listed: Decimal
        static let columnProfiles: [String: ValueProfile] = ["listed": ValueProfile(decimals: .text)]
    }

    @Test func orderingTextDecimalsIsRefused() throws {
        try db.execute("CREATE TABLE price(id INTEGER PRIMARY KEY, amount, listed)")
        try db.execute("CREATE INDEX price_amount ON price(amount)")
        try db.insertAll([Price(id: 1, amount: 9, listed: 9), Price(id: 2, amount: 10, listed: 10)])
        #expect(try db.fetchAll(Price.order { $0.amount.descending.nullsLast }.select { $0.id }) == [2, 1])
        #expect(try db.queryPlan(of: Price.order { $0.amount }) == ["SCAN price USING INDEX price_amount"])
        #expect(try db.fetchOne(Price.all.select { $0.amount.max() }) == 10)
        #expect(try db.count(Price.filter { $0.listed == $0.amount }) == 2 && db.count(Price.filter { $0.listed <= $0.amount }) == 2)
        #expect(try db.fetchAll(Price.all.group { $0.listed }.select { _ in .countAll }) == [1, 1])
        for run in [
            { try db.fetchAll(Price.order { $0.listed }) }, { try db.fetchAll(Price.filter { $0.listed < 10 }) },
            { try db.fetchAll(Price.filter { $0.listed < $0.listed }) },
            { try db.fetchAll(Price.filter { _ in Price.all.select { $0.listed.max() }.scalarSubquery() == 9 }) },
        ] as [() throws -> [Price]] {
            let error = #expect(throws: DatabaseError.self) { try run() }
            #expect(error?.reason == .misuse)
        }
    }
}
