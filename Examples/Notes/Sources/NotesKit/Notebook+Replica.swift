import Foundation
import SQLCipherKit
import SQLCipherKitReplication

extension Notebook {
    /// Opens a notebook, from its replica if its file is missing.
    public static func restored(at path: String, key: DatabaseKey, from folder: String) async throws -> Notebook {
        try await Replicator.restoreIfMissing(path, from: FolderStore(folder), key: key)
        return try await Notebook(at: path, key: key)
    }

    /// Keeps an encrypted copy of this notebook in a folder, until the replica is stopped.
    public func replicate(to folder: String) async throws -> Replicator {
        var options = Replicator.Options()
        // The next start goes on in the log.
        options.persistsWAL = true
        return try await Replicator(of: pool, in: FolderStore(folder), options: options)
    }

    /// How many bytes the database's file has, and the first of them: nothing in them says that they are a database.
    public func fileOnDisk() throws -> (size: UInt64, beginning: Data) {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? file.close() }
        let beginning = try file.read(upToCount: 32) ?? Data()
        return (try file.seekToEnd(), beginning)
    }
}
