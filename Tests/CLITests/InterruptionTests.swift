import Foundation
import SQLCipherKit
import Testing
import TestSupport

/// Commands that are ended by control-C: the database's content and its key are as they were, and nothing lies beside it.
@Suite struct InterruptionTests {
    /// A vacuum has a journal only while it copies the new content back.
    @Test(arguments: [
        ["rekey", "--new-key", "env:OTHER"], ["rekey", "--new-key", "env:OTHER", "--in-place"], ["encrypt"], ["decrypt"], ["vacuum"],
    ])
    func interruptedRewriteLeavesDatabaseUnchanged(command: [String]) throws {
        let folder = try TemporaryFolder()
        let outside = try TemporaryFolder()
        let (database, original) = (folder.path("a.db"), outside.path("original.db"))
        let before = command[0] == "encrypt" ? ["--no-key"] : Tool.key
        try Self.create(original, before)

        // The command may end before the signal comes: then try again.
        for _ in 0..<20 {
            try FileManager.default.copyItem(atPath: original, toPath: database)
            let process = try Tool.start([command[0], database] + command.dropFirst() + Tool.key, environment: ["OTHER": "tulip"])
            // A second file, the new one or the journal, says that the work has begun.
            try waitUntil("the work has begun") { try !process.process.isRunning || folder.names().count > 1 }
            process.process.interrupt()
            let outcome = try process.end()
            if outcome.status == 0 {
                try FileManager.default.removeItem(atPath: database)
                continue
            }
            outcome.expectFailure(130, "interrupted")
            #expect(try folder.names() == ["a.db"])
            let rows = try Tool.run(["query", database, Self.count, "--format", "csv"] + before)
            #expect(rows.output == "n,s\n12000,24000000\n", "\(rows.errors)")
            try Tool.run(["verify", database] + before).expectSuccess()
            return
        }
        Issue.record("the command was never interrupted")
    }

    /// The next program that writes brings the former content back.
    @Test func killedVacuumIsUndone() throws {
        let folder = try TemporaryFolder()
        let original = try TemporaryFolder()
        let database = folder.path("a.db"), journal = folder.path("a.db-journal")
        try Self.create(original.path("a.db"), Tool.key)
        // The command may end before the signal comes: then try again.
        for _ in 0..<20 {
            try FileManager.default.copyItem(atPath: original.path("a.db"), toPath: database)
            let process = try Tool.start(["vacuum", database] + Tool.key)
            // More than the cache holds, so pages of the database have been written.
            try waitUntil("the work has begun") {
                let size = try? FileManager.default.attributesOfItem(atPath: journal)[.size] as? Int
                return !process.process.isRunning || size ?? 0 > 12_000_000
            }
            kill(process.process.processIdentifier, SIGKILL)
            guard try process.end().status == -SIGKILL, FileManager.default.fileExists(atPath: journal) else {
                for name in try folder.names() { try FileManager.default.removeItem(atPath: folder.path(name)) }
                continue
            }
            let rows = try Tool.run(["query", database, Self.count, "--format", "csv", "--write"] + Tool.key)
            #expect(rows.output == "n,s\n12000,24000000\n", "\(rows.errors)")
            #expect(try folder.names() == ["a.db"])
            try Tool.run(["verify", database] + Tool.key).expectSuccess()
            return
        }
        Issue.record("the command was never killed")
    }

    private static let count = "SELECT count(*) AS n, sum(length(x)) AS s FROM t"

    private static func create(_ path: String, _ key: [String]) throws {
        let fill = """
            CREATE TABLE t(x);
            WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 12000) INSERT INTO t SELECT zeroblob(2000) FROM n;
            """
        let folder = try TemporaryFolder()
        try Data(fill.utf8).write(to: URL(fileURLWithPath: folder.path("fill.sql")))
        try Tool.run(["create", path, "--script", folder.path("fill.sql")] + key).expectSuccess()
    }

