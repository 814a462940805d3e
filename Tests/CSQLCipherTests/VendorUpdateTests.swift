import Foundation
import TestSupport
import Testing

/// `scripts/vendor --update`, with an archive of a version that does not exist: the pinned one with other numbers and one function
/// more.
@Suite(.enabled(if: LongTests.areOn, "a new pin is rare, and scripts/vendor --update checks it"))
struct VendorUpdateTests {
    typealias Copy = VendorScriptTests.Copy

    /// Writes an archive beside the pinned one; `edits` are Python statements about `files`, name to bytes. If not `changed`, its
    /// files are those of the pinned one.
    private func makeArchive(in copy: Copy, named name: String = "sqlcipher3-9.9.9", edits: String = "", changed: Bool = true) throws {
        let code = """
            import io, re, sys, tarfile
            files = {}
            with tarfile.open(sys.argv[1]) as old:
                for name in ("sqlite3.c", "sqlite3.h"):
                    path = next(p for p in old.getnames() if p.endswith("/" + name))
                    files[name] = old.extractfile(path).read()
                    if not \(changed ? "True" : "False"): continue
                    files[name] = re.sub(rb'(#define SQLITE_VERSION +)"[^"]+"', rb'\\1"3.99.1"', files[name])
                    files[name] = re.sub(rb'(#define SQLITE_SOURCE_ID +)"[^"]+"', rb'\\1"2030-01-01 feed"', files[name])
            if \(changed ? "True" : "False"):
                files["sqlite3.c"] = re.sub(rb'(#define CIPHER_VERSION_NUMBER +)\\S+', rb'\\g<1>9.9.9', files["sqlite3.c"])
                files["sqlite3.c"] += b"\\nSQLITE_API int sqlite3_brand_new(void){ return 0; }\\n"
            \(edits)
            with tarfile.open(sys.argv[2], "w:gz", compresslevel=1) as new:
                for name, data in files.items():
                    entry = tarfile.TarInfo("\(name)/moved/" + name)
                    entry.size = len(data)
                    new.addfile(entry, io.BytesIO(data))
            """
        let target = copy.archive.deletingLastPathComponent().appendingPathComponent("\(name).tar.gz").path
        let outcome = try Command.run("python3", ["-c", code, copy.archive.path, target])
        try #require(outcome.status == 0, "\(outcome.errors)")
    }

    private func pins(_ copy: Copy) throws -> Data { try Data(contentsOf: copy.vendor.appendingPathComponent("pins.json")) }

