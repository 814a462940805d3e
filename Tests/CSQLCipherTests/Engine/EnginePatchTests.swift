import Foundation
import TestSupport
import Testing

/// The patches of the amalgamation: they are few, say why, hold nothing of upstream's text, and no change of what they were written
/// for goes by unnoticed.
@Suite struct EnginePatchTests {
    /// Runs a program in Python that has `patches`, the list `written`, and upstream's `source`.
    private func python(_ code: String) throws -> [Substring] {
        let folder = try TemporaryFolder()
        let archive = try VendorScriptTests.source()
        let vendor = try Command.run(
            Repository.file("scripts/vendor").path, ["--unpatched", folder.url.path, "--from", archive])
        try #require(vendor.status == 0, "\(vendor.errors)")
        let start = """
            import sys
            from pathlib import Path
            root = Path(sys.argv[1])
            sys.path.insert(0, str(root / "scripts" / "lib"))
            import patches
            written = [patches.Patch(p.name, p.read_text()) for p in sorted((root / "Vendor" / "patches").glob("*.patch"))]
            source = (Path(sys.argv[2]) / "sqlite3.c").read_text()

            """
        let root = Repository.file("").path
        let outcome = try Command.run("python3", ["-I", "-B", "-c", start + code, root, folder.url.path])
        try #require(outcome.status == 0, "\(outcome.errors)")
        return outcome.output.split(separator: "\n")
    }

    @Test func patchDiffTurnsUpstreamIntoOurs() throws {
        let folder = try TemporaryFolder()
        let archive = try VendorScriptTests.source()
        let script = Repository.file("scripts/vendor").path
        #expect(try Command.run(script, ["--unpatched", folder.url.path, "--from", archive]).status == 0)
        let diff = try Command.run(script, ["--diff", "--from", archive])
        #expect(diff.status == 0, "\(diff.errors)")
        try Data(diff.output.utf8).write(to: folder.url.appendingPathComponent("patches.diff"))
        let applied = try Command.run("git", ["-C", folder.url.path, "apply", "-p1", "patches.diff"])
        #expect(applied.status == 0, "\(applied.errors)")
        let ours = try Data(contentsOf: Repository.file("Vendor/sqlcipher/sqlite3.c"))
        #expect(try Data(contentsOf: folder.url.appendingPathComponent("sqlite3.c")) == ours)
        for patch in try #require(try Pins.load().upstream("SQLCipher").patches) { #expect(diff.output.contains(patch.file)) }
    }

    @Test func patchesAreFewAndCopyNoUpstreamText() throws {
        #expect(try #require(try Pins.load().upstream("SQLCipher").patches).count <= 13)
        let copied = try python("""
            lines = {line.strip() for line in source.split("\\n")}
            for patch in written:
                for line in (line.strip() for edit in patch.edits for line in edit.lines):
                    if len(line) > 8 and line in lines: print(patch.name, line)
            """)
        #expect(copied == [])
    }

    /// In each edit's place, one character is changed, as a new version of the engine would.
    @Test func changedPatchContextIsNamed() throws {
        let found = try python("""
            every = \(LongTests.areOn ? 1 : 7)
            edits = [(patch, edit) for patch in written for edit in patch.edits]
            assert not list(patches.drift(source, written))
            for patch, edit in edits[::every]:
                start, stop = patches.definition_span(source, edit.function)
                place = source.rindex(";", start, stop)
                changed = source[:place] + ";;" + source[place + 1:]
                assert [found[1] for found in patches.drift(changed, written)] == [edit], edit.function
                try:
                    patches.applied(changed, written)
                except patches.Refused as error:
                    assert patch.name in str(error) and edit.function in str(error), error
                    print(edit.function)
            """)
        #expect(found.count >= 4)
    }

