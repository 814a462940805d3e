import Testing
import TestSupport
@testable import SQLCipherKitCore

@Suite struct ByteCodingTests {
    private static let numbers: [UInt64] = [0, 1, 127, 128, 16_383, 16_384, 1 << 31, 1 << 32, 1 << 62, 1 << 63 - 1, 1 << 63, .max]

    private static func reader(_ bytes: [UInt8]) -> ByteReader { ByteReader(bytes) { .invalidArgument("damaged") } }

    @Test func numbersReadAsWritten() throws {
        var bytes: [UInt8] = []
        for number in Self.numbers {
            bytes.append(varint: number)
            bytes.append(signed: Int64(bitPattern: number))
            bytes.append(number: number)
            bytes.append(number: UInt8(truncatingIfNeeded: number))
            bytes.append(number: number & 0xff_ffff, bytes: 3)
        }
        bytes.append(prefixed: "text".utf8)
        var reader = Self.reader(bytes)
        for number in Self.numbers {
            #expect(try reader.varint() == number)
            #expect(try reader.signed() == Int64(bitPattern: number))
            #expect(try reader.number() == number)
            #expect(try reader.number() == UInt8(truncatingIfNeeded: number))
            #expect(try reader.number(bytes: 3) == Int(number & 0xff_ffff))
        }
        #expect(try reader.prefixed().elementsEqual("text".utf8))
        try reader.end()
        #expect([0x12, 0x34, 0x56].bigEndian(at: 1, bytes: 2) == 0x3456)
        #expect([9, 0x12, 0x34, 0x56][1...].bigEndian(at: 1, bytes: 2) == 0x3456)
    }

    /// The examples of <https://sqlite.org/fileformat2.html#varint>, as the engine writes them too.
    @Test func variableLengthNumbersAreSQLites() {
        #expect([0x7f].variableLength(at: 0).map { [$0.value, UInt64($0.end)] } == [127, 1])
        #expect([0x81, 0x00, 5].variableLength(at: 0).map { [$0.value, UInt64($0.end)] } == [128, 2])
        #expect([UInt8](repeating: 0xff, count: 10).variableLength(at: 0).map { [$0.value, UInt64($0.end)] } == [.max, 9])
        #expect([UInt8](repeating: 0xff, count: 8).variableLength(at: 0) == nil)
    }

    @Test(arguments: [Int.min, -1, 3, 4, Int.max - 1, Int.max])
    func placesBeyondTheBytesAreNil(place: Int) {
        let bytes: [UInt8] = [1, 2, 3]
        #expect(bytes.bigEndian(at: place, bytes: 1) == nil)
        #expect(bytes.bigEndian(at: 1, bytes: place) == nil)
        #expect(bytes.variableLength(at: place) == nil)
        var reader = Self.reader(bytes)
        _ = try? reader.take(1)
        #expect(throws: DatabaseError.self) { try reader.take(place) }
        #expect(throws: DatabaseError.self) { try reader.take(UInt64.max) }
        #expect(throws: DatabaseError.self) { try reader.number(UInt64.self) }
        #expect(reader.rest() == [2, 3])
    }

    @Test func numbersTooLargeAreRefused() {
        var signed: [UInt8] = []
        signed.append(number: UInt64.max)
        #expect(throws: DatabaseError.self) {
            var reader = Self.reader(signed)
            return try reader.number(Int.self)
        }
        for bytes in [[UInt8](repeating: 0xff, count: 10), [UInt8](repeating: 0x80, count: 9) + [2], [0xff], []] {
            #expect(throws: DatabaseError.self) {
                var reader = Self.reader(bytes)
                return try reader.varint()
            }
        }
        #expect(throws: DatabaseError.self) {
            var reader = Self.reader([3, 0, 0])
            return try reader.count()
        }
    }

    /// Whatever is read from whatever bytes, it is within them.
    @Test func anyReadsOfAnyBytesStayWithinThem() {
        var random = SeededGenerator()
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                [0, 1, 0x7f, 0x80, 0xff, UInt8.random(in: 0...255, using: &random)].randomElement(using: &random) ?? 0
            }
            var reader = Self.reader(bytes)
            for _ in 0..<6 {
                switch Int.random(in: 0..<8, using: &random) {
                case 0: _ = try? reader.varint()
                case 1: _ = try? reader.count()
                case 2: _ = try? reader.signed()
                case 3: _ = try? reader.prefixed()
                case 4: _ = try? reader.number(Int64.self, bytes: Int.random(in: 0...8, using: &random))
                case 5: _ = try? reader.take(Int64.random(in: .min ... .max, using: &random) >> Int64.random(in: 0..<64, using: &random))
                case 6: _ = bytes.variableLength(at: Int.random(in: -2...14, using: &random))
                default: _ = try? reader.number(UInt16.self)
                }
                #expect((0...bytes.count).contains(reader.offset))
            }
        }
    }

    @Test func hexadecimalReadsBothCasesAndNothingElse() {
        #expect([UInt8](hexadecimal: "00fFA9") == [0, 255, 169])
        #expect([0, 255, 169].hexadecimal == "00ffa9")
        for text in ["0", "0g", "+1", "-1", " 1", "1 ", "é"] { #expect([UInt8](hexadecimal: text) == nil) }
    }
}
