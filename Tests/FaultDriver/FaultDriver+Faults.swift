import FaultMemory
import Faults
import Foundation
import SQLCipherKit
import SQLCipherKitReplication

/// Makes the n-th call of a kind fail in an operation, for many n, and checks the files that are left. Prints a line per failure.
extension FaultDriver {
    /// - Parameter arguments: the scenario, the kind of fault, `once` or `forGood`, and the largest number of n to try.
    static func runFaults(_ folder: String, _ arguments: [String]) throws {
        guard let scenario = FaultScenario.all.first(where: { $0.name == arguments[0] }), let fault = Fault(name: arguments[1]),
            let length = Fault.Length(rawValue: arguments[2]), let budget = Int(arguments[3])
        else { throw DatabaseError(message: "no such sweep") }
        guard faultmemory_install() == 0 else { throw DatabaseError(message: "no allocator") }
        let sweep = try FaultSweep(scenario, folder, fault, length)
        let total = try sweep.count()
        if total == 0 { return say("struck 0 of 0") }
        let step = max(1, total / budget)
        var numbers = total <= budget ? Array(1...max(1, total)) : (0..<budget).map { $0 * step + 1 + ($0 * 7919) % step }
        // Always try the last calls: that is where a change takes effect.
        numbers += (max(1, total - 2)...max(1, total)).filter { !numbers.contains($0) }
        for number in numbers {
            for line in try sweep.strike(number) { say("FAILED \(number) of \(total): \(line)") }
        }
        say("struck \(numbers.count) of \(total), \(sweep.failures) errors, slowest \(sweep.slowest)")
    }
}

final class FaultSweep {
    private let scenario: FaultScenario
    private let folder: String, template: String
    private let fault: Fault, length: Fault.Length
    /// The numbers of open descriptors and allocations after a run without faults.
    private var most: (descriptors: Int, allocations: Int) = (0, 0)
    private(set) var failures = 0
    private(set) var slowest: Duration = .zero

    init(_ scenario: FaultScenario, _ folder: String, _ fault: Fault, _ length: Fault.Length) throws {
        (self.scenario, self.fault, self.length) = (scenario, fault, length)
        self.folder = folder + "/work"
        template = folder + "/template"
        try FileManager.default.createDirectory(atPath: template, withIntermediateDirectories: true)
        for file in scenario.before {
            let db = try Connection(.file(template + "/" + file.name), key: FaultScenario.key(file.key))
            if file.hasLog { try db.main.setJournalMode(.wal) }
            try db.execute(SQLScript("CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT); CREATE INDEX t_x ON t(x)"))
            try db.create(FTS5Table("search", columns: ["x"]))
            for number in 0..<file.rows {
                try db.execute("INSERT INTO t(x) VALUES (\(String(repeating: "x", count: 200) + "\(number)"))")
                try db.execute("INSERT INTO search(x) VALUES (\("word \(number)"))")
            }
        }
        try scenario.prepare(template)
    }

    /// The number of calls in an undisturbed run.
    func count() throws -> Int {
        try makeFiles()
        fault.choose(0, length)
        try scenario.run(folder)
        let calls = fault.calls
        Fault.none()
        // The second run opens and allocates nothing that stays.
        for _ in 0..<2 {
            try makeFiles()
            try scenario.run(folder)
            most = held
        }
        let problems = problems(error: nil)
        guard problems.isEmpty else { throw DatabaseError(message: "\(scenario.name) without a fault: \(problems)") }
        return calls
    }

    /// Makes one call fail. Returns the problems afterwards.
    func strike(_ number: Int) throws -> [String] {
        try makeFiles()
        var thrown: (any Error)?
        // Threads without work end after two seconds; threads of the previous attempt must not do the work of this attempt.
        if fault == .thread { usleep(2_300_000) }
        fault.choose(number, length)
        let time = ContinuousClock().measure {
            do { try scenario.run(folder) } catch { thrown = error }
        }
        Fault.none()
        slowest = max(slowest, time)
        let held = heldSettled()
        if thrown != nil { failures += 1 }
        var leaks: [String] = []
        if held.descriptors > most.descriptors { leaks.append("\(held.descriptors - most.descriptors) descriptors stay open") }
        if held.allocations > most.allocations { leaks.append("\(held.allocations - most.allocations) allocations stay") }
        return problems(error: thrown) + leaks + (time > .seconds(4) ? ["it took \(time)"] : [])
    }

    private var held: (descriptors: Int, allocations: Int) {
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
        return (descriptors, faultmemory_live())
    }

