import Foundation
import SQLCipherKit

/// Opening, attaching, settings, hooks, functions, keys and the engine.
extension Cases {
    static var connections: [ContractCase] { opening + settings + hooks + functions + keys }

    private static var opening: [ContractCase] {
        family("open",
            call("a file", on: .file) { t in
                let db = try Connection(.file(t.path), key: t.key, configuration: Subject.existing)
                defer { db.close() }
                return try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0
            },
            call("a new file", .rewrites, on: .file, isStepwise: true) { t in
                let db = try Connection(.file(t.file("path", "new.db")), key: .passphrase("other", cipher: Subject.quick))
                defer { db.close() }
                try db.execute("CREATE TABLE t(x)")
                return try db.main.pageCount
            },
            call("a URI", on: .file, refusing: [.slots]) { t in
                var configuration = DatabaseConfiguration()
                configuration.access = .readOnly
                let db = try Connection(.uri("file:" + t.path + t.text("query", "?cache=private", .value)), key: t.key, configuration: configuration)
                defer { db.close() }
                return try db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0
            },
            call("with a wrong key", on: .file, differs: Set(Subject.Kind.allCases)) { t in
                let key = try DatabaseKey.passphrase(t.text("key", "wrong"), cipher: Subject.quick)
                do { _ = try Connection(.file(t.path), key: key, configuration: Subject.existing) } catch { return reason(error) }
                throw BrokenPromise("a wrong key opens it")
            },
            call("closed twice") { t in
                let db = try Connection(.memory)
                db.close()
                db.close()
                return try t.db.fetchOne(Int.self, "SELECT 1") ?? db.isOpen
            })
        + family("attach",
            call("attach and detach", .rewrites, refusing: [.readOnly], isStepwise: true) { t in
                let name = t.text("name", "more", .new)
                let more = try t.db.attach(.file(t.file("path", "more.db")), as: name, key: .passphrase("other", cipher: Subject.quick))
                try t.db.execute("CREATE TABLE \(identifier: more.name).x(y)")
                let count = try more.pageCount
                try more.detach()
                return count
            },
            call("withAttached", .rewrites, refusing: [.readOnly], isStepwise: true) { t in
                try t.db.withAttached(.file(t.file("path", "more.db")), as: t.text("name", "more", .name), key: nil) { more in
                    try more.connection.execute("CREATE TABLE \(identifier: more.name).x(y)")
                    return more.name.isEmpty
                }
            },
            call("a wrong key", prepare: { t in
                let other = try Connection(.file(t.inFolder("side.db")), key: .passphrase("other", cipher: Subject.quick))
                try other.execute("CREATE TABLE t(x)")
            }) { t in
                let key = t.text("key", "wrong")
                do { _ = try t.db.attach(.file(t.inFolder("side.db")), as: "more", key: .passphrase(key, cipher: Subject.quick)) } catch {
                    return try t.db.schemas().contains { $0.name == "more" }
                }
                throw BrokenPromise("a wrong key attaches it")
            })
    }

    private static var settings: [ContractCase] {
        family("connection-settings",
            call("busy timeout", .settles) { t in
                let now = try t.db.settings.setBusyTimeout(.milliseconds(70))
                t.then { try t.same(now, t.db.settings.busyTimeout) }
                return now
            },
            call("options", .settles, isStepwise: true) { t in
                try ConnectionOption.allCases.map { option in
                    try t.db.settings.setEnabled(option, to: !t.db.settings.isEnabled(option))
                }
            },
            call("limits", .settles) { t in
                try Connection.Settings.Limit.allCases.map { limit in try t.db.settings.setLimit(limit, to: t.db.settings.limit(limit)) }
            },
            call("statement cache", .settles, differs: [.memory, .attached, .slots], worksClosed: true) { t in
                let cache = try t.db.settings.statementCache
                cache.capacity = 3
                cache.clear()
                return (cache.count, cache.capacity)
            },
            call("isAtomicAcrossFiles", differs: [.memory, .log]) { t in try t.db.settings.isAtomicAcrossFiles })
        + family("schema-settings",
            call("user version", .writes) { t in
                t.then { try t.same(7, t.schema.userVersion) }
                return try t.schema.setUserVersion(7)
            },
            call("application id", .writes) { t in
                t.then { try t.same(8, t.schema.applicationID) }
                return try t.schema.setApplicationID(8)
            },
            call("cache size", .settles) { t in
                t.then { try t.same(50, t.schema.cacheSize) }
                return try t.schema.setCacheSize(50)
            },
            call("synchronous", .settles) { t in try t.schema.setSynchronous(.full) },
            call("journal mode", .settles, differs: [.memory]) { t in try t.schema.setJournalMode(.persist) },
            call("facts", differs: Set(Subject.Kind.allCases)) { t in
                try (t.schema.pageSize, t.schema.pageCount, t.schema.freePageCount, t.schema.isReadOnly, t.schema.path as Any)
            },
            call("pragma") { t in try t.schema.pragma(t.text("name", "user_version", .name), as: Int.self) ?? 0 },
            call("setPragma", .writes) { t in
                try t.schema.setPragma(t.text("name", "user_version", .name), to: t.text("value", "5"), as: SQLValue.self) ?? .null
            })
    }

