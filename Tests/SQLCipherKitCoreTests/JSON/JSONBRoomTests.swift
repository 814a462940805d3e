import Foundation
import SQLCipherKitCore
import Testing

/// The writer's memory grows before anything is written beyond it, wherever it ends. In debug, the writer checks this itself.
@Suite struct JSONBRoomTests {
    private struct Pair<Value: Codable & Equatable>: Codable, Equatable {
        var text: String
        var value: Value
    }

    /// The text moves the value over each border of the memory's size.
    private func check<Value: Codable & Equatable>(_ value: Value) throws {
        let encoder = JSONBEncoder(), decoder = JSONBDecoder()
        for length in 0...260 {
            let pair = Pair(text: String(repeating: "x", count: length), value: value)
            #expect(try decoder.decode(Pair<Value>.self, from: try encoder.encode(pair)) == pair)
        }
    }

    @Test func jsonbWriterReservesSpaceForEachValue() throws {
        for number in [0, 9, 99_999_999_999, 100_000_000_000, Int64.max, .min, -1] { try check(number) }
        try check(UInt64.max)
        try check(Int128.min)
        for number in [0.1, -Double.greatestFiniteMagnitude, 1.0 / 3, -Double.leastNonzeroMagnitude] { try check(number) }
        for text in ["", "\"", String(repeating: "é", count: 6), String(repeating: "\n", count: 130)] { try check(text) }
        try check(true)
        try check(Int?.none)
        try check(Date(timeIntervalSince1970: 0))
        try check(Data(repeating: 7, count: 9))
    }

    @Test func jsonbWriterReservesSpaceForEachContainer() throws {
        try check([Int]())
        for count in [1, 5, 6, 12, 125, 126, 128, 300] { try check([Int](repeating: 7, count: count)) }
        try check([[[[Int64.min]]]])
        try check(["key": UInt64.max])
        try check(Dictionary(uniqueKeysWithValues: (0..<40).map { ("\($0)\n", [$0]) }))
    }
}
