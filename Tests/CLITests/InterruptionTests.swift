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
