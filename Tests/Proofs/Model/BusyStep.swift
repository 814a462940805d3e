import SQLCipherKit

/// A step while another connection has the lock.
struct BusyStep: Step {
    var kind: TransactionKind
    var step: any Step

    func run(in world: World) throws {
        guard let file = world.main, let key = world.files[file], !world.isAborted else { return }
        // A statement that was kept from before its table was dropped meets the lock before anything else.
        if let step = step as? SQLStep, world.reference.run("EXPLAIN " + step.sql, step.values).isError { return }
        let reference = try Reference(world.plainPath(file))
        let expected = reference.run("BEGIN \(kind.rawValue)")
        let found: Outcome
        var other: Connection?
        found = try Outcome.of {
            other = try Connection(.file(world.path(file)), key: key.encryption(), configuration: World.configuration)
            try other?.begin(kind)
            return .rows([])
        }
        defer { other?.close() }
        try world.expect(expected, found)
        if expected.isError { return }
        if let step = step as? SQLStep { try step.run(in: world) } else { try world.only(.refused(.busy)) { db in
            try db.main.vacuum()
            return .done
        } }
    }

    var simpler: [any Step] { [step] }

    var description: String { "try other.begin(.\(kind))\n\(step)\nother.close()" }
}
