import SQLCipherKit
import Testing

/// Keeps the containers that it is given, which no type should.
private struct Keeper: Codable {
    enum Keys: String, CodingKey { case a, b, c }

    nonisolated(unsafe) static var decoding: [KeyedDecodingContainer<Keys>] = []
    nonisolated(unsafe) static var encoding: [KeyedEncodingContainer<Keys>] = []
    var a: Int?

    init(a: Int) { self.a = a }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        Self.decoding.append(container)
        a = try container.decodeIfPresent(Int.self, forKey: .a)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        Self.encoding.append(container)
        try container.encode(a, forKey: .a)
    }
}

@Suite(.serialized) struct KeptContainerTests {
    private struct Other: Codable { var a: Int, b: String }

    @Test func aContainerThatOutlivesItsRowHasNothing() throws {
        for _ in 0..<3 {
            do {
                let db = try Connection(.memory)
                try db.execute("CREATE TABLE t(a INTEGER, b TEXT)")
                try db.insert(Keeper(a: 1), into: "t")
                try db.insert(Keeper(a: 2), into: "t")
                #expect(try db.fetchAll(decoding: Keeper.self, "SELECT a, 'x' AS b FROM t").map(\.a) == [1, 2])
                try expectNothing()
            }
            try expectNothing()
            // Others take their places.
            let db = try Connection(.memory)
            try db.execute("CREATE TABLE t(a INTEGER, b TEXT)")
            for number in 0..<10 {
                try db.insert(Other(a: number, b: "b"), into: "t")
                let sql = SQL(raw: "SELECT a, b, \(number) FROM t")
                try db.forEach(sql) { row in
                    _ = try row.decode(Other.self)
                    try expectNothing()
                }
            }
        }
        Keeper.decoding = []
        Keeper.encoding = []
    }

    private func expectNothing() throws {
        for container in Keeper.decoding {
            for _ in 0..<2 {
                #expect(throws: DatabaseError.self) { try container.decode(Int.self, forKey: .a) }
                #expect(throws: DatabaseError.self) { try container.decode([Int].self, forKey: .c) }
                #expect(throws: DatabaseError.self) { try container.decodeIfPresent(String.self, forKey: .b) }
                #expect(throws: DatabaseError.self) { try container.decodeNil(forKey: .b) }
                #expect(throws: DatabaseError.self) { try container.superDecoder() }
                #expect(!container.contains(.a) && container.allKeys.isEmpty)
            }
        }
        for var container in Keeper.encoding where Keeper.decoding.isEmpty == false {
            // Nothing is bound by it: it throws, or is not asked for its values any more.
            try? container.encode(7, forKey: .a)
            try? container.encode([7], forKey: .c)
            _ = container.superEncoder()
        }
    }
}
