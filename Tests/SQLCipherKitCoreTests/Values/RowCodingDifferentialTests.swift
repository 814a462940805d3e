import Foundation
import SQLCipherKitCore
import Testing
import TestSupport

/// Types that code themselves in each way that `Codable` has: a row has in its columns what Foundation's JSON has under its keys,
/// and is decoded to the same value.
@Suite struct RowCodingDifferentialTests {
    /// The ways to code a part within its container.
    enum Way: CaseIterable { case value, nested, `super`, single }

    struct Member: Equatable {
        let key: String
        let way: Way
        let node: Node
    }

    indirect enum Node: Equatable {
        case int(Int), text(String), bool(Bool), null
        case list([Member]), object([Member])

        static func random(_ depth: Int, _ random: inout SeededGenerator) -> Node {
            switch Int.random(in: 0..<(depth > 0 ? 7 : 4), using: &random) {
            case 0: .int(Int.random(in: -9...9, using: &random))
            case 1: .text(["", "a", "{}", "é\u{1}\"", "1"].randomElement(using: &random)!)
            case 2: .bool(.random(using: &random))
            case 3: .null
            case 4: .list(members(depth, &random))
            default: .object(members(depth, &random))
            }
        }

        static func members(_ depth: Int, _ random: inout SeededGenerator, _ count: Int? = nil) -> [Member] {
            (0..<(count ?? Int.random(in: 0..<4, using: &random))).map { index in
                Member(key: "c\(index)", way: Way.allCases.randomElement(using: &random)!, node: .random(depth - 1, &random))
            }
        }
    }

    struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// A value that is coded as its node says; decoding follows the node of the task.
    struct Coded: Codable, Equatable {
        @TaskLocal static var node = Node.null
        let node: Node

        init(_ node: Node) { self.node = node }

        func encode(to encoder: any Encoder) throws {
            switch node {
            case .list(let members):
                var list = encoder.unkeyedContainer()
                try Self.write(members, &list)
            case .object(let members):
                var object = encoder.container(keyedBy: Key.self)
                try Self.write(members, &object)
            case .int(let value): try Self.single(value, encoder)
            case .text(let value): try Self.single(value, encoder)
            case .bool(let value): try Self.single(value, encoder)
            case .null:
                var single = encoder.singleValueContainer()
                try single.encodeNil()
            }
        }

        private static func single<T: Encodable>(_ value: T, _ encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(value)
        }

        private static func write(_ members: [Member], _ list: inout any UnkeyedEncodingContainer) throws {
            for member in members {
                switch (member.way, member.node) {
                case (.nested, .list(let members)):
                    var inner = list.nestedUnkeyedContainer()
                    try write(members, &inner)
                case (.nested, .object(let members)):
                    var inner = list.nestedContainer(keyedBy: Key.self)
                    try write(members, &inner)
                case (.super, _): try Coded(member.node).encode(to: list.superEncoder())
                case (.single, _): try list.encode(Single(Coded(member.node)))
                default: try list.encode(Coded(member.node))
                }
            }
        }

        private static func write(_ members: [Member], _ object: inout KeyedEncodingContainer<Key>) throws {
            for member in members {
                let key = Key(stringValue: member.key)
                switch (member.way, member.node) {
                case (.nested, .list(let members)):
                    var inner = object.nestedUnkeyedContainer(forKey: key)
                    try write(members, &inner)
                case (.nested, .object(let members)):
                    var inner = object.nestedContainer(keyedBy: Key.self, forKey: key)
                    try write(members, &inner)
                case (.super, _): try Coded(member.node).encode(to: object.superEncoder(forKey: key))
                case (.single, _): try object.encode(Single(Coded(member.node)), forKey: key)
                default: try object.encode(Coded(member.node), forKey: key)
                }
            }
        }

        init(from decoder: any Decoder) throws {
            switch Self.node {
            case .list(let members):
                var list = try decoder.unkeyedContainer()
                node = .list(try Self.read(members, &list))
            case .object(let members): node = .object(try Self.read(members, decoder.container(keyedBy: Key.self)))
            case .int: node = .int(try decoder.singleValueContainer().decode(Int.self))
            case .text: node = .text(try decoder.singleValueContainer().decode(String.self))
            case .bool: node = .bool(try decoder.singleValueContainer().decode(Bool.self))
            case .null:
                let isNull = try decoder.singleValueContainer().decodeNil()
                node = isNull ? .null : .text("no null")
            }
        }

