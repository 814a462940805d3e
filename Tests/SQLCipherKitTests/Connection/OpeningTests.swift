import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

@Suite struct OpeningTests {
    let folder: TemporaryFolder
    var path: String { folder.path("a.db") }

    init() throws { folder = try TemporaryFolder() }

    @Test func databaseOpensByPathFileURLAndURI() throws {
        try Connection(.file(path)).execute("CREATE TABLE t(x)")
        #expect(try Connection(.file(URL(fileURLWithPath: path))).fetchOne(Int.self, "SELECT count(*) FROM t") == 0)
        #expect(try Connection(.uri("file:\(path)?mode=ro")).main.isReadOnly)
    }

    @Test func tildeExpandsToHomeFolder() {
        #expect(DatabaseLocation.file("~/a.db").path?.hasSuffix("/a.db") == true)
        // Another user's home folder is none of these.
        #expect(DatabaseLocation.file("~other/a.db").path == FileManager.default.currentDirectoryPath + "/~other/a.db")
    }

    #if os(Linux) && compiler(>=6.2)
        @Test func homeFolderComesFromEnvironment() async {
            await #expect(processExitsWith: .success) {
                setenv("HOME", "/somewhere", 1)
                // A path that is not absolute is no folder.
                setenv("XDG_DATA_HOME", "relative", 1)
                let paths = [DatabaseLocation.file("~/a.db").path, DatabaseLocation.standard("b.db", application: "x").path]
                exit(paths == ["/somewhere/a.db", "/somewhere/.local/share/x/b.db"] ? 0 : 1)
            }
        }
    #endif

    @Test func pathIsTakenLiterally() throws {
        // Neither a URI nor SQLite's name for a database in memory, as it stands for a file here.
        for name in ["file:x?mode=memory", ":memory:", "a b?c#d%20.db", "näme 🎈.db"] {
            let path = folder.path(name)
            try Connection(.file(path)).execute("CREATE TABLE t(x)")
            #expect(FileManager.default.fileExists(atPath: path), "\(name)")
        }
    }

    @Test func databasesWithoutFileOpen() throws {
        for location in [DatabaseLocation.memory, .temporary] {
            let db = try Connection(location, key: .passphrase("k").quick)
            try db.execute("CREATE TABLE t(x)")
            #expect(try Connection(location).fetchOne(Int.self, "SELECT count(*) FROM sqlite_schema") == 0)
        }
    }

    @Test func standardLocationEndsWithApplicationAndName() throws {
        let location = DatabaseLocation.standard("store.db", application: "app")
        let path = try #require(location.path)
        #expect(path.hasPrefix("/") && path.hasSuffix("/app/store.db"))
    }

    @Test func missingFoldersAreMadeOnRequest() throws {
        let deep = folder.path("x/y/a.db")
        let error = #expect(throws: DatabaseError.self) { try Connection(.file(deep)) }
        #expect(error?.reason == .cannotOpen && error?.path == deep)
        var configuration = DatabaseConfiguration()
        configuration.createsFolders = true
        _ = try Connection(.file(deep), configuration: configuration)
        #expect(try permissions(folder.path("x")) == 0o700)
        #expect(try permissions(deep) == 0o600)
    }

    @Test func databaseFilesAreOwnerOnly() throws {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = .wal
        let db = try Connection(.file(path), key: .passphrase("k").quick, configuration: configuration)
        try db.execute("CREATE TABLE t(x)")
        #expect(try folder.names() == ["a.db", "a.db-shm", "a.db-wal"])
        for name in try folder.names() { #expect(try permissions(folder.path(name)) == 0o600, "\(name)") }
    }

    @Test func openingErrorNamesThePath() throws {
        var readOnly = DatabaseConfiguration()
        readOnly.access = .readOnly
        var existing = DatabaseConfiguration()
        existing.access = .readWrite
        for configuration in [readOnly, existing] {
            let error = #expect(throws: DatabaseError.self) { try Connection(.file(path), configuration: configuration) }
            #expect(error?.reason == .cannotOpen)
            #expect(error?.message.contains(path) == true)
        }
        #expect(try folder.names() == [])
        let error = #expect(throws: DatabaseError.self) { try Connection(.file(folder.url.path)) }
        #expect(error?.reason == .cannotOpen && error?.message.contains("folder") == true)
        for wrong in ["", "a\0b"] {
            #expect(throws: DatabaseError.self) { try Connection(.file(wrong)) }
        }
        #expect(throws: DatabaseError.self) { try Connection(.uri("file:\(path)\0?mode=memory")) }
        #expect(try folder.names() == [])
    }

    @Test func trailingSlashOrDotInPathIsRefused() throws {
        for end in ["/", "//", "/.", "/.."] {
            let error = #expect(throws: DatabaseError.self) { try Connection(.file(path + end)) }
            #expect(error?.reason == .cannotOpen, "\(end)")
        }
        #expect(try folder.names() == [])
    }

    @Test func failedOpenLeavesNoNewFile() throws {
        var cipher = CipherConfiguration()
        cipher.plaintextHeaderSize = 32
        let unsalted = try DatabaseKey.raw([UInt8](repeating: 1, count: 32), cipher: cipher)
        var closing = DatabaseConfiguration()
        closing.onCreate = { $0.close() }
        let error = #expect(throws: DatabaseError.self) { try Connection(.file(path), key: unsalted) }
        #expect(error?.reason == .invalidKey)
        #expect(try folder.names() == [])
        for key in [nil, try DatabaseKey.passphrase("k").quick] {
            let error = #expect(throws: DatabaseError.self) { try Connection(.file(path), key: key, configuration: closing) }
            #expect(error?.reason == .closed)
            #expect(try folder.names() == [])
        }
        // A file that was there stays, empty as it is.
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        #expect(throws: DatabaseError.self) { try Connection(.file(path), key: unsalted) }
        #expect(try folder.names() == ["a.db"])
    }

    @Test func aSymbolicLinkCanBeRefused() throws {
        try Connection(.file(path)).execute("CREATE TABLE t(x)")
        let link = folder.path("link.db")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        _ = try Connection(.file(link))
        var configuration = DatabaseConfiguration()
        configuration.followsSymbolicLinks = false
        let error = #expect(throws: DatabaseError.self) { try Connection(.file(link), configuration: configuration) }
        #expect(error?.reason == .cannotOpen)
    }

    @Test func readOnlyRefusesToWrite() throws {
        try Connection(.file(path), key: .passphrase("k").quick).execute("CREATE TABLE t(x)")
        var configuration = DatabaseConfiguration()
        configuration.access = .readOnly
        let db = try Connection(.file(path), key: .passphrase("k").quick, configuration: configuration)
        #expect(try db.main.isReadOnly)
        let error = #expect(throws: DatabaseError.self) { try db.execute("INSERT INTO t VALUES (1)") }
        #expect(error?.code.primary == .readOnly)
    }

    @Test func useAfterCloseThrows() throws {
        let db = try Connection(.file(path))
        try db.execute("CREATE TABLE t(x)")
        try db.execute("INSERT INTO t VALUES (1), (2)")
        let statement = try db.prepare("SELECT x FROM t")
        let cursor = try db.cursor(Int.self, "SELECT x FROM t")
        #expect(try cursor.next() == 1)
        #expect(db.isOpen)
        db.close()
        db.close()
        #expect(!db.isOpen)
        let calls: [() throws -> Void] = [
            { try db.execute("SELECT 1") }, { _ = try db.fetchAll(Int.self, "SELECT 1") }, { try db.begin() }, { try db.commit() },
            { try db.rollback() }, { _ = try db.transaction { _ in 1 } }, { _ = try db.savepoint { _ in 1 } },
            { try statement.execute() }, { try statement.step() }, { try statement.reset() }, { try statement.bind([]) },
            { _ = try cursor.next() }, { _ = try db.schemas() }, { try db.schema("x").detach() },
            { try db.attach(.memory, as: "x", key: .plaintext) }, { try db.changeKey(to: .passphrase("k")) },
            { _ = try db.main.isReadOnly }, { try db.execute(SQLScript("SELECT 1")) }, { _ = try db.prepare("SELECT 1") },
        ]
        for (index, call) in calls.enumerated() {
            do {
                try call()
                Issue.record("call \(index) did not throw")
            } catch let error as DatabaseError { #expect(error.reason == .closed, "call \(index)") }
        }
        #expect(statement.sql == "" && statement.columnNames == [] && statement.parameterNames == [])
        #expect(db.changes == 0 && db.lastInsertedRowID == 0 && !db.isInTransaction)
        #expect(try Connection(.file(path)).fetchOne(Int.self, "SELECT count(*) FROM t") == 2)
    }

    @Test func closingInsideRowClosureThrowsClosed() throws {
        let db = try Connection(.memory)
        var seen: [String] = []
        let error = #expect(throws: DatabaseError.self) {
            try db.forEach("VALUES ('one'), ('two')") { row in
                db.close()
                seen.append(try row[0])
            }
        }
        #expect(error?.reason == .closed)
        #expect(seen == ["one"])
    }

    @Test func deinitReleasesTheFileLock() throws {
        var db: Connection? = try Connection(.file(path))
        try db?.execute("CREATE TABLE t(x)")
        try db?.begin(.exclusive)
        var impatient = DatabaseConfiguration()
        impatient.busyTimeout = .milliseconds(20)
        let error = #expect(throws: DatabaseError.self) { try Connection(.file(path), configuration: impatient) }
        #expect(error?.reason == .busy)
        db = nil
        #expect(try Connection(.file(path), configuration: impatient).fetchOne(Int.self, "SELECT count(*) FROM t") == 0)
    }

    // MARK: New files

    @Test func keyOfNewFileIsFixedAtOpen() throws {
        _ = try Connection(.file(path), key: .passphrase("first").quick)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count == 4096)
        let error = #expect(throws: DatabaseError.self) {
            try Connection(.file(path), key: .passphrase("second").quick)
        }
        #expect(error?.reason == .wrongKeyOrNotADatabase)
    }

    @Test func onCreateRunsOnceForANewFile() throws {
        nonisolated(unsafe) var runs = 0
        var configuration = DatabaseConfiguration()
        configuration.onCreate = { db in
            runs += 1
            try db.execute("CREATE TABLE t(x)")
            try db.transaction { try $0.execute("INSERT INTO t VALUES (1)") }
        }
        for _ in 0..<3 {
            let db = try Connection(.file(path), key: .passphrase("k"), configuration: configuration)
            #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 1)
        }
        #expect(runs == 1)
    }

    @Test func aFailedOnCreateLeavesNoFile() throws {
        struct Refusal: Error {}
        var configuration = DatabaseConfiguration()
        configuration.onCreate = { db in
            try db.execute("CREATE TABLE t(x)")
            throw Refusal()
        }
        let error = #expect(throws: DatabaseError.self) {
            try Connection(.file(path), key: .passphrase("k"), configuration: configuration)
        }
        #expect(error?.reason == .callback && error?.underlyingError is Refusal)
        #expect(try folder.names() == [])
    }

    @Test func onCreateRunsAgainAfterKilledProcess() throws {
        let driver = try Command(try BuildProducts.executable("FaultDriver"), ["create", path, "k", "wait"])
        try driver.waitForOutput("half")
        kill(driver.process.processIdentifier, SIGKILL)
        #expect(try driver.end().status == -SIGKILL)
        let second = try Command.run(try BuildProducts.executable("FaultDriver"), ["create", path, "k"])
        #expect(second.output == "half\n1000\ndone\n", "\(second)")
    }

    @Test func concurrentProcessesCreateFileOnce() throws {
        let program = try BuildProducts.executable("FaultDriver")
        let drivers = try (0..<4).map { _ in try Command(program, ["create", path, "k"]) }
        let outcomes = try drivers.map { try $0.end() }
        // Each one succeeds, or finds the file locked for longer than it wants to wait; none sees a half-made database.
        for outcome in outcomes { #expect(outcome.output.hasSuffix("1000\ndone\n") || outcome.output.contains("error busy"), "\(outcome)") }
        #expect(outcomes.filter { $0.output.contains("half") && $0.status == 0 }.count == 1)
        let db = try Connection(.file(path), key: .passphrase("k").quick)
        #expect(try db.fetchOne(Int.self, "SELECT count(*) FROM t") == 1000)
    }

    #if os(Linux)
        @Test func missingRandomBytesAreNotReportedAsOutOfMemory() throws {
            // Refuses getrandom for good (seccomp(2)), with the error of a kernel that does not know it, and becomes the driver.
            let sandbox = """
                import ctypes, errno, os, struct, sys
                number = {"x86_64": 318, "aarch64": 278}[os.uname().machine]
                steps = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | errno.ENOSYS), (0x06, 0, 0, 0x7fff0000)]
                code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
                program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(code)))
                prctl = ctypes.CDLL(None, use_errno=True).prctl
                if prctl(38, 1, 0, 0, 0) or prctl(22, 2, ctypes.byref(program)): sys.exit(f"no seccomp: {ctypes.get_errno()}")
                os.execv(sys.argv[1], sys.argv[1:])
                """
            let driver = try BuildProducts.executable("FaultDriver")
            _ = try Connection(.file(path), key: .passphrase("k").quick)
            for name in [path, folder.path("new.db")] {
                let outcome = try Command.run("python3", ["-c", sandbox, driver, "memory", name, "k"])
                #expect(outcome.output == "error noRandomBytes 1 the system refuses random bytes: Function not implemented\n", "\(outcome)")
            }
            #expect(!FileManager.default.fileExists(atPath: folder.path("new.db")))
        }
    #endif

    @Test func databaseConfigurationTakesEffect() throws {
        var configuration = DatabaseConfiguration()
        configuration.journalMode = .wal
        nonisolated(unsafe) var prepared = 0
        configuration.prepareDatabase = { db in prepared += try db.fetchOne(Int.self, "PRAGMA foreign_keys") ?? 0 }
        let db = try Connection(.file(path), key: .passphrase("k").quick, configuration: configuration)
        #expect(prepared == 1)
        #expect(try db.fetchOne(String.self, "PRAGMA journal_mode") == "wal")
        configuration.enforcesForeignKeys = false
        #expect(try Connection(.memory, configuration: configuration).fetchOne(Int.self, "PRAGMA foreign_keys") == 0)
    }

    private func permissions(_ path: String) throws -> Int {
        try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }
}
