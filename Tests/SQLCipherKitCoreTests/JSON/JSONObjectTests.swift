import Foundation
import SQLCipherKitCore
import Testing
import TestSupport

/// An object of JSON beside a plain list of members, and what its operations cost.
@Suite struct JSONObjectTests {
    @Test func randomJSONObjectChangesMatchMemberList() throws {
        var random = SeededGenerator()
        for _ in 0..<(LongTests.areOn ? 2_000 : 40) {
            var object = JSONObject(), members: [(key: String, value: JSONValue)] = []
            let names = (0..<Int.random(in: 1...60, using: &random)).map { "k\($0)" }
            for _ in 0..<120 {
                let key = names.randomElement(using: &random) ?? "", place = members.firstIndex { $0.key == key }
                switch Int.random(in: 0..<3, using: &random) {
                case 0:
                    object[key] = nil
                    if let place { members.remove(at: place) }
                case 1:
                    let value = JSONValue.integer(Int64.random(in: 0..<100, using: &random))
                    object[key] = value
                    if let place { members[place].value = value } else { members.append((key, value)) }
                default:
                    object[key]?["deep"] = 1
                    if let place { members[place].value["deep"] = 1 }
                }
                #expect(object.map(\.key) == members.map(\.key))
                #expect(object.map(\.value) == members.map(\.value))
                #expect(object.reversed().map(\.key) == members.reversed().map(\.key))
                #expect(object.count == members.count && object.keys == members.map(\.key))
                #expect(names.allSatisfy { name in object[name] == members.first { $0.key == name }?.value })
            }
            var again = JSONObject()
            for member in members.reversed() { again[member.key] = member.value }
            #expect(object == again && object.hashValue == again.hashValue)
        }
    }

    /// Nothing becomes an object by setting nothing.
    @Test func settingNilMemberKeepsNonObjects() {
        var values: [JSONValue] = [.null, 1, "x", [1], [:]]
        let before = values
        for index in values.indices {
            values[index]["a"] = nil
            values[index]["a"]?["b"] = 2
        }
        #expect(values == before)
        values[0]["a"] = 1
        #expect(values[0] == ["a": 1])
        values[1]["a"] = 1
        #expect(values[1] == 1)
    }

    /// Ten times the members take about ten times as long, whatever is done with each.
    @Test(arguments: ["set", "nested", "removeFirst", "removeLast", "removeRandom", "iterate"])
    func jsonObjectOperationsTakeLinearTime(_ operation: String) {
        var random = SeededGenerator(state: 7)
        func time(_ count: Int) -> Duration {
            let keys = (0..<count).map { "key \($0)" }, mixed = keys.shuffled(using: &random)
            var object = JSONObject()
            if operation != "set" { for key in keys { object[key] = 1 } }
            var root: JSONValue = ["object": .object(JSONObject())]
            var sum = 0
            // Of this thread: other tests run meanwhile.
            return processorTime {
                switch operation {
                case "set": for key in keys { object[key] = 1 }
                case "nested": for key in keys { root["object"]?[key] = ["x": 1] }
                case "removeFirst": for key in keys { object[key] = nil }
                case "removeLast": for key in keys.reversed() { object[key] = nil }
                case "removeRandom": for key in mixed { object[key] = nil }
                default: for member in object { sum += member.key.utf8.count }
                }
            }
        }
        _ = time(1_000)
        let count = LongTests.areOn ? 100_000 : 40_000
        let few = (0..<3).map { _ in time(count / 10) }.min() ?? .zero, many = (0..<3).map { _ in time(count) }.min() ?? .zero
        #expect(many < few * 40, "\(operation): \(count / 10) take \(few), \(count) \(many)")
    }

    /// Every Decimal that is written into JSON is read back, at the full width of its 128 bits.
    @Test func decimalsRoundTripThroughJSON() throws {
        let db = try Connection(.memory)
        var random = SeededGenerator()
        var wide = 0
        for _ in 0..<(LongTests.areOn ? 2_000 : 500) {
            let value = Decimal(Int.random(in: 1...1_000, using: &random)) / Decimal(Int.random(in: 1...1_000, using: &random))
            if value.description.filter(\.isNumber).drop(while: { $0 == "0" }).count == 39 { wide += 1 }
            for signed in [value, -value] {
                let back = try #require(try db.fetchOne(JSONColumn<[Decimal]>.self, "SELECT ?", [JSONColumn([signed])]))
                #expect(back.value == [signed])
                let tree = try #require(try db.fetchOne(JSONValue.self, "SELECT ?", [JSONColumn([signed])]))
                #expect(tree[0]?.decimalValue == signed)
            }
        }
        #expect(wide > (LongTests.areOn ? 100 : 25))
        // The greatest number plus one: 2^128.
        let error = #expect(throws: (any Error).self) {
            try db.fetchOne(JSONColumn<[Decimal]>.self, "SELECT '[340282366920938463463374607431768211456]'")
        }
        #expect(error != nil)
    }
}
