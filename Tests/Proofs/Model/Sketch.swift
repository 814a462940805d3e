import SQLCipherKit

/// The generator's beliefs about the databases while it writes a program. It need not be right: where it is wrong, both worlds
/// must fail in the same way.
struct Sketch {
    struct Table {
        var schema: String
        var name: String
        var columns: [String]
        var quoted: String { "\(schema.quotedSQLIdentifier).\(name.quotedSQLIdentifier)" }
    }

    var dice: Dice
    var onDisk: Bool
    var key: ModelKey
    var tables: [Table] = []
    var schemas = ["main"]
    /// The files beside the main one.
    var files: [String] = []
    /// The number of closures around the steps that are written now.
    var depth = 0
    var isInTransaction = false
    /// The room that the program is about, if any.
    var focus: Int?
    /// The number of steps so far, by kind.
    var counts: [String: Int] = [:]

    static let tableNames = ["t", "u", "item two", "q\"t", "ß🐢", "Select", "o'k"]
    static let schemaNames = ["aux", "q\"s", "🗝", "two words"]

    init(seed: UInt64) {
        dice = Dice(seed)
        onDisk = dice.oneIn(3)
        key = dice.key()
        if !dice.oneIn(3) { focus = dice.below(Self.rooms.count) }
        // Rooms that are about files.
        if let focus, Self.rooms[focus].weight == 1 { onDisk = true }
    }

    mutating func anyTable() -> Table? { tables.isEmpty ? nil : dice.pick(tables) }

    mutating func count(_ what: String) -> Int {
        counts[what, default: 0] += 1
        return counts[what]!
    }

    /// A program of some steps.
    static func program(seed: UInt64) -> Program {
        var sketch = Sketch(seed: seed)
        let onDisk = sketch.onDisk, key = sketch.key
        var steps: [any Step] = [sketch.createTable()]
        let count = 3 + sketch.dice.below(onDisk ? 22 : 16)
        while steps.count < count { steps.append(sketch.step()) }
        return Program(seed: seed, onDisk: onDisk, key: key, steps: steps)
    }

    /// One step, of any room; often of the one that the program is about.
    mutating func step() -> any Step {
        let rooms = Self.rooms
        if let focus, dice.oneIn(2) { return rooms[focus].make(&self) ?? createTable() }
        var number = dice.below(rooms.reduce(0) { $0 + $1.weight })
        for room in rooms {
            if number < room.weight { return room.make(&self) ?? createTable() }
            number -= room.weight
        }
        return createTable()
    }

    /// The rooms, and how often each has its turn.
    static var rooms: [(weight: Int, make: (inout Sketch) -> (any Step)?)] { [
        (10, { $0.schemaStep() }),
        (34, { $0.dataStep() }),
        (14, { $0.queryStep() }),
        (14, { $0.transactionStep() }),
        (5, { $0.refusedStep() }),
        (3, { $0.badStep() }),
        (4, { $0.attachStep() }),
        (12, { $0.rewriteStep() }),
        (10, { $0.recordStep() }),
        (7, { $0.keyValueStep() }),
        (4, { $0.valueStep() }),
        (5, { $0.jsonStep() }),
        (8, { $0.searchStep() }),
        (6, { $0.hookStep() }),
        (4, { $0.functionStep() }),
        (4, { $0.blobStep() }),
        (3, { $0.recordingStep() }),
        (6, { $0.schemaCallStep() }),
        (3, { $0.diffStep() }),
        (2, { $0.synchronizeStep() }),
        (3, { $0.migratorStep() }),
        (1, { $0.salvageStep() }),
        (1, { $0.slotStep() }),
        (1, { $0.poolStep() }),
        (2, { $0.observeStep() }),
    ] }

    mutating func transactionStep() -> (any Step)? {
        if dice.oneIn(5) { return controlStep() }
        if depth >= 3 { return dataStep() }
        depth += 1
        var body: [any Step] = []
        let count = dice.below(5)
        for _ in 0..<count { body.append(step()) }
        depth -= 1
        return TransactionStep(
            kind: dice.pick(TransactionKind.allCases), savepoint: dice.oneIn(3) ? dice.pick(["s", "a b", "\"", "sqlcipherkit"]) : nil,
            body: body, end: dice.pick([.commit, .commit, .commit, .rollback, .throwing]))
    }

    private mutating func controlStep() -> any Step {
        if dice.oneIn(3) {
            return SQLStep(sql: dice.pick([
                "BEGIN", "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK", "SAVEPOINT x", "RELEASE x", "ROLLBACK TO x", "END",
            ]), call: dice.pick([.execute, .forEach, .prepared, .script]))
        }
        if depth == 0 { isInTransaction.toggle() }
        return ControlStep(call: isInTransaction ? .begin(dice.pick(TransactionKind.allCases)) : dice.pick([.commit, .commit, .rollback]))
    }

    /// Any call that runs SQL with values at question marks.
    mutating func call() -> SQLStep.Call {
        dice.pick([.execute, .forEach, .forEach, .cursor, .prepared, .stepped, .interpolated])
    }
}
