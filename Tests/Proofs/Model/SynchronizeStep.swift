import SQLCipherKit
import SQLCipherKitSync

/// Three copies of the main database that change on their own and exchange messages: in the end, all have the same rows.
struct SynchronizeStep: Step {
    /// The writes of each peer in each round.
    var rounds: [[[SQLStep]]]
    var rule: ChangeLog.MergePolicy

    func run(in world: World) throws {
        guard !world.isAborted, !world.reference.isInTransaction else { return }
        let first = try world.copyOfMain()
        var databases = [first]
        defer { databases.forEach { $0.close() } }
        let tables = try RecordingStep.tables(first).keys.filter { !$0.hasPrefix("sqlcipherkit") }.sorted()
        guard let log = try log(first, tables, 0) else { return }
        try log.addExistingRows()
        for peer in 1..<rounds[0].count { try log.add(peer: "p\(peer)") }
        var logs = [log]
        for peer in 1..<rounds[0].count {
            let copy = try Connection(.memory, configuration: World.configuration)
            databases.append(copy)
            try first.main.backup(to: copy.main)
            guard let log = try self.log(copy, tables, peer) else { throw Mismatch(description: "the copy has no log") }
            logs.append(log)
        }
        for round in rounds {
            for (log, steps) in zip(logs, round) { write(steps, log) }
            try exchange(logs)
        }
        try exchange(logs)
        let expected = try rows(logs[0], tables)
        for log in logs.dropFirst() {
            let found = try rows(log, tables)
            if found != expected { throw Mismatch(description: "\(log.localPeer) has \(found),\n    p0 has \(expected)") }
        }
    }

    private func log(_ db: Connection, _ tables: [String], _ peer: Int) throws -> ChangeLog? {
        do {
            return try ChangeLog(db, tables: tables, localPeer: "p\(peer)", mergePolicies: Dictionary(uniqueKeysWithValues: tables.map { ($0, rule) }))
        } catch let error as DatabaseError where error.reason == .invalidArgument { return nil }
    }

    /// Statements may fail, and end the transaction.
    private func write(_ steps: [SQLStep], _ log: ChangeLog) {
        try? log.write { db in
            for step in steps { _ = try? db.execute(SQL(raw: step.sql), StatementArguments(step.values.map { $0 })) }
        }
    }

    private func exchange(_ logs: [ChangeLog]) throws {
        for from in logs {
            for to in logs where from !== to {
                do { try to.receive(from.changes(since: to.position)) } catch {
                    throw Mismatch(description: "\(to.localPeer) refuses what \(from.localPeer) sends: \(error)")
                }
            }
        }
    }

    private func rows(_ log: ChangeLog, _ tables: [String]) throws -> [String] {
        let all = try RecordingStep.tables(log.connection)
        return tables.map { "\($0) \(all[$0] ?? "none")" }
    }

    var simpler: [any Step] {
        var found: [any Step] = []
        for (number, round) in rounds.enumerated() {
            if rounds.count > 1 {
                var step = self
                step.rounds.remove(at: number)
                found.append(step)
            }
            for (peer, steps) in round.enumerated() {
                for index in steps.indices {
                    var step = self
                    step.rounds[number][peer].remove(at: index)
                    found.append(step)
                }
            }
        }
        return found
    }

    var description: String {
        let lines = rounds.enumerated().flatMap { number, round in
            round.enumerated().flatMap { peer, steps in steps.map { "    round \(number), p\(peer): \($0)\n" } }
        }
        return "// copies with a ChangeLog of each, rule \(rule)\n\(lines.joined())// all have the same rows"
    }
}

extension Sketch {
    mutating func synchronizeStep() -> (any Step)? {
        if depth > 0 { return dataStep() }
        return SynchronizeStep(
            rounds: (0..<1 + dice.below(2)).map { _ in
                (0..<3).map { _ in (0..<dice.below(4)).compactMap { _ in dataStep() as? SQLStep } }
            }, rule: dice.pick([.column, .row]))
    }
}
