import Foundation
import Testing
import TestSupport

@Suite struct IndexTests {
    @Test func textFilesBecomeDocuments() throws {
        let sample = try SampleFolder()
        let outcome = try sample.index()
        #expect(outcome.status == 0)
        #expect(outcome.errors == "")
        #expect(outcome.output.hasPrefix("indexed 3 files ("))
        #expect(outcome.output.contains("2 binary files, 2 symbolic links, 1 hidden left out"))
        #expect(outcome.output.contains(sample.database))
        #expect(try sample.rows("SELECT path, title FROM document ORDER BY path") == [
            "deep/er/note.txt,\"Bread needs flour, water and salt.\"", "empty.txt,empty.txt", "plan.md,The grand plan",
        ])
        #expect(try sample.rows("SELECT json(meta) FROM document WHERE path LIKE 'deep%'").first?.replacingOccurrences(of: "\"\"", with: "'")
            == "\"{'name':'note.txt','extension':'txt','folders':['deep','er'],'lines':2,'words':8}\"")
        // The byte order mark is no part of the text.
        #expect(try sample.rows("SELECT body LIKE 'Bread%', size FROM document WHERE path LIKE 'deep%'") == ["1,49"])
        #expect(try sample.rows("SELECT count(*) FROM document WHERE abs(julianday(modified) - julianday()) < 1") == ["3"])
        #expect(try sample.rows("PRAGMA integrity_check") == ["ok"])
    }

    @Test func theFileIsPrivateAndHoldsNoPlaintext() throws {
        let sample = try SampleFolder()
        try sample.index()
        let attributes = try FileManager.default.attributesOfItem(atPath: sample.database)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: sample.database))
        #expect(!bytes.starts(with: Data("SQLite format 3".utf8)))
        for text in ["bake bread", "bread", "plan.md", "extension"] { #expect(bytes.range(of: Data(text.utf8)) == nil) }
        #expect(try sample.folder.names() == ["a.db", "docs"])
    }

    @Test func hiddenFilesOnRequest() throws {
        let sample = try SampleFolder()
        #expect(try sample.index("--hidden").output.hasPrefix("indexed 4 files"))
        #expect(try sample.rows("SELECT count(*) FROM document WHERE path = '.hidden'") == ["1"])
    }

    @Test func largeFilesAreLeftOutAndCounted() throws {
        let sample = try SampleFolder()
        try sample.write("large.txt", String(repeating: "a", count: (1 << 20) + 1))
        try sample.write("limit.txt", String(repeating: "b", count: 1 << 20))
        let outcome = try sample.index("--max-size", "1")
        #expect(outcome.output.contains("1 file larger than 1.0 MiB"))
        #expect(try sample.rows("SELECT path FROM document WHERE size > 1000") == ["limit.txt"])
    }

    @Test func twoThousandFiles() throws {
        let sample = try SampleFolder()
        for number in 0..<2000 { try sample.write("many/\(number % 40)/\(number).txt", "number \(number), word\(number % 7) and more") }
        let outcome = try sample.index()
        #expect(outcome.output.hasPrefix("indexed 2,003 files"))
        #expect(outcome.errors == "")
        let hits = try Tool.run(["search", sample.database, "word3", "--limit", "2"] + Tool.key)
        #expect(hits.output.hasSuffix("286 hits, the best 2 shown\n"))
    }

    @Test func filesThatCannotBeRead() throws {
        let sample = try SampleFolder()
        try sample.write("locked.txt", "bread behind a lock")
        try sample.write("vault/inner.txt", "bread in a vault")
        for name in ["locked.txt", "vault"] {
            try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: sample.path + "/" + name)
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: sample.folder.url.path)
        defer { try? FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: sample.path + "/vault") }
        let outcome = try Tool.runUnprivileged(["index", sample.path, sample.database] + Tool.key, in: sample.folder)
        #expect(outcome.status == 0)
        #expect(outcome.output.contains("2 unreadable left out"))
        #expect(outcome.errorLines == ["cannot read vault: Permission denied", "cannot read locked.txt: Permission denied"])
        try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: sample.path)
        defer { try? FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: sample.path) }
        try Tool.runUnprivileged(["index", sample.path, sample.folder.path("b.db")] + Tool.key, in: sample.folder)
            .expectFailure(1, sample.path, "Permission denied")
    }

    @Test func pipesAreNotWaitedFor() throws {
        let sample = try SampleFolder()
        #expect(mkfifo(sample.path + "/pipe", 0o600) == 0)
        #expect(try sample.index().output.contains("1 pipe, socket or device"))
    }

    @Test func namesThatAreNotUTF8() throws {
        let sample = try SampleFolder()
        let name = Array(sample.path.utf8) + Array("/caf".utf8) + [0xe9, 0]
        name.withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { name in
                let descriptor = open(name.baseAddress!, O_CREAT | O_WRONLY, 0o600)
                #expect(write(descriptor, "bread", 5) == 5)
                close(descriptor)
            }
        }
        try sample.index()
        #expect(try sample.rows("SELECT path FROM document WHERE path LIKE 'caf%'") == ["caf\\xe9"])
    }

    @Test func nothingToIndex() throws {
        let folder = try TemporaryFolder()
        let database = folder.path("a.db")
        let empty = folder.path("empty folder")
        try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: true)
        try Tool.run(["index", empty, database] + Tool.key).expectFailure(1, "no file to index", empty)
        try Data([0, 1, 2]).write(to: URL(fileURLWithPath: empty + "/a.bin"))
        try Tool.run(["index", empty, database] + Tool.key).expectFailure(1, "no text file to index", "1 binary file")
        try Tool.run(["index", folder.path("missing"), database] + Tool.key).expectFailure(1, "missing", "No such file")
        try Tool.run(["index", empty + "/a.bin", database] + Tool.key).expectFailure(1, "not a folder")
        #expect(try folder.names() == ["empty folder"])
    }

    @Test func anExistingFileIsNotTouched() throws {
        let sample = try SampleFolder()
        let content = Data("mine".utf8)
        try content.write(to: URL(fileURLWithPath: sample.database))
        try sample.index().expectFailure(1, "exists already", sample.database)
        #expect(try Data(contentsOf: URL(fileURLWithPath: sample.database)) == content)
    }

    @Test func interruptedItLeavesNothing() throws {
        let sample = try SampleFolder()
        // Seconds of work, in release as well, so that the interrupt comes in time on a busy machine.
        for number in 0..<3000 { try sample.write("many/\(number).txt", String(repeating: "word\(number) and more ", count: 2000)) }
        // The threads that run tests block signals, and programs inherit that.
        let unblocked = "import os, signal, sys; signal.pthread_sigmask(signal.SIG_SETMASK, ()); os.execv(sys.argv[1], sys.argv[1:])"
        let command = try Command(
            "python3", ["-c", unblocked, try Tool.path, "index", sample.path, sample.database] + Tool.key,
            environment: ["TEST_KEY": Tool.rawKey])
        for _ in 0..<3000 where !FileManager.default.fileExists(atPath: sample.database) { Thread.sleep(forTimeInterval: 0.005) }
        command.process.interrupt()
        try command.end().expectFailure(130, "interrupted")
        #expect(try sample.folder.names() == ["docs"])
    }
}
