import Foundation
import SQLCipherKit
import SQLCipherKitSync

/// Rewriting, key slots, changesets, change logs and reports.
extension Cases {
    static var maintenance: [ContractCase] { rewriting + files + slots + changes + reports }

    private static var rewriting: [ContractCase] {
        family("change-key",
            call("in place", .rewrites, refusing: [.plaintext, .memory, .readOnly, .slots]) { t in
                try t.schema.changeKey(to: .passphrase("other", cipher: Subject.quick))
            })
        + family("change-key-mode",
            call("by a new file", .rewrites, refusing: [.plaintext, .memory, .readOnly, .slots]) { t in
                try t.schema.changeKey(to: .passphrase("other", cipher: Subject.quick), mode: .newFile)
            })
        + family("vacuum",
            call("vacuum", .rewrites, refusing: [.readOnly], prepare: { try $0.db.execute("DELETE FROM words") }) { t in try t.schema.vacuum() },
            call("erase", .rewrites, refusing: [.readOnly], isStepwise: true) { t in try t.schema.eraseDeletedContent().isComplete })
        + family("backup",
            call("to a file", .rewrites) { t in
                let path = t.file("path", "copy.db")
                try t.schema.backup(toFileAt: path, key: .passphrase("other", cipher: Subject.quick))
                t.then {
                    let copy = try Connection(.file(path), key: .passphrase("other", cipher: Subject.quick))
                    defer { copy.close() }
                    try t.same(3, copy.fetchOne(Int.self, "SELECT count(*) FROM note"))
                }
                return 0
            },
            call("to a connection", on: .connection) { t in
                let other = try Connection(.memory)
                defer { other.close() }
                var options = Schema.BackupOptions()
                options.isCompact = true
                try t.schema.backup(to: other.main, options: options)
                return try other.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0
            },
            call("restore", .rewrites, refusing: [.readOnly, .utf16], prepare: { t in
                let other = try Connection(.file(t.inFolder("source.db")), key: .passphrase("other", cipher: Subject.quick))
                try Fixture.fill(other)
                try other.execute("DELETE FROM child")
                other.close()
            }) { t in
                try t.schema.restore(fromFileAt: t.file("path", "source.db"), key: .passphrase("other", cipher: Subject.quick))
                t.then { try t.same(0, t.db.fetchOne(Int.self, "SELECT count(*) FROM child")) }
                return 0
            })
        + family("copy-tables",
            call("copyTables", refusing: [.readOnly]) { t in
                try t.db.withAttached(.memory, as: "target", key: nil) { target in
                    try t.schema.copyTables([t.text("table", "note", .name)], to: target)
                }
            },
            call("moveRows", .rewrites, refusing: [.readOnly, .utf16], isStepwise: true, prepare: { t in
                let other = try Connection(.file(t.inFolder("target.db")), key: .passphrase("other", cipher: Subject.quick))
                try other.execute("CREATE TABLE pair(a TEXT, b INTEGER, c, PRIMARY KEY (b, a)) WITHOUT ROWID")
                other.close()
            }) { t in
                try t.db.withAttached(.file(t.inFolder("target.db")), as: "target", key: .passphrase("other", cipher: Subject.quick)) { target in
                    let count = try t.schema.moveRows(
                        of: t.text("table", "pair", .name), to: target, where: SQL(raw: t.text("condition", "b = 1", .sql)))
                    try t.schema.finishMoves(to: target)
                    return count
                }
            })
        + family("verify",
            call("verify") { t in try t.schema.verify().problems.count },
            call("residue") { t in try t.schema.findRemnants(of: [t.text("text", Secrets.value)]).isErased })
        + family("recovery-copy",
            call("writeRecoveryCopy", .rewrites, refusing: [.memory]) { t in try t.schema.writeRecoveryCopy(toFileAt: t.file("path", "recovery")) })
        + family("shared-rewriting",
            call("changeKey", .rewrites, on: .shared, refusing: [.plaintext, .memory, .readOnly, .slots]) { t in
                try t.shared.changeKey(to: .passphrase("other", cipher: Subject.quick))
            },
            call("backup", .rewrites, on: .shared) { t in
                try t.shared.main.backup(toFileAt: t.file("path", "copy.db"), key: .passphrase("other", cipher: Subject.quick))
            },
            call("erase", .rewrites, on: .shared, refusing: [.readOnly], isStepwise: true) { t in try t.shared.main.eraseDeletedContent().isComplete },
            call("residue, async", on: .shared, waits: true) { t in
                let main = try t.shared.main, text = t.text("text", Secrets.value)
                return try waiting { try await main.findRemnants(of: [text]).isErased }
            })
    }