    @Test func vendorUpdateAndRevertRestorePins() throws {
        let copy = try Copy()
        try copy.unpack()
        let before = try pins(copy), shelf = copy.archive.deletingLastPathComponent().path
        // A parser is known by its rules, however it was made.
        try makeArchive(in: copy, edits: """
            files["sqlite3.c"] = files["sqlite3.c"].replace(b"#define SQLITE_UDL_CAPABLE_PARSER 1\\n", b"")
            """)

        let there = try copy.run("--update", "sqlcipher3==9.9.9", "--from", shelf)
        try #require(there.status == 0, "\(there.errors)")
        let old = try Pins.load()
        let sqlite = try #require(try old.upstream("SQLite").version)
        let purl = try #require(try old.upstream("SQLCipher").carriers?.first).purl
        for line in ["SQLite: \(sqlite) -> 3.99.1", "-> 9.9.9 community", "-> 2030-01-01 feed", "new symbol: sqlite3_brand_new",
                     "carriers: \(purl) -> pkg:pypi/sqlcipher3@9.9.9", "private symbols: ", " are as they were",
                     "edits of Vendor/patches: ", " fit, 0 do not", "run ./scripts/test"] {
            #expect(there.output.contains(line), "\(line) is not in \(there.output)")
        }
        #expect(!there.output.contains("symbol gone") && !there.output.contains("LIMIT") && !there.output.contains("called by"))
        let new = try JSONDecoder().decode(Pins.self, from: pins(copy))
        #expect(try new.upstream("SQLCipher").cipherVersion == "9.9.9 community")
        #expect(try new.upstream("SQLite").sourceID == "2030-01-01 feed")
        #expect(try copy.run("--check").status == 0)
        #expect(try String(contentsOf: copy.engine.appendingPathComponent("symbols.h"), encoding: .utf8).contains(" sqlite3_brand_new "))
        #expect(try copy.leftovers() == ["sqlcipher"])
        // Who has the new pins and the new archive gets the same engine.
        try FileManager.default.removeItem(at: copy.engine)
        #expect(try copy.run("--from", shelf).status == 0)

        let former = String(try #require(purl.split(separator: "/").last)).replacingOccurrences(of: "@", with: "==")
        let back = try copy.run("--update", former, "--from", shelf)
        try #require(back.status == 0, "\(back.errors)")
        #expect(back.output.contains("symbol gone: sqlite3_brand_new"))
        #expect(try pins(copy) == before)
        #expect(try copy.run("--check").status == 0)
        #expect(try copy.run("--update", former).output.contains("already pinned"))
    }

    /// Functions, macros, variables and fields that ENGINE.md lists are compared, and nothing else is.
    @Test func vendorUpdateReportsPrivateSymbolChanges() throws {
        let copy = try Copy()
        try copy.unpack()
        let shelf = copy.archive.deletingLastPathComponent().path
        try makeArchive(in: copy, edits: """
            def edit(old, new):
                assert files["sqlite3.c"].count(old) > 0, old
                files["sqlite3.c"] = files["sqlite3.c"].replace(old, new)
            edit(b"static void pagerUnlockIfUnused(Pager *pPager){", b"static void pagerUnlockIfUnused(Pager *pPager){ (void)0;")
            edit(b"sqlcipher_cipher_ctx_copy", b"sqlcipher_copy_cipher_ctx")
            edit(b"#define HMAC_SALT_MASK 0x3a", b"#define HMAC_SALT_MASK 0x3b")
            edit(b"int kdf_salt_sz;", b"long kdf_salt_sz; /* wider */")
            edit(b"  int reserve_sz;", b"  int reserve_sz;  /* a comment more */")
            edit(b"static unixInodeInfo *inodeList = 0;", b"static unixInodeInfo *inodes = 0;")
            # A function that a patched one calls.
            edit(b"static void sqlcipher_codec_ctx_set_error(codec_ctx *ctx, int error) {", b"static void sqlcipher_codec_ctx_set_error(codec_ctx *ctx, int error) { (void)0;")
            # None of the package's business.
            edit(b"static int sqlcipher_codec_key_derive", b"static int brand_new(void){ return 1; }\\nstatic int sqlcipher_codec_key_derive")
            """)
        let outcome = try copy.run("--update", "sqlcipher3==9.9.9", "--from", shelf)
        try #require(outcome.status == 0, "\(outcome.errors)")
        let lines = outcome.output.split(separator: "\n").filter { $0.contains("private symbol ") }.map(String.init)
        #expect(lines == [
            "vendor: private symbol changed: CIPHER_VERSION_NUMBER", "vendor: private symbol changed: HMAC_SALT_MASK",
            "vendor: private symbol changed: codec_ctx.kdf_salt_sz", "vendor: private symbol gone: inodeList",
            "vendor: private symbol changed: pagerUnlockIfUnused", "vendor: private symbol gone: sqlcipher_cipher_ctx_copy",
            "vendor: private symbol changed: sqlcipher_codec_key_derive",
        ])
        #expect(outcome.output.contains("vendor: changed, called by sqlcipher_codec_pragma: sqlcipher_codec_ctx_set_error\n"))
        #expect(outcome.output.contains("the build stops until it is reviewed"))
    }

    /// What a patch was written for has changed: the difference is shown, and nothing is pinned.
    @Test func vendorUpdateRefusesPatchWithChangedContext() throws {
        let copy = try Copy()
        try copy.unpack()
        let before = try pins(copy)
        try makeArchive(in: copy, edits: """
            files["sqlite3.c"] = files["sqlite3.c"].replace(b"static void pageReinit(DbPage *pData){", b"static void pageReinit(DbPage *pData){ (void)0;")
            files["sqlite3.c"] = files["sqlite3.c"].replace(b"sqlcipher_codec_pragma(", b"sqlcipher_pragma_of_codec(")
            """)
        let outcome = try copy.run("--update", "sqlcipher3==9.9.9", "--from", copy.archive.deletingLastPathComponent().path)
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("nothing is changed: 3 edits of Vendor/patches do not fit"), "\(outcome.errors)")
        #expect(outcome.output.contains("04-damaged-pages.patch: sqlcipher_codec_pragma is gone"))
        #expect(outcome.output.contains("05-rollback.patch: pageReinit has changed: read how; if ours still holds, add "))
        #expect(outcome.output.contains("    +static void pageReinit(DbPage *pData){ (void)0;"))
        #expect(try pins(copy) == before)
        #expect(try copy.run("--check").status == 0)
    }

    /// The archive at another place: another package, upstream's own archive at an address, upstream's own tree.
    @Test func vendorUpdateAcceptsOtherCarriers() throws {
        let copy = try Copy()
        try copy.unpack()
        let shelf = copy.archive.deletingLastPathComponent(), before = try pins(copy)
        let engine = try Data(contentsOf: copy.engine.appendingPathComponent("sqlite3.c"))
        func purls() throws -> [String] {
            try JSONDecoder().decode(Pins.self, from: pins(copy)).upstream("SQLCipher").carriers?.map(\.purl) ?? []
        }
        // A second carrier of the pinned version has the same files, or it is none.
        try makeArchive(in: copy, named: "other_carrier-1.0", changed: false)
        let second = try copy.run("--update", "Other.carrier==1.0", "--from", shelf.path)
        #expect(second.status == 0, "\(second.errors)")
        #expect(try purls().count == 2 && purls().last == "pkg:pypi/other-carrier@1.0")
        #expect(try copy.run("--update", "other_Carrier==1.0", "--from", shelf.path).output.contains("already pinned"))
        #expect(try Data(contentsOf: copy.engine.appendingPathComponent("sqlite3.c")) == engine)
        try makeArchive(in: copy, named: "third-1.0", edits: "files['sqlite3.c'] += b'/* more */'", changed: false)
        try FileManager.default.removeItem(at: copy.archive)
        try FileManager.default.removeItem(at: copy.engine)
        #expect(try copy.run("--from", shelf.path).status == 0, "the second archive is enough")
        let third = try copy.run("--update", "third==1.0", "--from", shelf.path)
        #expect(third.status == 1 && third.errors.contains("two carriers of one version must have the same files"), "\(third.errors)")

        // Upstream's own has no other name, and its files stay in the cache.
        try before.write(to: copy.vendor.appendingPathComponent("pins.json"))
        try FileManager.default.copyItem(at: VendorScriptTests.archive(), to: copy.archive)
        _ = try copy.fillCache()
        try makeArchive(in: copy, named: "v9.9.9")
        let address = shelf.appendingPathComponent("v9.9.9.tar.gz")
        let upstream = try copy.run("--update", "sqlcipher==9.9.9", "--from", address.absoluteString)
        #expect(upstream.status == 0, "\(upstream.errors)")
        #expect(try purls() == ["pkg:generic/sqlcipher@9.9.9?checksum=sha256:\(sum(address))"])
        try FileManager.default.removeItem(at: copy.engine)
        #expect(try copy.run().status == 0)
        #expect(try copy.run("--fetch").output == copy.cache.path + "/sqlcipher-9.9.9\n")
        let tree = try TemporaryFolder()
        for name in ["sqlite3.c", "sqlite3.h"] {
            try FileManager.default.moveItem(at: copy.cache.appendingPathComponent("sqlcipher-9.9.9/\(name)"), to: tree.url.appendingPathComponent(name))
        }
        try FileManager.default.removeItem(at: copy.cache.appendingPathComponent("sqlcipher-9.9.9"))
        try FileManager.default.removeItem(at: copy.engine)
        expectOneLine(try copy.run(), saying: "sqlcipher-9.9.9 is on no package index", "--from")
        #expect(try copy.run("--from", tree.url.path).status == 0)
    }

    /// Real archives: the version before, from another package, and back. Its sums are added as a maintainer would.
    @Test func vendorDowngradeAndReturnRestorePins() throws {
        let copy = try Copy()
        try copy.unpack()
        // With the machine's own index and cache.
        func run(_ arguments: String...) throws -> Command.Outcome { try Command.run(copy.script, arguments, environment: [:]) }
        let package = "bouquin-sqlcipher4==4.18.0", engine = try Data(contentsOf: copy.engine.appendingPathComponent("sqlite3.c"))
        let several = try run("--update", package)
        expectOneLine(several, saying: "has 2 files named sqlite3.c", "/sqlcipher4/sqlite3.c", "/src/sqlcipher/sqlite3.c", "--folder")
        let stopped = try run("--update", package, "--folder", "src/sqlcipher")
        #expect(stopped.status == 1 && stopped.errors.contains("5 edits of Vendor/patches do not fit"), "\(stopped.errors)")
        #expect(stopped.output.contains("UPDATE and DELETE with LIMIT: yes -> no"))
        #expect(stopped.output.contains("changed, called by sqlcipher_codec_pragma: sqlcipher_codec_ctx_set_error"))
        for match in stopped.output.matches(of: /vendor: (\S+\.patch): (\w+) has changed: .* add ([0-9a-f]{16})\n/) {
            let file = copy.vendor.appendingPathComponent("patches/\(match.1)")
            let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
            let changed = lines.map { $0.hasPrefix("@@ replace \(match.2) ") ? "\($0) \(match.3)" : String($0) }
            try Data(changed.joined(separator: "\n").utf8).write(to: file)
        }
        #expect(try run("--pin-patches").status == 0)
        let before = try pins(copy), there = try run("--update", package, "--folder", "src/sqlcipher")
        #expect(there.status == 0, "\(there)")
        #expect(there.output.split(separator: "\n").filter { $0.contains("private symbol ") } == [
            "vendor: private symbol changed: CIPHER_VERSION_NUMBER",
            "vendor: private symbol changed: sqlcipher_cipher_ctx_key_derive",
        ])
        #expect(try JSONDecoder().decode(Pins.self, from: pins(copy)).upstream("SQLCipher").cipherVersion == "4.18.0 community")
        #expect(try run("--check").status == 0)
        let carrier = try #require(Pins.load().upstream("SQLCipher").carriers?.first).purl
        let back = try run("--update", String(carrier.dropFirst("pkg:pypi/".count)).replacingOccurrences(of: "@", with: "=="))
        #expect(back.status == 0, "\(back.errors)")
        #expect(try pins(copy) == before)
        #expect(try Data(contentsOf: copy.engine.appendingPathComponent("sqlite3.c")) == engine)
    }

    /// The SQLite that the next SQLCipher will have, and the tree of the one that it has.
    @Test func vendorUpdateChecksNextSQLite() throws {
        let copy = try Copy()
        try copy.unpack()
        let before = try pins(copy)
        let next = try Command.run(copy.script, ["--update", "apsw-sqlite3mc==3.54.0.0", "--check"], environment: [:])
        #expect(next.status == 1 && next.output.contains("SQLite: 3.53.4 -> 3.54.0"), "\(next)")
        #expect(next.output.contains("private symbol gone: binCollFunc") && next.output.contains("private symbol renumbered: OP_Halt"))
        // Others differ by that package's own changes, which the pinned SQLCipher on that SQLite does not have.
        let ahead = try TemporaryFolder()
        let made = try Command.run(
            Repository.file("scripts/workshop/next-sqlite").path, ["3.53.4.0", "3.54.0.0", "4.99.0", ahead.url.path], environment: [:])
        try #require(made.status == 0 && made.output.contains("SQLite 3.54.0, SQLCipher 4.99.0"), "\(made)")
        let onNext = try Command.run(copy.script, ["--update", "sqlcipher==4.99.0", "--from", ahead.url.path, "--check"], environment: [:])
        #expect(onNext.status == 0 && onNext.output.contains(" fit, 0 do not"), "\(onNext)")
        let code = """
            import sys
            sys.path.insert(0, sys.argv[1])
            import sqlite_tests as tests
            cache = tests.cache_folder()
            if not (cache / tests.ARCHIVE).exists(): tests.fetch(cache)
            print(tests.VERSION, tests.verified(cache / tests.ARCHIVE))
            """
        let fetched = try Command.run("python3", ["-B", "-c", code, Repository.file("scripts/workshop/lib").path])
        let words = fetched.output.split(whereSeparator: \.isWhitespace).map(String.init)
        try #require(words.count == 2, "\(fetched.errors)")
        let tree = try Command.run(copy.script, ["--update", "sqlcipher==\(words[0])", "--from", words[1], "--check"], environment: [:])
        #expect(tree.output.contains(" fit, 1 do not") && tree.output.contains(": readDbPage has changed"), "\(tree)")
        #expect(!tree.output.contains("LIMIT"), "the parser is made with the clause")
        #expect(try pins(copy) == before)
    }

    /// A patch counts once its sum is pinned.
    @Test func changedPatchRequiresPinning() throws {
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
    @Test func failedVendorUpdateChangesNothing() throws {
        let copy = try Copy()
        try copy.unpack()
        let before = try pins(copy), shelf = copy.archive.deletingLastPathComponent().path
        func expectFailure(_ outcome: Command.Outcome, saying words: String, _ location: SourceLocation = #_sourceLocation) throws {
            #expect(outcome.status == 1 && outcome.errorLines.count == 1, "\(outcome.errors)", sourceLocation: location)
            #expect(outcome.errors.contains(words), "\(outcome.errors)", sourceLocation: location)
            #expect(try pins(copy) == before, sourceLocation: location)
            #expect(try copy.leftovers() == ["sqlcipher"], sourceLocation: location)
        }
        for wanted in ["sqlcipher3", "sqlcipher3==", "sqlcipher3>=1", "sqlcipher3==../1"] {
            try expectFailure(try copy.run("--update", wanted, "--from", shelf), saying: "cannot be pinned")
        }
        let update = ["--update", "sqlcipher3==9.9.9"]
        try expectFailure(try copy.run(update[0], update[1], "--from", shelf), saying: "No such file")
        try expectFailure(try copy.run(update[0], update[1]), saying: "Connection refused")
        for (edits, words) in [
            ("del files['sqlite3.h']", "sqlite3.h is missing"),
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
