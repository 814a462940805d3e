import CSQLCipher
import Foundation
import SQLCipherKitCore
import Testing
import TestSupport

private typealias OpenDirectory = @convention(c) (UnsafePointer<CChar>?, UnsafeMutablePointer<Int32>?) -> Int32

/// The engine's own function for opening the folder of a file, in order to flush it. Then folders of files whose names say so
/// cannot be flushed.
private let openDirectory: OpenDirectory = {
    let vfs = sqlite3_vfs_find("unix")!
    let original = unsafeBitCast(vfs.pointee.xGetSystemCall(vfs, "openDirectory"), to: OpenDirectory.self)
    let replacement: OpenDirectory = { path, file in
        guard path.map({ String(cString: $0) })?.contains("unflushed-commit") == true else { return openDirectory(path, file) }
        file?.pointee = 1 << 20
        return SQLITE_OK
    }
    _ = vfs.pointee.xSetSystemCall(vfs, "openDirectory", unsafeBitCast(replacement, to: sqlite3_syscall_ptr.self))
    return original
}()

/// A commit in two files is done once its super-journal is removed. If that removal cannot be flushed, the commit cannot be taken
/// back, and is no failure either.
@Suite struct UnflushedCommitTests {
    @Test(arguments: ["flushed", "unflushed-commit"]) func commitWhoseFolderIsNotFlushedHasUnknownOutcome(name: String) throws {
        _ = openDirectory
        let folder = try TemporaryFolder()
        let key = try DatabaseKey.raw(Data(repeating: 7, count: 32))
        var configuration = DatabaseConfiguration()
        configuration.journalMode = .delete
        for file in [name, "second"] {
            let db = try Connection(.file(folder.path(file)), key: key, configuration: configuration)
            try db.execute("CREATE TABLE t(x)")
        }
        let db = try Connection(.file(folder.path(name)), key: key, configuration: configuration)
        let second = try db.attach(.file(folder.path("second")), as: "second", key: key)
        func commit() throws {
            try db.transaction { db in
                try db.execute("INSERT INTO main.t VALUES (1)")
                try db.execute("INSERT INTO second.t VALUES (1)")
            }
        }
        if name == "flushed" {
            try commit()
        } else {
            let error = #expect(throws: DatabaseError.self) { try commit() }
            #expect(error?.reason == .unknownOutcome && error?.code.primary == .ioError, "\(String(describing: error))")
            #expect(error?.message.contains("a power cut may still undo the commit") == true)
        }
        #expect(!db.isInTransaction)
        #expect(try db.fetchOne("SELECT (SELECT count(*) FROM main.t) + (SELECT count(*) FROM second.t)") == 2)
        // The connection goes on.
        try db.execute("DELETE FROM main.t")
        try second.detach()
    }
}
