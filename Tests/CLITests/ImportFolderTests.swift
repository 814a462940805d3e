import Foundation
import Testing
import TestSupport

/// Text files and folders.
@Suite struct ImportFolderTests {
    @Test func importFolderStoresTextFilesAsDocuments() throws {
        let sample = try SampleFolder()
        let outcome = try sample.index()
        #expect(outcome.status == 0)
        #expect(outcome.errors == "")
        #expect(outcome.output.hasPrefix("imported 3 files ("))
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

    @Test func importedDatabaseIsPrivateAndEncrypted() throws {
        let sample = try SampleFolder()
        try sample.index()
        let attributes = try FileManager.default.attributesOfItem(atPath: sample.database)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: sample.database))
        #expect(!bytes.starts(with: Data("SQLite format 3".utf8)))
        for text in ["bake bread", "bread", "plan.md", "extension"] { #expect(bytes.range(of: Data(text.utf8)) == nil) }
        #expect(try sample.folder.names() == ["a.db", "docs"])
    }

    @Test(arguments: [Int64.min, -1, .max]) func impossibleSizesOfDocumentsImportThemAgain(size: Int64) throws {
        let sample = try SampleFolder()
        try sample.index()
        try Tool.run(["query", sample.database, "UPDATE document SET size = \(size)", "--write"] + Tool.key).expectSuccess()
        #expect(try sample.index().output.hasPrefix("imported 3 files ("))
        #expect(try sample.rows("SELECT count(*) FROM document WHERE size BETWEEN 0 AND 1000") == ["3"])
    }

