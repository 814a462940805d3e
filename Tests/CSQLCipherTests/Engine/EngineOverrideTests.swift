import Foundation
import TestSupport
import Testing

/// What the package replaces in SQLCipher stays replaced: where upstream renames it, or stops to use it, the build stops.
@Suite struct EngineOverrideTests {
    @Test(.enabled(if: LongTests.areOn, "it compiles the engine twice"))
    func aRenamedOriginalStopsTheBuild() throws {
        let copy = try EngineCopy()
        let renamed = try copy.compile(replacing: [
            ("sqlcipher_atexit", "sqlcipher_at_exit"), ("sqlcipher_fini", "sqlcipher_finish"), ("sqlite3Codec(", "sqlcipherCodec("),
            (" sqlite3Codec,", " sqlcipherCodec,"), ("attachFunc", "attachFunction"), ("fts5IntegrityMethod", "fts5Integrity"),
            ("sqlcipherCodecAttach", "sqlcipherAttachCodec"), ("sqlite3Pragma(", "sqlite3Pragmas("),
            ("sqlite3Attach(", "sqlite3Attaches("), ("sqlite3FinishCoding(", "sqlite3FinishCode("),
            ("sqlite3SelectAddTypeInfo(", "sqlite3SelectTypes("), ("readDbPage(", "readPage("), ("unixRead(", "unixReads("),
            ("unixDelete(", "unixDeletes("),
            ("pageReinit(", "reinitPage("),
            ("sqlcipher_codec_ctx_init_kdf_salt(", "sqlcipher_codec_ctx_read_salt("),
            ("sqlite3TempInMemory(", "sqlite3InMemory("), ("sqlite3AuthCheck(", "sqlite3AuthorizerCheck("),
            ("sqlite3CheckObjectName(", "sqlite3CheckName("),
            ("sqlite3ParseUri(", "sqlite3ParseURI("),
        ])
        #expect(renamed.status != 0)
        for name in [
            "sqlcipher_atexit", "sqlcipher_fini", "sqlcipher_codec", "sqlcipher_codec_attach", "sqlite_attach_function",
            "sqlite_fts5_integrity", "sqlite_pragma", "sqlite_attach",
            "sqlite_finish", "sqlite_select_types", "sqlite_read_page", "sqlite_unix_read", "sqlite_unix_delete",
            "sqlite_reinit_page",
            "sqlcipher_read_salt", "sqlite_temporary_is_in_memory", "sqlite_auth_check", "sqlite_check_name", "sqlite_parse_uri",
        ] {
            #expect(renamed.errors.contains("error: use of undeclared identifier 'sqlcipherkit_\(name)'"), "\(renamed.errors)")
        }
        #if !os(macOS)
        let memory = try copy.compile(replacing: [("sqlcipher_memset", "sqlcipher_fill")], generatingCode: true)
        #expect(memory.status != 0)
        #expect(memory.errors.contains("error: alias must point to a defined"), "\(memory.errors)")
        #endif
    }

    @Test(.enabled(if: LongTests.areOn, "it compiles the engine"))
    func aReplacementThatNothingCallsStopsTheBuild() throws {
        let unused = try EngineCopy().compile(replacing: [
            ("atexit(sqlcipher_atexit);", ""), ("= sqlcipher_fini;", "= 0;"),
            ("sqlcipherPagerSetCodec(pPager, sqlite3Codec,", "sqlcipherPagerSetCodec(pPager, 0,"),
            ("    attachFunc,       /* xSFunc */", "    0,"),
            ("sqlcipherCodecAttach(db,", "sqlcipherkit_sqlcipher_codec_attach(db,"),
            ("sqlite3Pragma(pParse,", "sqlcipherkit_sqlite_pragma(pParse,"),
            ("sqlite3Attach(pParse,", "sqlcipherkit_sqlite_attach(pParse,"),
            ("sqlite3FinishCoding(pParse);", "sqlcipherkit_sqlite_finish(pParse);"),
            ("sqlite3SelectAddTypeInfo(pParse, p);", ""),
            ("rc = readDbPage(pPg);", "rc = 0;"), ("unixRead,  ", "0,  "), ("unixDelete,  ", "0,  "),
            ("vfsFlags, pageReinit);", "vfsFlags, 0);"),
            ("sqlite3AuthCheck(pParse,", "sqlcipherkit_sqlite_auth_check(pParse,"),
            ("sqlite3CheckObjectName(pParse,", "sqlcipherkit_sqlite_check_name(pParse,"),
            ("sqlite3ParseUri(zVfs,", "sqlcipherkit_sqlite_parse_uri(zVfs,"),
            ("sqlite3ParseUri(db->", "sqlcipherkit_sqlite_parse_uri(db->"),
        ])
        #expect(unused.status != 0)
        for name in [
            "sqlcipher_atexit", "sqlcipher_fini", "sqlite3Codec", "attachFunc", "sqlcipherkit_attach_codec", "sqlcipherkit_pragma",
            "sqlcipherkit_attach_statement", "sqlcipherkit_finish", "sqlcipherkit_select_is_resolved", "sqlcipherkit_read_page",
            "unixRead", "unixDelete", "pageReinit", "sqlcipherkit_may_change", "sqlcipherkit_may_be_named",
            "sqlcipherkit_parse_uri",
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
    /// The definition in the engine's object is weak, and that of `System/secure.c` is the one in the program.
    @Test func theProgramHasThePackagesMemset() throws {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let listing = try Command.run("nm", ["-g", "--defined-only", program])
        let found = listing.output.split(separator: "\n").filter { $0.hasSuffix(" sqlcipherkit_sqlcipher_memset") }
        #expect(found.count == 1)
        #expect(found.first?.contains(" T ") == true, "\(found)")
    }
    #endif
}