    /// Also while a command checks what it has copied or is about to copy: the rest takes a small part of its processor time.
    @Test func interruptEndsCheckOfCopy() throws {
        let original = try TemporaryFolder()
        let program = """
            import sqlite3, sys
            sqlite3.connect(sys.argv[1]).executescript('''
                CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT);
                WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 7000)
                INSERT INTO t SELECT i, hex(randomblob(1500)) FROM n;
                CREATE INDEX by_x ON t(x);
                ''')
            """
        _ = try Python.run(program, original.path("plain.db"))
        for file in ["a.db", "c.db"] {
            try FileManager.default.copyItem(atPath: original.path("plain.db"), toPath: original.path(file))
            if file == "a.db" { try Tool.run(["encrypt", original.path(file)] + Tool.key).expectSuccess() }
        }
        // The share of the processor time after which the check has begun.
        for (command, file, others, share) in [
            ("backup", "a.db", ["b.db"], 0.5), ("restore", "a.db", ["c.db", "--backup-key", "none"], 0.2),
            ("encrypt", "plain.db", [], 0.6),
        ] {
            func run(interruptingAt limit: Double?) throws -> (outcome: Command.Outcome, rest: Double, whole: Double) {
                let folder = try TemporaryFolder()
                for file in [file, "c.db"] {
                    try FileManager.default.copyItem(atPath: original.path(file), toPath: folder.path(file))
                }
                let arguments = ([file] + others).map { $0.hasSuffix(".db") ? folder.path($0) : $0 }
                let process = try Tool.start([command] + arguments + Tool.key)
                var used = 0.0, before: Double?
                try waitUntil("\(command) has ended") {
                    used = Self.processorTime(of: process) ?? used
                    if let limit, before == nil, used >= limit {
                        process.process.interrupt()
                        before = used
                    }
                    return !process.process.isRunning
                }
                let outcome = try process.end()
                if outcome.status == 130 {
                    #expect(try folder.names() == [file, "c.db"].sorted(), "\(command) left a file")
                    let contents = try [folder, original].map { try Data(contentsOf: URL(fileURLWithPath: $0.path(file))) }
                    #expect(contents[0] == contents[1], "\(command) changed the database")
                }
                return (outcome, used - (before ?? used), used)
            }
            let whole = try run(interruptingAt: nil)
            whole.outcome.expectSuccess()
            let interrupted = try run(interruptingAt: whole.whole * share)
            interrupted.outcome.expectFailure(130, "interrupted")
            let time = "\(command) took \(interrupted.rest) s of \(whole.whole) s to end"
            #expect(interrupted.rest <= whole.whole * 0.15 + 0.1, "\(time)")
        }
    }

    /// Also while a first sync writes the existing rows into its log.
    @Test func interruptedFirstSyncLeavesNoJournal() throws {
        let folder = try TemporaryFolder()
        let fill = """
            CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT);
            WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 30000) INSERT INTO t SELECT i, hex(i) FROM n;
            """
        try Data(fill.utf8).write(to: URL(fileURLWithPath: folder.path("fill.sql")))
        try Tool.run(["create", folder.path("a.db"), "--script", folder.path("fill.sql")] + Tool.key).expectSuccess()
        let process = try Tool.start(["sync", folder.path("a.db"), folder.path("store"), "--existing"] + Tool.key)
        try waitUntil("the log is being written") { try !process.process.isRunning || folder.names().contains("a.db-journal") }
        process.process.interrupt()
        try process.end().expectFailure(130, "interrupted")
        // On a fast machine the log may be done, and the store begun.
        #expect(try folder.names().filter { $0 != "store" } == ["a.db", "fill.sql"])
        try Tool.run(["verify", folder.path("a.db")] + Tool.key).expectSuccess()
    }

