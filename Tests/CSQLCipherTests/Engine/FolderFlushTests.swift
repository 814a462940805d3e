import CSQLCipher
import Foundation
import Testing
import TestSupport

private typealias OpenDirectory = @convention(c) (UnsafePointer<CChar>?, UnsafeMutablePointer<Int32>?) -> Int32

/// The engine's own function for opening the folder of a file, in order to flush it. Then the folders of files whose names say so
/// cannot be flushed: as on a file system that has no such flush (EINVAL), or because it fails (EBADF).
private let openDirectory: OpenDirectory = {
    let vfs = sqlite3_vfs_find("unix")!
    let original = unsafeBitCast(vfs.pointee.xGetSystemCall(vfs, "openDirectory"), to: OpenDirectory.self)
    let replacement: OpenDirectory = { path, file in
        let name = path.map { String(cString: $0) } ?? ""
        if name.contains("without-flush") {
            file?.pointee = open("/dev/null", O_RDONLY)
        } else if name.contains("failing-flush") {
            file?.pointee = 1 << 20
        } else {
            return openDirectory(path, file)
        }
        return SQLITE_OK
    }
    _ = vfs.pointee.xSetSystemCall(vfs, "openDirectory", unsafeBitCast(replacement, to: sqlite3_syscall_ptr.self))
    return original
}()

/// The purpose of `unixDelete` in Sources/CSQLCipher/Engine/reads.h: where the removal of a journal cannot be flushed, a power cut
/// may bring the journal back. It undoes no commit that was reported as done.
@Suite struct FolderFlushTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        _ = openDirectory
    }

    private static let key = "x'\(String(repeating: "07", count: 32))'"

    private func connection(_ name: String) throws -> RawConnection {
        let db = try RawConnection(folder.path(name), key: Self.key)
        for sql in ["PRAGMA journal_mode = DELETE", "PRAGMA synchronous = EXTRA", "CREATE TABLE IF NOT EXISTS t(x)"] { try db.query(sql) }
        return db
    }

    @Test(arguments: [("flushed", "0"), ("without-flush", "1"), ("failing-flush", "1")])
    func returnedJournalUndoesNoCommit(name: String, rowsAfterPowerCut: String) throws {
        let db = try connection(name)
        try db.query("BEGIN")
        try db.query("INSERT INTO t VALUES (1)")
        // The open file stays readable after its name is removed.
        let journal = try #require(FileHandle(forReadingAtPath: folder.path(name + "-journal")))
        try db.query("COMMIT")
        #expect(try db.query("SELECT count(*) FROM t") == ["1"])
        try FileManager.default.copyItem(atPath: folder.path(name), toPath: folder.path("after"))
        try (journal.readToEnd() ?? Data()).write(to: URL(fileURLWithPath: folder.path("after-journal")))
        let after = try RawConnection(folder.path("after"), key: Self.key)
        // The journal of a commit whose folder was flushed would undo it, if it came back.
        #expect(try after.query("SELECT count(*) FROM t") == [rowsAfterPowerCut])
        #expect(try after.query("PRAGMA integrity_check") == ["ok"])
    }

    /// The same for a commit in an attached database alone, which waits for the disk as one in the main database does.
    @Test(arguments: [("flushed", "0"), ("without-flush", "1"), ("failing-flush", "1")])
    func returnedJournalUndoesNoCommitInAnAttachedDatabase(name: String, rowsAfterPowerCut: String) throws {
        _ = try connection(name)
        let db = try connection("main")
        try db.query("ATTACH '\(folder.path(name))' AS other KEY \"\(Self.key)\"")
        #expect(try db.query("PRAGMA other.synchronous") == ["3"])
        for sql in ["BEGIN", "INSERT INTO other.t VALUES (1)"] { try db.query(sql) }
        let journal = try #require(FileHandle(forReadingAtPath: folder.path(name + "-journal")))
        try db.query("COMMIT")
        try FileManager.default.copyItem(atPath: folder.path(name), toPath: folder.path("after"))
        try (journal.readToEnd() ?? Data()).write(to: URL(fileURLWithPath: folder.path("after-journal")))
        let after = try RawConnection(folder.path("after"), key: Self.key)
        #expect(try after.query("SELECT count(*) FROM t") == [rowsAfterPowerCut])
    }

    /// The super-journal of a commit in two files undoes both even if it is empty, so the commit is an error. Both files have it
    /// nevertheless, until a power cut brings the super-journal back.
    @Test(arguments: ["flushed", "without-flush", "failing-flush"]) func failedFlushAfterSuperJournalIsAnError(name: String) throws {
        _ = try connection("second")
        let db = try connection(name)
        try db.query("ATTACH '\(folder.path("second"))' AS second KEY \"\(Self.key)\"")
        for sql in ["PRAGMA second.synchronous = EXTRA", "BEGIN", "INSERT INTO main.t VALUES (1)", "INSERT INTO second.t VALUES (1)"] {
            try db.query(sql)
        }
        if name == "failing-flush" {
            let error = #expect(throws: RawConnection.Failure.self) { try db.query("COMMIT") }
            #expect(error?.code == SQLITE_IOERR && sqlite3_extended_errcode(db.handle) == SQLITE_IOERR | 5 << 8)
        } else {
            try db.query("COMMIT")
        }
        #expect(sqlite3_get_autocommit(db.handle) != 0)
        for file in [name, "second"] {
            #expect(try RawConnection(folder.path(file), key: Self.key).query("SELECT count(*) FROM t") == ["1"])
        }
        try db.query("DELETE FROM second.t")
    }
}
