import Foundation
import SQLCipherKitCore
import Testing

/// Documents that are no good: every one is a thrown error.
@Suite struct JSONBMalformedTests {
    let db: Connection

    init() throws { db = try Connection(.memory) }

    @Test func mismatchedTypesThrowTheErrorsOfFoundation() {
        struct Record: Codable { var name: String, size: Int }
        func failure(_ text: String) -> DecodingError? {
            let own = #expect(throws: DecodingError.self) { try JSONBDecoder().decode([String: [Record]].self, fromText: text) }
            let foundation = #expect(throws: DecodingError.self) {
                try JSONDecoder().decode([String: [Record]].self, from: Data(text.utf8))
            }
            guard let error = own, let expected = foundation else { return nil }
            #expect(error.kind == expected.kind, "\(text)")
            // Of a number that does not fit Foundation does not say where it is.
            #expect(error.path == expected.path || expected.path.isEmpty, "\(text)")
            return error
        }
        _ = failure(#"{"a": [{"name": "x"}]}"#)
        _ = failure(#"{"a": [{"name": "x", "size": 1}, {"name": null, "size": 1}]}"#)
        _ = failure(#"{"a": [{"name": 3, "size": 1}]}"#)
        _ = failure(#"{"a": [{"name": "x", "size": "1"}]}"#)
        _ = failure(#"{"a": [{"name": "x", "size": 1.5}]}"#)
        _ = failure(#"{"a": [{"name": "x", "size": 9223372036854775808}]}"#)
        _ = failure(#"{"a": {"name": "x"}}"#)
        _ = failure(#"{"a": [[]]}"#)
        _ = failure(#"{"a": [true]}"#)
        let error = failure(#"{"x": [], "k\"": [{"name": "x", "size": 1}, {"size": 1, "name": {}}]}"#)
        #expect(error?.path == ["k\"", "1", "name"])
    }

    @Test func jsonIntegersDecodeOnlyWhenExact() throws {
        func decode<T: Codable>(_ text: String, _ type: T.Type) -> T? { try? JSONBDecoder().decode(T.self, fromText: text) }
        #expect(decode("1.0", Int.self) == 1)
        #expect(decode("12e2", Int.self) == 1200)
        #expect(decode("1200e-2", Int.self) == 12)
        #expect(decode("-0", Int.self) == 0)
        #expect(decode("9223372036854775807.0", Int.self) == .max)
        #expect(decode("-9223372036854775808", Int.self) == .min)
        #expect(decode("18446744073709551615", UInt64.self) == .max)
        for (text, type) in [("18446744073709551616", "U"), ("-1", "U"), ("1e400", "U"), ("1e-1", "U"), ("9223372036854775808", "I")] {
            if type == "U" { #expect(decode(text, UInt64.self) == nil) } else { #expect(decode(text, Int64.self) == nil) }
        }
        #expect(decode("256", UInt8.self) == nil && decode("-129", Int8.self) == nil)
        // 39 digits that fit into 128 bits, 39 that do not, and 40.
        #expect(decode("0.1234567890123456789012345678901234567890", Decimal.self) != nil)
        #expect(decode("0.9234567890123456789012345678901234567890", Decimal.self) == nil)
        #expect(decode("0.1234567890123456789012345678901234567891", Decimal.self) == nil)
        #expect(decode("1e500", Decimal.self) == nil)
        #expect(decode("1e400", Double.self) == nil)
        #expect(decode("0.1", Float.self) == 0.1)
        #expect(decode("1e39", Float.self) == nil)
        // JSON5 as SQLite keeps it.
        let five = try #require(try db.fetchOne(Data.self, "SELECT jsonb('[0x1F, -0x10, .5, 5., +7, Infinity, ''a\\x41\\'''']')".asSQL))
        var container = try JSONBDecoder().decode([JSONValue].self, from: five)
        #expect(container.removeLast() == "aA'" && container.removeLast() == .real(.infinity))
        #expect(container == [31, -16, 0.5, 5.0, 7])
        let numbers = try #require(try db.fetchOne(Data.self, "SELECT jsonb('[0x1F, -0x10, 5., +7]')"))
        #expect(try JSONBDecoder().decode([Int].self, from: numbers) == [31, -16, 5, 7])
        #expect(try JSONBDecoder().decode([Double].self, from: numbers) == [31, -16, 5, 7])
    }

    @Test func nestingBeyondMaximumDepthThrows() throws {
        for depth in [1, 100, 511, 512] {
            let list = Corpus.List.of(depth)
            let bytes = try JSONBEncoder().encode(list)
            #expect(try db.fetchOne(Bool.self, "SELECT json_valid(\(bytes), 8)") == true)
            #expect(try JSONBDecoder().decode(Corpus.List.self, from: bytes) == list)
        }
        #expect(throws: EncodingError.self) { try JSONBEncoder().encode(Corpus.List.of(513)) }
        var options = JSONCodingOptions()
        options.maximumDepth = 3
        #expect(throws: EncodingError.self) { try JSONBEncoder(options: options).encode([[[[1]]]]) }
        #expect(try JSONBEncoder(options: options).encodeText([[["x"]]]) == #"[[["x"]]]"#)
        #expect(throws: DecodingError.self) { try JSONBDecoder(options: options).decode([[[[Int]]]].self, fromText: "[[[[1]]]]") }
        #expect(try JSONBDecoder(options: options).decode([[[Int]]].self, fromText: "[[[1]]]") == [[[1]]])

        let thousand = try #require(try db.fetchOne(Data.self, "SELECT jsonb(\(nested(1000)))"))
        #expect(throws: DecodingError.self) { try JSONBDecoder().decode(Deep.self, from: thousand) }
        #expect(try JSONValue(jsonb: thousand).text() == nested(1000))
        #expect(throws: DatabaseError.self) { try JSONValue(text: nested(1001)) }
        #expect(throws: DatabaseError.self) { try JSONValue(text: String(repeating: "[", count: 1_000_000)) }
        // Sizes that fit, one in the other, deeper than anything may be.
        var bytes: [UInt8] = [0x0b]
        for _ in 0..<100_000 {
            let size = UInt32(bytes.count).bigEndian
            bytes = [0xeb] + withUnsafeBytes(of: size) { Array($0) } + bytes
            if bytes.count > 20_000 { break }
        }
        #expect(throws: DatabaseError.self) { try JSONValue(jsonb: Data(bytes)) }
        #expect(throws: DecodingError.self) { try JSONBDecoder().decode(Deep.self, from: Data(bytes)) }
    }

    /// On a thread with little stack what is too deep is an error as well.
    @Test func deepNestingOnSmallStackThrows() async throws {
        let list = Corpus.List.of(1000)
        var options = JSONCodingOptions()
        options.maximumDepth = 1000
        let deep = try #require(try db.fetchOne(Data.self, "SELECT jsonb(\(String(repeating: "{\"next\":", count: 999) + "{}" + String(repeating: "}", count: 999)))"))
        let shallow = try JSONBEncoder().encode(Corpus.List.of(10))
        let (coder, reader) = (JSONBEncoder(options: options), JSONBDecoder(options: options))
        let outcome = await withCheckedContinuation { (continuation: CheckedContinuation<[Bool], Never>) in
            nonisolated(unsafe) let list = list
            let thread = Thread {
                let value = try? JSONValue(jsonb: deep)
                continuation.resume(returning: [
                    (try? coder.encode(list)) == nil, (try? reader.decode(Corpus.List.self, from: deep)) == nil,
                    value == nil || (try? value?.text()) != nil, (try? reader.decode(Corpus.List.self, from: shallow)) != nil,
                ])
            }
            thread.stackSize = 256 * 1024
            thread.start()
        }
        #expect(outcome == [true, true, true, true])
        // The same documents on a thread that has the stack for them.
        #expect(throws: Never.self) { try JSONValue(jsonb: deep) }
    }

    struct Deep: Codable {
        var inner: [Deep]
        init(from decoder: any Decoder) throws { inner = try [Deep](from: decoder) }
    }

    private func nested(_ depth: Int) -> String { String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }

    @Test func malformedJSONTextThrows() throws {
        let texts = [
            "", " ", "{", "[", "[1", "[1,", "[1,]", "[,]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{'a':1}", "01", "+1", "1.", ".5", "1e", "1e+",
            "-", "--1", "tru", "truee", "nul", "NaN", "Infinity", "\"", "\"\\\"", "\"\\x41\"", "\"\\u12\"", "\"\\ud800\"", "\"\\udc00\\ud800\"", "\"\t\"",
            "[1] 2", "]", "}", "[}", "{]", "1 1", "//", "[1 2]", "{\"a\":1 \"b\":2}", "0x10", "\u{feff}1",
        ]
        for text in texts {
            #expect(throws: DatabaseError.self, "\(text)") { try JSONValue(text: text) }
            #expect(throws: DecodingError.self, "\(text)") { try JSONBDecoder().decode(JSONValue.self, fromText: text) }
        }
        for text in [" 1 ", "\n[ ]\t", "{ }", "{\"a\" : [ 1 , 2 ] }", "\"\\ud83d\\ude00\"", "-0.0e-0", "1E5", "null", "\"\\/\""] {
            #expect(try JSONValue(text: text).comparable == JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)).comparable, "\(text)")
        }
    }

    @Test func malformedJSONBThrows() throws {
        let cases: [[UInt8]] = [
            [], [0x0d], [0x0e], [0x0f], [0x10], [0x11, 0], [0x13], [0x1b], [0x1c], [0x1c, 0x00], [0x2c, 0x17, 0x61], [0x1c, 0x17], [0xcb], [0xdb, 0], [0xeb, 0, 0],
            [0xfb, 0, 0, 0, 0, 0, 0, 0], [0xfb, 255, 255, 255, 255, 255, 255, 255, 255], [0xfb, 127, 255, 255, 255, 255, 255, 255, 255],
            [0xeb, 255, 255, 255, 255], [0x00, 0x00], [0x3b, 0x13, 0x31], [0x4c, 0x13, 0x31, 0x13, 0x31], [0x2b, 0x27, 0x61], [0x1b, 0x1b],
        ]
        for bytes in cases {
            #expect(throws: DatabaseError.self, "\(bytes)") { try JSONValue(jsonb: Data(bytes)) }
            #expect(throws: DecodingError.self, "\(bytes)") { try JSONBDecoder().decode(JSONValue.self, from: Data(bytes)) }
        }
        for bytes: [UInt8] in [[0x13, 0x2d], [0x23, 0x31, 0x78], [0x15, 0x2e], [0x45, 0x31, 0x65, 0x2b, 0x2d], [0x03], [0x05], [0x17, 0xff], [0x28, 0x5c, 0x71], [0x34, 0x30, 0x78, 0x67]] {
            #expect(throws: DatabaseError.self, "\(bytes)") { try JSONValue(jsonb: Data(bytes)) }
        }
        #expect(throws: DecodingError.self) { try JSONBDecoder().decode([String: Int].self, from: Data([0x4c, 0x17, 0xff, 0x13, 0x31])) }
    }
}

extension String {
    fileprivate var asSQL: SQL { SQL(raw: self) }
}

extension DecodingError {
    var kind: String {
        switch self {
        case .typeMismatch: "typeMismatch"
        case .valueNotFound: "valueNotFound"
        case .keyNotFound: "keyNotFound"
        case .dataCorrupted: "dataCorrupted"
        @unknown default: "unknown"
        }
    }

    var path: [String] {
        switch self {
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context), .dataCorrupted(let context):
            context.codingPath.map { $0.intValue.map { "\($0)" } ?? $0.stringValue }
        @unknown default: []
        }
    }
}
