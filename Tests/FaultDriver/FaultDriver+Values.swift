import FaultMemory
import Faults
import Foundation
import SQLCipherKit
import SQLCipherKitSync

/// Sends a text on every way through the package while one allocation fails after the other. The result is the text, or an error:
/// never another text, such as an empty one, and no error with a value in it.
extension FaultDriver {
    /// The texts that a way has seen: its results, and the arguments of the closures that it called.
    private typealias Seen = [String?]
    private typealias See = (String?) -> Void

    private static let value = "BOUND välue 😀 " + String(repeating: "x", count: 90)

    private struct Way {
        let name: String
        let run: (_ db: Connection, _ see: @escaping See) throws -> Void

        init(_ name: String, _ run: @escaping (Connection, @escaping See) throws -> Void) { (self.name, self.run) = (name, run) }
    }

    /// - Parameter arguments: how many allocations of each way fail, and the file that no SQL may make.
    static func runValues(_ arguments: [String]) throws {
        guard let most = Int(arguments[0]), faultmemory_install() == 0 else { throw DatabaseError(message: "no allocator") }
        var struck = 0, thrown = 0
        for encoding in ["UTF-8", "UTF-16le"] {
            for way in reading + telling + reaching(arguments[1]) {
                let total = try count(way, encoding)
                // Always the last allocations, which make the result.
                let last = max(1, total - 3)...max(1, total), few = (0..<min(total, most)).map { $0 * total / min(total, most) + 1 }
                for number in few + last.filter({ !few.contains($0) }) {
                    struck += 1
                    for problem in try strike(way, encoding, number, &thrown) {
                        say("FAILED \(way.name), \(encoding), allocation \(number) of \(total): \(problem)")
                    }
                    if FileManager.default.fileExists(atPath: arguments[1]) {
                        say("FAILED \(way.name), \(encoding), allocation \(number) of \(total): SQL has made a file")
                        unlink(arguments[1])
                    }
                }
            }
        }
        say("struck \(struck), \(thrown) errors")
    }

    private static func fixture(_ encoding: String) throws -> Connection {
        let db = try Connection(.memory)
        try db.execute(SQLScript("""
            PRAGMA encoding = '\(encoding)';
            CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT);
            CREATE VIRTUAL TABLE f USING fts5(x);
            CREATE TRIGGER refuses BEFORE DELETE ON t BEGIN SELECT RAISE(ABORT, 'refused') WHERE old.x <> ''; END;
            """))
        try db.execute("INSERT INTO t VALUES (1, \(value))")
        try db.execute("INSERT INTO f VALUES (\(value))")
        return db
    }

    /// The number of allocations. A way that only fails, or that sees nothing, is none.
    private static func count(_ way: Way, _ encoding: String) throws -> Int {
        let db = try fixture(encoding)
        defer { db.close() }
        var seen: Seen = []
        Fault.memory.choose(0, .once)
        let result = Result { try way.run(db) { seen.append($0) } }
        Fault.none()
        let calls = Fault.memory.calls
        switch result {
        case .success where seen.isEmpty || seen.contains { $0 != value }: throw DatabaseError(message: "\(way.name) saw \(seen)")
        case .failure(let error) where !telling.contains { $0.name == way.name } && !way.name.hasPrefix("ATTACH"):
            throw DatabaseError(message: "\(way.name) failed: \(error)")
        default: return calls
        }
    }

    private static func strike(_ way: Way, _ encoding: String, _ number: Int, _ thrown: inout Int) throws -> [String] {
        let db = try fixture(encoding)
        defer { db.close() }
        var seen: Seen = []
        Fault.memory.choose(number, .once)
        let result = Result { try way.run(db) { seen.append($0) } }
        Fault.none()
        var problems: [String] = []
        if case .failure(let error) = result {
            thrown += 1
            if "\(error) \((error as? DatabaseError)?.message ?? "")".contains("BOUND") { problems.append("its error tells the value: \(error)") }
        }
        for text in seen where text != value { problems.append("the text was \(text.map { $0.debugDescription } ?? "nil"), and \(result)") }
        return problems
    }

