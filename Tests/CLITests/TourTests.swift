import Foundation
import Testing
import TestSupport

/// The main job: from a folder to an encrypted, searchable database.
@Suite struct TourTests {
    @Test func tourRunsAllSteps() throws {
        let sample = try SampleFolder()
        let into = sample.folder.path("the tour")
        let outcome = try Tool.run("tour", sample.path, "--into", into, "--words", "bread")
        #expect(outcome.errors == "")
        try #require(outcome.status == 0)
        for step in 1...6 { #expect(outcome.output.contains("\(step)/6  ")) }
        #expect(outcome.output.split(separator: "\n").count { $0.contains("     took ") } == 6)
        for part in [
            "3 files,", "“bread”: 2 hits", "[Bread]", "json_each", "the old passphrase is refused", "integrity check says ok",
            "00000000  ", "2 pieces of text searched for: 2 found in the folder's files, none in the databases",
        ] { #expect(outcome.output.contains(part), "\(part)") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: into).sorted() == [
            "tour-archive.db", "tour-archive.key", "tour.db", "tour.key",
        ])
        for name in ["tour.key", "tour-archive.key", "tour.db", "tour-archive.db"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: into + "/" + name)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
        #expect(!outcome.output.contains(try String(contentsOfFile: into + "/tour.key", encoding: .utf8).trimmingCharacters(in: .newlines)))

        // The commands that it ends with really work, in a shell.
        let next = outcome.output.split(separator: "\n").suffix(2).map(String.init)
        let search = try Command.run("bash", ["-c", next[0]])
        #expect(search.output.contains("2 hits"), "\(search.errors)")
        let query = try Command.run("bash", ["-c", next[1]])
        #expect(query.output.contains("plan.md"), "\(query.errors)")
        let archive = try Tool.run(
            "query", into + "/tour-archive.db", "SELECT count(*) AS n FROM document", "--format", "csv", "--raw-key", "--key-file",
            into + "/tour-archive.key")
        #expect(archive.output == "n\n2\n")

        // A second one takes the place of the first.
        #expect(try Tool.run("tour", sample.path, "--into", into).status == 0)
    }

    @Test func tourOfEmptyFolderFails() throws {
        let folder = try TemporaryFolder()
        let empty = folder.path("empty")
        try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: true)
        try Tool.run("tour", empty, "--into", folder.path("tour")).expectFailure(1, "no file to import")
        try Tool.run("tour", folder.path("missing"), "--into", folder.path("tour")).expectFailure(1, "No such file")
        #expect(try folder.names() == ["empty"])
        try Data([0xff, 0]).write(to: URL(fileURLWithPath: empty + "/a.bin"))
        let outcome = try Tool.run("tour", empty, "--into", folder.path("tour"))
        #expect(outcome.status == 1)
        #expect(outcome.errors == "sqlcipherkit: there is no text file to import: 1 binary file left out\n")
    }

    @Test func tourKeepsUnrelatedDatabase() throws {
        let sample = try SampleFolder()
        let path = sample.folder.path("tour.db")
        try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
        try Tool.run("tour", sample.path, "--into", sample.folder.url.path).expectFailure(1, "tour.db", "--into")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
    }

    @Test func quickstartChecksArgumentsBeforeBuilding() throws {
        let folder = try TemporaryFolder()
        let file = folder.path("file")
        try Data().write(to: URL(fileURLWithPath: file))
        let script = Repository.file("scripts/quickstart").path
        for (arguments, status, message) in [
            (["--frob"], 2, "unknown argument '--frob'"), ([folder.url.path, "b"], 2, "only one folder"), ([""], 2, "empty"),
            ([folder.path("no such")], 1, "there is no folder"), ([file], 1, "not a folder"),
        ] as [([String], Int32, String)] {
            let outcome = try Command.run(script, arguments)
            #expect(outcome.status == status)
            #expect(outcome.output == "")
            #expect(outcome.errorLines.count == 1 && outcome.errors.contains(message), "\(outcome.errors)")
        }
        #expect(try Command.run(script, ["--help"]).output.contains("usage: scripts/quickstart [FOLDER]"))
    }
}
