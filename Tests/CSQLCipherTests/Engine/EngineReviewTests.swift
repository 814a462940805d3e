import Foundation
import TestSupport
import Testing

/// The private parts of the engine that the package uses are listed, and belong to the version that was reviewed.
@Suite struct EngineReviewTests {
    @Test(.enabled(if: LongTests.areOn, "it asks the compiler for the engine's whole tree"))
    func engineTableListsPrivateSymbolsInUse() throws {
        let checked = try Command.run(Repository.file("scripts/workshop/check-engine").path, [])
        #expect(checked.status == 0, "\(checked.errors)")
    }

    @Test(.enabled(if: LongTests.areOn, "it asks the compiler for the engine's whole tree"))
    func unlistedOrUnusedPrivateSymbolsAreNamed() throws {
        let copy = try EngineCopy()
        let files = FileManager.default
        for path in ["scripts", "Tests", "Vendor"] {
            try? files.removeItem(at: copy.folder.url.appendingPathComponent(path))
            try files.createDirectory(at: copy.folder.url.appendingPathComponent("scripts"), withIntermediateDirectories: true)
        }
        try files.copyItem(at: Repository.file("scripts/lib"), to: copy.folder.url.appendingPathComponent("scripts/lib"))
        for path in ["Tests", "Vendor"] {
            try files.createSymbolicLink(at: copy.folder.url.appendingPathComponent(path), withDestinationURL: Repository.file(path))
        }
        func append(_ text: String, to path: String) throws {
            let file = copy.folder.url.appendingPathComponent("Sources/CSQLCipher/Engine/\(path)")
            try Data((String(contentsOf: file, encoding: .utf8) + text).utf8).write(to: file)
        }
        try append("""
            static int sqlcipherkit_unlisted(Btree *btree, PgHdr *page) {
                return sqlite3BtreeIsReadonly(btree) + page->pgno + page->pPager->nRec + PAGER_GET_READONLY;
            }
            """, to: "keys.h")
        try append("| `sqlite3BtreeOpen`, `PgHdr.pgno` | nothing | nothing | `NoSuchTests/ofThisName` |\n", to: "ENGINE.md")
        let checked = try Command.run("python3", ["-I", "-B", copy.folder.url.appendingPathComponent("scripts/lib/engine_table.py").path])
        #expect(checked.status == 1)
        let expected = [
            "PAGER_GET_READONLY is used and not listed", "Pager.nRec is used and not listed",
            "sqlite3BtreeIsReadonly is used and not listed", "sqlite3BtreeOpen is listed and not used",
            "PgHdr.pgno is listed more than once", "there is no test NoSuchTests/ofThisName",
        ]
        #expect(checked.errorLines.map(String.init) == expected.map { "ENGINE.md: " + $0 })
    }

    /// Each report of Vendor/upstream can be sent as it is, and names what mends the defect here.
    @Test func upstreamReportsNameSymptomAndMend() throws {
        let folder = Repository.file("Vendor/upstream")
        let index = try String(contentsOf: folder.appendingPathComponent("README.md"), encoding: .utf8)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".c") }
        #expect(names.count >= 16)
        for name in names {
            let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
            for field in ["What happens: ", "What should happen: ", "Tried with: "] {
                #expect(text.contains("\n * \(field)"), "\(name) has no line '\(field)'")
            }
            let mend = try #require(text.firstMatch(of: /\n \* (Patch|Without a patch): (\S+)\n/), "\(name)")
            let path = mend.1 == "Patch" ? "Vendor/patches/\(mend.2)" : String(mend.2)
            #expect(FileManager.default.fileExists(atPath: Repository.file(path).path), "\(name): \(path)")
            #expect(index.contains("`\(name.dropLast(2))`"), "\(name)")
        }
    }

    @Test(.enabled(if: LongTests.areOn, "it compiles the engine, and some defects take minutes"))
    func upstreamStillHasEachDefect() throws {
        let checked = try Command.run(Repository.file("scripts/workshop/check-upstream").path, [])
        #expect(checked.status == 0, "\(checked)")
    }

    @Test(.enabled(if: LongTests.areOn, "it compiles the engine twice"))
    func unreviewedEngineVersionStopsTheBuild() throws {
        let copy = try EngineCopy()
        let asItIs = try copy.compile()
        #expect(asItIs.status == 0, "\(asItIs.errors)")
        let pins = try Pins.load()
        let sourceID = try #require(try pins.upstream("SQLite").sourceID)
        let version = try #require(try pins.upstream("SQLCipher").cipherVersion?.split(separator: " ").first)
        let another = try copy.compile(replacing: [
            (sourceID, "2030-01-01 00:00:00 feed"), ("define CIPHER_VERSION_NUMBER \(version)", "define CIPHER_VERSION_NUMBER 9.9.9"),
        ])
        #expect(another.status != 0)
        for name in ["SQLite", "SQLCipher"] {
            #expect(another.errors.contains("\(name)'s version was not reviewed: read Sources/CSQLCipher/Engine/ENGINE.md"))
        }
    }
}
