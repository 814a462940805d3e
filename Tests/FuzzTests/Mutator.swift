import TestSupport

/// Makes inputs from seeds, the same inputs in every run, for systems without libFuzzer.
struct Mutator: RandomNumberGenerator {
    private var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(state: seed) }

    mutating func next() -> UInt64 { random.next() }

    private static let telling: [UInt8] = [0x00, 0x01, 0x7f, 0x80, 0xff, 0x0a, 0x0d, 0x22, 0x27, 0x28, 0x2c, 0x2d, 0x3b, 0x5b, 0x7b, 0xc0, 0xed]

    /// Numbers at which sums and sizes break, in each way in which formats write them.
    static let extremes: [[UInt8]] = {
        let numbers = [UInt64.max, 1 << 63, UInt64(Int64.max), UInt64(Int64.max) - 7, 1 << 60, UInt64(UInt32.max), 1 << 31]
        return numbers.flatMap { number in
            let fixed = (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64($0))) }
            let leb = (0..<10).map { UInt8(truncatingIfNeeded: number >> (7 * UInt64($0))) | ($0 < 9 ? 0x80 : 0) }
            let varint = (0..<8).map { UInt8(truncatingIfNeeded: number >> (57 - 7 * UInt64($0))) | 0x80 } + [fixed[7]]
            return [fixed, fixed.reversed(), Array(fixed.suffix(4)), Array(fixed.suffix(2)), leb, varint]
        }
    }()

    mutating func input(from seeds: [[UInt8]], upTo maximum: Int) -> [UInt8] {
        var bytes = seeds.randomElement(using: &self) ?? []
        for _ in 0..<Int.random(in: 1...6, using: &self) { change(&bytes, seeds) }
        return Array(bytes.prefix(maximum))
    }

    private mutating func change(_ bytes: inout [UInt8], _ seeds: [[UInt8]]) {
        guard !bytes.isEmpty else {
            bytes = [UInt8.random(in: 0...255, using: &self)]
            return
        }
        let place = Int.random(in: bytes.indices, using: &self)
        let end = min(bytes.count, place + Int.random(in: 1...32, using: &self))
        switch Int.random(in: 0..<9, using: &self) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &self)
        case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &self)
        case 2: bytes[place] = Self.telling.randomElement(using: &self) ?? 0
        case 3: bytes.removeSubrange(place..<end)
        case 4: bytes.insert(contentsOf: bytes[place..<end], at: Int.random(in: 0...bytes.count, using: &self))
        case 5: bytes.insert(Self.telling.randomElement(using: &self) ?? 0, at: place)
        case 6: bytes.removeLast(bytes.count - place)
        case 7: bytes.replaceSubrange(place..<end, with: Self.extremes.randomElement(using: &self) ?? [])
        default:
            let other = seeds.randomElement(using: &self) ?? []
            bytes = Array(bytes[..<place]) + other.dropFirst(Int.random(in: 0...other.count, using: &self))
        }
    }
}