    /// The seconds of processor time that a program has used; nil if the system does not tell, or it is gone.
    private static func processorTime(of process: Command) -> Double? {
        let path = "/proc/\(process.process.processIdentifier)/stat"
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
        let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
        let times = fields.dropFirst(11).prefix(2).compactMap { Double($0) }
        return times.isEmpty || times == [0, 0] ? nil : times.reduce(0, +) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Also while the source is silent: a pipe that its writer keeps open.
    @Test func terminatedImportOfSilentPipeEnds() throws {
        let folder = try TemporaryFolder()
        try #require(mkfifo(folder.path("pipe"), 0o600) == 0)
        let rows = "a,b\n" + String(repeating: "1,2\n", count: 250_000)
        try Data(rows.utf8).write(to: URL(fileURLWithPath: folder.path("rows")))
        let process = try Tool.start(["import", folder.path("a.db"), folder.path("pipe"), "--as", "csv", "--table", "t"] + Tool.key)
        let writer = try Command(
            "sh", ["-c", "exec 3> \"$1\"; cat \"$2\" >&3; echo written; exec sleep 600", "sh", folder.path("pipe"), folder.path("rows")])
        defer { writer.process.terminate() }
        // The command has read all of it but what the pipe holds, and so more than its first look at the columns takes.
        try writer.waitForOutput("written")
        process.process.terminate()
        try waitUntil("the command has ended") { !process.process.isRunning }
        // The batches that it has read whole are there.
        try process.end().expectFailure(130, "interrupted after")
    }

    // MARK: Every command

    /// Commands on a larger file than those of ``JSONOutputTests`` need.
    private static let longer: [String: [String]] = [
        "create": ["create", "@new.db", "--script", "@big.sql"] + Tool.key,
        "import": ["import", "DB", "@rows2.csv", "--pk", "id"] + Tool.key,
        "query": ["query", "DB", "SELECT count(*), max(a.x || b.x) FROM big AS a, big AS b LIMIT 1"] + Tool.key,
    ]
    // A control-C does not end a shell.
    private static let commands = JSONOutputTests.cases.keys.filter { !["shell", "version"].contains($0) }.sorted()

    /// The files of a command; `DB` and `@name` in its words stand for them.
    private struct Files {
        let folder: TemporaryFolder
        func words(_ arguments: [String]) -> [String] {
            arguments.map { $0 == "DB" ? folder.path("a.db") : $0.hasPrefix("@") ? folder.path(String($0.dropFirst())) : $0 }
        }
        func has(_ name: String, of other: TemporaryFolder) throws -> Bool {
            let contents = try [folder, other].map { try Data(contentsOf: URL(fileURLWithPath: $0.path(name))) }
            return contents[0] == contents[1]
        }
    }

    /// An interrupt ends each command within a second of processor time. The database has what it had, and no file is left. The
    /// gate takes a command of each kind: one that reads, one that writes pages, and one that writes rows.
    @Test(arguments: LongTests.areOn ? commands : ["query", "recover", "create"])
    func interruptedCommandEndsAndLeavesNothingHalf(_ name: String) async throws {
        let original = try TemporaryFolder()
        try Self.fill(original, for: name)
        let item = try #require(JSONOutputTests.cases[name])
        let environment = ["ONE": "correct horse", "TWO": "battery staple", "TEST_KEY": Tool.rawKey]
        for command in item.first {
            try await Tool.runAside(Files(folder: original).words(command), environment: environment).expectSuccess()
        }
        let before = try original.names()
        /// Returns whether the command was interrupted, and the processor time that it has used.
        func run(interruptingAt limit: Double?) throws -> (isInterrupted: Bool, used: Double) {
            let folder = try TemporaryFolder(), files = Files(folder: folder)
            for file in before { try FileManager.default.copyItem(atPath: original.path(file), toPath: folder.path(file)) }
            let process = try Tool.start(files.words(Self.longer[name] ?? item.arguments), environment: environment)
            var used = 0.0, reached: Double?
            try waitUntil("\(name) has ended") {
                used = Self.processorTime(of: process) ?? used
                if let limit, reached == nil, used >= limit {
                    process.process.interrupt()
                    reached = used
                }
                return !process.process.isRunning
            }
            if let reached { #expect(used - reached <= 1, "\(name) took \(used - reached) s to end") }
            let outcome = try process.end()
            // Before the work begins, a signal ends the process at once. A change of the key slots is a single write, which is
            // finished.
            guard [130, -SIGINT].contains(outcome.status) else {
                #expect(outcome.status == item.status, "\(name): \(outcome.status) \(outcome.errors)")
                let remains = try folder.names().filter { $0.hasSuffix("-journal") || $0.hasSuffix(".tmp") }
                #expect(remains.isEmpty, "\(name) left \(remains)")
                return (name.hasPrefix("key ") && reached != nil, used)
            }
            if outcome.status == 130 { #expect(outcome.errors.contains("interrupted"), "\(name): \(outcome.errors)") }
            // A store and a table keep what is whole, and the next run goes on from there.
            let kept = ["replicate": ["store"], "sync": ["store"], "tour": ["tour"]][name] ?? []
            let left = Set(try folder.names()).subtracting(before + kept).filter { name in
                !name.hasSuffix("-wal") && !name.hasSuffix("-shm") && !name.hasPrefix("a.db-replicated-")
            }
            #expect(left.isEmpty, "\(name) left \(left)")
            for (file, key) in [("a.db", Tool.key), ("plain.db", ["--no-key"])] where try !files.has(file, of: original) {
                let sql = "SELECT count(*) AS n, sum(length(x)) AS s FROM big"
                let rows = try Tool.run(["query", folder.path(file), sql, "--format", "csv"] + key)
                #expect(rows.output == "n,s\n5000,5000000\n", "\(name): \(rows.errors)")
                try Tool.run(["verify", folder.path(file)] + key).expectSuccess()
            }
            return (true, used)
        }
        // The join of the query takes minutes.
        let whole = try name == "query" ? 1.5 : run(interruptingAt: nil).used
        var isInterrupted = false
        for share in [0.6, 0.8, 0.4, 0.9, 0.25] where !isInterrupted || LongTests.areOn {
            isInterrupted = try run(interruptingAt: whole * share).isInterrupted || isInterrupted
        }
        // A command that takes no time has none to be interrupted in.
        if whole > 0.5 { #expect(isInterrupted, "\(name) was never interrupted in \(whole) s") }
    }

    private static func fill(_ folder: TemporaryFolder, for name: String) throws {
        let key = try DatabaseKey.raw([UInt8](hexadecimal: Tool.rawKey) ?? [])
        try JSONOutputTests.fill(folder, key: key)
        for (name, key) in [("a.db", key), ("plain.db", .plaintext)] {
            let db = try Connection(.file(folder.path(name)), key: key)
            try db.execute(SQLScript("""
                CREATE TABLE big(id INTEGER PRIMARY KEY, x TEXT);
                WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
                INSERT INTO big SELECT i, substr(hex(randomblob(500)), 1, 1000) FROM n;
                CREATE INDEX by_x ON big(x);
                """))
        }
        let rows = (1...50_000).map { "\($0),\($0 * 7919)\n" }.joined()
        try Data(("id,y\n" + rows).utf8).write(to: URL(fileURLWithPath: folder.path("rows2.csv")))
        if name != "create" { return }
        let dump = try Tool.run("dump", folder.path("plain.db"), "--no-key")
        try Data(dump.output.utf8).write(to: URL(fileURLWithPath: folder.path("big.sql")))
    }

    /// A script of many short statements, none of which takes long enough to be interrupted: the rest does not run, and the shell
    /// goes on only for a person.
    @Test func interruptEndsScriptOfShortStatements() throws {
        let folder = try TemporaryFolder(), path = folder.path("a.db"), script = folder.path("many.sql")
        try Tool.run(["create", path] + Tool.key).expectSuccess()
        let rows = String(repeating: "INSERT INTO t VALUES (1);\n", count: 200_000)
        try Data("BEGIN; CREATE TABLE t(x);\nSELECT 'has' || 'begun';\n\(rows)SELECT 'has' || 'ended';\n".utf8)
            .write(to: URL(fileURLWithPath: script))
        let session = try Typist.run(
            ["shell", path] + Tool.key,
            conversation: [
                ("> ", ".read \(script)\n"), ("hasbegun", "\u{3}"), ("interrupted", "SELECT 'go' || 'es';\n"), ("goes", ".quit\n"),
            ])
        #expect(session.screen.contains("goes") && !session.screen.contains("hasended"), "\(session.screen.suffix(500))")
        let process = try Command(
            "python3", ["-c", Self.reading, try Tool.path, script, "shell", path] + Tool.key, environment: ["TEST_KEY": Tool.rawKey])
        try waitUntil("it writes") { try !process.process.isRunning || folder.names().contains("a.db-journal") }
        process.process.interrupt()
        let outcome = try process.end()
        #expect(outcome.status == 130 && !outcome.output.contains("hasended"), "\(outcome)")
    }

    /// As ``Tool/start(_:environment:)``, with a file as standard input.
    private static let reading = """
        import os, signal, sys
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.dup2(os.open(sys.argv[2], os.O_RDONLY), 0)
        os.execv(sys.argv[1], [sys.argv[1]] + sys.argv[3:])
        """

    /// A statement that takes long says on the terminal that it is at work, and nothing of that stays.
    @Test func terminalShowsThatStatementIsAtWork() throws {
        let folder = try TemporaryFolder()
        try Tool.run(["create", folder.path("a.db")] + Tool.key).expectSuccess()
        let sql = "WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
        let session = try Typist.run(["query", folder.path("a.db"), sql] + Tool.key, conversation: [("Working  2 s", "\u{3}")])
        #expect(session.screen.contains("Working  1 s, ") && session.screen.contains(" read"), "\(session.screen)")
        #expect(session.status == 130 && session.screen.contains("\u{1b}[Ksqlcipherkit: interrupted"), "\(session.screen)")
    }
}