    private static var hooks: [ContractCase] {
        family("hooks",
            call("all kinds", .settles) { t in
                var count = 0
                let tokens = [
                    try t.db.addCommitHook { count += 1 }, try t.db.addRollbackHook { count += 1 }, try t.db.addUpdateHook { _ in count += 1 },
                    try t.db.addChangeHook { _ in count += 1 }, try t.db.addTraceHook { _ in count += 1 },
                ]
                try? t.db.execute("INSERT INTO probe(id) VALUES (1)")
                for token in tokens { token.remove() }
                return tokens.count
            },
            call("recordingReads") { t in
                let (count, region) = try t.db.recordingReads { db in try db.fetchOne(Int.self, "SELECT count(title) FROM note") ?? 0 }
                return (count, region.tables.count)
            },
            call("notifyChanges", .settles, refusing: [.readOnly]) { t in
                try t.db.notifyChanges(in: DatabaseRegion(DatabaseTable(t.text("table", "note", .name), in: t.schema)))
            })
        + family("handlers",
            call("authorizer", .settles) { t in
                try t.db.settings.setAuthorizer { _ in .allow }
                try t.db.settings.setAuthorizer(nil)
                return 0
            },
            call("access") { t in
                var access = SQLPermissions.readOnly
                access.tables = [t.text("table", "note", .name): .all]
                access.functions = [t.text("function", "count", .name)]
                return try t.db.withPermissions(access) { db in
                    do { try db.execute("DELETE FROM canary") } catch { return reason(error) }
                    throw BrokenPromise("the access is not restricted")
                }
            },
            call("untrusted SQL", differs: [.attached]) { t in
                var access = SQLPermissions.readOnly
                access.tables = ["note": .columns(["id", "title"])]
                return try t.db.withPermissions(access) { db in
                    try db.fetchAll(OwnedRow.self, SQL(raw: t.text("sql", "SELECT id, title FROM note", .sql))).count
                }
            },
            call("busy and progress", .settles) { t in
                try t.db.settings.setBusyHandler { $0 < 1 }
                try t.db.settings.setProgressHandler(every: 100) { true }
                try t.db.settings.setProgressHandler(nil)
                try t.db.settings.setBusyTimeout(.milliseconds(50))
                return 0
            },
            call("interrupt") { t in
                let handle = try t.db.interruptHandle
                handle.interrupt()
                return try t.db.fetchOne(Int.self, "SELECT count(*) FROM note") ?? 0
            })
    }

