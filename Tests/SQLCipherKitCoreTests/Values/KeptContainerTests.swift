import Foundation
import SQLCipherKitCore
import Testing
import TestSupport

/// Keeps the containers that it is given, which no type should.
private struct Keeper: Codable {
    enum Keys: String, CodingKey { case a, b, c }

    nonisolated(unsafe) static var decoding: [KeyedDecodingContainer<Keys>] = []
    nonisolated(unsafe) static var decoders: [any Decoder] = []
    nonisolated(unsafe) static var encoding: [KeyedEncodingContainer<Keys>] = []
    var a: Int?

    init(a: Int) { self.a = a }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        Self.decoding.append(container)
        Self.decoders += [decoder, try container.superDecoder(), try container.superDecoder(forKey: .b)]
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

    @Test func containerThatOutlivesItsRowThrows() throws {
        for _ in 0..<2 {
            do {
                let db = try Connection(.memory)
                try db.execute("CREATE TABLE t(a INTEGER, b TEXT)")
                try db.insert(Keeper(a: 1), into: "t")
                try db.insert(Keeper(a: 2), into: "t")
                #expect(try db.fetchAll(Keeper.self, "SELECT a, 'x' AS b FROM t").map(\.a) == [1, 2])
                try expectNothing()
            }
            try expectNothing()
            // Others take their places.
            let db = try Connection(.memory)
            try db.execute("CREATE TABLE t(a INTEGER, b TEXT)")
            for number in 0..<(LongTests.areOn ? 10 : 3) {
                try db.insert(Other(a: number, b: "b"), into: "t")
                let sql = SQL(raw: "SELECT a, b, \(number) FROM t")
                try db.forEach(sql) { row in
                    _ = try row.decode(Other.self)
                    try expectNothing()
                }
            }
        }
        Keeper.decoding = []
        Keeper.decoders = []
        Keeper.encoding = []
    }

    /// Each method of the protocol that reads a value.
    private static let reads: [@Sendable (KeyedDecodingContainer<Keeper.Keys>, Keeper.Keys) throws -> Any?] = [
        { try $0.decode(Bool.self, forKey: $1) }, { try $0.decodeIfPresent(Bool.self, forKey: $1) },
        { try $0.decode(String.self, forKey: $1) }, { try $0.decodeIfPresent(String.self, forKey: $1) },
        { try $0.decode(Double.self, forKey: $1) }, { try $0.decodeIfPresent(Double.self, forKey: $1) },
        { try $0.decode(Float.self, forKey: $1) }, { try $0.decodeIfPresent(Float.self, forKey: $1) },
        { try $0.decode(Int.self, forKey: $1) }, { try $0.decodeIfPresent(Int.self, forKey: $1) },
        { try $0.decode(Int8.self, forKey: $1) }, { try $0.decodeIfPresent(Int8.self, forKey: $1) },
        { try $0.decode(Int16.self, forKey: $1) }, { try $0.decodeIfPresent(Int16.self, forKey: $1) },
        { try $0.decode(Int32.self, forKey: $1) }, { try $0.decodeIfPresent(Int32.self, forKey: $1) },
        { try $0.decode(Int64.self, forKey: $1) }, { try $0.decodeIfPresent(Int64.self, forKey: $1) },
        { try $0.decode(UInt.self, forKey: $1) }, { try $0.decodeIfPresent(UInt.self, forKey: $1) },
        { try $0.decode(UInt8.self, forKey: $1) }, { try $0.decodeIfPresent(UInt8.self, forKey: $1) },
        { try $0.decode(UInt16.self, forKey: $1) }, { try $0.decodeIfPresent(UInt16.self, forKey: $1) },
        { try $0.decode(UInt32.self, forKey: $1) }, { try $0.decodeIfPresent(UInt32.self, forKey: $1) },
        { try $0.decode(UInt64.self, forKey: $1) }, { try $0.decodeIfPresent(UInt64.self, forKey: $1) },
        { try $0.decode(Data.self, forKey: $1) }, { try $0.decodeIfPresent(Data.self, forKey: $1) },
        { try $0.decode([Int].self, forKey: $1) }, { try $0.decodeIfPresent([Int].self, forKey: $1) },
        { container, key in try container.decodeNil(forKey: key) }, { container, _ in try container.superDecoder() },
        { try $0.superDecoder(forKey: $1) }, { try $0.nestedContainer(keyedBy: Keeper.Keys.self, forKey: $1) },
        { try $0.nestedUnkeyedContainer(forKey: $1) },
    ]

    private func expectNothing() throws {
        for decoder in Keeper.decoders {
            #expect(throws: (any Error).self) { try decoder.container(keyedBy: Keeper.Keys.self).decode(Int.self, forKey: .a) }
            #expect(throws: (any Error).self) { try decoder.singleValueContainer().decode(Int.self) }
            #expect(throws: (any Error).self) { try decoder.singleValueContainer().decode([Int].self) }
            #expect(throws: (any Error).self) { try decoder.unkeyedContainer() }
        }
        for container in Keeper.decoding {
            for _ in 0..<2 {
                for read in Self.reads {
                    for key in [Keeper.Keys.a, .c] { #expect(throws: DatabaseError.self) { try read(container, key) } }
                }
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
