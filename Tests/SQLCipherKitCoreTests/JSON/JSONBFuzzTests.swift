import Foundation
import SQLCipherKitCore
import Testing
import TestSupport

/// Bytes that were tampered with: read as any type they give a value or an error, and nothing else.
@Suite struct JSONBFuzzTests {
    private func seeds() throws -> [[UInt8]] {
        let encoder = JSONBEncoder()
        var texts = Corpus.Texts()
        texts.list.removeAll { $0.utf8.count > 1000 }
        var containers = Corpus.Containers()
        containers.long = Array(0..<20)
        containers.large = containers.large.filter { $0.value < 60 }
        return try [
            encoder.encode(Corpus.Numbers()), encoder.encode(texts), encoder.encode(containers), encoder.encode(Corpus.Foundations()),
            encoder.encode(Corpus.Interleaved()), encoder.encode(Corpus.List.of(40)), encoder.encode([[], [1], [true]] as [JSONValue]),
            encoder.encode(Corpus.Dog()), encoder.encode(["a": 1]), encoder.encode("x"),
        ].map { Array($0) }
    }

    private static func mutate(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            guard !bytes.isEmpty else { return }
            let position = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<7, using: &random) {
            case 0: bytes[position] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 2: bytes.remove(at: position)
            case 3: bytes.insert(UInt8.random(in: 0...255, using: &random), at: position)
            case 4: bytes.removeLast(bytes.count - position)
            case 5:
                let end = min(bytes.count, position + Int.random(in: 1...30, using: &random))
                bytes.insert(contentsOf: bytes[position..<end], at: Int.random(in: 0...bytes.count, using: &random))
            default: bytes[position] = [0xcb, 0xdb, 0xeb, 0xfb, 0xcc, 0xfc, 0xc7, 0xf8, 0x0f, 0x00, 0xff].randomElement(using: &random) ?? 0
            }
        }
    }

    @Test func mutatedJSONBReadsAsValueOrError() throws {
        let db = try Connection(.memory)
        let isValid = try db.prepare("SELECT json_valid(?, 8)")
        let text = try db.prepare("SELECT json(?)")
        var random = SeededGenerator(state: 20_261_121)
        var counts = (valid: 0, refused: 0)
        let seeds = try seeds()
        for round in 0..<(LongTests.areOn ? 60_000 : 4_000) {
            var bytes = seeds[round % seeds.count]
            Self.mutate(&bytes, &random)
            let data = Data(bytes)
            let value = try? JSONValue(jsonb: data)
            decodeAsEverything(data)
            // Documents that SQLite finds strictly valid are read, but for text that is not UTF-8 and numbers that no type holds;
            // they are read as SQLite reads them.
            guard try isValid.fetchOne(Bool.self, binding: bytes) == true else {
                counts.refused += 1
                continue
            }
            counts.valid += 1
            let written = try? text.fetchOne(String.self, binding: bytes)
            let other = try? written.map { try JSONValue(text: $0) }
            // Of SQLite's own text some is no JSON, such as numbers that begin with a zero.
            #expect(value != nil || other == nil, "\(bytes)")
            guard let value, let other else { continue }
            #expect(value.comparable == other.comparable, "\(bytes)")
            // Written again it is valid, and the same.
            let again = try value.jsonb()
            #expect(try isValid.fetchOne(Bool.self, binding: Array(again)) == true, "\(bytes)")
            #expect(try JSONValue(jsonb: again) == value)
        }
        #expect(counts.valid > 200 && counts.refused > 200)
    }

    private func decodeAsEverything(_ data: Data) {
        let decoder = JSONBDecoder()
        _ = try? decoder.decode(Corpus.Numbers.self, from: data)
        _ = try? decoder.decode(Corpus.Texts.self, from: data)
        _ = try? decoder.decode(Corpus.Containers.self, from: data)
        _ = try? decoder.decode(Corpus.Foundations.self, from: data)
        _ = try? decoder.decode(Corpus.Interleaved.self, from: data)
        _ = try? decoder.decode(Corpus.List.self, from: data)
        _ = try? decoder.decode(Corpus.Dog.self, from: data)
        _ = try? decoder.decode(JSONValue.self, from: data)
        _ = try? decoder.decode([String: [JSONValue]].self, from: data)
    }

    /// Every byte of a document replaced by every other: each read, with memory that ends where the document ends.
    @Test func everyByteReplacementReadsWithinBounds() throws {
        let bytes = Array(try JSONBEncoder().encode(["k": [1, 2], "long enough to need a size": []]))
        for position in bytes.indices {
            for byte in UInt8.min...UInt8.max {
                let exact = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
                defer { exact.deallocate() }
                exact.copyBytes(from: bytes)
                exact[position] = byte
                _ = try? JSONBDecoder().decode([String: [Int]].self, from: UnsafeRawBufferPointer(exact))
                _ = try? JSONBDecoder().decode(JSONValue.self, from: UnsafeRawBufferPointer(exact))
            }
        }
        // And each beginning of it.
        for count in bytes.indices {
            #expect(throws: DecodingError.self) { try JSONBDecoder().decode([String: [Int]].self, from: Data(bytes[..<count])) }
        }
    }

    @Test func mutatedJSONTextMatchesSQLiteValidation() throws {
        let db = try Connection(.memory)
        let isValid = try db.prepare("SELECT json_valid(?, 1)")
        var random = SeededGenerator(state: 7)
        let seeds = try [
            JSONBEncoder().encodeText(Corpus.Numbers()), #"{"a":[1,2.5e-3,{"b":null,"ü\u00fc\n":[true,false,"x\"y"]}],"c":""}"#,
        ].map { Array($0.utf8) }
        for round in 0..<(LongTests.areOn ? 30_000 : 2_000) {
            var bytes = seeds[round % 2]
            Self.mutate(&bytes, &random)
            guard let text = String(validating: bytes, as: UTF8.self), !text.contains("\u{0}") else { continue }
            let isAccepted = (try? JSONValue(text: text)) != nil
            guard try isValid.fetchOne(Bool.self, binding: text) == true else {
                #expect(!isAccepted, "\(text)")
                continue
            }
            // SQLite lets half a surrogate pair pass, and numbers of any length.
            if !isAccepted, !text.contains("\\u") {
                #expect(throws: (any Error).self, "\(text)") { try JSONDecoder().decode([Decimal].self, from: Data(bytes)) }
            }
        }
    }

    /// Work grows with the document, whatever it is like.
    @Test(.timeLimit(.minutes(60))) func hostileJSONDecodesInLinearTime() throws {
        struct Few: Decodable { var a: Int?, b: Int?, c: Int?, d: Int?, e: Int?, f: Int?, g: Int?, h: Int? }
        let many = 40_000
        var same: [UInt8] = []
        for _ in 0..<many { same += [0x17, 0x7a, 0x13, 0x31] }
        let sameKey = object(same)
        #expect(try JSONBDecoder().decode([String: Int].self, from: sameKey) == ["z": 1])
        _ = try JSONBDecoder().decode(Few.self, from: sameKey)
        var different: [UInt8] = []
        for index in 0..<many {
            let key = Array("key\(index)".utf8)
            different += [UInt8(key.count) << 4 | 7] + key + [0x13, 0x31]
        }
        #expect(try JSONBDecoder().decode([String: Int].self, from: object(different)).count == many)
        var escaped: [UInt8] = []
        for index in 0..<many {
            let key = Array("\\n\(index)".utf8)
            escaped += [UInt8(key.count) << 4 | 8] + key + [0x13, 0x31]
        }
        #expect(try JSONBDecoder().decode([String: Int].self, from: object(escaped)).count == many)
        #expect(try JSONValue(jsonb: object(escaped)).objectValue?.count == many)
        // An error deep in a large document finds its path.
        let long = try JSONBEncoder().encode([Array(0..<many).map { "\($0)" } + ["x"]])
        let error = #expect(throws: DecodingError.self) { try JSONBDecoder().decode([[Corpus.Wrapper<String?>]?].self, from: long.dropLast(1) + [0xff]) }
        #expect(error?.path == ["0", "\(many)"])
        let numbers = try JSONBEncoder().encode(String(repeating: "9", count: 1_000_000))
        #expect(throws: DecodingError.self) { try JSONBDecoder().decode(Int.self, fromText: String(repeating: "9", count: 1_000_000)) }
        #expect(try JSONBDecoder().decode(String.self, from: numbers).count == 1_000_000)
    }

    private func object(_ payload: [UInt8]) -> Data {
        var data = Data([0xec])
        withUnsafeBytes(of: UInt32(payload.count).bigEndian) { data.append(contentsOf: $0) }
        return data + payload
    }
}