    /// Every way of reading a text.
    private static var reading: [Way] { [
        Way("a column") { db, see in see(try db.fetchOne(String.self, "SELECT x FROM t")) },
        Way("a column's value") { db, see in see(text(try db.fetchOne(SQLValue.self, "SELECT x FROM t"))) },
        Way("a column of all") { db, see in
            for (_, x) in try db.fetchAll((Int, String).self, "SELECT id, x FROM t") { see(x) }
        },
        Way("a parameter") { db, see in see(try db.fetchOne(String.self, "SELECT \(value)")) },
        Way("an argument's value") { db, see in
            try db.register(.function("look", arguments: 1) { arguments -> Int in
                see(text(try arguments.value(0)))
                return 1
            })
            _ = try db.fetchOne(Int.self, "SELECT look(x || '') FROM t")
            try db.unregister(.function("look", arguments: 1))
        },
        Way("an argument's bytes") { db, see in
            try db.register(.function("look", arguments: 1) { arguments -> Int in
                see(try arguments.withUnsafeBytes(at: 0) { String(decoding: $0, as: UTF8.self) })
                return 1
            })
            _ = try db.fetchOne(Int.self, "SELECT look(substr(x, 1)) FROM t")
            try db.unregister(.function("look", arguments: 1))
        },
        Way("a pattern") { db, see in
            try db.register(.regularExpressions(matchingWhole: true))
            see(try db.fetchOne(Bool.self, "SELECT x || '' REGEXP \(NSRegularExpression.escapedPattern(for: value)) FROM t") == true ? value : nil)
        },
        Way("changes") { db, see in
            let changes = try db.main.recordingChanges(tables: ["t"]) { try $0.execute("UPDATE t SET x = x || 'y'") }
            for change in try changes.changes() { see(text(change.old[1])) }
        },
        Way("changes of an insert") { db, see in
            let changes = try db.main.recordingChanges(tables: ["t"]) { try $0.execute("INSERT INTO t SELECT 2, x FROM t") }
            for change in try changes.changes() { see(text(change.new[1])) }
        },
        Way("a conflict") { db, see in
            let changes = try db.main.recordingChanges(tables: ["t"]) { try $0.execute("UPDATE t SET x = 'y'") }
            try db.execute("UPDATE t SET x = \(value)")
            try db.execute("UPDATE t SET x = x || 'z'")
            try changes.apply(to: db) { conflict in
                see(text(conflict.change?.old[1]))
                see(text(conflict.current?[1]).map { String($0.dropLast()) })
                return .omit
            }
        },
        Way("a difference") { db, see in
            let other = try fixture(db.fetchOne(String.self, "PRAGMA encoding") ?? "")
            defer { other.close() }
            try other.execute("UPDATE t SET x = 'other'")
            let diff = try DatabaseDiff(from: other.main, to: db.main)
            for change in try diff.changeset().changes() where change.table == "t" { see(text(change.new[1])) }
        },
        Way("a change log") { db, see in
            let log = try ChangeLog(db, tables: ["t"], localPeer: "here")
            try log.write { db in try db.execute("INSERT INTO t VALUES (2, \(value))") }
            let other = try Connection(.memory)
            defer { other.close() }
            try other.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT)")
            try ChangeLog(other, tables: ["t"], localPeer: "there").receive(log.changes())
            see(try other.fetchOne(String.self, "SELECT x FROM t WHERE id = 2"))
        },
        Way("a copy by rows") { db, see in
            let other = try Connection(.memory)
            defer { other.close() }
            var options = Schema.BackupOptions()
            options.isCompact = true
            try db.main.backup(to: other.main, options: options)
            see(try other.fetchOne(String.self, "SELECT x FROM t"))
        },
        Way("a store") { _, see in
            // A store's database has no other encoding.
            let db = try Connection(.memory)
            defer { db.close() }
            let store = try KeyValueStore("settings", in: db)
            try store.set("x", to: value)
            see(try store.get("x", as: String.self))
        },
        Way("a search") { db, see in see(try db.fetchOne(String.self, "SELECT x FROM f WHERE f MATCH 'bound'")) },
    ] }

    /// Errors of SQLite that repeat a value.
    private static var telling: [Way] { [
        Way("a bad query") { db, see in
            _ = try db.fetchAll(String.self, "SELECT x FROM f WHERE f MATCH \("\"" + value)")
        },
        Way("a bad path") { db, see in _ = try db.fetchOne(String.self, "SELECT json_extract('{}', \(value))") },
        Way("a trigger") { db, see in
            try db.execute("CREATE TRIGGER tells BEFORE UPDATE ON t BEGIN SELECT RAISE(ABORT, new.x); END")
            try db.execute("UPDATE t SET x = \(value)")
        },
    ] }

    /// SQL that names a file.
    private static func reaching(_ path: String) -> [Way] {
        let statements = ["ATTACH \(path.quotedSQLText) || '' AS a", "ATTACH substr(\(path.quotedSQLText), 1) AS a"]
        return statements.enumerated().map { number, sql in
            Way("ATTACH \(number)") { db, _ in
                try db.execute(SQL(raw: sql))
                try db.execute("CREATE TABLE a.made(x)")
            }
        }
    }

    private static func text(_ value: SQLValue??) -> String? {
        if case .text(let text)?? = value { text } else { nil }
    }
}

extension String {
    fileprivate var quotedSQLText: String { "'" + replacing("'", with: "''") + "'" }
}