    private static var files: [ContractCase] {
        family("convert",
            call("convert", .rewrites, on: .file, refusing: [.slots]) { t in
                try DatabaseConverter.convert(fileAt: t.path, from: t.key, to: .passphrase("other", cipher: Subject.quick))
            },
            call("a path", .rewrites, on: .file, prepare: { t in
                try Connection(.file(t.inFolder("plain.db"))).execute("CREATE TABLE t(x)")
            }) { t in
                try DatabaseConverter.encrypt(fileAt: t.file("path", "plain.db"), key: .passphrase("other", cipher: Subject.quick)).pageSize
            })
        + family("identify",
            call("identify", on: .file, differs: Set(Subject.Kind.allCases)) { t in try DatabaseConverter.identify(fileAt: t.file("path", "a.db"), key: t.key) })
        + family("salvage",
            call("salvage", .rewrites, on: .file) { t in
                try DatabaseConverter.salvage(
                    fileAt: t.path, key: t.key, to: t.file("path", "salvaged.db"), newKey: .passphrase("other", cipher: Subject.quick)).isComplete
            },
            call("openSalvaging", on: .file) { t in
                let (db, report) = try DatabaseConverter.openOrSalvage(fileAt: t.path, key: t.key)
                defer { db.close() }
                return report == nil
            })
    }

    private static var slots: [ContractCase] {
        let derivation = KeySlots.Derivation.pbkdf2(iterations: 1000)
        return family("slots",
            call("create", .rewrites, on: .file, refusing: [.plaintext, .slots], isStepwise: true) { t in
                try KeySlots.create(
                    .passphrase(Secrets.passphrase), label: t.text("label", "first"), for: .file(t.path), existingKey: t.key, derivation: derivation,
                    cipher: Subject.quick).slots().count
            },
            call("new database", .rewrites, on: .file, isStepwise: true) { t in
                try KeySlots.create(
                    .passphrase(Secrets.passphrase), label: t.text("label", "first"), for: .file(t.inFolder("new.db")), derivation: derivation,
                    cipher: Subject.quick).slots().count
            },
            call("add, change and revoke", .rewrites, on: .file, isStepwise: true, prepare: { t in
                t.prepared = try KeySlots.create(
                    .passphrase(Secrets.passphrase), label: "first", for: .file(t.inFolder("new.db")), derivation: derivation, cipher: Subject.quick)
            }) { t in
                let slots = try t.prepared as? KeySlots ?? KeySlots.unlock(.passphrase(Secrets.passphrase), of: .file(t.inFolder("new.db")), cipher: Subject.quick)
                let label = t.text("label", "second"), passphrase = t.text("passphrase", "second")
                try slots.add(.passphrase(passphrase), label: label, derivation: derivation)
                try t.same(label, slots.slots().last?.label)
                _ = try KeySlots.unlock(.passphrase(passphrase), of: .file(t.inFolder("new.db")), cipher: Subject.quick)
                try slots.revoke(label)
                return try slots.slots().count
            },
            call("unlock", on: .file, differs: Set(Subject.Kind.allCases)) { t in
                do {
                    return try "\(KeySlots.unlock(.passphrase(t.text("passphrase", "wrong")), of: .file(t.path), cipher: Subject.quick))"
                } catch { return reason(error) }
            })
        + family("recovery-key",
            call("text", on: .nothing) { t in
                let key = try KeySlots.RecoveryKey(), text = key.text
                try t.same(text, KeySlots.RecoveryKey(text: text).text)
                do { return try KeySlots.RecoveryKey(text: t.text("text", "not one")).text.isEmpty } catch { return "\(key) \(reason(error))" }
            })
    }

