import Foundation
import TestSupport
import Testing

/// `scripts/vendor --update`, with an archive of a version that does not exist: the pinned one with other numbers and one function
/// more.
@Suite(.enabled(if: LongTests.areOn, "a new pin is rare, and scripts/vendor --update checks it"))
struct VendorUpdateTests {
    typealias Copy = VendorScriptTests.Copy

    /// Writes `sqlcipher3-9.9.9.tar.gz` beside the pinned archive; `edits` are Python statements about `files`, name to bytes.
    private func makeArchive(in copy: Copy, edits: String = "") throws {
        let code = """
            import io, re, sys, tarfile
            files = {}
            with tarfile.open(sys.argv[1]) as old:
                for name in ("sqlite3.c", "sqlite3.h"):
                    path = next(p for p in old.getnames() if p.endswith("/" + name))
                    files[name] = old.extractfile(path).read()
                    files[name] = re.sub(rb'(#define SQLITE_VERSION +)"[^"]+"', rb'\\1"3.99.1"', files[name])
                    files[name] = re.sub(rb'(#define SQLITE_SOURCE_ID +)"[^"]+"', rb'\\1"2030-01-01 feed"', files[name])
            files["sqlite3.c"] = re.sub(rb'(#define CIPHER_VERSION_NUMBER +)\\S+', rb'\\g<1>9.9.9', files["sqlite3.c"])
            files["sqlite3.c"] += b"\\nSQLITE_API int sqlite3_brand_new(void){ return 0; }\\n"
            \(edits)
            with tarfile.open(sys.argv[2], "w:gz", compresslevel=1) as new:
                for name, data in files.items():
                    entry = tarfile.TarInfo("sqlcipher3-9.9.9/moved/" + name)
                    entry.size = len(data)
                    new.addfile(entry, io.BytesIO(data))
            """
        let target = copy.archive.deletingLastPathComponent().appendingPathComponent("sqlcipher3-9.9.9.tar.gz").path
        let outcome = try Command.run("python3", ["-c", code, copy.archive.path, target])
        try #require(outcome.status == 0, "\(outcome.errors)")
    }

    private func pins(_ copy: Copy) throws -> Data { try Data(contentsOf: copy.vendor.appendingPathComponent("pins.json")) }

    @Test func thereAndBack() throws {
        let copy = try Copy()
        try copy.unpack()
        let before = try pins(copy), shelf = copy.archive.deletingLastPathComponent().path
        try makeArchive(in: copy)

        let there = try copy.run("--update", "sqlcipher3==9.9.9", "--from", shelf)
        try #require(there.status == 0, "\(there.errors)")
        let old = try Pins.load()
        let sqlite = try #require(try old.upstream("SQLite").version)
        for line in ["SQLite: \(sqlite) -> 3.99.1", "-> 9.9.9 community", "-> 2030-01-01 feed", "new symbol: sqlite3_brand_new",
                     "SHA-256: \(try #require(try old.upstream("SQLCipher").archive).sha256) ->", "private symbols: ", " are as they were", "run ./scripts/test"] {
            #expect(there.output.contains(line), "\(line) is not in \(there.output)")
        }
        #expect(!there.output.contains("symbol gone"))
        let new = try JSONDecoder().decode(Pins.self, from: pins(copy))
        #expect(try new.upstream("SQLCipher").cipherVersion == "9.9.9 community")
        #expect(try new.upstream("SQLite").sourceID == "2030-01-01 feed")
        #expect(try copy.run("--check").status == 0)
        #expect(try String(contentsOf: copy.engine.appendingPathComponent("symbols.h"), encoding: .utf8).contains(" sqlite3_brand_new "))
        #expect(try copy.leftovers() == ["sqlcipher"])
        // Who has the new pins and the new archive gets the same engine.
        try FileManager.default.removeItem(at: copy.engine)
        #expect(try copy.run("--from", shelf).status == 0)

        let package = try #require(old.upstreams.first?.package)
        let back = try copy.run("--update", "\(package.name)==\(package.version)", "--from", shelf)
        try #require(back.status == 0, "\(back.errors)")
        #expect(back.output.contains("symbol gone: sqlite3_brand_new"))
        #expect(try pins(copy) == before)
        #expect(try copy.run("--check").status == 0)
        #expect(try copy.run("--update", "\(package.name)==\(package.version)").output.contains("already pinned"))
    }