    private static var functions: [ContractCase] {
        family("functions",
            call("function", .settles) { t in
                let name = t.text("name", "shout", .new)
                try t.db.register(.function(name) { (text: String) in text + "!" })
                defer { try? t.db.unregister(.function(name, arguments: 1)) }
                let text = t.text("text", "a")
                let back = try t.db.fetchOne(String.self, "SELECT \(identifier: name)(\(text))")
                try t.same(text + "!", back)
                return 0
            },
            call("any arguments", .settles) { t in
                try t.db.register(.function("gather", arguments: nil) { arguments in try (0..<arguments.count).map { try arguments.value($0) }.count })
                defer { try? t.db.unregister(.function("gather", arguments: nil)) }
                return try t.db.fetchOne(Int.self, "SELECT gather(1, NULL, \(t.text("text", "a")), x'00')") ?? 0
            },
            call("function that throws") { t in
                struct Failure: Error {}
                try t.db.register(.function("fails") { () -> Int in throw Failure() })
                defer { try? t.db.unregister(.function("fails", arguments: 0)) }
                do { _ = try t.db.fetchOne(Int.self, "SELECT fails()") } catch { return reason(error) }
                throw BrokenPromise("its error is lost")
            },
            call("collation", .settles) { t in
                let name = t.text("name", "reverse", .new)
                try t.db.register(.collation(name) { a, b in a < b ? .orderedDescending : a == b ? .orderedSame : .orderedAscending })
                defer { try? t.db.unregister(.collation(name)) }
                return try t.db.fetchAll(String.self, "SELECT title FROM note ORDER BY title || '' COLLATE \(identifier: name)")
            },
            call("regular expressions", .settles) { t in
                try t.db.register(.regularExpressions())
                let pattern = t.text("pattern", "ir")
                return try t.db.fetchOne(Int.self, "SELECT count(*) FROM note WHERE title REGEXP \(pattern)") ?? 0
            })
    }

    private static var keys: [ContractCase] {
        family("keys",
            call("passphrase", on: .nothing) { t in
                let key = try DatabaseKey.passphrase(t.text("passphrase", Secrets.passphrase), cipher: Subject.quick)
                return "\(key) \(key.debugDescription) \(key.isPlaintext)"
            },
            call("raw", on: .nothing) { _ in try [DatabaseKey.raw(Secrets.raw), DatabaseKey.raw(Secrets.raw, salt: Secrets.salt)] },
            call("raw of a wrong length", on: .nothing) { _ in
                do { _ = try DatabaseKey.raw(Array(Secrets.raw.prefix(31))) } catch { return Secrets.told(by: error) ?? reason(error) }
                throw BrokenPromise("it takes 31 bytes")
            },
            call("a provider's file", on: .nothing, prepare: { t in
                try Data(Secrets.passphrase.utf8).write(to: URL(fileURLWithPath: t.inFolder("key")))
                chmod(t.inFolder("key"), 0o600)
            }) { t in try KeySource.file(t.file("path", "key"), as: .passphrase).key().map { "\($0)" } ?? "" },
            call("a provider's variable", on: .nothing) { t in
                do { return try KeySource.environment("CONTRACT_" + t.text("name", "NO_SUCH_VARIABLE", .name)).key().map { "\($0)" } ?? "none" } catch {
                    return "none"
                }
            },
            call("cipher settings", on: .nothing) { _ in
                var cipher = CipherConfiguration()
                (cipher.salt, cipher.plaintextHeaderSize) = (try CipherConfiguration.randomSalt(), 32)
                try cipher.validate()
                return cipher.pageSize
            },
            call("secure bytes", on: .nothing) { _ in try SecureBytes.random(count: 32).withUnsafeBytes { $0.count } },
            call("what a schema tells", refusing: [.plaintext, .memory], differs: Set(Subject.Kind.allCases)) { t in try (t.schema.key, t.schema.cipher?.version as Any) })
        + family("engine",
            call("facts", on: .nothing) { _ in
                (SQLCipherEngine.sqliteVersion, SQLCipherEngine.compileOptions.count, SQLCipherEngine.supports(.fts5), SQLCipherEngine.cryptoImplementations, SQLCipherEngine.lockedMemory.limit as Any)
            },
            call("logger", on: .nothing) { t in
                final class Lines: @unchecked Sendable {
                    // Sendable: the lock.
                    private let lock = NSLock()
                    private var texts: [String] = []
                    func add(_ text: String) { lock.withLock { texts.append(text) } }
                    var all: [String] { lock.withLock { texts } }
                }
                let lines = Lines()
                try SQLCipherEngine.setLogger(minimumLevel: .trace) { lines.add($0.text) }
                _ = try? Connection(.file(t.path), key: .passphrase(Secrets.passphrase + "x", cipher: Subject.quick))
                _ = try? Connection(.file(t.path), key: t.key).execute("SELECT \(Secrets.value), nothing")
                try SQLCipherEngine.setLogger(nil)
                for line in lines.all where line.contains(Secrets.value) { throw BrokenPromise("the log tells a bound value: \(line)") }
                if let secret = Secrets.told(by: lines.all) { throw BrokenPromise("the log tells \(secret)") }
                return 0
            })
    }
}
