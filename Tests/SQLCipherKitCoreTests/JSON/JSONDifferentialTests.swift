import Foundation
import SQLCipherKitCore
import Testing
import TestSupport

/// Generated values through Foundation's coders and these: each reads what the other has written.
@Suite struct JSONDifferentialTests {
    private static let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    private static func foundation() -> (JSONEncoder, JSONDecoder) {
        let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            // The style cuts off what is below a millisecond.
            try container.encode((date + 0.0002).formatted(style))
        }
        decoder.dateDecodingStrategy = .custom { decoder in
            let date = try style.parse(decoder.singleValueContainer().decode(String.self))
            return Date(timeIntervalSince1970: (date.timeIntervalSince1970 * 1000).rounded() / 1000)
        }
        return (encoder, decoder)
    }

    @Test(arguments: 0..<4) func foundationAndJSONBCodersReadEachOther(part: Int) throws {
        var random = SeededGenerator(state: 20_261_122 + UInt64(part))
        let (encoder, decoder) = Self.foundation()
        let (own, ownDecoder) = (JSONBEncoder(), JSONBDecoder())
        for index in 0..<2500 {
            let tree = Tree.random(&random, depth: 4)
            let text = try own.encodeText(tree)
            #expect(try decoder.decode(Tree.self, from: Data(text.utf8)) == tree, "\(part).\(index): \(text)")
            let theirs = String(decoding: try encoder.encode(tree), as: UTF8.self)
            #expect(try ownDecoder.decode(Tree.self, fromText: theirs) == tree, "\(part).\(index): \(theirs)")
            #expect(try ownDecoder.decode(Tree.self, from: own.encode(tree)) == tree, "\(part).\(index): \(text)")
        }
    }
}

/// A value of any shape that `Codable` can give it: its coding says what it is, then is that.
indirect enum Tree: Codable, Equatable {
    case null, bool(Bool), int8(Int8), int64(Int64), uint64(UInt64), int(Int), float(Float), double(Double), decimal(Decimal)
    case text(String), date(Date), data(Data), url(URL), uuid(UUID)
    case optional(Tree?), wrapped(Tree), list([Tree]), object([String: Tree]), byNumber([Int: Tree]), numbers([Double]),
        texts([String])
    /// Coded by hand: containers in containers, filled in turn.
    case nested(Tree, [Tree], Tree?)
    /// By way of another encoder.
    case above(Tree, Tree)

    enum Key: String, CodingKey { case kind, value, inner, list, last }

    private var kind: String { Mirror(reflecting: self).children.first?.label ?? "null" }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(kind, forKey: .kind)
        switch self {
        case .null: try container.encodeNil(forKey: .value)
        case .bool(let value): try container.encode(value, forKey: .value)
        case .int8(let value): try container.encode(value, forKey: .value)
        case .int64(let value): try container.encode(value, forKey: .value)
        case .uint64(let value): try container.encode(value, forKey: .value)
        case .int(let value): try container.encode(value, forKey: .value)
        case .float(let value): try container.encode(value, forKey: .value)
        case .double(let value): try container.encode(value, forKey: .value)
        case .decimal(let value): try container.encode(value, forKey: .value)
        case .text(let value): try container.encode(value, forKey: .value)
        case .date(let value): try container.encode(value, forKey: .value)
        case .data(let value): try container.encode(value, forKey: .value)
        case .url(let value): try container.encode(value, forKey: .value)
        case .uuid(let value): try container.encode(value, forKey: .value)
        case .optional(let value): try container.encodeIfPresent(value, forKey: .value)
        case .wrapped(let value): try container.encode(Corpus.Wrapper(Hashed(value)), forKey: .value)
        case .list(let value): try container.encode(value, forKey: .value)
        case .object(let value): try container.encode(value, forKey: .value)
        case .byNumber(let value): try container.encode(value, forKey: .value)
        case .numbers(let value): try container.encode(value, forKey: .value)
        case .texts(let value): try container.encode(value, forKey: .value)
        case .nested(let first, let rest, let last):
            var inner = container.nestedContainer(keyedBy: Key.self, forKey: .inner)
            var list = inner.nestedUnkeyedContainer(forKey: .list)
            for (index, tree) in rest.enumerated() {
                if index % 3 == 0 { try list.encode(tree) } else {
                    var single = list.nestedUnkeyedContainer()
                    try single.encode(tree)
                }
            }
            try container.encode(first, forKey: .value)
            // The same container again.
            var again = container.nestedContainer(keyedBy: Key.self, forKey: .inner)
            try again.encode(last, forKey: .last)
        case .above(let first, let second):
            try first.encode(to: container.superEncoder())
            try second.encode(to: container.superEncoder(forKey: .inner))
        }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        func value<T: Decodable>(_ type: T.Type = T.self) throws -> T { try container.decode(T.self, forKey: .value) }
        switch try container.decode(String.self, forKey: .kind) {
        case "null":
            guard try container.decodeNil(forKey: .value) else { throw CocoaError(.coderReadCorrupt) }
            self = .null
        case "bool": self = .bool(try value())
        case "int8": self = .int8(try value())
        case "int64": self = .int64(try value())
        case "uint64": self = .uint64(try value())
        case "int": self = .int(try value())
        case "float": self = .float(try value())
        case "double": self = .double(try value())
        case "decimal": self = .decimal(try value())
        case "text": self = .text(try value())
        case "date": self = .date(try value())
        case "data": self = .data(try value())
        case "url": self = .url(try value())
        case "uuid": self = .uuid(try value())
        case "optional": self = .optional(try container.decodeIfPresent(Tree.self, forKey: .value))
        case "wrapped": self = .wrapped(try value(Corpus.Wrapper<Hashed>.self).value.tree)
        case "list": self = .list(try value())
        case "object": self = .object(try value())
        case "byNumber": self = .byNumber(try value())
        case "numbers": self = .numbers(try value())
        case "texts": self = .texts(try value())
        case "nested":
            let inner = try container.nestedContainer(keyedBy: Key.self, forKey: .inner)
            var list = try inner.nestedUnkeyedContainer(forKey: .list)
            var rest: [Tree] = []
            while !list.isAtEnd {
                if rest.count % 3 == 0 { rest.append(try list.decode(Tree.self)) } else {
                    var single = try list.nestedUnkeyedContainer()
                    rest.append(try single.decode(Tree.self))
                }
            }
            self = .nested(try value(), rest, try inner.decode(Tree?.self, forKey: .last))
        default: self = .above(try Tree(from: container.superDecoder()), try Tree(from: container.superDecoder(forKey: .inner)))
        }
    }

    struct Hashed: Codable, Hashable {
        let tree: Tree
        init(_ tree: Tree) { self.tree = tree }
        init(from decoder: any Decoder) throws { tree = try Tree(from: decoder) }
        func encode(to encoder: any Encoder) throws { try tree.encode(to: encoder) }
        func hash(into hasher: inout Hasher) {}
    }
}

