import Foundation
import SQLCipherKit

/// A generator of random numbers that gives the same numbers for the same seed (SplitMix64).
struct Dice: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// A number below `count`.
    mutating func below(_ count: Int) -> Int { Int(next() % UInt64(max(count, 1))) }

    /// True once in `count` times.
    mutating func oneIn(_ count: Int) -> Bool { below(count) == 0 }

    mutating func pick<T>(_ values: [T]) -> T { values[below(values.count)] }

    /// A value, often an unusual one.
    mutating func value() -> SQLValue {
        switch below(12) {
        case 0: .null
        case 1, 2, 3: .integer(Int64(below(9)) - 2)
        case 4: .integer(pick([1 << 62, .min, 1 << 53, -(1 << 53) - 1, 1 << 31, 255]))
        case 5: .real(pick([0.5, -0.0, 1e300, .infinity, -.infinity, .nan, 3, 1e-300, 9_007_199_254_740_992]))
        case 6, 7, 8: .text(text())
        case 9: .blob(Data((0..<below(6)).map { UInt8(truncatingIfNeeded: $0 &* 41) }))
        case 10: .blob(pick([Data(), Data(repeating: 0, count: 9), Data("text".utf8), Data(repeating: 0xA5, count: 300)]))
        default: .text(String(repeating: pick(["long ", "ü", "\u{0}x"]), count: 1 + below(200)))
        }
    }

    mutating func text() -> String {
        pick(["", "a", "b", "apple", "Apple", "pear plum", "it's", "say \"x\"", "a\u{0}b", "é", "e\u{301}", "🐢", "1", "1.0", "-3", "x'00'",
            "NULL", "%_", "ẞ", "null\u{0}"])
    }
}

/// The text of a value in a printed program.
func show(_ value: SQLValue) -> String {
    switch value {
    case .null: "nil"
    case .integer(let number): "\(number)"
    case .real(let number): number.isNaN ? ".nan" : number.isInfinite ? "\(number < 0 ? "-" : "").infinity" : "\(number)"
    case .text(let text): show(text)
    case .blob(let data): "Data([" + data.map { "\($0)" }.joined(separator: ", ") + "])"
    }
}

func show(_ text: String) -> String {
    "\"" + text.unicodeScalars.map { scalar -> String in
        switch scalar {
        case "\"", "\\": "\\\(scalar)"
        default: scalar.value < 32 || (0x300...0x36F).contains(scalar.value) ? "\\u{\(String(scalar.value, radix: 16))}" : "\(scalar)"
        }
    }.joined() + "\""
}
