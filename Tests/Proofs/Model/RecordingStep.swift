import Foundation
import SQLCipherKit
import SQLCipherKitSync

/// Records the changes of some steps, and applies them to a copy of the former database: the copy must become equal, and with the
/// inverse as before.
struct RecordingStep: Step {
    var body: [any Step]

    func run(in world: World) throws {
        guard !world.isAborted, !world.reference.isInTransaction else { return }
        // Such a table removes rows by itself when a changeset inserts other rows before it deletes them.
        let replacing = "SELECT 1 FROM main.sqlite_schema WHERE sql LIKE '%ON CONFLICT REPLACE%'"
        guard try world.reference.must(replacing).isEmpty else { return }
        let copy = try world.copyOfMain()
        defer { copy.close() }
        try copy.settings.setEnabled(.foreignKeys, to: false)
        let before = try Self.tables(copy)
        var recorder: ChangeRecorder? = try ChangeRecorder(world.db.main)
        for step in body { try world.run(step) }
        let changes: Changeset
        do { changes = try recorder!.changeset() } catch {
            throw Mismatch(description: "the changes cannot be read: \(error)")
        }
        recorder?.close()
        recorder = nil
        if world.reference.isInTransaction { return }
        var options = Changeset.Options()
        options.triggers = .essentialOnly
        options.runsForeignKeyActions = false
        let applied = try Outcome.of {
            try changes.apply(to: copy, options: options) { conflict in conflict.change == nil ? .omit : .abort }
            return .done
        }
        try world.expect(.done, applied)
        try same(try Self.tables(world.db), try Self.tables(copy), "applied")
        try changes.inverted().apply(to: copy, options: options) { conflict in conflict.change == nil ? .omit : .abort }
        try same(before, try Self.tables(copy), "undone")
    }

    /// The rows of all tables with a primary key, in the order of that key, without generated columns.
    static func tables(_ db: Connection) throws -> [String: String] {
        var found: [String: String] = [:]
        for name in try db.fetchAll(String.self, "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'") {
            let key = try db.main.primaryKey(of: name)
            if key.isEmpty || Contents.isShadow(name) || name.hasPrefix("sqlite_") || name == "jdoc" { continue }
            let order = key.map(\.quotedSQLIdentifier).joined(separator: ", ")
            let sql = SQL(raw: "SELECT * FROM main.\(name.quotedSQLIdentifier) ORDER BY \(order)")
            // Text that a BLOB's bytes were written into cannot be read.
            found[name] = try "\(Outcome.of { .rows(try Contents.rows(db, sql)) })"
        }
        return found
    }

    private func same(_ expected: [String: String], _ found: [String: String], _ what: String) throws {
        // A table that the steps have created is not in the copy.
        for (name, rows) in expected where found[name] != nil && found[name] != rows {
            throw Mismatch(description: "changes \(what) to \(name):\n    expected \(rows)\n    found    \(found[name] ?? "none")")
        }
    }

    var simpler: [any Step] { body + shorter(body).map { RecordingStep(body: $0) } }

    var description: String { "// recording the changes\n\(indented(body))// applying them to a copy" }
}

extension Sketch {
    mutating func recordingStep() -> (any Step)? {
        if depth > 0 { return dataStep() }
        return RecordingStep(body: changes())
    }

    /// Some steps that write rows.
    mutating func changes() -> [any Step] {
        (0..<1 + dice.below(4)).compactMap { _ in
            dice.oneIn(4) ? plainTransaction() : dice.oneIn(3) && (counts["record"] ?? 0) > 0 ? recordStep() : dataStep()
        }
    }
}

extension World {
    /// A plaintext copy of the main database, in memory.
    func copyOfMain() throws -> Connection {
        let copy = try Connection(.memory, configuration: Self.configuration)
        let outcome = try Outcome.of {
            try db.main.backup(to: copy.main)
            return .done
        }
        try expect(.done, outcome)
        return copy
    }
}
