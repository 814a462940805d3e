import SQLCipherKit
import SQLCipherKitSync

/// Compares a copy of the database with the result of some steps, and turns the copy into that result.
struct DiffStep: Step {
    var body: [any Step]

    func run(in world: World) throws {
        guard !world.isAborted, !world.reference.isInTransaction else { return }
        let copy = try world.copyOfMain()
        defer { copy.close() }
        for step in body { try world.run(step) }
        if world.isAborted || world.reference.isInTransaction { return }
        let outcome = try Outcome.of {
            let diff = try DatabaseDiff(from: copy.main, to: world.db.main)
            let isEmpty = try diff.isEmpty(), isSame = try diff.summary().allSatisfy(\.isSame)
            // Views, indexes and numbers in the header may differ where no table does.
            if isEmpty, !isSame { return .text("no difference, and a table that differs") }
            if isEmpty != (try diff.sql().isEmpty) { return .text("a script for no difference, or none for one") }
            try diff.apply(to: copy)
            return try diff.isEmpty() ? .done : .text("a difference is left: \(try diff.sql())")
        }
        try world.expect(.done, outcome)
        do { try Contents.compare(schema: "main", copy, world.reference, comparesJournal: false) } catch {
            throw Mismatch(description: "after the differences were applied: \(error)")
        }
    }

    var simpler: [any Step] { body + shorter(body).map { DiffStep(body: $0) } }

    var description: String { "// the database of before\n\(indented(body))// DatabaseDiff from that to this, applied to that" }
}

extension Sketch {
    mutating func diffStep() -> (any Step)? {
        if depth > 0 { return dataStep() }
        var body = changes()
        if dice.oneIn(2), let step = dice.oneIn(3) ? searchStep() : schemaStep() { body.insert(step, at: dice.below(body.count + 1)) }
        return DiffStep(body: body)
    }
}
