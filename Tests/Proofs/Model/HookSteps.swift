import CSQLCipher
import SQLCipherKit

/// Steps while hooks listen in both worlds, which must report the same.
struct HookStep: Step {
    var body: [any Step]

    final class Events {
        var list: [String] = []
    }

    func run(in world: World) throws {
        guard !world.isAborted, !world.reference.isInTransaction else { return }
        let found = Events(), expected = Events()
        let tokens = [
            try world.db.addUpdateHook { found.list.append("\($0.kind) \($0.schema).\($0.table) \($0.rowID)") },
            try world.db.addCommitHook { found.list.append("commit") },
            try world.db.addRollbackHook { found.list.append("rollback") },
        ]
        listen(world.reference.db, expected)
        defer { unlisten(world.reference.db) }
        for step in body { try world.run(step) }
        for token in tokens { token.remove() }
        guard found.list == expected.list else { throw Mismatch(description: "hooks: expected \(expected.list), found \(found.list)") }
        // After their removal they are silent.
        try world.run(SQLStep(sql: "PRAGMA main.user_version = 77", call: .execute))
        guard found.list.count == expected.list.count - (world.reference.isInTransaction ? 0 : 1) else {
            throw Mismatch(description: "a hook was called after its removal")
        }
    }

    private func listen(_ db: OpaquePointer, _ events: Events) {
        let context = Unmanaged.passUnretained(events).toOpaque()
        sqlite3_update_hook(db, { context, action, schema, table, row in
            let kind = action == SQLITE_INSERT ? "insert" : action == SQLITE_DELETE ? "delete" : "update"
            let text = "\(kind) \(String(cString: schema!)).\(String(cString: table!)) \(row)"
            Unmanaged<Events>.fromOpaque(context!).takeUnretainedValue().list.append(text)
        }, context)
        sqlite3_commit_hook(db, { context in
            Unmanaged<Events>.fromOpaque(context!).takeUnretainedValue().list.append("commit")
            return 0
        }, context)
        sqlite3_rollback_hook(db, { Unmanaged<Events>.fromOpaque($0!).takeUnretainedValue().list.append("rollback") }, context)
        // A DELETE without WHERE then deletes row by row.
        sqlite3_set_authorizer(db, { _, action, _, _, _, _ in action == SQLITE_DELETE ? SQLITE_IGNORE : SQLITE_OK }, nil)
    }

    private func unlisten(_ db: OpaquePointer) {
        sqlite3_update_hook(db, nil, nil)
        sqlite3_commit_hook(db, nil, nil)
        sqlite3_rollback_hook(db, nil, nil)
        sqlite3_set_authorizer(db, nil, nil)
    }

    var simpler: [any Step] {
        body + shorter(body).map { HookStep(body: $0) }
    }

    var description: String { "// with hooks\n\(indented(body))// without hooks" }
}

/// A commit that a hook refuses.
struct VetoStep: Step {
    var step: SQLStep

    func run(in world: World) throws {
        // OR FAIL commits the changes before it fails.
        guard !world.isAborted, !world.reference.isInTransaction, !step.sql.contains("OR FAIL") else { return }
        _ = try world.reference.must("BEGIN IMMEDIATE")
        let changes = sqlite3_total_changes64(world.reference.db)
        let outcome = world.reference.run(step.sql, step.values, controls: false)
        let hasWritten = sqlite3_total_changes64(world.reference.db) != changes
        var violations: Int32 = 0, peak: Int32 = 0
        sqlite3_db_status(world.reference.db, SQLITE_DBSTATUS_DEFERRED_FKS, &violations, &peak, 0)
        if world.reference.isInTransaction { _ = try world.reference.must("ROLLBACK") }
        let token = try world.db.addCommitHook { throw Thrown() }
        defer { token.remove() }
        let found = try Outcome.of {
            .rows(try Contents.rows(world.db, SQL(raw: step.sql), StatementArguments(step.values.map { $0 })))
        }
        // RAISE(FAIL) commits the changes before it, too: then the hook comes first.
        if outcome.isError { return try world.expect(Outcome.refused(.callback).agrees(with: found) ? found : outcome, found) }
        // Deferred foreign keys are checked before the hook is asked.
        if violations != 0 {
            if !found.isError { throw Mismatch(description: "a violated foreign key was committed: \(found)") }
            return
        }
        // A statement that finds no row to change may commit nothing.
        if hasWritten { try world.expect(.refused(.callback), found) } else if !found.isError { try world.expect(outcome, found) }
    }

    var description: String { "try db.addCommitHook { throw Thrown() }\n\(step)  // refused" }
}

/// SQL under a policy that allows reading only.
struct AccessStep: Step {
    var step: SQLStep

    func run(in world: World) throws {
        guard !world.isAborted else { return }
        if !step.sql.contains("pragma_"), step.sql.hasPrefix("SELECT") || step.sql.hasPrefix("WITH") {
            try world.both { db in
                try db.withPermissions(.readOnly) { .rows(try Contents.rows($0, SQL(raw: step.sql), StatementArguments(step.values.map { $0 }))) }
            } _: { $0.run(step.sql, step.values) }
        } else {
            try world.only(.error) { db in
                try db.withPermissions(.readOnly) { .rows(try Contents.rows($0, SQL(raw: step.sql), StatementArguments(step.values.map { $0 }))) }
            }
        }
    }

    var simpler: [any Step] { [step] }
    var description: String { "try db.withPermissions(.readOnly) { db in \(step) }" }
}

extension Sketch {
    mutating func hookStep() -> (any Step)? {
        switch dice.below(4) {
        case 0: return (dataStep() as? SQLStep).map { VetoStep(step: $0) }
        case 1:
            guard var step = (dice.oneIn(2) ? dataStep() : queryStep()) as? SQLStep, step.call != .named else { return dataStep() }
            step.call = .forEach
            return AccessStep(step: step)
        default:
            if depth > 0 { return dataStep() }
            return HookStep(body: (0..<1 + dice.below(4)).compactMap { _ in dice.oneIn(4) ? plainTransaction() : dataStep() })
        }
    }

    /// A transaction with nothing but SQL in it.
    mutating func plainTransaction() -> any Step {
        TransactionStep(
            kind: dice.pick(TransactionKind.allCases), savepoint: dice.oneIn(3) ? "s" : nil,
            body: (0..<dice.below(4)).compactMap { _ in dataStep() }, end: dice.pick([.commit, .commit, .rollback, .throwing]))
    }
}
