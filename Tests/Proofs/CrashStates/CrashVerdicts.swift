import Foundation
import KillPoints
import SweepScenarios

/// The bytes of a folder's files that a check has read before it overwrote them, by the files' names at its beginning.
struct CrashReads: Hashable {
    private(set) var ranges: [String: [Range<Int>]] = [:]

    init(in folder: String, _ check: () -> Void) throws {
        let names = SweepScenario.names(in: folder)
        defer { killpoints_end_trace() }
        for (number, name) in names.enumerated() {
            guard Int(killpoints_trace(folder + "/" + name)) == number else {
                throw SweepScenario.Wrong(description: "\(name) cannot be traced")
            }
        }
        check()
        for (number, name) in names.enumerated() {
            var from: Int64 = 0, to: Int64 = 0
            while killpoints_next_read(Int32(number), &from, &to) == 1 { ranges[name, default: []].append(Int(from)..<Int(to)) }
        }
    }
}

/// The findings of the checks so far. A check depends on the names and sizes of a state's files, on the number of calls that had
/// returned, and on the bytes that it reads: a state that agrees in these with an earlier one needs no check of its own. Of a
/// write-ahead log, all bytes are read to find the last commit, and no others count.
struct CrashVerdicts {
    /// True if a log counts as a whole: something else than the engine's recovery reads it.
    let comparesLogs: Bool
    /// The reads of the checks of states with these names and sizes.
    private var reads: [Int: Set<CrashReads>] = [:]
    private var verdicts: [Int: String?] = [:]

    init(comparesLogs: Bool) { self.comparesLogs = comparesLogs }

    private func key(_ state: CrashState, _ calls: Int, _ reads: CrashReads?) -> Int {
        var hasher = Hasher()
        hasher.combine(calls)
        for (name, content) in state.files {
            let end = comparesLogs || !name.hasSuffix("-wal") ? content.count : Int(killpoints_log_end(content, content.count))
            hasher.combine(name)
            hasher.combine(end)
            content.withUnsafeBytes { bytes in
                for range in reads?.ranges[name] ?? [] {
                    hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: bytes[range.clamped(to: 0..<end)]))
                }
            }
        }
        if let reads { hasher.combine(reads) }
        return hasher.finalize()
    }

    /// Nil for a state that needs a check.
    func verdict(on state: CrashState, calls: Int) -> String?? {
        for reads in reads[key(state, calls, nil)] ?? [] {
            if let verdict = verdicts[key(state, calls, reads)] { return verdict }
        }
        return nil
    }

    mutating func note(_ verdict: String?, on state: CrashState, calls: Int, _ read: CrashReads) {
        reads[key(state, calls, nil), default: []].insert(read)
        verdicts[key(state, calls, read)] = .some(verdict)
    }
}