    private static var changes: [ContractCase] {
        family("changeset",
            call("recorded and applied", refusing: [.readOnly]) { t in
                var changes: Changeset?
                try t.db.transaction { db -> TransactionEnd<Void> in
                    changes = try t.schema.recordingChanges(tables: [t.text("table", "note", .name)]) { db in
                        try db.execute("INSERT INTO note(id, title) VALUES (50, \(t.text("title", Secrets.value)))")
                    }
                    return .rollback(())
                }
                guard let changes else { return 0 }
                t.then {
                    // The call applies to main alone.
                    let other = try Connection(.memory)
                    defer { other.close() }
                    try Fixture.fill(other)
                    try changes.apply(to: other)
                    if !changes.isEmpty { try t.same(t.text("title", Secrets.value), other.fetchOne(String.self, "SELECT title FROM note WHERE id = 50")) }
                }
                return try changes.inverted().changes().count
            },
            call("applied", .writes, differs: [.attached]) { t in
                let other = try Connection(.memory)
                defer { other.close() }
                try Fixture.fill(other)
                let changes = try other.main.recordingChanges(tables: nil) { db in
                    try db.execute("INSERT INTO note(id, title) VALUES (50, \(t.text("title", Secrets.value)))")
                    try db.execute("DELETE FROM pair WHERE b = 1")
                }
                return try changes.apply(to: t.db, tables: ["note", "pair"]).tables.map(\.applied)
            },
            call("of any bytes", worksClosed: true) { t in
                do { return try Changeset(data: Data(t.text("bytes", "x").utf8)).changes().count } catch { return reason(error) }
            })
        + family("diff",
            call("diff", refusing: [.utf16]) { t in
                let other = try Connection(.memory)
                defer { other.close() }
                try Fixture.fill(other)
                try other.execute("INSERT INTO note(title) VALUES (\(t.text("title", Secrets.value)))")
                let diff = try DatabaseDiff(from: t.schema, to: other.main)
                return try (diff.isEmpty(), diff.summary().filter { !$0.isSame }.count)
            })
        + family("change-log",
            call("made, written and sent", .writes, refusing: [.attached], isStepwise: true) { t in
                let log = try ChangeLog(t.db, tables: ["note"], localPeer: t.text("peer", "here"))
                try log.write { db in try db.execute("INSERT INTO note(id, title) VALUES (60, \(t.text("title", Secrets.value)))") }
                let message = try log.changes()
                t.then {
                let other = try Connection(.memory)
                defer { other.close() }
                try other.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT, n REAL, meta BLOB)")
                try ChangeLog(other, tables: ["note"], localPeer: "there").receive(ChangeLog.Message(data: message.data))
                try t.same(t.text("title", Secrets.value), other.fetchOne(String.self, "SELECT title FROM note WHERE id = 60"))
                }
                return message.count
            },
            call("peers", .writes, refusing: [.attached, .readOnly], isStepwise: true, prepare: { t in
                if t.subject.kind != .attached { _ = try ChangeLog(t.db, tables: ["note"], localPeer: "here") }
            }) { t in
                let log = try ChangeLog(t.db, tables: ["note"], localPeer: "here"), name = t.text("peer", "there")
                try log.add(peer: name)
                try t.same(name, log.peers.last)
                try log.remove(peer: name)
                return try log.position(of: name) == nil
            },
            call("renamed", .writes, refusing: [.attached, .readOnly], isStepwise: true, prepare: { t in
                if t.subject.kind != .attached { _ = try ChangeLog(t.db, tables: ["note"], localPeer: "here") }
            }) { t in
                let log = try ChangeLog(t.db, tables: ["note"], localPeer: "here"), name = t.text("peer", "there")
                try log.write { db in try db.execute("INSERT INTO note(id, title) VALUES (62, \(t.text("title", Secrets.value)))") }
                let count = try log.rename(to: name)
                t.then { try t.same(name, ChangeLog.settings(in: t.db)?.localPeer ?? "") }
                return count
            },
            call("restored, and conflicts cleared", .writes, refusing: [.attached, .readOnly], isStepwise: true, prepare: { t in
                if t.subject.kind != .attached { _ = try ChangeLog(t.db, tables: ["note"], localPeer: "here") }
            }) { t in
                let log = try ChangeLog(t.db, tables: ["note"], localPeer: "here"), title = t.text("title", Secrets.value)
                try log.write { db in try db.execute("INSERT INTO note(id, title) VALUES (63, \(title))") }
                try log.resolveRestore(.keepingThisState)
                let conflicts = try ChangeLog.conflicts(in: t.db)
                try ChangeLog.clearConflicts(in: t.db)
                t.then { try t.same(title, t.db.fetchOne(String.self, "SELECT title FROM note WHERE id = 63")) }
                return conflicts.count
            })
        + family("shared-change-log",
            call("written and sent", .writes, on: .shared, refusing: [.readOnly], isStepwise: true) { t in
                let log = try SharedChangeLog(t.shared, tables: ["note"], localPeer: t.text("peer", "here")), title = t.text("title", Secrets.value)
                try log.write { db -> Void in try db.execute("INSERT INTO note(id, title) VALUES (60, \(title))") }
                let message = try log.changes()
                t.then { try t.same(title, t.shared.read { try $0.fetchOne(String.self, "SELECT title FROM note WHERE id = 60") }) }
                return message.count
            },
            call("received", .writes, on: .shared, refusing: [.readOnly], isStepwise: true) { t in
                let message = try message(t.text("title", Secrets.value))
                let log = try SharedChangeLog(t.shared, tables: ["note"], localPeer: "here")
                let count = try log.receive(message).received
                t.then {
                    let title = try t.shared.read { try $0.fetchOne(String.self, "SELECT title FROM note WHERE id = 61") }
                    try t.same(t.text("title", Secrets.value), title)
                }
                return count
            })
    }

    /// A row of another copy.
    private static func message(_ title: String) throws -> ChangeLog.Message {
        let other = try Connection(.memory)
        defer { other.close() }
        try other.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT, n REAL, meta BLOB)")
        let log = try ChangeLog(other, tables: ["note"], localPeer: "there")
        try log.write { db in try db.execute("INSERT INTO note(id, title) VALUES (61, \(title))") }
        return try log.changes()
    }

    private static var reports: [ContractCase] {
        family("reports",
            call("space", differs: Set(Subject.Kind.allCases)) { t in try t.schema.spaceReport().bytes(ofTable: t.text("table", "note", .name)) },
            call("values") { t in try t.schema.valueReport()["note", t.text("column", "title", .name)]?.name ?? "" },
            call("statistics") { t in try t.schema.statistics().count })
        + family("upkeep",
            call("analyze", .writes) { t in try t.schema.analyze(t.text("table", "note", .name)) },
            call("optimize", .writes, isStepwise: true) { t in
                try t.schema.analyze()
                return try t.schema.optimize(examiningAll: true).count
            },
            call("convertValues", .writes, prepare: { try $0.db.execute("UPDATE pair SET c = '1.50'") }) { t in
                try t.schema.convertValues(of: t.text("column", "c", .name), in: t.text("table", "pair", .name), to: .decimals(.number))
            })
    }
}
