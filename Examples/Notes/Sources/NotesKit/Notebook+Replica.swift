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

    /// The size of the encrypted file and its log in bytes.
    public var size: UInt64 {
        ["", "-wal"].reduce(0) { sum, end in
            let attributes = try? FileManager.default.attributesOfItem(atPath: path + end)
            return sum + ((attributes?[.size] as? NSNumber)?.uint64Value ?? 0)
        }
    }
}