    /// Functions, macros, variables and fields that ENGINE.md lists are compared, and nothing else is.
    @Test func privateSymbolsThatChanged() throws {
        let copy = try Copy()
        try copy.unpack()
        let shelf = copy.archive.deletingLastPathComponent().path
        try makeArchive(in: copy, edits: """
            def edit(old, new):
                assert files["sqlite3.c"].count(old) > 0, old
                files["sqlite3.c"] = files["sqlite3.c"].replace(old, new)
            edit(b"static void columnMallocFailure(sqlite3_stmt *pStmt)\\n{", b"static void columnMallocFailure(sqlite3_stmt *pStmt)\\n{ (void)0;")
            edit(b"sqlcipher_cipher_ctx_copy", b"sqlcipher_copy_cipher_ctx")
            edit(b"#define MAX_LOG_LEN 4096", b"#define MAX_LOG_LEN 8192")
            edit(b"int kdf_salt_sz;", b"long kdf_salt_sz; /* wider */")
            edit(b"  int reserve_sz;", b"  int reserve_sz;  /* a comment more */")
            edit(b"static unixInodeInfo *inodeList = 0;", b"static unixInodeInfo *inodes = 0;")
            # None of the package's business.
            edit(b"static int sqlcipher_codec_key_derive", b"static int brand_new(void){ return 1; }\\nstatic int sqlcipher_codec_key_derive")
            """)
        let outcome = try copy.run("--update", "sqlcipher3==9.9.9", "--from", shelf)
        try #require(outcome.status == 0, "\(outcome.errors)")
        let lines = outcome.output.split(separator: "\n").filter { $0.contains("private symbol ") }.map(String.init)
        #expect(lines == [
            "vendor: private symbol changed: CIPHER_VERSION_NUMBER", "vendor: private symbol changed: MAX_LOG_LEN",
            "vendor: private symbol changed: codec_ctx.kdf_salt_sz", "vendor: private symbol changed: columnMallocFailure",
            "vendor: private symbol gone: inodeList", "vendor: private symbol gone: sqlcipher_cipher_ctx_copy",
            "vendor: private symbol changed: sqlcipher_codec_key_derive",
        ])
        #expect(outcome.output.contains("the build stops until it is reviewed"))
    }

    /// What a patch was written for has changed: the difference is shown, and nothing is pinned.
    @Test func patchesWhosePlaceHasChanged() throws {
        let copy = try Copy()
        try copy.unpack()
        let before = try pins(copy)
        try makeArchive(in: copy, edits: """
            files["sqlite3.c"] = files["sqlite3.c"].replace(b"static int unixUnlock(sqlite3_file *id, int eFileLock){", b"static int unixUnlock(sqlite3_file *id, int eFileLock){ (void)0;")
            files["sqlite3.c"] = files["sqlite3.c"].replace(b"sqlcipher_codec_pragma(", b"sqlcipher_pragma_of_codec(")
            """)
        let outcome = try copy.run("--update", "sqlcipher3==9.9.9", "--from", copy.archive.deletingLastPathComponent().path)
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("3 edits of Vendor/patches were written for other text"), "\(outcome.errors)")
        #expect(outcome.output.contains("04-damaged-pages.patch: sqlcipher_codec_pragma is gone"))
        #expect(outcome.output.contains("06-file-errors.patch: unixUnlock has changed, to SHA-256 "))
        #expect(outcome.output.contains("    +static int unixUnlock(sqlite3_file *id, int eFileLock){ (void)0;"))
        #expect(try pins(copy) == before)
        #expect(try copy.run("--check").status == 0)
    }

    /// A patch counts once its sum is pinned.
    @Test func aChangedPatch() throws {
        let copy = try Copy()
        try copy.unpack()
        let shelf = copy.archive.deletingLastPathComponent().path
        let patch = copy.vendor.appendingPathComponent("patches/08-open.patch")
        let text = try String(contentsOf: patch, encoding: .utf8)
        try Data((text + "/* A line of ours. */\n").utf8).write(to: patch)
        for arguments in [["--check"], ["--diff", "--from", shelf], ["--from", shelf]] {
            let outcome = try Command.run(copy.script, arguments, environment: copy.environment)
            #expect(outcome.status == 1 && outcome.errorLines.count == 1, "\(outcome.errors)")
            #expect(outcome.errors.contains("Vendor/patches/08-open.patch: SHA-256 is "), "\(outcome.errors)")
        }
        #expect(try copy.run("--pin-patches", "--from", shelf).status == 0)
        #expect(try copy.run("--check").status == 0)
        let engine = try String(contentsOf: copy.engine.appendingPathComponent("sqlite3.c"), encoding: .utf8)
        #expect(engine.contains("/* A line of ours. */"))
        // Taken back, everything is as it was.
        try Data(text.utf8).write(to: patch)
        #expect(try copy.run("--pin-patches", "--from", shelf).status == 0)
        #expect(try pins(copy) == Data(contentsOf: Repository.file("Vendor/pins.json")))
    }

    /// Whatever fails leaves pins and engine as they were.
    @Test func failures() throws {
        let copy = try Copy()
        try copy.unpack()
        let before = try pins(copy), shelf = copy.archive.deletingLastPathComponent().path
        func expectFailure(_ outcome: Command.Outcome, saying words: String, _ location: SourceLocation = #_sourceLocation) throws {
            #expect(outcome.status == 1 && outcome.errorLines.count == 1, "\(outcome.errors)", sourceLocation: location)
            #expect(outcome.errors.contains(words), "\(outcome.errors)", sourceLocation: location)
            #expect(try pins(copy) == before, sourceLocation: location)
            #expect(try copy.leftovers() == ["sqlcipher"], sourceLocation: location)
        }
        for wanted in ["sqlcipher3", "sqlcipher3==", "sqlcipher3>=1", "requests==2.0", "sqlcipher3==../1"] {
            try expectFailure(try copy.run("--update", wanted, "--from", shelf), saying: "cannot be pinned")
        }
        let update = ["--update", "sqlcipher3==9.9.9"]
        try expectFailure(try copy.run(update[0], update[1], "--from", shelf), saying: "No such file")
        try expectFailure(try copy.run(update[0], update[1]), saying: "Connection refused")
        for (edits, words) in [
            ("del files['sqlite3.h']", "0 files named sqlite3.h"),
            ("files['sqlite3.h'] = files['sqlite3.h'].replace(b'3.99.1', b'3.99.2')", "of different versions"),
            ("files['sqlite3.c'] = files['sqlite3.c'].replace(b'define CIPHER_VERSION_NUMBER', b'define OTHER')", "CIPHER_VERSION_NUMBER"),
            ("files['sqlite3.c'] = files['sqlite3.c'].replace(b'Redistribution and use', b'')", "licence notices"),
        ] {
            try makeArchive(in: copy, edits: edits)
            try expectFailure(try copy.run(update[0], update[1], "--from", shelf), saying: words)
        }
        try makeArchive(in: copy)
        let full = try Command.run("bash", ["-c", "ulimit -f 4000; exec \"$@\"", "bash", copy.script] + update + ["--from", shelf],
                                   environment: copy.environment)
        try expectFailure(full, saying: "File too large")
        #expect(try copy.run("--check").status == 0)
    }
}
