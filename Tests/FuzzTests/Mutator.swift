import TestSupport

/// Makes inputs from seeds, the same ones in every run, for where there is no libFuzzer.
struct Mutator: RandomNumberGenerator {
    private var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(state: seed) }

    mutating func next() -> UInt64 { random.next() }

    private static let telling: [UInt8] = [0x00, 0x01, 0x7f, 0x80, 0xff, 0x0a, 0x0d, 0x22, 0x27, 0x28, 0x2c, 0x2d, 0x3b, 0x5b, 0x7b, 0xc0, 0xed]

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
        switch Int.random(in: 0..<8, using: &self) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &self)
        case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &self)
        case 2: bytes[place] = Self.telling.randomElement(using: &self) ?? 0
        case 3: bytes.removeSubrange(place..<end)
        case 4: bytes.insert(contentsOf: bytes[place..<end], at: Int.random(in: 0...bytes.count, using: &self))
        case 5: bytes.insert(Self.telling.randomElement(using: &self) ?? 0, at: place)
        case 6: bytes.removeLast(bytes.count - place)
        default:
            let other = seeds.randomElement(using: &self) ?? []
            bytes = Array(bytes[..<place]) + other.dropFirst(Int.random(in: 0...other.count, using: &self))
        }
    }
}