extension Tree {
    static func random(_ random: inout SeededGenerator, depth: Int) -> Tree {
        func below() -> Tree { Tree.random(&random, depth: depth - 1) }
        func some() -> [Tree] { (0..<Int.random(in: 0...3, using: &random)).map { _ in below() } }
        switch Int.random(in: 0..<(depth > 0 ? 27 : 15), using: &random) {
        case 0: return .null
        case 1: return .bool(.random(using: &random))
        case 2: return .int8(pick([.min, .max, 0, -1], .random(in: .min ... .max, using: &random), &random))
        case 3: return .int64(pick([.min, .max, 1 << 53, -(1 << 53) - 1], .random(in: .min ... .max, using: &random), &random))
        case 4: return .uint64(pick([.min, .max, 1 << 63], .random(in: .min ... .max, using: &random), &random))
        case 5: return .int(Int.random(in: -1000...1000, using: &random))
        case 6: return .float(pick([.leastNonzeroMagnitude, .greatestFiniteMagnitude, -0.0, 0.1], bits32(&random), &random))
        case 7, 8:
            return .double(pick([.leastNonzeroMagnitude, -.greatestFiniteMagnitude, 2.2250738585072014e-308, 1e22, 3, -0.0],
                bits64(&random), &random))
        case 9:
            let count = Int.random(in: 1...38, using: &random)
            let digits = (0..<count).map { _ in "\(Int.random(in: 0...9, using: &random))" }.joined()
            let point = Int.random(in: 0...digits.count, using: &random)
            return .decimal(Decimal(string: "-0\(digits.prefix(point)).\(digits.dropFirst(point))0") ?? 0)
        case 10, 11: return .text(text(&random))
        case 12:
            let milliseconds = Int64.random(in: -11_676_096_000_000..<253_402_300_800_000, using: &random)
            return .date(Date(timeIntervalSince1970: Double(milliseconds) / 1000))
        case 13:
            let count = Int.random(in: 0...9, using: &random)
            return .data(Data((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }))
        case 14:
            if Bool.random(using: &random),
                let url = URL(string: "https://a.example/p%20q?x=\(Int.random(in: 0...99, using: &random))#f") { return .url(url) }
            return .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, .random(in: 0...255, using: &random))))
        case 15: return .optional(Bool.random(using: &random) ? below() : nil)
        case 16, 17: return .wrapped(below())
        case 18, 19: return .list(some())
        case 20, 21:
            // To Foundation keys that look the same are the same: the number tells them apart.
            return .object(Dictionary(uniqueKeysWithValues: some().enumerated().map { ("\($0)\(key(&random))", $1) }))
        case 22: return .byNumber(Dictionary(uniqueKeysWithValues: some().enumerated().map { ($0 - 1, $1) }))
        case 23: return .numbers((0..<Int.random(in: 0...4, using: &random)).map { _ in bits64(&random) })
        case 24: return .texts((0..<Int.random(in: 0...4, using: &random)).map { _ in text(&random) })
        case 25: return .nested(below(), some() + some(), Bool.random(using: &random) ? below() : nil)
        default: return .above(below(), below())
        }
    }

    private static func pick<T>(_ special: [T], _ other: T, _ random: inout SeededGenerator) -> T {
        Bool.random(using: &random) ? special[Int.random(in: 0..<special.count, using: &random)] : other
    }

    private static func bits64(_ random: inout SeededGenerator) -> Double {
        let value = Double(bitPattern: random.next())
        return value.isFinite ? value : 0.5
    }

    private static func bits32(_ random: inout SeededGenerator) -> Float {
        let value = Float(bitPattern: UInt32(truncatingIfNeeded: random.next()))
        return value.isFinite ? value : 0.5
    }

    private static func key(_ random: inout SeededGenerator) -> String {
        String(String.UnicodeScalarView(text(&random).unicodeScalars.filter { $0 != "\0" }))
    }

    private static func text(_ random: inout SeededGenerator) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...8, using: &random) {
            let range: ClosedRange<UInt32> =
                [0x20...0x7e, 0...0x1f, 0x22...0x22, 0x5c...0x5c, 0x80...0x7ff, 0x300...0x36f, 0x2028...0x2029, 0x800...0xd7ff,
                    0xe000...0xffff, 0x10000...0x10ffff][
                    Int.random(in: 0..<10, using: &random)]
            if let scalar = Unicode.Scalar(UInt32.random(in: range, using: &random)) { text.append(scalar) }
        }
        return String(text)
    }
}