    @Test func importIncludesHiddenFilesOnRequest() throws {
        let sample = try SampleFolder()
        #expect(try sample.index("--hidden").output.hasPrefix("imported 4 files"))
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

    @Test func importOfTwoThousandFilesIsSearchable() throws {
        let sample = try SampleFolder()
        for number in 0..<2000 { try sample.write("many/\(number % 40)/\(number).txt", "number \(number), word\(number % 7) and more") }
        let outcome = try sample.index()
        #expect(outcome.output.hasPrefix("imported 2,003 files"))
        #expect(outcome.errors == "")
        let hits = try Tool.run(["search", sample.database, "word3", "--limit", "2"] + Tool.key)
        #expect(hits.output.hasSuffix("\n286 hits, the best 2 shown\n"))
    }

    @Test func importReportsUnreadableFiles() throws {
        let sample = try SampleFolder()
        try sample.write("locked.txt", "bread behind a lock")
        try sample.write("vault/inner.txt", "bread in a vault")
        for name in ["locked.txt", "vault"] {
            try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: sample.path + "/" + name)
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: sample.folder.url.path)
        defer { try? FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: sample.path + "/vault") }
        let outcome = try Tool.runUnprivileged(["import", sample.database, sample.path] + Tool.key, in: sample.folder)
        #expect(outcome.status == 0)
        #expect(outcome.output.contains("2 unreadable left out"))
        #expect(outcome.errorLines == ["cannot read vault: Permission denied", "cannot read locked.txt: Permission denied"])
        try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: sample.path)
        defer { try? FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: sample.path) }
        try Tool.runUnprivileged(["import", sample.folder.path("b.db"), sample.path] + Tool.key, in: sample.folder)
            .expectFailure(1, sample.path, "Permission denied")
    }

    @Test func importSkipsPipesInFolder() throws {
        let sample = try SampleFolder()
        #expect(mkfifo(sample.path + "/pipe", 0o600) == 0)
        #expect(try sample.index().output.contains("1 pipe, socket or device"))
    }

    @Test func importWritesInvalidUTF8FileNamesAsHex() throws {
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

    @Test func importOfNothingFailsWithoutDatabase() throws {
        let folder = try TemporaryFolder()
        let database = folder.path("a.db")
        let empty = folder.path("empty folder")
        try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: true)
        try Tool.run(["import", database, empty] + Tool.key).expectFailure(1, "no file to import", empty)
        try Data([0, 1, 2]).write(to: URL(fileURLWithPath: empty + "/a.bin"))
        try Tool.run(["import", database, empty] + Tool.key).expectFailure(1, "no text file to import", "1 binary file")
        try Tool.run(["import", database, empty + "/a.bin"] + Tool.key).expectFailure(1, "no text file to import")
        try Tool.run(["import", database, folder.path("missing")] + Tool.key).expectFailure(1, "missing", "No such file")
        // No database was left behind.
        #expect(try folder.names() == ["empty folder"])
    }

    @Test func importRefusesFileThatIsNoDatabase() throws {
        let sample = try SampleFolder()
        let content = Data("mine".utf8)
        try content.write(to: URL(fileURLWithPath: sample.database))
        try sample.index().expectFailure(3, "not a database", sample.database)
        #expect(try Data(contentsOf: URL(fileURLWithPath: sample.database)) == content)
    }

    /// A process that is killed in its first batch leaves an empty file: the same command imports everything.
    @Test func importTreatsEmptyFileAsNewDatabase() throws {
        let sample = try SampleFolder()
        try Data().write(to: URL(fileURLWithPath: sample.database))
        let nothing = sample.folder.path("nothing")
        try FileManager.default.createDirectory(atPath: nothing, withIntermediateDirectories: true)
        try Tool.run(["import", sample.database, nothing] + Tool.key).expectFailure(1, "no file to import")
        #expect(try Data(contentsOf: URL(fileURLWithPath: sample.database)).isEmpty)
        let rows = sample.folder.path("rows.csv")
        try Data("a,b\n1\n".utf8).write(to: URL(fileURLWithPath: rows))
        try Tool.run(["import", sample.database, rows] + Tool.key).expectFailure(1, "line 2")
        // The file was there before, so it stays.
        #expect(try sample.folder.names().contains("a.db"))
        try sample.index().expectSuccess()
        #expect(try sample.rows("SELECT count(*) FROM document") == ["3"])
        try Tool.run(["verify", sample.database] + Tool.key).expectSuccess()
    }

    @Test func secondFolderImportTakesOnlyNewOrChangedFiles() throws {
        let sample = try SampleFolder()
        try sample.index()
        try sample.write("plan.md", "# A changed plan, with cakes\n")
        try sample.write("new.txt", "something new")
        let outcome = try sample.index()
        #expect(outcome.output.hasPrefix("imported 2 files ("))
        #expect(outcome.output.contains("; 2 files already there\n"))
        #expect(try sample.rows("SELECT count(*), count(DISTINCT path), sum(title LIKE 'A changed%') FROM document") == ["4,4,1"])
        // The index has followed.
        #expect(try Tool.run(["search", sample.database, "cakes"] + Tool.key).output.hasPrefix("1.  plan.md"))
        try Tool.run(["search", sample.database, "loaves"] + Tool.key).expectFailure(1, "nothing found")
    }

    @Test func importAcceptsSeveralFoldersAndFiles() throws {
        let sample = try SampleFolder()
        let other = sample.folder.path("other")
        try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
        try Data("another plan".utf8).write(to: URL(fileURLWithPath: other + "/plan.md"))
        let outcome = try Tool.run(["import", sample.database, sample.path + "/plan.md", other] + Tool.key)
        #expect(outcome.status == 0, "\(outcome.errors)")
        // Two files of the same name do not replace each other.
        #expect(try sample.rows("SELECT path, source FROM document ORDER BY size DESC") == [
            "plan.md,\(sample.path)", "plan.md,\(other)",
        ])
    }

    @Test func interruptedFolderImportResumes() throws {
        let sample = try SampleFolder()
        // Seconds of work, in release as well, so that the interrupt comes in time on a busy machine.
        for number in 0..<2000 { try sample.write("many/\(number).txt", String(repeating: "word\(number) and more ", count: 1500)) }
        let command = try Tool.start(["import", sample.database, sample.path, "--batch", "50"] + Tool.key)
        func size() -> Int { (try? FileManager.default.attributesOfItem(atPath: sample.database)[.size] as? Int) ?? 0 }
        try waitUntil("a part is imported") { size() >= 2 << 20 }
        command.process.interrupt()
        try command.end().expectFailure(130, "interrupted", "the same command continues")
        #expect(try sample.folder.names() == ["a.db", "docs"])
        let count = try #require(Int(sample.rows("SELECT count(*) FROM document")[0]))
        #expect(count >= 50 && count < 2003 && count % 50 == 0)
        #expect(try sample.rows("PRAGMA integrity_check") == ["ok"])
        // Not all of it once more: that would take long in debug, and one file more tells the same.
        for number in 200..<2000 { try FileManager.default.removeItem(atPath: sample.path + "/many/\(number).txt") }
        let outcome = try sample.index()
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(try sample.rows("SELECT count(*) >= 203, count(*) = count(DISTINCT path) FROM document") == ["1,1"])
        #expect(try sample.rows("PRAGMA integrity_check") == ["ok"])
    }

    @Test func mirrorImportRemovesMissingDocuments() throws {
        let sample = try SampleFolder()
        try sample.index()
        try FileManager.default.removeItem(atPath: sample.path + "/plan.md")
        try sample.write("new.txt", "something new")
        #expect(try sample.index().output.hasPrefix("imported 1 file"))
        #expect(try sample.rows("SELECT count(*) FROM document") == ["4"])
        #expect(try sample.index("--mirror").output.contains("; 1 document removed"))
        #expect(try sample.rows("SELECT path FROM document ORDER BY path") == ["deep/er/note.txt", "empty.txt", "new.txt"])
        #expect(try sample.rows("SELECT count(*) FROM document_search WHERE document_search MATCH 'bake'") == ["0"])
        try Tool.run(["import", sample.database, sample.path + "/new.txt", "--mirror"] + Tool.key).expectFailure(64, "folder")
    }
}
