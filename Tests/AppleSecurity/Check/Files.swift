import Foundation
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Security

private func withFolder(_ body: (URL) throws -> Void) throws {
    let folder = URL(fileURLWithPath: NSTemporaryDirectory()).appendingPathComponent("protection-\(UUID().uuidString)")
    try Foundation.FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? Foundation.FileManager.default.removeItem(at: folder) }
    try body(folder)
}

/// The folder, and what is there of the database's files.
func checkFileProtection() throws {
    try withFolder { folder in
        let folder = folder.path, location = DatabaseLocation.file("\(folder)/notes.db")
        let db = try DatabasePool(location, key: .raw([UInt8](repeating: 1, count: 32)))
        try db.write { db in _ = try db.execute("CREATE TABLE t(x)") }
        FileManager.seen = [:]
        try location.setFileProtection(.completeUntilFirstUserAuthentication)
        let files = ["", "/notes.db", "/notes.db-shm", "/notes.db-wal"].map { folder + $0 }
        expect(FileManager.seen.keys.sorted() == files)
        expect(Set(FileManager.seen.values) == [FileProtectionType.completeUntilFirstUserAuthentication.rawValue])
        FileManager.seen = [:]
        try location.setFileProtection(.complete, includingFolder: false)
        expect(FileManager.seen.keys.sorted() == Array(files.dropFirst()))
        expect(Set(FileManager.seen.values) == [FileProtectionType.complete.rawValue])
        expectError(.invalidArgument) { try DatabaseLocation.memory.setFileProtection(.complete) }
        let missing = DatabaseLocation.file("\(folder)/nowhere/a.db")
        expectError(.cannotOpen, saying: "nowhere") { try missing.setFileProtection(.complete) }
    }
}

/// The example of the article on app groups.
func checkArticle() throws {
    StandIn.items = []
    try withFolder { container in
        let folder = container.appendingPathComponent("database")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true)
        let file = folder.appendingPathComponent("notes.db")
        let location = DatabaseLocation.file(file)
        try location.setFileProtection(.completeUntilFirstUserAuthentication)
        let item = try KeychainItem(
            service: "com.example.notes", account: "notes.db",
            accessGroup: "TEAM.com.example.notes")
        var cipher = CipherConfiguration()
        cipher.plaintextHeaderSize = 32
        let key = try item.keyOrNewOne(withSalt: true)
        let db = try DatabasePool(location, key: key.with(cipher: cipher))

        try db.write { db in _ = try db.execute("CREATE TABLE t(x)") }
        let again = try DatabasePool(location, key: item.keyOrNewOne(withSalt: true).with(cipher: cipher))
        expect(try again.read { db in try db.fetchOne(Int.self, "SELECT count(*) FROM t") } == 0)
        try again.close()
        try db.close()
        let header = try Data(contentsOf: folder.appendingPathComponent("notes.db")).prefix(16)
        expect(header == Data("SQLite format 3\0".utf8))
        expect(FileManager.seen[folder.path] == FileProtectionType.completeUntilFirstUserAuthentication.rawValue)
    }
}
