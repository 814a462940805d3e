import Foundation
import SQLCipherKitCore
import Testing

/// Containers that are asked for twice, kept, left half done, and nested deeply.
@Suite struct JSONNestingTests {
    enum Key: String, CodingKey { case a, b, c, d }

    /// Encodes as a closure says.
    struct Script: Encodable {
        let body: (any Encoder) throws -> Void
        func encode(to encoder: any Encoder) throws { try body(encoder) }
    }

    /// Checks the result of both coders for a value.
    private func check(_ expected: JSONValue, _ location: SourceLocation = #_sourceLocation,
        _ body: @escaping (any Encoder) throws -> Void) throws {
        let own = try JSONBEncoder().encode(Script(body: body))
        #expect(try JSONValue(jsonb: own) == expected, sourceLocation: location)
        let foundation = try JSONEncoder().encode(Script(body: body))
        #expect(try JSONValue(text: String(decoding: foundation, as: UTF8.self)) == expected, sourceLocation: location)
    }

    @Test func nestedContainerForSameKeyContinuesTheFirst() throws {
        try check(["a": ["b": 1, "c": 2, "d": 3], "b": 0]) { encoder in
            var container = encoder.container(keyedBy: Key.self)
            var first = container.nestedContainer(keyedBy: Key.self, forKey: .a)
            try first.encode(1, forKey: .b)
            try container.encode(0, forKey: .b)
            var second = container.nestedContainer(keyedBy: Key.self, forKey: .a)
            try second.encode(2, forKey: .c)
            try first.encode(3, forKey: .d)
        }
        try check(["a": [1, 2, 3, ["b": 4]]]) { encoder in
            var container = encoder.container(keyedBy: Key.self)
            var first = container.nestedUnkeyedContainer(forKey: .a)
            try first.encode(1)
            var second = container.nestedUnkeyedContainer(forKey: .a)
            try second.encode(2)
            try first.encode(3)
            #expect(second.count == 3)
            var inner = second.nestedContainer(keyedBy: Key.self)
            try inner.encode(4, forKey: .b)
        }
        // A key that both write has the later value.
        try check(["a": ["b": 2, "c": ["d": 1, "b": 5]]]) { encoder in
            var container = encoder.container(keyedBy: Key.self)
            var first = container.nestedContainer(keyedBy: Key.self, forKey: .a)
            try first.encode(1, forKey: .b)
            var inner = first.nestedContainer(keyedBy: Key.self, forKey: .c)
            try inner.encode(1, forKey: .d)
            var second = container.nestedContainer(keyedBy: Key.self, forKey: .a)
            try second.encode(2, forKey: .b)
            var same = second.nestedContainer(keyedBy: Key.self, forKey: .c)
            try same.encode(5, forKey: .b)
        }
    }

