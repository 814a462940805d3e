import Foundation
import SQLCipherKit
import SQLCipherKitConcurrency
import SQLCipherKitCore
import Security

private func withFolder(_ body: (URL) throws -> Void) throws {
    let folder = URL(fileURLWithPath: NSTemporaryDirectory()).appendingPathComponent("protection-\(UUID().uuidString)")
    try Foundation.FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? Foundation.FileManager.default.removeItem(at: folder) }
    try body(folder)
}

/// The folder, and the files of the database that exist.
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

/// UIKit's part of it.
private enum UIApplication {
    static let didEnterBackgroundNotification = Notification.Name("background")
    static let willEnterForegroundNotification = Notification.Name("foreground")
}

/// The example of the article on app groups.
@MainActor func checkArticle() async throws {
    StandIn.items = []
    let container = URL(fileURLWithPath: NSTemporaryDirectory()).appendingPathComponent("group-\(UUID().uuidString)")
    defer { try? Foundation.FileManager.default.removeItem(at: container) }
    var shown: [[String]] = []
    func show(_ titles: [String]) { shown.append(titles) }
    // 1. The file, in a folder of its own, readable after the first
    //    unlocking.
    let folder = container.appendingPathComponent("database")
    try FileManager.default.createDirectory(
        at: folder, withIntermediateDirectories: true)
    let file = folder.appendingPathComponent("notes.db")
    let location = DatabaseLocation.file(file)
    try location.setFileProtection(.completeUntilFirstUserAuthentication)

    // 2. The key, with the salt, in the group's part of the Keychain.
    let item = try KeychainItem(
        service: "com.example.notes", account: "shared.db",
        accessGroup: "TEAM.com.example.notes")
    let key = try item.loadOrCreateKey(withSalt: true)

    // 3. The header that the system can read, and the tables.
    var cipher = CipherConfiguration()
    cipher.plaintextHeaderSize = 32
    let own = container.appendingPathComponent("old.db"), ownKey = try DatabaseKey.passphrase("own")
    // A new installation has no old file.
    try await moveToGroup(from: own, oldKey: ownKey, to: file, key: key.with(cipher: cipher))
    expect(!FileManager.default.fileExists(atPath: file.path) && !FileManager.default.fileExists(atPath: own.path))
    let old = try DatabasePool(.file(own), key: ownKey)
    try await NotesDatabase.migrator.migrate(old)
    try await old.write { db in try db.execute("INSERT INTO note(title, body) VALUES ('Mill', '')") }
    try await old.close()
    // The second start finds the file.
    for _ in 0..<2 { try await moveToGroup(from: own, oldKey: ownKey, to: file, key: key.with(cipher: cipher)) }
    let db = try DatabasePool(location, key: key.with(cipher: cipher))
    try await NotesDatabase.migrator.migrate(db)

    // 4. In the application: no transaction while it is suspended.
    //    Keep the result for as long as the database.
    let suspension = db.observeSuspension(
        suspending: UIApplication.didEnterBackgroundNotification,
        resuming: UIApplication.willEnterForegroundNotification)
    for _ in 0..<2 {
        NotificationCenter.default.post(name: UIApplication.didEnterBackgroundNotification, object: nil)
        expect(db.isSuspended)
        NotificationCenter.default.post(name: UIApplication.willEnterForegroundNotification, object: nil)
        expect(!db.isSuspended)
    }

    // The extension.
    let again = try DatabasePool(location, key: item.loadOrCreateKey(withSalt: true).with(cipher: cipher))
    try await again.write { db in try db.execute("INSERT INTO note(title, body) VALUES ('Bakery', '')") }
    try await again.close()

    // 5. What the other process writes is seen by observations.
    let observation = db.observe { db in
        try db.fetchAll(String.self, "SELECT title FROM note")
    }.includingOtherProcesses(every: .seconds(1))
    let watching = Task { @MainActor in
        for try await titles in observation { show(titles) }
    }
    for _ in 0..<1000 where shown.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
    watching.cancel()
    _ = await watching.result
    expect(shown == [["Mill", "Bakery"]])
    try await db.close()
    withExtendedLifetime(suspension) {}
    let header = try Data(contentsOf: file).prefix(16)
    expect(header == Data("SQLite format 3\0".utf8))
    expect(FileManager.seen[folder.path] == FileProtectionType.completeUntilFirstUserAuthentication.rawValue)
}

func moveToGroup(
    from oldFile: URL, oldKey: DatabaseKey,
    to file: URL, key: DatabaseKey
) async throws {
    let files = FileManager.default
    guard files.fileExists(atPath: oldFile.path),
        !files.fileExists(atPath: file.path)
    else { return }
    let old = try DatabasePool(.file(oldFile), key: oldKey)
    try await old.main.backup(toFileAt: file.path, key: key)
    try await old.close()
}
