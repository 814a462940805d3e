import Foundation

/// Tests that take minutes: they run with `SQLCIPHERKIT_LONG_TESTS=1` in the environment, as `scripts/test --long` sets it.
public enum LongTests {
    public static let areOn = ProcessInfo.processInfo.environment["SQLCIPHERKIT_LONG_TESTS"] == "1"

    /// The cases of a sweep that starts a process for each: every second one in debug, the others in release, all with long tests.
    public static func share<Case>(of cases: [Case]) -> [Case] {
        if areOn { return cases }
        #if DEBUG
            let first = 0
        #else
            let first = 1
        #endif
        return stride(from: first, to: cases.count, by: 2).map { cases[$0] }
    }
}
