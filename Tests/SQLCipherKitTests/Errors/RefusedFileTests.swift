import Foundation
import KitSupport
import SQLCipherKit
import Testing
import TestSupport

#if os(Linux)
/// Whose rights a thread has to files (<https://man7.org/linux/man-pages/man2/setfsuid.2.html>).
@_silgen_name("setfsuid")
@discardableResult
private func setfsuid(_ user: UInt32) -> Int32

/// The error for a file that the system refuses says which file it was and why.
@Suite struct RefusedFileTests {
    let folder: TemporaryFolder
    let path: String
    let key: DatabaseKey

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("a.db")
        key = try .passphrase("secret").quick
        try Connection(.file(path), key: key).execute("CREATE TABLE note(title TEXT)")
        try Connection(.file(folder.path("b.db")), key: key).execute("CREATE TABLE note(title TEXT)")
    }

    /// Runs `body` without any right to the database, nor to make a file beside it, and returns its error.
    private func refused(_ body: () throws -> Void) -> DatabaseError? {
        let directory = (path as NSString).deletingLastPathComponent
        chmod(path, 0)
        chmod(directory, 0o555)
        defer {
            chmod(path, 0o600)
            chmod(directory, 0o700)
        }
        if geteuid() == 0 { setfsuid(65534) }
        defer { if geteuid() == 0 { setfsuid(0) } }
        return #expect(throws: DatabaseError.self) { try body() }
    }

    private func expect(_ error: DatabaseError?, _ path: String, _ call: String) {
        let message = error?.message ?? ""
        #expect(error?.reason == .cannotOpen && error?.path == path, "\(call): \(message)")
        #expect(message.contains(path) && message.contains(String(cString: strerror(EACCES))), "\(call): \(message)")
    }

    @Test(arguments: [DatabaseConfiguration.Access.readOnly, .readWrite, .readWriteCreate])
    func openingUnreadableFileNamesPathAndReason(access: DatabaseConfiguration.Access) throws {
        var configuration = DatabaseConfiguration()
        configuration.access = access
        expect(refused { _ = try Connection(.file(path), key: key, configuration: configuration) }, path, "\(access)")
        expect(refused { _ = try DatabaseQueue(.file(path), key: key, configuration: configuration) }, path, "\(access) queue")
    }

    @Test func attachingUnreadableFileNamesPathAndReason() throws {
        let db = try Connection(.memory)
        expect(refused { _ = try db.attach(.file(path), as: "a", key: key) }, path, "attach")
        #expect(try db.schemas().map(\.name) == ["main"])
    }

    @Test func backupToUnwritablePathNamesPathAndReason() throws {
        let db = try Connection(.memory), new = folder.path("c.db")
        try db.execute("CREATE TABLE note(title TEXT)")
        expect(refused { try db.main.backup(toFileAt: new, key: key) }, new, "backup")
        #expect(!FileManager.default.fileExists(atPath: new))
    }
}
#endif
