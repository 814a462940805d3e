import Foundation
import Testing
import TestSupport

/// Commands that rewrite a whole file, ended by control-C: its content and its key are as they were, and nothing lies beside it.
@Suite struct InterruptionTests {
    @Test(arguments: [["rekey", "--new-key", "env:OTHER"], ["rekey", "--new-key", "env:OTHER", "--in-place"], ["encrypt"], ["decrypt"]])
    func interruptedRewriteLeavesDatabaseUnchanged(command: [String]) throws {
        let folder = try TemporaryFolder()
        let outside = try TemporaryFolder()
        let (database, original, script) = (folder.path("a.db"), outside.path("original.db"), outside.path("fill.sql"))
        let before = command[0] == "encrypt" ? ["--no-key"] : Tool.key
        let fill = """
            CREATE TABLE t(x);
            WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 12000) INSERT INTO t SELECT zeroblob(2000) FROM n;
            """
        try Data(fill.utf8).write(to: URL(fileURLWithPath: script))
        try Tool.run(["create", original, "--script", script] + before).expectSuccess()

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
            let rows = try Tool.run(["query", database, "SELECT count(*) AS n, sum(length(x)) AS s FROM t", "--format", "csv"] + before)
            #expect(rows.output == "n,s\n12000,24000000\n", "\(rows.errors)")
            try Tool.run(["verify", database] + before).expectSuccess()
            return
        }
        Issue.record("the command was never interrupted")
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
        #expect(try folder.names() == ["a.db", "fill.sql"])
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