    @Test func nestedContainerExtendsEncodedValue() throws {
        let many = Dictionary(uniqueKeysWithValues: (0..<50).map { ("k\($0)", $0) })
        for given in [["b": 1, "x": 2], many] {
            var expected = JSONObject()
            for (key, value) in given { expected[key] = .integer(Int64(value)) }
            expected["b"] = 7
            expected["c"] = 3
            try check(["a": .object(expected), "d": true]) { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(given, forKey: .a)
                try container.encode(true, forKey: .d)
                var again = container.nestedContainer(keyedBy: Key.self, forKey: .a)
                try again.encode(7, forKey: .b)
                try again.encode(3, forKey: .c)
            }
        }
        try check(["a": [1, 2, 3]]) { encoder in
            var container = encoder.container(keyedBy: Key.self)
            try container.encode([1, 2], forKey: .a)
            var again = container.nestedUnkeyedContainer(forKey: .a)
            #expect(again.count == 2)
            try again.encode(3)
        }
        // A container of another kind cannot be opened again.
        #expect(throws: EncodingError.self) {
            try JSONBEncoder().encode(Script { encoder in
                var container = encoder.container(keyedBy: Key.self)
                _ = container.nestedContainer(keyedBy: Key.self, forKey: .a)
                var list = container.nestedUnkeyedContainer(forKey: .a)
                try list.encode(1)
            })
        }
    }

    struct Failing: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            try container.encode(1, forKey: .a)
            var nested = container.nestedUnkeyedContainer(forKey: .b)
            try nested.encode(1)
            throw CocoaError(.coderInvalidValue)
        }
    }

    @Test func failedEncodeKeepsThePreviousValue() throws {
        let bytes = try JSONBEncoder().encode(Script { encoder in
            var container = encoder.container(keyedBy: Key.self)
            try container.encode("kept", forKey: .a)
            try? container.encode(Failing(), forKey: .a)
            try? container.encode(Double.nan, forKey: .b)
            try container.encode(Script { encoder in
                var single = encoder.singleValueContainer()
                try? single.encode(Double.nan)
                try? single.encode(Failing())
                try single.encode("second try")
            }, forKey: .c)
            try container.encode(Script { encoder in
                var single = encoder.singleValueContainer()
                try? single.encode(Float.infinity)
            }, forKey: .d)
        })
        #expect(try JSONValue(jsonb: bytes) == ["a": "kept", "c": "second try", "d": [:]])
    }

    @Test func containerKeptAfterEncodingThrows() throws {
        final class Thief { var container: KeyedEncodingContainer<Key>?, list: (any UnkeyedEncodingContainer)? }
        let thief = Thief()
        for fails in [false, true] {
            _ = try? JSONBEncoder().encode(Script { encoder in
                var container = encoder.container(keyedBy: Key.self)
                thief.list = container.nestedUnkeyedContainer(forKey: .a)
                thief.container = container
                if fails { throw CocoaError(.coderInvalidValue) }
            })
            #expect(throws: EncodingError.self) { try thief.list?.encode(1) }
            #expect(throws: EncodingError.self) {
                var nested = thief.container?.nestedContainer(keyedBy: Key.self, forKey: .b)
                try nested?.encode(1, forKey: .a)
            }
        }
    }

    /// A chain of containers that is made in a loop, so that making it takes no stack.
    struct Chain: Encodable {
        let depth: Int
        let fails: Bool
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            for _ in 1..<depth { container = container.nestedContainer(keyedBy: Key.self, forKey: .a) }
            try container.encode(depth, forKey: .b)
            if fails { throw CocoaError(.coderInvalidValue) }
        }
    }

    struct Deep: Codable {
        var inner: [Deep]
        init(from decoder: any Decoder) throws { inner = try [Deep](from: decoder) }
        func encode(to encoder: any Encoder) throws { try inner.encode(to: encoder) }
    }

    private static func lists(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    private static func objects(_ depth: Int) -> String {
        String(repeating: "{\"next\":", count: depth - 1) + "{}" + String(repeating: "}", count: depth - 1)
    }

    private static let depths = Array(1...40) + [64, 100, 128, 200, 240, 300, 500, 512, 700, 1000]

    // These are never freed: letting go of a thousand values, one inside of the other, takes more stack than the thread below has,
    // and the last to let go might be that one.
    nonisolated(unsafe) private static let chain = Corpus.List.of(1000)
    private static let values = depths.map { depth in (1..<depth).reduce(JSONValue.array([])) { value, _ in .array([value]) } }

    /// A thread of 128 KB: what it has no stack for is an error, and what it has is read and written.
    @Test func nestedJSONWorksOrThrowsOn128KBStack() async throws {
        var options = JSONCodingOptions()
        options.maximumDepth = 1000
        let (encoder, decoder) = (JSONBEncoder(options: options), JSONBDecoder(options: options))
        let db = try Connection(.memory)
        let jsonb = try Self.depths.map { try #require(try db.fetchOne(Data.self, "SELECT jsonb(\(Self.objects($0)))")) }
        let problems = await onSmallStack {
            var problems: [String] = []
            var deepest = (encoded: 0, decoded: 0, value: 0, lists: 0)
            var list: Corpus.List? = Self.chain
            var parts: [Int: Corpus.List] = [:]
            while let current = list {
                parts[current.length] = current
                list = current.next
            }
            for (index, depth) in Self.depths.enumerated() {
                if let part = parts[depth], let bytes = try? encoder.encode(part) {
                    deepest.encoded = depth
                    if bytes != jsonb[index] { problems.append("another document of depth \(depth)") }
                }
                if let list = try? decoder.decode(Corpus.List.self, from: jsonb[index]) {
                    deepest.decoded = depth
                    if list.length != depth { problems.append("another list of length \(depth)") }
                }
                if (try? JSONValue(jsonb: jsonb[index])) != nil { deepest.value = depth }
                if (try? decoder.decode(Deep.self, fromText: Self.lists(depth))) != nil { deepest.lists = depth }
                _ = try? Self.values[index].jsonb()
                _ = try? encoder.encode([Self.values[index]])
                // Nothing of this goes deeper in calls.
                if (try? encoder.encode(Chain(depth: depth, fails: false))) == nil { problems.append("no chain of \(depth)") }
                _ = try? encoder.encode(Chain(depth: depth, fails: true))
            }
            for (what, depth) in [("encoded", deepest.encoded), ("decoded", deepest.decoded), ("value", deepest.value),
                ("lists", deepest.lists)]
            where depth < 12 {
                problems.append("\(what) only \(depth) levels")
            }
            return problems
        }
        #expect(problems == [])
    }

    private func onSmallStack<R: Sendable>(_ body: @escaping @Sendable () -> R) async -> R {
        await withCheckedContinuation { continuation in
            let thread = Thread { continuation.resume(returning: body()) }
            thread.stackSize = 128 * 1024
            thread.start()
        }
    }
}
