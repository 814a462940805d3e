import Foundation
import KitSupport
import SQLCipherKitCore
import Testing

/// JSONB against `JSONEncoder`, `JSONDecoder` and the engine.
@Suite struct JSONBCodingTests {
    let db: Connection

    init() throws { db = try Connection(.memory) }

    /// A value goes all ways there are between Swift, JSONB and text, and stays the same.
    private func check<T: Codable & Equatable>(
        _ value: T, options: JSONCodingOptions = JSONCodingOptions(), encoder: JSONEncoder = JSONEncoder(),
        decoder: JSONDecoder = JSONDecoder(), location: SourceLocation = #_sourceLocation
    ) throws {
        let jsonb = try JSONBEncoder(options: options).encode(value)
        #expect(try db.fetchOne(Bool.self, "SELECT json_valid(\(jsonb), 8)") == true, sourceLocation: location)
        #expect(try JSONBDecoder(options: options).decode(T.self, from: jsonb) == value, sourceLocation: location)

        let engineText = try #require(try db.fetchOne(String.self, "SELECT json(\(jsonb))"))
        #expect(try decoder.decode(T.self, from: Data(engineText.utf8)) == value, sourceLocation: location)
        let ownText = try JSONBEncoder(options: options).encodeText(value)
        #expect(try decoder.decode(T.self, from: Data(ownText.utf8)) == value, sourceLocation: location)
        #expect(try JSONBDecoder(options: options).decode(T.self, fromText: ownText) == value, sourceLocation: location)

        let foundationText = String(decoding: try encoder.encode(value), as: UTF8.self)
        let engineJSONB = try #require(try db.fetchOne(Data.self, "SELECT jsonb(\(foundationText))"))
        #expect(try JSONBDecoder(options: options).decode(T.self, from: engineJSONB) == value, sourceLocation: location)
        #expect(try JSONBDecoder(options: options).decode(T.self, fromText: foundationText) == value, sourceLocation: location)
        // The very same document, but for 2.0 in place of 2, and the order of sets and dictionaries.
        #expect(try JSONValue(jsonb: jsonb).comparable == JSONValue(text: foundationText).comparable, sourceLocation: location)
    }

    @Test func jsonbRoundTripsNumbers() throws { try check(Corpus.Numbers()) }
    @Test func jsonbRoundTripsTexts() throws { try check(Corpus.Texts()) }
    @Test func jsonbRoundTripsFoundationTypes() throws { try check(Corpus.Foundations()) }
    @Test func jsonbRoundTripsContainers() throws { try check(Corpus.Containers()) }
    @Test func jsonbRoundTripsInterleavedContainers() throws { try check(Corpus.Interleaved()) }

    @Test func jsonbRoundTripsOptionals() throws {
        try check(Corpus.Optionals(missing: nil, text: nil, list: [1, nil, 3], nested: ["a": nil, "b": 2], inner: nil))
        try check(Corpus.Optionals(missing: 1, text: "t", list: [], nested: [:], inner: .init(flag: nil)))
        try check(Corpus.NullOrMissing(.none))
        try check(Corpus.NullOrMissing(.some(.none)))
        try check(Corpus.NullOrMissing(7))
        #expect(try JSONBEncoder().encode(Corpus.NullOrMissing(.none)) != JSONBEncoder().encode(Corpus.NullOrMissing(.some(.none))))
    }

