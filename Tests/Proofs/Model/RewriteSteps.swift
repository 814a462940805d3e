import Foundation
import SQLCipherKit

/// A change of the key of a schema's database.
struct ChangeKeyStep: Step {
    var schema: String
    var key: ModelKey
    var mode: Schema.KeyChangeMode
    /// True if the key is given without cipher settings, so that the database keeps its own.
    var keepsSettings = false

    func run(in world: World) throws {
        if world.isAborted { return }
        guard let old = world.key(of: schema) else {
            try world.only(.refused(schema == "temp" ? .notEncrypted : .schemaName), perform)
            return
        }
        var key = key
        if keepsSettings, !key.isPlaintext {
            if old.settings == .header || key.settings == .header { return }
            key.settings = old.settings
        }
        let expected: Outcome =
            if old.isPlaintext { .refused(.notEncrypted) } else if key.isPlaintext { .refused(.invalidKey) }
            else if world.reference.isInTransaction { .refused(.misuse) }
            else if mode == .inPlace, old.settings != key.settings { .refused(.invalidKey) }
            else if mode == .newFile, world.file(of: schema) == nil { .refused(.misuse) } else { .done }
        try world.only(expected, perform)
        guard !expected.isError else { return }
        world.setKey(mode == .inPlace ? key.inPlace(of: old) : key.ofNewFile, of: schema)
        guard mode == .newFile else { return }
        if schema == "main" {
            guard !world.db.isOpen else { throw Mismatch(description: "the connection is open after a change of key with a new file") }
            return try world.reopen()
        }
        // The database is attached again, as the last database.
        let file = world.file(of: schema)!
        _ = try world.reference.must("DETACH ?", [.text(schema)])
        _ = try world.reference.must("ATTACH ? AS ?", [.text(world.plainPath(file)), .text(schema)])
        world.attached.removeAll { $0.name == schema }
        world.attached.append((schema, file))
    }

    private func perform(_ db: Connection) throws -> Outcome {
        let encryption = try key.encryption()
        try Schema.named(schema, db).changeKey(to: keepsSettings ? encryption.with(cipher: nil) : encryption, mode: mode)
        return .done
    }

    var description: String {
        "try db.schema(\(show(schema))).changeKey(to: \(key)\(keepsSettings ? " without settings" : ""), mode: .\(mode))"
    }
}

/// Calls that rewrite or look after a database and change nothing in its content.
struct MaintenanceStep: Step {
    enum Call: String, CaseIterable, Sendable { case vacuum, erase, checkpoint, verify, quickVerify, optimize, analyze, spaceReport }
    var schema: String
    var call: Call

    func run(in world: World) throws {
        if world.isAborted || world.key(of: schema) == nil { return }
        let isInTransaction = world.reference.isInTransaction
        if isInTransaction, [.erase, .optimize, .analyze].contains(call) { return }
        let isRefused = isInTransaction && [.vacuum, .checkpoint].contains(call)
        try world.only(isRefused ? .refused(.misuse) : .done) { db in
            let schema = try Schema.named(schema, db)
            switch call {
            case .vacuum: try schema.vacuum()
            case .erase: try schema.eraseDeletedContent()
            case .checkpoint: try schema.checkpoint(.truncate)
            case .verify, .quickVerify:
                let problems = try schema.verify(quick: call == .quickVerify).problems
                let others = problems.filter { !$0.isMade }
                if !others.isEmpty { return .text("\(others)") }
            case .optimize: break
            case .analyze: break
            case .spaceReport: _ = try schema.spaceReport()
            }
            return .done
        }
    }

    var description: String { "try db.schema(\(show(schema))).\(call)()" }
}

/// A change of the journal mode, outside transactions.
struct JournalStep: Step {
    var schema: String
    var mode: DatabaseConfiguration.JournalMode

    func run(in world: World) throws {
        guard world.file(of: schema) != nil, !world.reference.isInTransaction, !world.isAborted else { return }
        try world.both { db in
            try Schema.named(schema, db).setJournalMode(mode)
            return .done
        } _: { reference in
            _ = try reference.must("PRAGMA \(schema.quotedSQLIdentifier).journal_mode = \(mode.rawValue)")
            return .done
        }
    }

    var description: String { "try db.schema(\(show(schema))).setJournalMode(.\(mode))" }
}

/// Closes the connection and opens it again, first with a key that may be wrong, and perhaps with another encryption of the file.
struct ReopenStep: Step {
    var trying: ModelKey
    /// The encryption to convert the closed file to.
    var converting: ModelKey?

    func run(in world: World) throws {
        guard let file = world.main, let key = world.files[file], world.closures == 0 else { return }
        world.db.close()
        let opening = try Outcome.of {
            try Connection(.file(world.path(file)), key: trying.encryption(), configuration: World.configuration).close()
            return .done
        }
        try world.expect(trying.opening(key), opening)
        if let target = converting {
            // With a key that may be wrong, too: then nothing changes.
            let source = trying.opens(key) ? trying : key
            if !trying.opens(key) {
                try world.expect(trying.opening(key), try convert(world.path(file), from: trying, to: target))
            }
            try world.expect(.done, try convert(world.path(file), from: source, to: target))
            world.files[file] = target.ofNewFile
        }
        try world.reopen()
        try world.verify()
    }

    private func convert(_ path: String, from source: ModelKey, to target: ModelKey) throws -> Outcome {
        try Outcome.of {
            if source.isPlaintext, !target.isPlaintext {
                try DatabaseConverter.encrypt(fileAt: path, key: target.encryption())
            } else if target.isPlaintext, !source.isPlaintext {
                try DatabaseConverter.decrypt(fileAt: path, key: source.encryption())
            } else {
                try DatabaseConverter.convert(fileAt: path, from: source.encryption(), to: target.encryption())
            }
            return .done
        }
    }

    var simpler: [any Step] { converting == nil ? [] : [ReopenStep(trying: trying)] }

    var description: String {
        "db.close(); try Connection(.file(\"main.db\"), key: \(trying))"
            + (converting.map { "; try DatabaseConverter.convert(fileAt: \"main.db\", to: \($0))" } ?? "") + "; db = … // open again"
    }
}