        private static func read(_ members: [Member], _ list: inout any UnkeyedDecodingContainer) throws -> [Member] {
            try members.map { member in
                let node: Node
                switch (member.way, member.node) {
                case (.nested, .list(let members)):
                    var inner = try list.nestedUnkeyedContainer()
                    node = .list(try read(members, &inner))
                case (.nested, .object(let members)):
                    node = .object(try read(members, list.nestedContainer(keyedBy: Key.self)))
                case (_, .null): node = try list.decodeNil() ? .null : .text("no null")
                case (.super, _): node = try $node.withValue(member.node) { try Coded(from: list.superDecoder()).node }
                case (.single, _): node = try $node.withValue(member.node) { try list.decode(Single<Coded>.self).value.node }
                default: node = try $node.withValue(member.node) { try list.decode(Coded.self).node }
                }
                return Member(key: member.key, way: member.way, node: node)
            }
        }

        private static func read(_ members: [Member], _ object: KeyedDecodingContainer<Key>) throws -> [Member] {
            try members.map { member in
                let key = Key(stringValue: member.key), node: Node
                switch (member.way, member.node) {
                case (.nested, .list(let members)):
                    var inner = try object.nestedUnkeyedContainer(forKey: key)
                    node = .list(try read(members, &inner))
                case (.nested, .object(let members)):
                    node = .object(try read(members, object.nestedContainer(keyedBy: Key.self, forKey: key)))
                case (_, .null): node = try object.decodeNil(forKey: key) ? .null : .text("no null")
                case (.super, _): node = try $node.withValue(member.node) { try Coded(from: object.superDecoder(forKey: key)).node }
                case (.single, _):
                    node = try $node.withValue(member.node) { try object.decode(Single<Coded>.self, forKey: key).value.node }
                default: node = try $node.withValue(member.node) { try object.decode(Coded.self, forKey: key).node }
                }
                return Member(key: member.key, way: member.way, node: node)
            }
        }
    }

    /// A type that codes itself as another value.
    struct Single<Value: Codable & Equatable>: Codable, Equatable {
        let value: Value
        init(_ value: Value) { self.value = value }
        init(from decoder: any Decoder) throws { value = try decoder.singleValueContainer().decode(Value.self) }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(value)
        }
    }

    @Test func rowsCodeAsFoundationDoes() throws {
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE t(c0, c1, c2, c3, c4)")
        for round in LongTests.seeds(300, of: 20_000) {
            var random = SeededGenerator(Int(round), of: "row coding")
            let node = Node.object(Node.members(3, &random, 5))
            let json = try JSONEncoder().encode(Coded(node))
            try Coded.$node.withValue(node) {
                #expect(try JSONDecoder().decode(Coded.self, from: json) == Coded(node))
                try db.execute("DELETE FROM t")
                // As a type with columns, or as one that codes itself as such a type.
                if round % 2 == 0 { try db.insert(Coded(node), into: "t") } else { try db.insert(Single(Coded(node)), into: "t") }
                #expect(try db.fetchOne(Coded.self, "SELECT * FROM t") == Coded(node), "seed \(Seed.value), round \(round): \(node)")
                #expect(try db.fetchOne(Single<Coded>.self, "SELECT * FROM t") == Single(Coded(node)), "seed \(Seed.value), round \(round)")
            }
            let members = try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
            let row = try #require(try db.fetchOne(OwnedRow.self, "SELECT * FROM t")).values
            for (index, value) in row.enumerated() {
                let wanted = members["c\(index)"]
                let found: Any?
                switch value {
                case .null: found = NSNull()
                case .integer(let number): found = number
                case .text(let text):
                    let isDocument = wanted is [Any] || wanted is [String: Any]
                    found = isDocument ? try JSONSerialization.jsonObject(with: Data(text.utf8)) : text
                default: found = nil
                }
                #expect((found as? NSObject) == (wanted as? NSObject), "seed \(Seed.value), round \(round), c\(index): \(node)")
            }
        }
    }

    @Test func wideIntegersAreStoredWhereTheyFit() throws {
        struct Wide: Codable, Equatable { var c0: Int128, c1: UInt128?, c2: [Int128] }
        let db = try Connection(.memory)
        try db.execute("CREATE TABLE t(c0, c1, c2)")
        let wide = Wide(c0: Int128(Int64.min), c1: 7, c2: [.max])
        try db.insert(wide, into: "t")
        #expect(try db.fetchOne(Wide.self, "SELECT * FROM t") == wide)
        #expect(try db.fetchOne(Int128.self, "SELECT c0 FROM t") == Int128(Int64.min))
        let error = #expect(throws: DatabaseError.self) { try db.insert(Wide(c0: .max, c1: nil, c2: []), into: "t") }
        #expect(error?.reason == .invalidArgument)
    }
}