    /// Calls the `encodeNil` of each container, which optional values do not.
    private struct Nulls: Encodable {
        enum Keys: CodingKey { case first, list }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            try container.encodeNil(forKey: .first)
            var list = container.nestedUnkeyedContainer(forKey: .list)
            try list.encodeNil()
            try list.encode(1)
            var single = list.superEncoder().singleValueContainer()
            try single.encodeNil()
        }
    }

    @Test func encodeNilWritesNullInEachContainer() throws {
        #expect(try JSONBEncoder().encodeText(Nulls()) == #"{"first":null,"list":[null,1,null]}"#)
        #expect(try db.fetchOne(String.self, "SELECT json(\(JSONBEncoder().encode(Nulls())))") == #"{"first":null,"list":[null,1,null]}"#)
    }

    @Test func jsonbRoundTripsTopLevelValues() throws {
        try check(1)
        try check("text")
        try check(true)
        try check(2.5)
        try check(Int?.none)
        try check([Int]())
        try check([String: Int]())
        try check(Corpus.Empty())
        try check(Decimal(string: "1.50"))
        try check(UUID())
        try check(Corpus.Wrapper(Corpus.Wrapper([Corpus.Wrapper("x")])))
        try check(Corpus.Wrapper(Corpus.Wrapper(Corpus.Empty())))
        try check([Data([1]), Data()])
        try check(UInt64.max)
        try check(Int64.min)
        #expect(try JSONBDecoder().decode(Int128.self, from: JSONBEncoder().encode(Int128.max)) == .max)
        #expect(try JSONBDecoder().decode([UInt128].self, from: JSONBEncoder().encode([UInt128.max])) == [.max])
    }

    /// The standard library has methods of its own for these, which refuse them.
    @Test func jsonbRoundTrips128BitIntegersInEachContainer() throws {
        struct Wide: Codable, Equatable {
            var signed: Int128
            var unsigned: UInt128
        }
        struct List: Codable, Equatable {
            var signed: Int128
            var unsigned: UInt128

            init(_ signed: Int128, _ unsigned: UInt128) {
                self.signed = signed
                self.unsigned = unsigned
            }

            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                signed = try container.decode(Int128.self)
                unsigned = try container.decode(UInt128.self)
            }

            func encode(to encoder: any Encoder) throws {
                var container = encoder.unkeyedContainer()
                try container.encode(signed)
                try container.encode(unsigned)
            }
        }
        let wide = Wide(signed: .min, unsigned: .max), list = List(.min, .max)
        #expect(try JSONBDecoder().decode(Wide.self, from: JSONBEncoder().encode(wide)) == wide)
        #expect(try JSONBDecoder().decode(List.self, from: JSONBEncoder().encode(list)) == list)
    }

    @Test func jsonbRoundTripsSubclasses() throws {
        let dog = Corpus.Dog()
        dog.name = "Rex"
        let jsonb = try JSONBEncoder().encode(dog)
        #expect(try db.fetchOne(Bool.self, "SELECT json_valid(\(jsonb), 8)") == true)
        #expect(try JSONBDecoder().decode(Corpus.Dog.self, from: jsonb).name == "Rex")
        #expect(try JSONValue(jsonb: jsonb).comparable == JSONValue(text: String(decoding: JSONEncoder().encode(dog), as: UTF8.self)).comparable)
    }

    @Test func jsonbDateStrategiesMatchFoundation() throws {
        let dates = [Date(timeIntervalSince1970: 1_700_000_000.25), Date(timeIntervalSince1970: -1), Date(timeIntervalSinceReferenceDate: 0)]
        var options = JSONCodingOptions()
        let encoder = JSONEncoder()
        let decoder = JSONDecoder()
        options.dates = .deferredToDate
        try check(dates + [Date(timeIntervalSinceReferenceDate: 779_186_123.456_789_1)], options: options)
        options.dates = .secondsSince1970
        encoder.dateEncodingStrategy = .secondsSince1970
        decoder.dateDecodingStrategy = .secondsSince1970
        try check(dates, options: options, encoder: encoder, decoder: decoder)
        options.dates = .millisecondsSince1970
        encoder.dateEncodingStrategy = .millisecondsSince1970
        decoder.dateDecodingStrategy = .millisecondsSince1970
        try check(dates, options: options, encoder: encoder, decoder: decoder)
        options.dates = .iso8601
        encoder.dateEncodingStrategy = .iso8601
        decoder.dateDecodingStrategy = .iso8601
        let iso = try JSONBEncoder(options: options).encode(["d": dates[0]])
        #expect(try JSONBDecoder(options: options).decode([String: Date].self, from: iso)["d"] == dates[0])
        #expect(try db.fetchOne(String.self, "SELECT strftime('%Y-%m-%d %H:%M:%f', \(iso) ->> '$.d')") == "2023-11-14 22:13:20.250")
        let foundation = String(decoding: try encoder.encode(dates), as: UTF8.self)
        #expect(try JSONBDecoder(options: options).decode([Date].self, fromText: foundation) == dates.map {
            Date(timeIntervalSince1970: $0.timeIntervalSince1970.rounded(.down))
        })
        options.dates = .custom(
            encode: { date, encoder in try ["at": date.timeIntervalSince1970].encode(to: encoder) },
            decode: { decoder in Date(timeIntervalSince1970: try [String: Double](from: decoder)["at"] ?? 0) })
        let custom = try JSONBEncoder(options: options).encode(dates)
        #expect(try JSONValue(jsonb: custom)[0] == ["at": 1_700_000_000.25])
        #expect(try JSONBDecoder(options: options).decode([Date].self, from: custom) == dates)
        #expect(throws: EncodingError.self) {
            options.dates = .iso8601
            _ = try JSONBEncoder(options: options).encode(Date.distantFuture.addingTimeInterval(1e12))
        }
    }

    @Test func nonConformingFloatsThrowOrUseTheirStrings() throws {
        for value in [Double.nan, .infinity, -.infinity] {
            #expect(throws: EncodingError.self) { try JSONBEncoder().encode(value) }
            #expect(throws: EncodingError.self) { try JSONBEncoder().encode(["x": Float(value)]) }
        }
        #expect(throws: EncodingError.self) { try JSONBEncoder().encode(Decimal.nan) }
        var options = JSONCodingOptions()
        options.nonConformingFloats = .convertToString(positiveInfinity: "+oo", negativeInfinity: "-oo", nan: "none")
        let bytes = try JSONBEncoder(options: options).encode([Double.infinity, -.infinity, 1, .nan])
        let back = try JSONBDecoder(options: options).decode([Double].self, from: bytes)
        #expect(back[..<3] == [.infinity, -.infinity, 1] && back[3].isNaN)
        #expect(try JSONBDecoder(options: options).decode([Float].self, from: bytes)[1] == -.infinity)
        // SQLite's own infinity is beyond a Double.
        let sqlite = try #require(try db.fetchOne(Data.self, "SELECT jsonb_array(9e999)"))
        #expect(throws: DecodingError.self) { try JSONBDecoder().decode([Double].self, from: sqlite) }
        #expect(try JSONValue(jsonb: sqlite) == [.real(.infinity)])
    }

    @Test func deferredDataIsEncodedAsArrayOfNumbers() throws {
        var options = JSONCodingOptions()
        options.data = .deferredToData
        let bytes = try JSONBEncoder(options: options).encode(Data([1, 2]))
        #expect(try JSONValue(jsonb: bytes) == [1, 2])
        #expect(try JSONBDecoder(options: options).decode(Data.self, from: bytes) == Data([1, 2]))
    }

    @Test func userInfoReachesEncodersAndDecoders() throws {
        struct Reader: Codable {
            let text: String
            static let key = CodingUserInfoKey(rawValue: "k")
            init(from decoder: any Decoder) throws { text = Self.key.flatMap { decoder.userInfo[$0] as? String } ?? "" }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(Self.key.flatMap { encoder.userInfo[$0] as? String } ?? "")
            }
        }
        var options = JSONCodingOptions()
        if let key = Reader.key { options.userInfo[key] = "seen" }
        let reader = try JSONBDecoder(options: options).decode([Reader].self, from: JSONBEncoder().encode([1]))[0]
        #expect(reader.text == "seen")
        #expect(try JSONBEncoder(options: options).encodeText([reader]) == #"["seen"]"#)
    }

    /// The last value of a key that is written twice counts, and the first of a key that stands twice in a document.
    @Test func duplicateKeyLastWriteWinsAndFirstReadWins() throws {
        struct Twice: Encodable {
            let count: Int
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Corpus.Interleaved.Keys.self)
                var others = encoder.container(keyedBy: Key.self)
                try container.encode(1, forKey: .a)
                try container.encode([1, 2], forKey: .b)
                var nested = container.nestedUnkeyedContainer(forKey: .c)
                for index in 0..<count { try others.encode(index, forKey: Key(stringValue: "k\(index)")) }
                try container.encode(2, forKey: .a)
                try nested.encode("late")
            }
            struct Key: CodingKey {
                let stringValue: String
                let intValue: Int? = nil
                init(stringValue: String) { self.stringValue = stringValue }
                init?(intValue: Int) { nil }
            }
        }
        for count in [0, 10, 28, 29, 30, 200] {
            let bytes = try JSONBEncoder().encode(Twice(count: count))
            let value = try JSONValue(jsonb: bytes)
            #expect(value["a"] == 2 && value["b"] == [1, 2] && value["c"] == ["late"] && value.objectValue?.count == 3 + count)
            #expect(try db.fetchOne(Bool.self, "SELECT json_valid(\(bytes), 8)") == true)
        }
        for filler in [0, 3, 100] {
            let more = (0..<filler).map { ",\"f\($0)\":0" }.joined()
            let document = "{\"a\":1,\"b\":2\(more),\"\\u0061\":3,\"b\":4,\"c\":5}"
            #expect(try JSONBDecoder().decode([String: Int].self, fromText: document).filter { !$0.key.hasPrefix("f") } == ["a": 1, "b": 2, "c": 5])
            for order in [["a", "b", "c"], ["c", "b", "a"], ["b", "a", "b", "c"], ["b", "b", "a", "a"]] {
                let found = try JSONBDecoder().decode(InOrder.self, fromText: document, asking: order)
                #expect(found == order.map { ["a": 1, "b": 2, "c": 5][$0] }, "\(filler) \(order)")
            }
        }
    }

    struct InOrder: Decodable {
        let values: [Int?]
        @TaskLocal static var order: [String] = []
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Corpus.Interleaved.Keys.self)
            values = try Self.order.map { try Corpus.Interleaved.Keys(rawValue: $0).map { try container.decode(Int.self, forKey: $0) } }
        }
    }
}

extension JSONBDecoder {
    fileprivate func decode(_: JSONBCodingTests.InOrder.Type, fromText text: String, asking order: [String]) throws -> [Int?] {
        try JSONBCodingTests.InOrder.$order.withValue(order) { try decode(JSONBCodingTests.InOrder.self, fromText: text).values }
    }
}
