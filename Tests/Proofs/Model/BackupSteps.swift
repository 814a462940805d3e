import Foundation
import SQLCipherKit

/// A backup to a file, which is compared at once and may be attached or restored later.
struct BackupStep: Step {
    var schema: String
    var file: String
    /// Nil for the key of the database.
    var key: ModelKey?
    var isCompact: Bool
    var replaces: Bool

    func run(in world: World) throws {
        guard let own = world.key(of: schema), !world.isAborted else { return }
        // Pages cannot be copied with uncommitted changes.
        let isInTransaction = world.reference.isInTransaction
        if isInTransaction, !isCompact { return }
        let exists = world.files[file] != nil
        let expected: Outcome = exists && (!replaces || world.isOpen(file)) ? .refused(.cannotOpen) : .done
        try world.only(expected) { db in
            var options = isCompact ? Schema.BackupOptions.compact : Schema.BackupOptions()
            options.replacesFile = replaces
            let source = try Schema.named(schema, db)
            if let key { try source.backup(toFileAt: world.path(file), key: key.encryption(), options: options) } else {
                try source.backup(toFileAt: world.path(file), options: options)
            }
            return .done
        }
        guard !expected.isError else { return }
        world.files[file] = key?.ofNewFile ?? own
        for suffix in ["", "-journal", "-wal", "-shm"] { unlink(world.plainPath(file) + suffix) }
        try world.reference.write(schema, to: world.plainPath(file))
        let copy = try Reference(world.plainPath(file))
        let opened: Connection
        do { opened = try Connection(.file(world.path(file)), key: world.files[file]!.encryption(), configuration: World.configuration) } catch {
            throw Mismatch(description: "the backup does not open: \(error)")
        }
        defer { opened.close() }
        try Contents.compare(schema: "main", opened, copy)
    }

    var description: String {
        "try db.schema(\(show(schema))).backup(toFileAt: \"\(file).db\"\(key.map { ", key: \($0)" } ?? "")"
            + ", compact: \(isCompact), replacing: \(replaces))"
    }
}

struct RestoreStep: Step {
    var schema: String
    var file: String
    var key: ModelKey?

    func run(in world: World) throws {
        guard let own = world.key(of: schema), !world.isOpen(file), !world.isAborted else { return }
        let stored = world.files[file]
        var given = key ?? own
        if key == nil {
            if own.settings == .header || stored?.settings == .header { return }
            // The salt of the backup is taken.
            if case .raw(let seed, _) = own.form { given.form = .raw(seed, salt: nil) }
        }
        let expected: Outcome =
            if world.reference.isInTransaction { .refused(.misuse) } else if let stored { given.opening(stored) } else { .refused(.cannotOpen) }
        try world.only(expected) { db in
            let target = try Schema.named(schema, db)
            if let key { try target.restore(fromFileAt: world.path(file), key: key.encryption()) } else {
                try target.restore(fromFileAt: world.path(file))
            }
            return .done
        }
        guard !expected.isError else { return }
        try Reference.copy(Reference(world.plainPath(file)), "main", over: world.reference, schema)
    }

    var description: String {
        "try db.schema(\(show(schema))).restore(fromFileAt: \"\(file).db\"\(key.map { ", key: \($0)" } ?? ""))"
    }
}

extension Sketch {
    mutating func rewriteStep() -> (any Step)? {
        let schema = dice.oneIn(12) ? dice.pick(["temp", "nothing"]) : dice.pick(schemas), file = dice.pick(["one", "two", "three", "main"])
        // A rewrite replaces some journal modes while it runs.
        if counts["journal"] != nil, dice.oneIn(3) { return MaintenanceStep(schema: "main", call: dice.pick([.vacuum, .erase])) }
        switch dice.below(onDisk ? 16 : 8) {
        case 0, 15: return MaintenanceStep(schema: schema, call: dice.pick(MaintenanceStep.Call.allCases))
        case 1, 2: return BackupStep(
            schema: schema, file: file == "main" && !onDisk ? "one" : file, key: dice.oneIn(2) ? nil : someKey(), isCompact: dice.oneIn(3),
            replaces: dice.oneIn(3))
        case 3, 4: return RestoreStep(schema: schema, file: file, key: dice.oneIn(2) ? nil : someKey())
        case 5, 6, 7, 8:
            return ChangeKeyStep(schema: schema, key: someKey(), mode: dice.pick([.inPlace, .inPlace, .newFile]), keepsSettings: dice.oneIn(2))
        case 9, 14:
            _ = count("journal")
            return JournalStep(schema: schema, mode: dice.pick([.delete, .wal, .wal, .truncate, .persist, .memory, .memory]))
        case 10: return BusyStep(kind: dice.pick([.immediate, .exclusive]), step: (dataStep() ?? createTable()))
        default: return depth > 0 ? dataStep() : ReopenStep(trying: someKey(), converting: dice.oneIn(2) ? someKey() : nil)
        }
    }
}
