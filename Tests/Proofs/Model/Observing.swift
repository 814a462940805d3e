import SQLCipherKit

/// A change hook on the program's connection. After every step outside transactions, the tables that it has reported must be those
/// whose content has changed.
final class Observing {
    private var reported: Set<DatabaseTable> = []
    private var isAnything = false
    private var isCalled = false
    private var former: [String: Outcome] = [:]
    private var token: HookToken?

    init(_ world: World) throws {
        former = try contents(world)
        token = try world.db.addChangeHook { [weak self] changes in
            guard let self else { return }
            isCalled = true
            reported.formUnion(changes.tables)
            if changes.isSchemaChanged || changes.isUnknown { isAnything = true }
        }
    }

    private func contents(_ world: World) throws -> [String: Outcome] {
        var found: [String: Outcome] = [:]
        for schema in ["main", "temp"] + world.attached.map(\.name) {
            for row in try world.reference.must("SELECT name, sql FROM \(schema.quotedSQLIdentifier).sqlite_schema WHERE type = 'table'") {
                guard case .text(let name) = row[0], case .text(let sql) = row[1], !sql.hasPrefix("CREATE VIRTUAL"),
                    !Contents.isShadow(name), !name.hasPrefix("sqlite_")
                else { continue }
                found["\(schema)\u{0}\(name)"] = world.reference.run("SELECT * FROM \(schema.quotedSQLIdentifier).\(name.quotedSQLIdentifier)")
            }
        }
        return found
    }

    func compare(_ world: World) throws {
        if world.reference.isInTransaction { return }
        let now = try contents(world)
        defer { (reported, isAnything, isCalled, former) = ([], false, false, now) }
        for (name, rows) in now where former[name] != nil && !former[name]!.agrees(with: rows) && !isAnything {
            let parts = name.split(separator: "\u{0}").map(String.init)
            let schema = try Schema.named(parts[0], world.db)
            if !reported.contains(DatabaseTable(parts[1], in: schema)) {
                throw Mismatch(description: "the table \(parts) has changed, and the hook has reported \(reported), \(isCalled)")
            }
        }
    }
}

/// Begins to observe.
struct ObserveStep: Step {
    func run(in world: World) throws {
        guard world.closures == 0, !world.reference.isInTransaction else { return }
        world.observing = try Observing(world)
    }

    var description: String { "let token = try db.addChangeHook { … }" }
}

extension Sketch {
    mutating func observeStep() -> (any Step)? {
        if depth > 0 || dice.oneIn(3) { return count("observe") == 1 ? ObserveStep() : dataStep() }
        let inner = TransactionStep(
            savepoint: "inner", body: (0..<dice.below(3)).compactMap { _ in dataStep() }, end: dice.pick([.commit, .rollback, .throwing]))
        return TransactionStep(
            kind: .immediate, body: (0..<dice.below(3)).compactMap { _ in dataStep() } + [inner] + (0..<dice.below(2)).compactMap { _ in dataStep() },
            end: dice.pick([.commit, .commit, .rollback]))
    }
}
