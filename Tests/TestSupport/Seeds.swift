import Foundation

/// The seed of all tests that draw their data, which the first of them prints: 1 in the gate, a new seed with long tests.
/// `SQLCIPHERKIT_TEST_SEED` sets it, to repeat a run.
public enum Seed {
    public static let value: UInt64 = {
        let given = ProcessInfo.processInfo.environment["SQLCIPHERKIT_TEST_SEED"].flatMap { UInt64($0) }
        let seed = given ?? (LongTests.areOn ? UInt64.random(in: 1..<1_000_000) : 1)
        FileHandle.standardError.write(Data("the tests draw with SQLCIPHERKIT_TEST_SEED=\(seed)\n".utf8))
        return seed
    }()
}

/// A generator that gives the same numbers for the same seed (SplitMix64).
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    public init(state: UInt64) { self.state = state }

    /// The numbers of one test, which follow from ``Seed`` and the test's name.
    /// - Parameter number: distinguishes the numbers that one test draws in several places, or in several threads.
    public init(_ number: Int = 0, of test: String = #function) {
        // FNV-1a: Swift's own hashes differ from run to run.
        state = test.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        state = state ^ Seed.value &* 0x9e37_79b9_7f4a_7c15 ^ UInt64(bitPattern: Int64(number)) << 32
    }

    public mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}
