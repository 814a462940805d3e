import Foundation
import SQLCipherKitCore

/// Types of all shapes that `Codable` knows.
enum Corpus {
    struct Numbers: Codable, Hashable {
        var a = Int.max, b = Int.min, c = Int8.min, d = Int16.max, e = Int32.min, f = Int64.min
        var g = UInt.max, h = UInt8.max, i = UInt16.max, j = UInt32.max, k = UInt64.max
        var l = 0, m = -1, n = 99_999_999_999, o = 999_999_999_999_999_999, p = -1_000_000_000_000_000_000
        var x = 0.1, y = -Double.leastNonzeroMagnitude, z = Double.greatestFiniteMagnitude, w = 1.0, v = -0.0, u = 1e22, t = 123_456_789.123_456_78
        var s = 9_007_199_254_740_993.0, r = 2.2250738585072014e-308, q = 0.3 - 0.2
        var fa = Float.pi, fb = Float.leastNonzeroMagnitude, fc = Float.greatestFiniteMagnitude, fd: Float = 0.1
    }

    struct Optionals: Codable, Hashable {
        var missing: Int?
        var text: String?
        var list: [Int?]
        var nested: [String: Int?]
        var inner: Inner?
        struct Inner: Codable, Hashable { var flag: Bool? }
    }

    /// Writes null where a synthesized type writes nothing, and tells them apart.
    struct NullOrMissing: Codable, Hashable {
        var value: Int??
        enum CodingKeys: String, CodingKey { case value }
        init(_ value: Int??) { self.value = value }
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            if !container.contains(.value) {
                value = .none
            } else if try container.decodeNil(forKey: .value) {
                value = .some(.none)
            } else {
                value = try container.decode(Int.self, forKey: .value)
            }
        }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            switch value {
            case .none: break
            case .some(.none): try container.encodeNil(forKey: .value)
            case .some(.some(let value)): try container.encode(value, forKey: .value)
            }
        }
    }

    enum Shape: Codable, Hashable {
        case point
        case circle(radius: Double)
        case polygon([Int], closed: Bool)
        indirect case group(Shape, Shape)
    }

    enum Suit: String, Codable, Hashable, CodingKeyRepresentable { case hearts, spades }

    struct Texts: Codable, Hashable {
        var list = [
            "", "plain", "quote\" and \\ and /", "\u{0}\u{1}\u{1f}\n\t\r\u{8}\u{c}", "é e\u{301} ß", "日本語", "👩‍👩‍👧 🏳️‍🌈", "\u{7f}\u{80}\u{2028}\u{feff}",
            String(repeating: "long ", count: 3000), "'single'", "\u{10ffff}", "</script>",
        ]
        var keys = ["": 1, "a b": 2, "q\"": 3, "\\": 4, "\u{1}": 5, "ключ": 6, "\u{1f600}": 7, "tab\t": 8]
    }

    struct Foundations: Codable, Hashable {
        var id = UUID(uuidString: "5B2C1F7E-8E0A-4E0B-9B0E-0123456789AB") ?? UUID()
        var url = URL(string: "https://example.org/a?b=c&d=%20#e")
        var data = Data([0, 1, 2, 254, 255])
        var empty = Data()
        var decimals = ["0", "-1", "12345678901234567890123456789012345678", "0.1234567890123456789", "1e20", "-0.001"].map {
            Decimal(string: $0) ?? 0
        }
        var range = 3..<9
        var closed = 1...2
        var set: Set<Int> = [1, 2, 3]
    }

    struct Containers: Codable, Hashable {
        var byInt = [1: "one", -7: "minus seven"]
        var byEnum: [Suit: Int] = [.hearts: 1, .spades: 2]
        var pairs = [[1.5]: "list"]
        var matrix = [[1, 2, 3], [], [4]]
        var deep = [[[[["x": [["y": [true, false]]]]]]]]
        var empty: [String: [Int]] = [:]
        var large = Dictionary(uniqueKeysWithValues: (0..<300).map { ("key \($0)", $0) })
        var long = Array(0..<5000)
        var bools = [true, false]
        var mixed: [Shape] = [.point, .circle(radius: 1.5), .polygon([1], closed: true), .group(.point, .group(.point, .point))]
    }

    /// A class whose superclass is coded in the same container, in one of its own, and under a key.
    class Animal: Codable {
        var name = "n"
        var legs = 4
        init() {}
    }

    final class Dog: Animal {
        var tail = true
        var best: [Int] = [1]
        enum CodingKeys: String, CodingKey { case tail, best, base }
        override init() { super.init() }
        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            tail = try container.decode(Bool.self, forKey: .tail)
            best = try container.decode([Int].self, forKey: .best)
            let other = try Animal(from: container.superDecoder(forKey: .base))
            let same = try Animal(from: decoder)
            guard other.name == same.name else {
                throw DecodingError.dataCorruptedError(forKey: .base, in: container, debugDescription: "not the same")
            }
            try super.init(from: container.superDecoder())
        }
        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(tail, forKey: .tail)
            try super.encode(to: container.superEncoder())
            try super.encode(to: container.superEncoder(forKey: .base))
            try container.encode(best, forKey: .best)
            // Into the same container as this class.
            try super.encode(to: encoder)
        }
    }

    /// Containers by hand, filled in turn.
    struct Interleaved: Codable, Hashable {
        var a = [1, 2], b = ["x": 1, "y": 2], c = 3
        enum Keys: String, CodingKey { case a, b, c, x, y }
        init() {}
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Keys.self)
            var list = try container.nestedUnkeyedContainer(forKey: .a)
            let object = try container.nestedContainer(keyedBy: Keys.self, forKey: .b)
            a = [try list.decode(Int.self)]
            b = ["x": try object.decode(Int.self, forKey: .x)]
            a.append(try list.decode(Int.self))
            b["y"] = try object.decode(Int.self, forKey: .y)
            var inner = try list.nestedUnkeyedContainer()
            c = try inner.decode(Int.self)
            guard inner.isAtEnd, list.isAtEnd, list.count == 3, list.currentIndex == 3 else {
                throw DecodingError.dataCorruptedError(in: inner, debugDescription: "not at the end")
            }
        }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            var list = container.nestedUnkeyedContainer(forKey: .a)
            var object = container.nestedContainer(keyedBy: Keys.self, forKey: .b)
            try list.encode(a[0])
            try object.encode(b["x"], forKey: .x)
            try list.encode(a[1])
            try container.encode(c, forKey: .c)
            var inner = list.nestedUnkeyedContainer()
            try object.encode(b["y"], forKey: .y)
            try inner.encode(c)
        }
    }

    struct Empty: Codable, Hashable {}
    struct Wrapper<T: Codable & Hashable>: Codable, Hashable {
        var value: T
        init(_ value: T) { self.value = value }
        init(from decoder: any Decoder) throws { value = try decoder.singleValueContainer().decode(T.self) }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(value)
        }
    }

    final class List: Codable, Equatable {
        var next: List?
        init(_ next: List?) { self.next = next }
        static func of(_ length: Int) -> List { (1..<length).reduce(List(nil)) { list, _ in List(list) } }
        static func == (a: List, b: List) -> Bool { a.length == b.length }
        var length: Int {
            var count = 1
            var list = self
            while let next = list.next {
                count += 1
                list = next
            }
            return count
        }
    }
}
