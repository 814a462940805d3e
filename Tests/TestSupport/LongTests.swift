import Foundation

/// Tests that take minutes: they run with `SQLCIPHERKIT_LONG_TESTS=1` in the environment, as `scripts/test --long` sets it.
public enum LongTests {
    public static let areOn = ProcessInfo.processInfo.environment["SQLCIPHERKIT_LONG_TESTS"] == "1"

    /// True if nothing else runs beside a test, so that the promised bounds of time apply: `SQLCIPHERKIT_TESTS_ALONE=1`,
    /// as the part `costs` sets it.
    public static let areAlone = ProcessInfo.processInfo.environment["SQLCIPHERKIT_TESTS_ALONE"] == "1"

    /// A sample of the cases of a sweep, which ``Seed`` decides and which keeps their order; all of them with long tests.
    /// - Parameter count: how many cases the gate takes.
    /// - Parameter name: the purpose of the sample, so that several samples of the same cases differ.
    public static func sample<Case>(_ count: Int, of cases: [Case], for name: String = "") -> [Case] {
        if areOn { return cases }
        var random = SeededGenerator(state: name.utf8.reduce(Seed.value) { $0 &* 31 &+ UInt64($1) })
        return cases.indices.shuffled(using: &random).prefix(count).sorted().map { cases[$0] }
    }

    /// The numbers from 0 to below `count`, of which the gate takes a few at even distances, beginning with 0.
    public static func steps(_ few: Int, of count: Int) -> [Int] {
        areOn || few >= count ? Array(0..<count) : (0..<few).map { $0 * count / few }
    }

    /// The seeds of random runs: the first few, and all with long tests. `SQLCIPHERKIT_TEST_SEEDS=1000-1499` runs only these seeds.
    public static func seeds(_ few: UInt64, of count: UInt64) -> Range<UInt64> {
        let bounds = ProcessInfo.processInfo.environment["SQLCIPHERKIT_TEST_SEEDS"]?.split(separator: "-").compactMap { UInt64($0) } ?? []
        if bounds.count == 2, bounds[0] <= bounds[1] { return bounds[0]..<bounds[1] + 1 }
        return 0..<(areOn ? count : few)
    }
}
