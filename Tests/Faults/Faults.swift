import FaultMemory
import Foundation

/// The calls that can be made to fail: allocations of the engine, and system calls by the library in LD_PRELOAD.
package enum Fault: Int32, CaseIterable, Sendable {
    case memory, open, read, write, sync, truncate, rename, unlink, stat
    /// A disk without room, and a process that may open no further file.
    case full, descriptors
    /// Requests that a container or a sandbox refuses: threads, random bytes, memory, memory that is not swapped, locks.
    case thread, random, map, pin, lock

    /// The length of a failure: only one call fails, or all later calls of the kind as well.
    package enum Length: String, CaseIterable, Sendable { case once, forGood }

    /// True if the last choice was to fail all later allocations.
    nonisolated(unsafe) package private(set) static var endsAllMemory = false

    package init?(name: String) {
        guard let fault = Fault.allCases.first(where: { "\($0)" == name }) else { return nil }
        self = fault
    }

    /// Makes the calls from `number` on fail; number 0 only counts them.
    package func choose(_ number: Int, _ length: Length) {
        Fault.none()
        Self.chosen = self
        Self.endsAllMemory = self == .memory && length == .forGood
        let isLasting: Int32 = length == .forGood ? 1 : 0
        if self == .memory { faultmemory_choose(number, isLasting) } else { Self.chooseCall?(rawValue, number, isLasting) }
    }

    /// The number of calls since the choice, until `none`.
    package var calls: Int { Self.chosen == nil ? Self.lastCalls : current }

    private var current: Int { self == .memory ? faultmemory_calls() : Self.countCalls?() ?? 0 }

    package static func none() {
        if let chosen { lastCalls = chosen.current }
        chosen = nil
        faultmemory_choose(0, 0)
        chooseCall?(0, 0, 0)
    }

    nonisolated(unsafe) private static var chosen: Fault?
    nonisolated(unsafe) private static var lastCalls = 0
    private static let chooseCall = dlsym(nil, "faults_choose").map {
        unsafeBitCast($0, to: (@convention(c) (Int32, Int, Int32) -> Void).self)
    }
    private static let countCalls = dlsym(nil, "faults_calls").map { unsafeBitCast($0, to: (@convention(c) () -> Int).self) }
}