    /// Lines that upstream adds elsewhere in the function move ours with their place, once the new sum is added. Where the lines
    /// around ours change, or occur twice, no sum helps.
    @Test func patchEditFollowsMovedContext() throws {
        let found = try python("""
            for patch, edit in [(p, e) for p in written for e in p.edits if not e.is_replacement]:
                text = patches.definition(source, edit.function)
                at = edit.position(text)
                lines = text.split("\\n")
                around = lines[at - 1:at + edit.count + 1]
                moved = "\\n".join(lines[:1] + ["/* more */"] * 7 + lines[1:])
                assert "not where ours stand" in edit.problem(moved)
                edit.sums.append(patches.sum_of(moved))
                assert edit.problem(moved) is None and edit.problem(text) is None
                new = edit.apply(moved).copy()
                start = new.index(edit.lines[0])
                assert new[start - 1:start + len(edit.lines) + 1] == around[:1] + edit.lines + around[-1:]
                for other in ["\\n".join(lines[:at] + ["/* between */"] + lines[at:]), "\\n".join(lines + around)]:
                    edit.sums.append(patches.sum_of(other))
                    assert "where ours stand too" in edit.problem(other), edit.function
                print(edit.function)
            """)
        #expect(found.count >= 10)
    }

    @Test(.enabled(if: LongTests.areOn, "it compiles the engine"))
    func unusedPatchReplacementStopsTheBuild() throws {
        let unused = try EngineCopy().compile(replacing: [
            ("sqlcipherPagerSetCodec(pPager, sqlite3Codec,", "sqlcipherPagerSetCodec(pPager, 0,"),
            ("    attachFunc,       /* xSFunc */", "    0,"),
            ("sqlite3Pragma(pParse,", "gone_Pragma(pParse,"),
            ("sqlite3Attach(pParse,", "gone_Attach(pParse,"),
            ("sqlite3FinishCoding(pParse);", "gone_FinishCoding(pParse);"),
            ("sqlite3SelectAddTypeInfo(pParse, p);", ""),
            ("rc = readDbPage(pPg);", "rc = 0;"),
            ("vfsFlags, pageReinit);", "vfsFlags, 0);"),
            ("sqlite3AuthCheck(pParse,", "gone_AuthCheck(pParse,"),
            ("sqlite3CheckObjectName(pParse,", "gone_CheckObjectName(pParse,"),
            ("sqlite3ParseUri(zVfs,", "gone_ParseUri(zVfs,"),
            ("sqlite3ParseUri(db->", "gone_ParseUri(db->"),
        ])
        #expect(unused.status != 0)
        for name in [
            "sqlite3Codec", "attachFunc", "sqlite3Pragma", "sqlite3Attach",
            "sqlite3FinishCoding", "sqlite3SelectAddTypeInfo", "readDbPage", "pageReinit",
            "sqlite3AuthCheck", "sqlite3CheckObjectName", "sqlite3ParseUri",
        ] {
            #expect(unused.errors.contains("error: unused function '\(name)'"), "\(unused.errors)")
        }
    }

    /// Another handler would free keys while threads still write.
    @Test func theEngineHasNoOtherExitHandlers() throws {
        let text = try String(contentsOf: Repository.file("Vendor/sqlcipher/sqlite3.c"), encoding: .utf8)
        // A regular expression takes seconds for all of it.
        let source = text.split(separator: "\n").filter { line in
            ["atexit", "section(", "destructor"].contains { line.contains($0) }
        }.joined(separator: "\n")
        let calls = source.matches(of: /\batexit\s*\([^)]+\)/).map { String($0.output) }
        #expect(calls == ["atexit(sqlcipher_atexit)"])
        let sections = source.matches(of: /section\("[^"]*(?:fini|term)[^"]*"\)+ = (\w+);/).map { String($0.output.1) }
        #expect(sections == Array(repeating: "sqlcipher_fini", count: 3))
        #expect(source.matches(of: /\bdestructor\)\)/).count == 1)
    }

    #if os(Linux)
    /// The `memset` of `System/secure.c` is the only one.
    @Test func theProgramHasThePackagesMemset() throws {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let listing = try Command.run("nm", ["-g", "--defined-only", program])
        let found = listing.output.split(separator: "\n").filter { $0.hasSuffix(" sqlcipherkit_sqlcipher_memset") }
        #expect(found.count == 1)
        #expect(found.first?.contains(" T ") == true, "\(found)")
    }
    #endif
}