    /// Threads of a pool close their connections shortly after the pool.
    private func heldSettled() -> (descriptors: Int, allocations: Int) {
        for _ in 0..<100 {
            let now = held
            if now.descriptors <= most.descriptors, now.allocations <= most.allocations { return now }
            usleep(2000)
        }
        return held
    }

    private func makeFiles() throws {
        try? FileManager.default.removeItem(atPath: folder)
        try FileManager.default.copyItem(atPath: template, toPath: folder)
    }

    private func problems(error: (any Error)?) -> [String] {
        var problems = error.map(untruths) ?? []
        let first = (error as? FaultScenario.Unusable)?.first ?? error
        let error = first as? DatabaseError
        var wanted = [first == nil ? scenario.after : scenario.before]
        switch error?.workingKey {
        case .new: wanted = [scenario.after]
        case .unknown: wanted = [scenario.before, scenario.after]
        case .old, nil: break
        }
        if error?.reason == .unknownOutcome { wanted = [scenario.before, scenario.after] }
        if scenario.isStepwise, first != nil { wanted = [scenario.before, scenario.after] }
        let states = wanted.map { files in files.compactMap(difference) }
        if !states.contains([]) { problems.append("\(error.map { "\($0)" } ?? "success"): \(states)") }
        let names = Set((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [])
        var remains = names.subtracting(wanted.joined().map(\.name)).subtracting(scenario.beside)
        // A file that could not be removed, or be told from another process's, is left for the next process that writes the file.
        if fault == .unlink || fault == .stat { remains = remains.filter { !$0.contains("-sqlcipherkit-") && !$0.contains("-restoring-") } }
        // A replica's memory of a database is in a folder beside it.
        remains = remains.filter { !$0.contains("-replicated-") }
        // A super-journal that no journal names stays after a commit that failed (https://sqlite.org/atomiccommit.html).
        remains = remains.filter { !$0.contains("-mj") }
        // A journal that begins with zeros is a finished one.
        remains = remains.filter { name in
            guard name.hasSuffix("-journal"), let bytes = FileManager.default.contents(atPath: folder + "/" + name) else {
                return true
            }
            return bytes.first ?? 0 != 0
        }
        if !remains.isEmpty { problems.append("\(error.map { "\($0)" } ?? "success"): remains \(remains.sorted())") }
        do { try scenario.check(folder) } catch let second { problems.append("\(error.map { "\($0)" } ?? "success"): \(second)") }
        return problems
    }

    /// False claims of an error: no key was wrong, and nothing was damaged.
    private func untruths(_ error: any Error) -> [String] {
        // A folder that cannot be read or written.
        guard let error = error as? DatabaseError else { return ["\(error)"] }
        if error.reason == .storeUnavailable, fault != .full || error.message.contains("No space left on device") { return [] }
        // A new file that there was no room for is incomplete: the check of it says so.
        if fault == .full, error.reason == .conversionFailed { return [] }
        // Whatever there was no room for, the error says so; SQLite's own for shared memory is SQLITE_IOERR_SHMSIZE.
        if fault == .full, error.code.primary != .full, error.code.rawValue != 10 | 19 << 8 { return ["untrue: \(error.reason) \(error)"] }
        // Other calls of these kinds may fail unnoticed.
        let refusals = [Fault.thread: "refuses another thread", .random: "refuses random bytes", .lock: "No locks available"]
        if let refusal = refusals[fault], error.code != .ioErrorLock, !"\(error)".contains(refusal) {
            return ["untrue: \(error.reason) \(error)"]
        }
        let untrue: [DatabaseError.Reason] = [
            .wrongKeyOrNotADatabase, .notEncrypted, .invalidKey, .noSlotOpens, .keySlotsDamaged, .schemaName,
        ]
        if untrue.contains(error.reason) || [.corrupt, .notADatabase, .misuse].contains(error.code.primary) {
            return ["untrue: \(error.reason) \(error)"]
        }
        return []
    }

    /// The difference between a file and the expected one; nil if there is none.
    private func difference(_ file: FaultScenario.File) -> String? {
        do {
            let db = try FaultScenario.open(folder + "/" + file.name, file.key)
            defer { db.close() }
            let rows = try db.fetchOne(Int.self, "SELECT count(*) FROM t") ?? -1
            if rows != file.rows { return "\(file.name) has \(rows) rows" }
            // If the disk keeps failing, the log cannot be restored.
            if file.hasLog, length == .once, try db.main.journalMode != .wal { return "\(file.name) has lost its log" }
            let problems = try db.main.verify().problems
            return problems.isEmpty ? nil : "\(file.name): \(problems)"
        } catch {
            return "\(file.name): \(error)"
        }
    }
}
