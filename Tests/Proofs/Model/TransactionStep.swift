import CSQLCipher
import SQLCipherKit

/// A transaction or a savepoint with a closure.
struct TransactionStep: Step {
    enum End: String, Sendable { case commit, rollback, throwing }

    var kind = TransactionKind.immediate
    /// A savepoint of this name, not a transaction.
    var savepoint: String?
    var body: [any Step]
    var end: End

    func run(in world: World) throws {
        let isNested = world.reference.isInTransaction, isSavepoint = isNested || savepoint != nil
        let wasAborted = world.isAborted
        var hasBegun = false
        let found = try Outcome.of {
            let inside: (Connection) throws -> TransactionEnd<Outcome> = { _ in
                hasBegun = true
                if isNested, savepoint == nil, !hasKind(world.reference) {
                    throw Mismatch(description: "a transaction of the kind \(kind) begins inside one that lacks its locks")
                }
                try begin(world, isSavepoint)
                world.closures += 1
                defer { world.closures -= 1 }
                for step in body { try world.run(step) }
                switch end {
                case .commit: return .commit(.done)
                case .rollback: return .rollback(.done)
                case .throwing: throw Thrown()
                }
            }
            return try savepoint.map { try world.db.savepoint($0, inside) } ?? world.db.transaction(kind, inside)
        }
        guard hasBegun else {
            if !wasAborted, isNested, savepoint == nil, !hasKind(world.reference) {
                return try world.expect(.refused(.misuse), found)
            }
            // The other world must fail to begin in the same way.
            return try world.expect(wasAborted ? .refused(.transactionAborted) : beginning(world, isSavepoint), found)
        }
        if world.isAborted {
            if end == .throwing { return try world.expect(.thrown, found) }
            return try world.expect(.refused(.transactionAborted), found)
        }
        try world.expect(ending(world, isSavepoint), found)
    }

    /// True if the open transaction has the locks of this kind.
    private func hasKind(_ reference: Reference) -> Bool {
        guard kind != .deferred else { return true }
        guard sqlite3_txn_state(reference.db, "main") == SQLITE_TXN_WRITE else { return false }
        guard kind == .exclusive, sqlite3_db_filename(reference.db, "main").map({ String(cString: $0) }) ?? "" != "" else { return true }
        var lock: Int32 = 0
        sqlite3_file_control(reference.db, "main", SQLITE_FCNTL_LOCKSTATE, &lock)
        return lock == 4 || reference.run("PRAGMA main.journal_mode") == .rows([[.text("wal")]])
    }

    private func beginning(_ world: World, _ isSavepoint: Bool) -> Outcome {
        world.reference.run(isSavepoint ? "SAVEPOINT m" : "BEGIN \(kind.rawValue)")
    }

    private func begin(_ world: World, _ isSavepoint: Bool) throws {
        let outcome = beginning(world, isSavepoint)
        if outcome.isError { throw Mismatch(description: "the transaction begins, but should fail with \(outcome)") }
    }

    private func ending(_ world: World, _ isSavepoint: Bool) -> Outcome {
        let reference = world.reference
        var outcome: Outcome = end == .throwing ? .thrown : .done
        if end == .commit {
            outcome = reference.run(isSavepoint ? "RELEASE m" : "COMMIT")
            if !outcome.isError { return .done }
        }
        if isSavepoint {
            _ = reference.run("ROLLBACK TO m")
            if !reference.run("RELEASE m").isError { return outcome }
        }
        if reference.isInTransaction { _ = reference.run("ROLLBACK") }
        return outcome
    }

    var simpler: [any Step] {
        let others = shorter(body).map { body in
            var step = self
            step.body = body
            return step as any Step
        }
        return body + others
    }

    var description: String {
        let head = savepoint.map { "try db.savepoint(\(show($0)))" } ?? "try db.transaction(.\(kind))"
        let last = switch end {
        case .commit: ""
        case .rollback: "    return .rollback(())\n"
        case .throwing: "    throw Thrown()\n"
        }
        return "\(head) { db in\n\(indented(body))\(last)}"
    }
}

/// The calls that begin and end a transaction without a closure.
struct ControlStep: Step {
    enum Call: Sendable { case begin(TransactionKind), commit, rollback }
    var call: Call

    func run(in world: World) throws {
        let isOpen = world.reference.isInTransaction
        try world.both { db in
            switch call {
            case .begin(let kind): try db.begin(kind)
            case .commit: try db.commit()
            case .rollback: try db.rollback()
            }
            return .done
        } _: { reference in
            let outcome: Outcome
            switch call {
            case .begin(let kind): outcome = isOpen ? .refused(.misuse) : reference.run("BEGIN \(kind.rawValue)")
            case .commit: outcome = world.closures > 0 || !isOpen ? .refused(.misuse) : reference.run("COMMIT")
            case .rollback: outcome = world.closures > 0 || !isOpen ? .refused(.misuse) : reference.run("ROLLBACK")
            }
            return outcome.isError ? outcome : .done
        }
    }

    var description: String {
        switch call {
        case .begin(let kind): "try db.begin(.\(kind))"
        case .commit: "try db.commit()"
        case .rollback: "try db.rollback()"
        }
    }
}
