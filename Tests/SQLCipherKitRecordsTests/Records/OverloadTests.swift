import Foundation
import KitSupport
import SQLCipherKitCore
import SQLCipherKitRecords
import Testing
import TestSupport

/// Calls that people try, because Swift or another library has them.
@Suite struct OverloadTests {
    enum State: String, Codable, Sendable, CaseIterable { case sent, read, gone }

    struct Meta: Codable, Sendable {
        struct Place: Codable, Sendable { var city: String, zip: String? }
        var place: Place
        var former: Place?
        var stars: Int
    }

    struct Letter: SQLRecord {
        var id: Int64?
        var name: String
        var flags: Int
        var weight: Double?
        var state: State
        var last: State?
        var tags: [String]
        var codes: JSONColumn<[Int]>
        var meta: Meta

        static let table = SQLTable(of: Letter.self) {
            $0.id.primaryKey()
            $0.name.unique()
            $0.flags
            $0.weight
            $0.state
            $0.last
            $0.tags
            $0.codes
            $0.meta
        }
    }

    let db: Connection

    init() throws {
        db = try Connection(.memory)
        try db.create(Letter.table)
        func letter(_ name: String, _ flags: Int, _ weight: Double?, _ state: State, _ last: State?, _ tags: [String]) -> Letter {
            Letter(
                name: name, flags: flags, weight: weight, state: state, last: last, tags: tags, codes: JSONColumn([flags]),
                meta: Meta(place: Meta.Place(city: name, zip: nil), former: weight == nil ? nil : Meta.Place(city: "x", zip: "1"), stars: flags))
        }
        try db.insertAll([
            letter("a", 5, 1.5, .sent, nil, ["x", "y"]), letter("b", 6, nil, .read, .sent, []), letter("c", -3, 2, .gone, .read, ["y"]),
        ])
    }

    private func names(_ condition: (SQLColumns<Letter>) -> SQLPredicate) throws -> [String] {
        try db.fetchAll(Letter.filter(condition).order(\.name).select { $0.name })
    }

    @Test func codableEnumsWorkInQueries() throws {
        #expect(try names { $0.state.in([.sent, .read]) } == ["a", "b"] && names { $0.last.in([.sent]) } == ["b"])
        #expect(try names { $0.last.in([.sent, nil]) } == ["a", "b"] && names { !$0.last.in([.sent, nil]) } == ["c"])
        #expect(try names { $0.state.in(Set([State.gone])) } == ["c"] && names { $0.state.in([]) } == [])
        #expect(try db.fetchAll(Letter.order(\.name).select { $0.state }) == [.sent, .read, .gone])
        #expect(try db.fetchAll(Letter.order(\.name).select { $0.last }) == [nil, .sent, .read])
        #expect(try db.fetchAll(Letter.order(\.name).select { $0.last ?? .gone }) == [.gone, .sent, .read])
        #expect(try db.fetchAll(Letter.order(\.name).select { SQLCase(when: $0.flags > 0, then: State.sent).otherwise($0.state) }) == [.sent, .sent, .gone])
        #expect(try db.fetchAll(Letter.filter { $0.name == "a" }.select { $0.meta }).first?.place.city == "a")
        #expect(try db.updateAll(Letter.filter { $0.name == "a" }, returning: { $0.state }) { _, set in set(\.state, to: .gone) } == [.gone])
    }

    @Test func arithmeticAndBitOperatorsMatchSwift() throws {
        #expect(try names { ($0.flags & 2) == 2 } == ["b"] && names { $0.flags | 1 == 5 } == ["a"])
        #expect(try db.fetchAll(Letter.order(\.name).select { $0.flags << 1 }) == [10, 12, -6])
        #expect(try db.fetchAll(Letter.order(\.name).select { ~$0.flags >> 1 }) == [~5 >> 1, ~6 >> 1, 1])
        #expect(try db.fetchAll(Letter.order(\.name).select { $0.flags * $0.weight }) == [7.5, nil, -6])
        #expect(try db.fetchAll(Letter.order(\.name).select { $0.flags / 2.0 }) == [2.5, 3, -1.5])
        #expect(try names { $0.flags * 1.5 > 7 && $0.weight != nil } == ["a"])
        #expect(try db.fetchAll(Letter.order(\.name).select { $0.weight.cast(to: Int.self) }) == [1, nil, 2])
        #expect(try db.fetchAll(Letter.order(\.name).select { $0.flags.cast(to: String.self) }) == ["5", "6", "-3"])
        #expect(try db.fetchAll(Letter.order(\.name).select { ($0.flags.cast(to: Double.self) / 4).rounded() }) == [1, 2, -1])
    }

    @Test func jsonColumnsSupportContainsAndKeyPaths() throws {
        #expect(try names { $0.tags.contains("y") } == ["a", "c"] && names { !$0.tags.contains("x") } == ["b", "c"])
        #expect(try names { $0.codes.contains(6) } == ["b"])
        #expect(try names { $0.meta.json(\.place.city) == "b" } == ["b"] && names { $0.meta.json(\.former?.zip) == "1" } == ["a", "c"])
        #expect(try names { $0.meta.json(\.stars) == 5 } == ["a"])
        #expect(try db.sql(of: Letter.filter { $0.meta.json(\.place.zip) == "1" }).text.contains("'$.place.zip'"))
        let error = #expect(throws: DatabaseError.self) { try names { $0.meta.json(\.place.city.count) == 1 } }
        #expect(error?.reason == .invalidArgument)
        try db.main.createJSONIndex("letter_city", on: "letter", column: "meta", "place", "city")
        #expect(try db.queryPlan(of: Letter.filter { $0.meta.json(\.place.city) == "b" }) == ["SEARCH letter USING INDEX letter_city (<expr>=?)"])
    }

    @Test func queryShorthandsWork() throws {
        #expect(try db.fetchAll(Letter.order(\.flags, \.name)).map(\.name) == ["c", "a", "b"])
        #expect(try db.count(Letter.all.distinct()) == 3 && db.fetchAll(Letter.all.group { $0.state }.select { _ in .countAll }) == [1, 1, 1])
        #expect(try db.fetchSet(Letter.select { $0.flags > 0 }) == [true, false])
        #expect(try db.find(Letter.self, id: 1).name == "a")
        let missing = #expect(throws: DatabaseError.self) { try db.find(Letter.self, id: 9) }
        #expect(missing?.reason == .recordNotFound)
        func letter(_ name: String) -> Letter {
            let meta = Meta(place: .init(city: "", zip: nil), stars: 0)
            return Letter(name: name, flags: 0, state: .sent, tags: [], codes: JSONColumn([]), meta: meta)
        }
        let found = try db.findOrInsert(letter("b"), on: \.name)
        #expect(found.id == 2 && found.flags == 6)
        let made = try db.findOrInsert(letter("d"), on: \.name)
        #expect(made.id == 4)
        #expect(try db.delete(Letter.self, ids: [4, 1, 77]) == 2 && db.fetchAll(Letter.order(\.id).select { $0.id }) == [2, 3])
        let none: [Int64] = []
        #expect(try db.delete(Letter.self, ids: none) == 0)
        let region = try DatabaseRegion(Letter.filter { $0.flags > 3 }.select { $0.name }, in: db)
        #expect(region.description.contains("flags") && region.description.contains("name") && !region.description.contains("weight"))
    }

    @Test func lengthAndCountExpressionsWork() throws {
        #expect(try names { $0.name.length == 1 }.count == 3)
        #expect(try db.fetchOne(Letter.select { ($0.weight.count(), $0.name.countDistinct()) })?.0 == 2)
    }
}
